//! What a user of the engine implements: a plan and a sink.

use crate::batch_state::BatchState;
use crate::parking::Parking;
use crate::resident::Piece;
use crate::scratch::Scratch;
use crate::window::{Cursor, Planned, Token, Window};
use crate::{Engine, Error, Identity, ObjectRef};
use std::any::Any;
use std::cell::OnceCell;
use std::sync::Arc;

/// A batch of logical reads: where they are planned, and where their bytes go.
///
/// Lanes claim windows `0..window_count()`, call [`plan`](Batch::plan) for each, and
/// [`deliver`](Batch::deliver) exactly once for each read planned, on any lane, in any order; not at all any more once
/// the batch has ended early (cancelled, out of time, panicked). A panic in any method
/// poisons the batch (its waiter gets [`ErrorKind::Panicked`](crate::ErrorKind::Panicked)) and leaves the lane alone.
pub trait Batch: Send + Sync {
    /// Number of windows. Asked once.
    fn window_count(&self) -> u64;

    /// Upper bounds of the whole batch, by which the engine decides whether to run it on the calling thread. A guess
    /// is enough; it affects speed only.
    fn estimate(&self) -> Estimate;

    /// Plans the reads from `cursor` on into `window`. Pure: no I/O, no waiting.
    fn plan<'b>(&'b self, cursor: Cursor, context: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned;

    /// Takes the one result of a planned read, on the core that read it. Bytes are borrowed for the call.
    fn deliver(&self, token: Token, result: Result<Arrival<'_>, Error>, lane: &mut LaneContext<'_>);

    /// The window at `cursor` was planned from a version of its object that is gone; what is cached of it must be
    /// dropped. The cursor is planned again, unless a remote object was replaced after some of the window's reads had
    /// been delivered: the others then end as [`Changed`](crate::ErrorKind::Changed).
    fn stale(&self, cursor: Cursor);

    /// The object of the window at `cursor` was written to while the window was read: what was delivered of it is a
    /// mix. Called after the window's last delivery.
    fn spoiled(&self, cursor: Cursor, error: Error, lane: &mut LaneContext<'_>);
}

/// How large a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Logical reads.
    pub reads: u64,
    /// Stored bytes.
    pub bytes: u64,
}

/// What a delivered read brought.
#[derive(Clone, Copy, Debug)]
pub enum Arrival<'a> {
    /// The bytes of the range.
    Bytes(&'a [u8]),
    /// This many bytes are in the target that the read was planned with.
    Placed(usize),
    /// The bytes of the range, to copy from: only for reads planned with
    /// [`Window::read_pieces`](crate::Window::read_pieces).
    Piece(Piece<'a>),
}

/// What a plan may use besides the batch itself.
pub struct PlanContext<'a> {
    pub(crate) state: &'a Arc<BatchState>,
    pub(crate) cursor: Cursor,
    pub(crate) parking: OnceCell<Arc<Parking>>,
}

impl PlanContext<'_> {
    /// The way to have this cursor planned again once what it waits for is there: see [`Planned::Parked`].
    pub fn resume(&self) -> Resume {
        let parking =
            self.parking.get_or_init(|| Arc::new(Parking::new(Arc::downgrade(self.state), self.cursor)));
        Resume(Arc::clone(parking))
    }

    /// The engine that runs the batch, for what is cached by it.
    pub fn engine(&self) -> &Engine {
        self.state.engine()
    }
}

/// A parked cursor. Dropping it, on any thread, has the cursor planned again, once: a plan that waits for several
/// things may take one for each, and the first that is dropped counts. Without effect when the plan did not park after
/// all, or its batch has ended; it keeps neither batch nor engine alive.
pub struct Resume(Arc<Parking>);

impl Drop for Resume {
    fn drop(&mut self) {
        self.0.resume();
    }
}

/// What a sink may use of the lane that calls it.
pub struct LaneContext<'a> {
    /// The cursor that the read was planned from.
    pub cursor: Cursor,
    /// The object that was read.
    pub object: &'a ObjectRef,
    /// The version that was read, where the medium knows it.
    pub identity: Option<&'a Identity>,
    /// What the plan left in [`Window::note`].
    pub note: Note<'a>,
    /// The lane's working memory.
    pub scratch: &'a mut Scratch,
    pub(crate) follow_ups: &'a mut Vec<Cursor>,
    pub(crate) engine: &'a Engine,
}

impl LaneContext<'_> {
    /// Has `cursor` planned next, on this lane unless another has nothing to do: a shard index arrived, and its chunks
    /// can be planned. The batch does not end before that is read as well.
    pub fn follow_up(&mut self, cursor: Cursor) {
        self.follow_ups.push(cursor);
    }

    /// The engine that runs the batch, for what is cached by it.
    pub fn engine(&self) -> &Engine {
        self.engine
    }
}

/// A window's note, as its plan left it.
pub struct Note<'a>(pub(crate) &'a mut Option<Box<dyn Any + Send>>);

impl Note<'_> {
    /// The note, if the plan left one of this type.
    pub fn get<T: Any + Send>(&mut self) -> Option<&mut T> {
        self.0.as_mut()?.downcast_mut()
    }
}
