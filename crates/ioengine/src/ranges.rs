//! Ready-made batches: ranges of objects, streamed to a function or read whole.

use crate::batch::{Arrival, Batch, Estimate, LaneContext, PlanContext};
use crate::engine::lock;
use crate::window::{Cursor, Planned, Token, Window};
use crate::{ByteRange, Engine, Error, ErrorKind, ObjectRef, RunOptions};
use bytes::Bytes;
use std::collections::BTreeMap;
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
        if let Some(wrong) = reads.iter().find(|read| objects.len() <= read.object) {
            let message = format!("a range of object number {}, of {} objects", wrong.object, objects.len());
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        self.run(&RangeBatch { windows: windows(reads), objects, reads, sink }, options)
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

struct RangeBatch<'a, S> {
    objects: &'a [ObjectRef],
    reads: &'a [RangeRead],
    /// Reads of one object, by their indexes.
    windows: Vec<Vec<usize>>,
    sink: S,
}

/// Groups reads by object, then cuts the groups.
fn windows(reads: &[RangeRead]) -> Vec<Vec<usize>> {
    let mut by_object: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, read) in reads.iter().enumerate() {
        by_object.entry(read.object).or_default().push(index);
    }
    by_object
        .into_values()
        .flat_map(|group| group.chunks(WINDOW_READS).map(<[usize]>::to_vec).collect::<Vec<_>>())
        .collect()
}

impl<S: Fn(usize, Result<&[u8], Error>) + Send + Sync> Batch for RangeBatch<'_, S> {
    fn window_count(&self) -> u64 {
        crate::storage_len(self.windows.len())
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
        let index = usize::try_from(cursor.window).unwrap_or(usize::MAX);
        let Some(reads) = self.windows.get(index) else { return Planned::Complete };
        if let Some(first) = reads.first() {
            window.set_object(self.objects[self.reads[*first].object].clone());
        }
        for read in reads {
            window.read(self.reads[*read].range, Token(crate::storage_len(*read)));
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
        let index = usize::try_from(cursor.window).unwrap_or(usize::MAX);
        for read in self.windows.get(index).into_iter().flatten() {
            (self.sink)(*read, Err(error.clone().with_range(self.reads[*read].range)));
        }
    }
}
