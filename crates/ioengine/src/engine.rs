//! The engine: lanes, what they share, and the ways in.

#[cfg(any(test, feature = "simulation"))]
mod stepped;

use crate::batch_ref::BatchRef;
use crate::batch_state::BatchState;
use crate::counters::{Counters, Stats};
use crate::deadlines::Deadlines;
use crate::drivers::Drivers;
use crate::handle_cache::{HandleCache, HandleCaches};
use crate::interrupt::{WAIT_SLICE, is_interrupted, was_interrupted};
use crate::lane::{AbortOnPanic, Candidate, Lane, LaneThread};
use crate::medium::LocalMedium;
use crate::oversize::OversizeRight;
use crate::wake::Pause;
use crate::{Batch, Control, Error, ErrorKind, Freshness, Limits};
use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Instant;

/// How an engine is set up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineConfig {
    /// The engine's bounds.
    pub limits: Limits,
    /// When cached handles and indexes are checked against their objects.
    pub freshness: Freshness,
}

/// Reads batches. Cloning shares the engine; its lanes start with the first batch that needs them and stop when the
/// last clone is dropped.
///
/// ```
/// use swath_ioengine::{Engine, EngineConfig, MemoryMedium, ByteRange};
/// let engine = Engine::new(EngineConfig::default());
/// let memory = MemoryMedium::new();
/// memory.put("greeting", &b"hello, lanes"[..]);
/// let bytes = engine.read_object(&memory.object("greeting"), ByteRange::Bounded { offset: 7, len: 5 })?;
/// assert_eq!(&bytes[..], b"lanes");
/// # Ok::<(), swath_ioengine::Error>(())
/// ```
#[derive(Clone)]
pub struct Engine(Arc<Handle>);

/// Stops the lanes when the last [`Engine`] goes.
struct Handle {
    shared: Arc<Shared>,
}

/// What lanes share.
pub(crate) struct Shared {
    pub(crate) config: EngineConfig,
    pub(crate) handles: Arc<HandleCache>,
    pub(crate) shutdown: AtomicBool,
    pub(crate) oversize: OversizeRight,
    /// Raised when the list of batches grows; lanes look at the list when it moved.
    pub(crate) epoch: AtomicU64,
    /// Raised when a batch with reads in flight is cancelled.
    pub(crate) cancel_epoch: AtomicU64,
    /// Lanes that have nothing to do.
    pub(crate) idle_lanes: AtomicUsize,
    pub(crate) deadlines: Deadlines,
    batches: Mutex<Vec<Weak<BatchState>>>,
    lanes: OnceLock<Vec<LaneThread>>,
    starting: Mutex<()>,
    generation: u64,
    lasting: Arc<Lasting>,
    #[expect(clippy::vec_box, reason = "a lane is large, and moves at every small batch")]
    inline_lanes: Mutex<Vec<Box<Lane>>>,
    drivers: Mutex<Drivers>,
}

/// What an engine shares with the one that takes its place.
#[derive(Default)]
struct Lasting {
    counters: Mutex<Vec<Arc<Counters>>>,
    /// Batches that were given to lanes as a whole.
    lane_batches: AtomicU64,
    extensions: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
    handles: HandleCaches,
}

/// How one batch is run.
#[derive(Clone, Default)]
pub struct RunOptions<'a> {
    /// Cancels the batch and tells its progress.
    pub control: Control,
    /// Batches of a higher priority are claimed first. Default 0.
    pub priority: i32,
    /// When the batch shall end with an error of kind [`DeadlineExceeded`](ErrorKind::DeadlineExceeded). A blocking
    /// call may return later than this: it first waits for what the kernel may still write.
    pub deadline: Option<Instant>,
    /// Called about every 50 ms on the waiting thread; `true` cancels the batch, as [`interruptible`](crate::interruptible) does.
    pub interrupt: Option<&'a dyn Fn() -> bool>,
    /// For this batch in place of [`Limits::inline_bytes_max`](crate::Limits::inline_bytes_max), for a caller that has a thread for each processor
    /// itself: what its thread decodes is then in the caches of the processor that uses it. Only [`Engine::run`] has a calling thread.
    pub inline_bytes_max: Option<u64>,
}

impl Engine {
    /// An engine of its own. No thread is started before there is work for it.
    pub fn new(config: EngineConfig) -> Engine {
        Engine::with_lasting(config, Arc::default())
    }

    /// An engine that counts on where this one does, and has the same extensions: caches, and locks of what is written.
    pub(crate) fn beside(&self, config: EngineConfig) -> Engine {
        Engine::with_lasting(config, Arc::clone(&self.0.shared.lasting))
    }

    /// Whether this process made the engine.
    pub(crate) fn is_own(&self) -> bool {
        !self.0.shared.is_inherited()
    }

    /// Whether both are one engine.
    pub(crate) fn is_same(&self, other: &Engine) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Closes what is kept open for later batches, where `next` has other handles: that one is used from now on.
    pub(crate) fn give_way_to(&self, next: &Engine) {
        let (own, next) = (&self.0.shared.handles, &next.0.shared.handles);
        if !Arc::ptr_eq(own, next) {
            own.clear();
        }
    }

    fn with_lasting(config: EngineConfig, lasting: Arc<Lasting>) -> Engine {
        let config = EngineConfig { limits: config.limits.workable(), ..config };
        let shared = Shared {
            handles: lasting.handles.keeping(config.limits.open_handles_max),
            config,
            shutdown: AtomicBool::new(false),
            oversize: OversizeRight::default(),
            epoch: AtomicU64::new(0),
            cancel_epoch: AtomicU64::new(0),
            idle_lanes: AtomicUsize::new(0),
            deadlines: Deadlines::new(),
            batches: Mutex::default(),
            lanes: OnceLock::new(),
            starting: Mutex::default(),
            generation: crate::fork::generation(),
            lasting,
            inline_lanes: Mutex::default(),
            drivers: Mutex::default(),
        };
        Engine(Arc::new(Handle { shared: Arc::new(shared) }))
    }

    /// The engine's set-up, with bounds that nothing could work under raised to the least that does.
    pub fn config(&self) -> &EngineConfig {
        &self.0.shared.config
    }

    /// Runs a batch and waits for its end. Batches that are small by their own estimate run on this thread as far as
    /// that needs no waiting for a device.
    ///
    /// # Errors
    ///
    /// What ended the batch as a whole: [`Cancelled`](ErrorKind::Cancelled),
    /// [`DeadlineExceeded`](ErrorKind::DeadlineExceeded), [`Panicked`](ErrorKind::Panicked). Errors of single reads go
    /// to [`Batch::deliver`]. [`Unsupported`](ErrorKind::Unsupported) in a forked child of the process that made the
    /// engine, and on one of the engine's own lanes (a sink that waits for its lane would wait for ever).
    ///
    /// # Panics
    ///
    /// Passes on a panic of [`RunOptions::interrupt`], after the batch has ended.
    #[expect(unsafe_code, reason = "lends the batch to the lanes")]
    pub fn run(&self, batch: &dyn Batch, options: &RunOptions<'_>) -> Result<(), Error> {
        self.0.shared.check_process()?;
        self.0.shared.check_thread()?;
        let limits = &self.config().limits;
        let inline_bytes_max = options.inline_bytes_max.unwrap_or(limits.inline_bytes_max);
        let estimate = batch.estimate();
        let small = estimate.reads <= limits.inline_reads_max && estimate.bytes <= inline_bytes_max;
        let windows = batch.window_count();
        // Lanes use the batch until its state has finished; a panic on the way there must not return to its owner.
        let abort = AbortOnPanic;
        // SAFETY: this function returns only after the state has finished: see `wait`, which has no other way out, and
        // `abort`.
        let lent = unsafe { BatchRef::borrowed(batch) };
        let state = BatchState::new(lent, windows, self.clone(), options.control.clone(), options.priority);
        if options.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            state.end_early(crate::deadlines::passed());
        }
        if was_interrupted() {
            state.end_early(Error::new(ErrorKind::Cancelled, "the batch was interrupted"));
        }
        if small {
            self.run_inline(&state, inline_bytes_max);
        } else {
            self.give_to_lanes(&state, state.window_count());
        }
        let panic = self.wait(&state, options);
        std::mem::forget(abort);
        match panic {
            Some(panic) => resume_unwind(panic),
            None => state.result(),
        }
    }

    /// Starts a batch on the lanes. Dropping the future cancels it; nothing that the kernel may still write to is
    /// freed before the batch has ended, because the lanes share its ownership. Of the options, `interrupt` is not used.
    pub fn spawn(&self, batch: Arc<dyn Batch>, options: &RunOptions<'_>) -> Running {
        let windows = batch.window_count();
        let control = options.control.clone();
        let state = BatchState::new(BatchRef::owned(batch), windows, self.clone(), control, options.priority);
        match self.0.shared.check_process() {
            Ok(()) => {
                if let Some(deadline) = options.deadline {
                    self.0.shared.deadlines.add(deadline, &state);
                }
                self.give_to_lanes(&state, windows);
            }
            Err(error) => state.end_early(error),
        }
        Running { state }
    }

    /// What was counted since the engine was made, or the first of those whose place it took; nothing in a forked child.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        if self.0.shared.is_inherited() {
            return stats;
        }
        for counters in lock(&self.0.shared.lasting.counters).iter() {
            counters.add_to(&mut stats);
        }
        stats.lane_batches = self.0.shared.lasting.lane_batches.load(Ordering::Relaxed);
        stats.drivers = lock(&self.0.shared.drivers).describe();
        stats
    }

    /// The engine's one value of type `T`, made on first use: caches that front-ends tie to the engine's life.
    pub fn extension<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        if self.0.shared.is_inherited() {
            return Arc::default();
        }
        let mut extensions = lock(&self.0.shared.lasting.extensions);
        if let Some(found) = extensions.iter().find_map(|one| Arc::clone(one).downcast::<T>().ok()) {
            return found;
        }
        let made = Arc::new(T::default());
        extensions.push(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        made
    }

    fn run_inline(&self, state: &Arc<BatchState>, bytes_max: u64) {
        let shared = &self.0.shared;
        let pooled = lock(&shared.inline_lanes).pop();
        let Ok(mut lane) = pooled.map_or_else(|| Lane::inline(Arc::clone(shared)), Ok) else {
            return self.give_to_lanes(state, state.window_count());
        };
        lane.run_inline(state, bytes_max);
        lock(&shared.inline_lanes).push(lane);
    }

    fn give_to_lanes(&self, state: &Arc<BatchState>, windows: u64) {
        self.0.shared.lasting.lane_batches.fetch_add(1, Ordering::Relaxed);
        self.publish(state, windows);
    }

    /// Returns once the state has finished, with what the interrupt panicked with, if it did.
    fn wait(&self, state: &Arc<BatchState>, options: &RunOptions<'_>) -> Option<Box<dyn Any + Send>> {
        let mut panicked = None;
        loop {
            let ended = state.is_ended_early();
            let deadline = options.deadline.filter(|_| !ended);
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if state.wait_for(left.unwrap_or(WAIT_SLICE).min(WAIT_SLICE)) {
                return panicked;
            }
            if ended {
                continue;
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                state.end_early(crate::deadlines::passed());
            }
            let interrupt = || options.interrupt.is_some_and(|interrupt| interrupt()) || is_interrupted();
            let is_over = catch_unwind(AssertUnwindSafe(interrupt)).unwrap_or_else(|panic| {
                panicked = Some(panic);
                true
            });
            if is_over {
                state.end_early(Error::new(ErrorKind::Cancelled, "the batch was interrupted"));
            }
        }
    }

    /// Shows the batch to the lanes and wakes as many of those that sleep as it has pieces of work.
    pub(crate) fn publish(&self, state: &Arc<BatchState>, pieces: u64) {
        let shared = &self.0.shared;
        let lanes = match shared.lanes() {
            Ok(lanes) => lanes,
            Err(error) => return state.end_early(error),
        };
        // Dropped after the lock: the last reference to a batch frees what its user put there, and may stop the engine.
        let mut seen = Vec::new();
        {
            let mut batches = lock(&shared.batches);
            batches.retain(|batch| {
                let Some(batch) = batch.upgrade() else { return false };
                let has_work = batch.has_work();
                seen.push(batch);
                has_work
            });
            if !batches.iter().any(|batch| Weak::as_ptr(batch) == Arc::as_ptr(state)) {
                batches.push(Arc::downgrade(state));
            }
            shared.epoch.fetch_add(1, Ordering::SeqCst);
        }
        // Lanes that run look at the list by themselves. Those with nothing at all to do come first.
        let mut wanted = usize::try_from(pieces).unwrap_or(usize::MAX).max(1);
        for pause in [Pause::Idle, Pause::Waiting] {
            for lane in lanes {
                if wanted == 0 {
                    return;
                }
                wanted -= usize::from(lane.wake.rouse_from(pause));
            }
        }
    }

    /// Tells lanes and sources that nobody waits for this batch's reads any more.
    pub(crate) fn cancel_in_flight(&self) {
        let shared = &self.0.shared;
        if shared.is_inherited() {
            return;
        }
        shared.cancel_epoch.fetch_add(1, Ordering::SeqCst);
        shared.wake_lanes();
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Engine").field("config", self.config()).finish_non_exhaustive()
    }
}

impl Shared {
    /// Has every lane look for work again.
    pub(crate) fn wake_lanes(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
        for lane in self.lanes.get().into_iter().flatten() {
            lane.wake.wake();
        }
    }

    /// The batches that have work, highest priority first.
    pub(crate) fn candidates(&self, into: &mut Vec<Candidate>) {
        let listed = lock(&self.batches).clone();
        into.clear();
        into.extend(listed.into_iter().filter_map(Candidate::with_work));
        into.sort_by_key(|candidate| std::cmp::Reverse(candidate.priority));
    }

    pub(crate) fn register_counters(&self) -> Arc<Counters> {
        let counters = Arc::new(Counters::default());
        lock(&self.lasting.counters).push(Arc::clone(&counters));
        counters
    }

    /// Notes a driver in use, once.
    pub(crate) fn note_driver(
        &self,
        name: &'static str,
        depth: Option<usize>,
        medium: &Arc<dyn LocalMedium>,
    ) {
        lock(&self.drivers).note(name, depth, medium);
    }

    /// Bytes that one lane may have in flight: its share of the budget, a share for the inline path included.
    pub(crate) fn lane_bytes_max(&self) -> usize {
        let limits = &self.config.limits;
        (limits.in_flight_bytes_max / (limits.lanes + 1)).max(1)
    }

    /// True in a forked child of the process that made the engine: its lanes stayed behind, and its locks may be held by
    /// threads that are not here.
    pub(crate) fn is_inherited(&self) -> bool {
        self.generation != crate::fork::generation()
    }

    fn check_process(&self) -> Result<(), Error> {
        if self.is_inherited() {
            let message = "this engine was made before a fork; make another in the child";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(())
    }

    fn check_thread(&self) -> Result<(), Error> {
        if crate::lane::is_on_lane_of(self) {
            let message =
                "a lane cannot wait for a batch of its own engine: ask for a follow-up, or spawn the batch";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(())
    }

    fn lanes(self: &Arc<Self>) -> Result<&[LaneThread], Error> {
        self.check_process()?;
        if let Some(lanes) = self.lanes.get() {
            return Ok(lanes);
        }
        let _starting = lock(&self.starting);
        if let Some(lanes) = self.lanes.get() {
            return Ok(lanes);
        }
        let mut started = Vec::new();
        let mut failed = None;
        for index in 0..self.config.limits.lanes {
            match LaneThread::start(Arc::clone(self), index) {
                Ok(lane) => started.push(lane),
                Err(error) => failed = Some(error),
            }
        }
        match (started.is_empty(), failed) {
            (true, Some(error)) => Err(error),
            _ => Ok(self.lanes.get_or_init(|| started)),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.shared.is_inherited() {
            // The lanes stayed behind in the parent. What they may hold or have locked is left alone.
            std::mem::forget(Arc::clone(&self.shared));
            return;
        }
        self.shared.shutdown.store(true, Ordering::SeqCst);
        for lane in self.shared.lanes.get().into_iter().flatten() {
            lane.stop();
        }
        // They hold what is shared, which holds them.
        let inline_lanes = std::mem::take(&mut *lock(&self.shared.inline_lanes));
        drop(inline_lanes);
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A batch that runs on the lanes. Resolves when its last read has completed; dropping it cancels the batch.
#[must_use = "a dropped future cancels its batch"]
pub struct Running {
    state: Arc<BatchState>,
}

impl Running {
    /// Blocks until the batch has ended.
    ///
    /// # Errors
    ///
    /// As [`Engine::run`].
    pub fn wait(self) -> Result<(), Error> {
        let engine = self.state.engine();
        engine.0.shared.check_process()?;
        engine.0.shared.check_thread()?;
        engine.wait(&self.state, &RunOptions::default());
        self.state.result()
    }
}

impl Future for Running {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Err(error) = self.state.engine().0.shared.check_process() {
            return Poll::Ready(Err(error));
        }
        if self.state.poll_finished(context.waker()) {
            Poll::Ready(self.state.result())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.state.engine().0.shared.is_inherited() && !self.state.is_finished() {
            self.state.end_early(Error::new(ErrorKind::Cancelled, "the future of the batch was dropped"));
        }
    }
}
