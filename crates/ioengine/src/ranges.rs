//! Ready-made batches: ranges of objects, streamed to a function or read whole.

use crate::batch::{Arrival, Batch, Estimate, LaneContext, PlanContext};
use crate::engine::lock;
use crate::window::{Cursor, Planned, Token, Window};
use crate::{ByteRange, Engine, Error, ErrorKind, Medium, ObjectRef, RunOptions};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Mutex;

/// Reads in one window of a [`Engine::read_ranges`] call: enough for merging, few enough that lanes share the work.
const WINDOW_READS: usize = 256;

/// One wanted range of an object.
#[derive(Clone, Debug)]
pub struct RangeRead {
    /// Index into the objects of the call.
    pub object: usize,
    /// Which bytes.
    pub range: ByteRange,
}

impl Engine {
    /// Reads many ranges of many objects and hands each to `sink` with its index, on whichever lane read it, in any
    /// order. The bytes are borrowed for the call. One result for each range: a missing object fails its ranges only.
    ///
    /// # Errors
    ///
    /// As [`Engine::run`]; and [`NotFound`](ErrorKind::NotFound) when a range names an object that was not given.
    pub fn read_ranges(
        &self,
        objects: &[ObjectRef],
        reads: &[RangeRead],
        sink: impl Fn(usize, Result<&[u8], Error>) + Send + Sync,
        options: &RunOptions<'_>,
    ) -> Result<(), Error> {
        checked_objects(objects, reads)?;
        let order = RangeOrder::new(objects, reads);
        if let Some(read) = reads.first() {
            // Objects of one call are of one medium, as a rule.
            objects[read.object].medium.expect(crate::storage_len(reads.len()));
        }
        self.run(&RangeBatch { objects, reads, order, sink }, options)
    }

    /// Reads one range of one object.
    ///
    /// # Errors
    ///
    /// Those of the medium: [`NotFound`](ErrorKind::NotFound), [`UnexpectedEnd`](ErrorKind::UnexpectedEnd), ...
    pub fn read_object(&self, object: &ObjectRef, range: ByteRange) -> Result<Bytes, Error> {
        let found = Mutex::new(None);
        let keep = |_, result: Result<&[u8], Error>| *lock(&found) = Some(result.map(Bytes::copy_from_slice));
        let reads = [RangeRead { object: 0, range }];
        self.read_ranges(std::slice::from_ref(object), &reads, keep, &RunOptions::default())?;
        let found = lock(&found).take();
        found.unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "a read was never delivered")))
    }
}

/// Refuses reads of objects that were not given.
pub(crate) fn checked_objects(objects: &[ObjectRef], reads: &[RangeRead]) -> Result<(), Error> {
    let Some(wrong) = reads.iter().find(|read| objects.len() <= read.object) else { return Ok(()) };
    let message = format!("a range of object number {}, of {} objects", wrong.object, objects.len());
    Err(Error::new(ErrorKind::NotFound, message))
}

struct RangeBatch<'a, S> {
    objects: &'a [ObjectRef],
    reads: &'a [RangeRead],
    order: RangeOrder,
    sink: S,
}

/// The windows that reads are cut into.
pub(crate) struct RangeOrder {
    order: Order,
    /// Reads of one object, by their places in the order.
    windows: Vec<Range<usize>>,
}

impl RangeOrder {
    /// Windows of neighbours, which may be merged.
    pub(crate) fn new(objects: &[ObjectRef], reads: &[RangeRead]) -> RangeOrder {
        let order = neighbours_together(objects, reads, order(objects.len(), reads));
        RangeOrder { windows: windows(reads, &order), order }
    }

    pub(crate) fn window_count(&self) -> u64 {
        crate::storage_len(self.windows.len())
    }

    /// The reads of a window, with their indexes.
    pub(crate) fn window<'r>(
        &self,
        cursor: Cursor,
        reads: &'r [RangeRead],
    ) -> impl Iterator<Item = (usize, &'r RangeRead)> {
        let window = usize::try_from(cursor.window).ok().and_then(|window| self.windows.get(window));
        let indexes = window.cloned().into_iter().flatten().map(|place| self.order.index(place));
        indexes.filter_map(|index| Some((index, reads.get(index)?)))
    }
}

/// The reads, those of one object together.
enum Order {
    /// As they came, which costs nothing to keep.
    AsGiven,
    /// By their indexes.
    Sorted(Vec<usize>),
}

impl Order {
    fn index(&self, place: usize) -> usize {
        match self {
            Order::AsGiven => place,
            Order::Sorted(indexes) => indexes.get(place).copied().unwrap_or(usize::MAX),
        }
    }
}

/// Orders reads by object, and as they came where they are of the same one, by counting: each read costs the same.
fn order(objects: usize, reads: &[RangeRead]) -> Order {
    if reads.is_sorted_by_key(|read| read.object) {
        return Order::AsGiven;
    }
    let mut next = vec![0; objects + 1];
    for read in reads {
        next[read.object + 1] += 1;
    }
    for object in 0..objects {
        next[object + 1] += next[object];
    }
    let mut indexes = vec![0; reads.len()];
    for (index, read) in reads.iter().enumerate() {
        indexes[next[read.object]] = index;
        next[read.object] += 1;
    }
    Order::Sorted(indexes)
}

/// Orders the reads of each remote object that takes several windows by where they lie: only what is in one window is merged,
/// and there a request is worth sorting for.
fn neighbours_together(objects: &[ObjectRef], reads: &[RangeRead], order: Order) -> Order {
    let offset = |index: &usize| match reads[*index].range {
        ByteRange::Bounded { offset, .. } => offset,
        ByteRange::Suffix { .. } | ByteRange::Whole { .. } => 0,
    };
    let is_remote = |object: &ObjectRef| matches!(object.medium, Medium::Remote(_));
    if reads.len() <= WINDOW_READS || !objects.iter().any(is_remote) {
        return order;
    }
    let mut indexes = match order {
        Order::AsGiven => (0..reads.len()).collect(),
        Order::Sorted(indexes) => indexes,
    };
    for run in indexes.chunk_by_mut(|one, next| reads[*one].object == reads[*next].object) {
        if WINDOW_READS < run.len()
            && run.first().is_some_and(|first| is_remote(&objects[reads[*first].object]))
        {
            // Stable: reads of one place stay as they came.
            run.sort_by_key(offset);
        }
    }
    Order::Sorted(indexes)
}

/// Cuts the order where the object changes, and where a window is full.
fn windows(reads: &[RangeRead], order: &Order) -> Vec<Range<usize>> {
    let mut windows: Vec<Range<usize>> = Vec::new();
    let mut last_object = None;
    for place in 0..reads.len() {
        let object = reads.get(order.index(place)).map(|read| read.object);
        match windows.last_mut() {
            Some(window) if object == last_object && window.len() < WINDOW_READS => window.end = place + 1,
            _ => windows.push(place..place + 1),
        }
        last_object = object;
    }
    windows
}

impl<S: Fn(usize, Result<&[u8], Error>) + Send + Sync> Batch for RangeBatch<'_, S> {
    fn window_count(&self) -> u64 {
        self.order.window_count()
    }

    fn estimate(&self) -> Estimate {
        let bytes = self.reads.iter().map(|read| read.range.len_max().min(1 << 40)).sum();
        Estimate { reads: crate::storage_len(self.reads.len()), bytes }
    }

    fn plan<'b>(
        &'b self,
        cursor: Cursor,
        _context: &PlanContext<'_>,
        window: &mut Window<'_, 'b>,
    ) -> Planned {
        let mut reads = self.order.window(cursor, self.reads).peekable();
        if let Some((_, first)) = reads.peek() {
            window.set_object(self.objects[first.object].clone());
        }
        for (index, read) in reads {
            window.read(read.range, Token(crate::storage_len(index)));
        }
        Planned::Complete
    }

    fn deliver(&self, token: Token, result: Result<Arrival<'_>, Error>, _lane: &mut LaneContext<'_>) {
        let index = usize::try_from(token.0).unwrap_or(usize::MAX);
        match result {
            Ok(Arrival::Bytes(bytes)) => (self.sink)(index, Ok(bytes)),
            Ok(Arrival::Placed(_) | Arrival::Piece(_)) => {
                (self.sink)(index, Err(Error::new(ErrorKind::Internal, "bytes arrived in another form")))
            }
            Err(error) => (self.sink)(index, Err(error)),
        }
    }

    fn stale(&self, _cursor: Cursor) {}

    /// The ranges of the window were delivered already; each is told again that it cannot be trusted.
    fn spoiled(&self, cursor: Cursor, error: Error, _lane: &mut LaneContext<'_>) {
        for (index, read) in self.order.window(cursor, self.reads) {
            (self.sink)(index, Err(error.clone().with_range(read.range)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryMedium, SimulatedConfig, SimulatedRemote};

    fn planned(objects: &[usize]) -> Vec<Vec<usize>> {
        let range = ByteRange::Bounded { offset: 0, len: 1 };
        let reads: Vec<RangeRead> =
            objects.iter().map(|object| RangeRead { object: *object, range }).collect();
        let order = order(8, &reads);
        let windows = windows(&reads, &order);
        windows.into_iter().map(|window| window.map(|place| order.index(place)).collect()).collect()
    }

    #[test]
    fn windows_are_of_one_object_and_keep_the_order_within_it() {
        assert_eq!(planned(&[]), Vec::<Vec<usize>>::new());
        assert_eq!(planned(&[0, 0, 3]), [vec![0, 1], vec![2]]);
        assert_eq!(planned(&[7, 0, 7, 0, 2]), [vec![1, 3], vec![4], vec![0, 2]]);
    }

    #[test]
    fn reads_of_a_remote_object_are_in_windows_with_their_neighbours() {
        let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
        let memory = MemoryMedium::new();
        let object = |medium: Medium| ObjectRef { medium, key: "a".into() };
        let objects = [object(remote.medium()), object(memory.medium())];
        let read = |number: u64| RangeRead {
            object: usize::from(number.is_multiple_of(2)),
            range: ByteRange::Bounded { offset: number * 7919 % 1009, len: 1 },
        };
        let reads: Vec<RangeRead> = (0..2000).map(read).collect();
        let order = neighbours_together(&objects, &reads, order(2, &reads));
        let of = |place: usize| &reads[order.index(place)];
        let offset = |place: usize| match of(place).range {
            ByteRange::Bounded { offset, .. } => offset,
            _ => panic!("a bounded range"),
        };
        assert!((0..1000).all(|place| of(place).object == 0) && (0..1000).is_sorted_by_key(offset));
        assert!((1000..2000).all(|place| order.index(place) == 2 * (place - 1000)));
    }

    #[test]
    fn windows_are_bounded() {
        let lens: Vec<usize> = planned(&[1; 2 * WINDOW_READS + 3]).iter().map(Vec::len).collect();
        assert_eq!(lens, [WINDOW_READS, WINDOW_READS, 3]);
    }
}
