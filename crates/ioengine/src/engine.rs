//! The engine: lanes, what they share, and the ways in.

use crate::batch_ref::BatchRef;
use crate::batch_state::BatchState;
use crate::counters::{Counters, Stats};
use crate::handle_cache::HandleCache;
use crate::lane::{Lane, LaneThread};
use crate::{Batch, Control, Error, ErrorKind, Freshness, Limits};
use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

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
    pub(crate) handles: HandleCache,
    pub(crate) shutdown: AtomicBool,
    /// Held while an item larger than a lane's share of the byte budget is in flight.
    pub(crate) oversize: AtomicBool,
    /// Raised when the list of batches grows; lanes look at the list when it moved.
    pub(crate) epoch: AtomicU64,
    /// Raised when a batch with reads in flight is cancelled.
    pub(crate) cancel_epoch: AtomicU64,
    batches: Mutex<Vec<Weak<BatchState>>>,
    lanes: OnceLock<Vec<LaneThread>>,
    starting: Mutex<()>,
    generation: u64,
    counters: Mutex<Vec<Arc<Counters>>>,
    inline_lanes: Mutex<Vec<Box<Lane>>>,
    drivers: Mutex<Vec<String>>,
    extensions: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
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
    /// Called about every 50 ms on the waiting thread; returning true cancels the batch.
    pub interrupt: Option<&'a dyn Fn() -> bool>,
}

/// How often a waiting thread looks at its interrupt and its deadline.
const WAIT_SLICE: Duration = Duration::from_millis(50);

impl Engine {
    /// An engine of its own. No thread is started before there is work for it.
    pub fn new(config: EngineConfig) -> Engine {
        let shared = Shared {
            handles: HandleCache::new(config.limits.open_handles_max),
            config,
            shutdown: AtomicBool::new(false),
            oversize: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            cancel_epoch: AtomicU64::new(0),
            batches: Mutex::default(),
            lanes: OnceLock::new(),
            starting: Mutex::default(),
            generation: crate::fork::generation(),
            counters: Mutex::default(),
            inline_lanes: Mutex::default(),
            drivers: Mutex::default(),
            extensions: Mutex::default(),
        };
        Engine(Arc::new(Handle { shared: Arc::new(shared) }))
    }

    /// The engine's set-up.
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
    /// to [`Batch::deliver`].
    #[expect(unsafe_code, reason = "lends the batch to the lanes")]
    pub fn run(&self, batch: &dyn Batch, options: &RunOptions<'_>) -> Result<(), Error> {
        let small = self.is_small(batch);
        // SAFETY: this function returns only after the state has finished: see `wait`, which has no other way out and
        // does not panic; a panic of an inline lane ends the process (see `run_inline`).
        let lent = unsafe { BatchRef::borrowed(batch) };
        let control = options.control.clone();
        let state = BatchState::new(lent, batch.window_count(), self.clone(), control, options.priority);
        if small {
            self.run_inline(&state);
        } else {
            self.publish(&state);
        }
        self.wait(&state, options);
        state.result()
    }

    /// Starts a batch on the lanes. Dropping the future cancels it; nothing that the kernel may still write to is
    /// freed before the batch has ended, because the lanes share its ownership.
    pub fn spawn(&self, batch: Arc<dyn Batch>, options: &RunOptions<'_>) -> Running {
        let windows = batch.window_count();
        let control = options.control.clone();
        let state = BatchState::new(BatchRef::Owned(batch), windows, self.clone(), control, options.priority);
        self.publish(&state);
        Running { state, deadline: options.deadline }
    }

    /// What was counted since the engine was made.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        for counters in lock(&self.0.shared.counters).iter() {
            counters.add_to(&mut stats);
        }
        stats.drivers = lock(&self.0.shared.drivers).clone();
        stats
    }

    /// The engine's one value of type `T`, made on first use: caches that front-ends tie to the engine's life.
    pub fn extension<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let mut extensions = lock(&self.0.shared.extensions);
        if let Some(found) = extensions.iter().find_map(|one| Arc::clone(one).downcast::<T>().ok()) {
            return found;
        }
        let made = Arc::new(T::default());
        extensions.push(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        made
    }

    fn is_small(&self, batch: &dyn Batch) -> bool {
        let limits = &self.config().limits;
        let estimate = batch.estimate();
        estimate.reads <= limits.inline_reads_max && estimate.bytes <= limits.inline_bytes_max
    }

    fn run_inline(&self, state: &Arc<BatchState>) {
        let shared = &self.0.shared;
        let pooled = lock(&shared.inline_lanes).pop();
        let Ok(mut lane) = pooled.map_or_else(|| Lane::inline(Arc::clone(shared)), Ok) else {
            return self.publish(state);
        };
        lane.run_inline(state);
        lock(&shared.inline_lanes).push(lane);
    }

    fn wait(&self, state: &Arc<BatchState>, options: &RunOptions<'_>) {
        loop {
            let now = Instant::now();
            let left =
                options.deadline.map_or(WAIT_SLICE, |deadline| deadline.saturating_duration_since(now));
            if state.wait_for(left.min(WAIT_SLICE)) {
                return;
            }
            if options.deadline.is_some_and(|deadline| deadline <= Instant::now()) && !state.is_ended_early()
            {
                state.end_early(Error::new(ErrorKind::DeadlineExceeded, "the batch's deadline passed"));
            }
            if options.interrupt.is_some_and(|interrupt| interrupt()) {
                state.end_early(Error::new(ErrorKind::Cancelled, "the batch was interrupted"));
            }
        }
    }

    /// Shows the batch to the lanes and wakes as many of them as it has windows.
    pub(crate) fn publish(&self, state: &Arc<BatchState>) {
        let shared = &self.0.shared;
        let lanes = match shared.lanes() {
            Ok(lanes) => lanes,
            Err(error) => return state.end_early(error),
        };
        {
            let mut batches = lock(&shared.batches);
            batches.retain(|batch| batch.upgrade().is_some_and(|batch| batch.has_work()));
            if !batches.iter().any(|batch| Weak::as_ptr(batch) == Arc::as_ptr(state)) {
                batches.push(Arc::downgrade(state));
            }
            shared.epoch.fetch_add(1, Ordering::SeqCst);
        }
        let wanted = usize::try_from(state.window_count()).unwrap_or(usize::MAX).clamp(1, lanes.len());
        for lane in &lanes[..wanted] {
            lane.wake.wake();
        }
    }

    /// Tells lanes and sources that nobody waits for this batch's reads any more.
    pub(crate) fn cancel_in_flight(&self) {
        let shared = &self.0.shared;
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
    pub(crate) fn batches(&self, into: &mut Vec<Arc<BatchState>>) {
        into.clear();
        into.extend(lock(&self.batches).iter().filter_map(Weak::upgrade).filter(|batch| batch.has_work()));
        into.sort_by_key(|batch| std::cmp::Reverse(batch.priority));
    }

    pub(crate) fn register_counters(&self) -> Arc<Counters> {
        let counters = Arc::new(Counters::default());
        lock(&self.counters).push(Arc::clone(&counters));
        counters
    }

    /// Notes a driver in use, once.
    pub(crate) fn note_driver(&self, description: String) {
        let mut drivers = lock(&self.drivers);
        if !drivers.contains(&description) {
            drivers.push(description);
        }
    }

    /// Bytes that one lane may have in flight: its share of the budget, a share for the inline path included.
    pub(crate) fn lane_bytes_max(&self) -> usize {
        let limits = &self.config.limits;
        (limits.in_flight_bytes_max / (limits.lanes + 1)).max(1)
    }

    fn lanes(self: &Arc<Self>) -> Result<&[LaneThread], Error> {
        if self.generation != crate::fork::generation() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "this engine was made before a fork; make another in the child",
            ));
        }
        if let Some(lanes) = self.lanes.get() {
            return Ok(lanes);
        }
        let _starting = lock(&self.starting);
        if let Some(lanes) = self.lanes.get() {
            return Ok(lanes);
        }
        let mut started = Vec::new();
        let mut failed = None;
        for index in 0..self.config.limits.lanes.max(1) {
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
        if self.shared.generation != crate::fork::generation() {
            return; // The lanes stayed behind in the parent.
        }
        self.shared.shutdown.store(true, Ordering::SeqCst);
        for lane in self.shared.lanes.get().into_iter().flatten() {
            lane.stop();
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A batch that runs on the lanes. Resolves when its last read has completed; dropping it cancels the batch.
#[must_use = "a dropped future cancels its batch"]
pub struct Running {
    state: Arc<BatchState>,
    deadline: Option<Instant>,
}

impl Running {
    /// Blocks until the batch has ended.
    ///
    /// # Errors
    ///
    /// As [`Engine::run`].
    pub fn wait(self) -> Result<(), Error> {
        let options = RunOptions { deadline: self.deadline, ..RunOptions::default() };
        let engine = self.state.engine().clone();
        engine.wait(&self.state, &options);
        self.state.result()
    }
}

impl Future for Running {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.state.poll_finished(context.waker()) {
            Poll::Ready(self.state.result())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.state.is_finished() {
            self.state.end_early(Error::new(ErrorKind::Cancelled, "the future of the batch was dropped"));
        }
    }
}
