//! Batches that remember what was delivered to them, and batches made of two functions.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Error, ErrorKind, Estimate, LaneContext, ObjectRef, PlanContext,
    Planned, Token, Window,
};

pub(crate) fn bounded(offset: u64, len: u64) -> ByteRange {
    ByteRange::Bounded { offset, len }
}

/// One read that a [`Reads`] batch wants.
pub(crate) struct Want<'o> {
    pub(crate) object: usize,
    pub(crate) range: ByteRange,
    /// Where it lands, if not in the sink.
    pub(crate) target: Mutex<Option<&'o mut [u8]>>,
    pub(crate) got: Mutex<Vec<Result<Vec<u8>, ErrorKind>>>,
}

/// Any reads, `window_reads` of them in a window, and what came of each.
pub(crate) struct Reads<'o> {
    pub(crate) objects: Vec<ObjectRef>,
    pub(crate) wants: Vec<Want<'o>>,
    pub(crate) windows: Vec<Vec<usize>>,
    pub(crate) spoiled: AtomicU64,
    pub(crate) stale: AtomicU64,
}

impl<'o> Reads<'o> {
    pub(crate) fn new(
        objects: Vec<ObjectRef>,
        wanted: &[(usize, ByteRange)],
        window_reads: usize,
    ) -> Reads<'o> {
        Reads::into(objects, wanted.iter().map(|(object, range)| (*object, *range, None)), window_reads)
    }

    pub(crate) fn into(
        objects: Vec<ObjectRef>,
        wanted: impl IntoIterator<Item = (usize, ByteRange, Option<&'o mut [u8]>)>,
        window_reads: usize,
    ) -> Reads<'o> {
        let wants: Vec<Want<'o>> = wanted
            .into_iter()
            .map(|(object, range, target)| Want {
                object,
                range,
                target: Mutex::new(target),
                got: Mutex::default(),
            })
            .collect();
        let mut windows: Vec<Vec<usize>> = Vec::new();
        for (index, want) in wants.iter().enumerate() {
            match windows.last_mut() {
                Some(window) if window.len() < window_reads && wants[window[0]].object == want.object => {
                    window.push(index);
                }
                _ => windows.push(vec![index]),
            }
        }
        Reads { objects, wants, windows, spoiled: AtomicU64::new(0), stale: AtomicU64::new(0) }
    }

    /// What each read came to; panics unless each was delivered once.
    pub(crate) fn results(&self) -> Vec<Result<Vec<u8>, ErrorKind>> {
        let once = |(index, want): (usize, &Want<'_>)| {
            let got = want.got.lock().unwrap().clone();
            assert_eq!(got.len(), 1, "read {index} ({}) was delivered {} times", want.range, got.len());
            got[0].clone()
        };
        self.wants.iter().enumerate().map(once).collect()
    }
}

impl Batch for Reads<'_> {
    fn window_count(&self) -> u64 {
        self.windows.len() as u64
    }

    fn estimate(&self) -> Estimate {
        let bytes = self.wants.iter().map(|want| want.range.len_max().min(1 << 40)).sum();
        Estimate { reads: self.wants.len() as u64, bytes }
    }

    fn plan<'b>(&'b self, cursor: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        let reads = &self.windows[usize::try_from(cursor.window).unwrap()];
        window.set_object(self.objects[self.wants[reads[0]].object].clone());
        for index in reads {
            let want = &self.wants[*index];
            match want.target.lock().unwrap().take() {
                Some(target) => window.read_into(want.range, Token(*index as u64), target),
                None if index % 2 == 1 => window.read_pieces(want.range, Token(*index as u64)),
                None => window.read(want.range, Token(*index as u64)),
            }
        }
        Planned::Complete
    }

    fn deliver(&self, token: Token, result: Result<Arrival<'_>, Error>, _: &mut LaneContext<'_>) {
        let want = &self.wants[usize::try_from(token.0).unwrap()];
        let got = match result {
            Ok(Arrival::Bytes(bytes)) => Ok(bytes.to_vec()),
            Ok(Arrival::Placed(len)) => Ok(vec![0; len]),
            Ok(Arrival::Piece(piece)) => {
                let mut bytes = vec![0; piece.len()];
                let (first, rest) = bytes.split_at_mut(piece.len() / 3);
                let third = piece.len() / 3;
                let copied = piece.copy(0, first).and_then(|()| match rest.split_at_mut(third) {
                    (second, last) if last.len() == third => piece.scatter(third, third, &mut [second, last]),
                    _ => piece.copy(third, rest),
                });
                assert!(piece.scatter(1, 0, &mut [&mut vec![0; piece.len()]]).is_err());
                assert!(piece.copy(1, &mut vec![0; piece.len()]).is_err());
                copied.map(|()| bytes).map_err(|error| error.kind())
            }
            Err(error) => Err(error.kind()),
        };
        want.got.lock().unwrap().push(got);
    }

    fn stale(&self, _: Cursor) {
        self.stale.fetch_add(1, Ordering::Relaxed);
    }

    fn spoiled(&self, _: Cursor, _: Error, _: &mut LaneContext<'_>) {
        self.spoiled.fetch_add(1, Ordering::Relaxed);
    }
}

/// A batch made of functions.
pub(crate) struct Made<P, D> {
    pub(crate) windows: u64,
    pub(crate) plan: P,
    pub(crate) deliver: D,
    pub(crate) stale: AtomicU64,
    pub(crate) spoiled: fn(),
}

pub(crate) fn made<P, D>(windows: u64, plan: P, deliver: D) -> Made<P, D>
where
    P: Fn(Cursor, &PlanContext<'_>, &mut Window<'_, '_>) -> Planned + Send + Sync,
    D: Fn(Token, Result<Arrival<'_>, Error>, &mut LaneContext<'_>) + Send + Sync,
{
    Made { windows, plan, deliver, stale: AtomicU64::new(0), spoiled: || {} }
}

impl<P, D> Batch for Made<P, D>
where
    P: Fn(Cursor, &PlanContext<'_>, &mut Window<'_, '_>) -> Planned + Send + Sync,
    D: Fn(Token, Result<Arrival<'_>, Error>, &mut LaneContext<'_>) + Send + Sync,
{
    fn window_count(&self) -> u64 {
        self.windows
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: self.windows, bytes: self.windows * 4096 }
    }

    fn plan<'b>(&'b self, cursor: Cursor, context: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        (self.plan)(cursor, context, window)
    }

    fn deliver(&self, token: Token, result: Result<Arrival<'_>, Error>, lane: &mut LaneContext<'_>) {
        (self.deliver)(token, result, lane);
    }

    fn stale(&self, _: Cursor) {
        self.stale.fetch_add(1, Ordering::Relaxed);
    }

    fn spoiled(&self, _: Cursor, _: Error, _: &mut LaneContext<'_>) {
        (self.spoiled)();
    }
}
