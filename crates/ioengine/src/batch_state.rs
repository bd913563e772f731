//! A batch under way: what is claimed, what is outstanding, how it ended, who waits.

use crate::batch_ref::BatchRef;
use crate::control::Control;
use crate::engine::lock;
use crate::error::panic_message;
use crate::lane::OpenWindow;
use crate::parking::{Parked, Parking};
use crate::remote::CancelFlag;
use crate::window::Cursor;
use crate::{Batch, Engine, Error, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// Work that waits for a lane to take it.
pub(crate) enum Work {
    /// Plan this cursor. It was planned `replans` times before and found stale.
    Plan {
        /// The cursor.
        cursor: Cursor,
        /// Times that it was planned before.
        replans: u32,
    },
    /// Go on with a window that another lane planned and could not read without waiting.
    Adopt(Box<OpenWindow>),
}

/// The shared state of one batch. Lanes hold it by reference count; the batch itself they may only touch while they
/// hold one of its windows unreleased.
pub(crate) struct BatchState {
    batch: BatchRef,
    engine: Engine,
    pub(crate) control: Control,
    pub(crate) priority: i32,
    pub(crate) cancel: CancelFlag,
    window_count: u64,
    next_window: AtomicU64,
    /// Windows not yet released, unclaimed ones included, and follow-ups not yet planned.
    outstanding: AtomicU64,
    shelf: Mutex<Shelf>,
    ready_len: AtomicUsize,
    reach: AtomicU8,
    ended_early: AtomicBool,
    end: Mutex<End>,
    finished: Condvar,
}

/// What of a batch no lane holds.
#[derive(Default)]
struct Shelf {
    /// Work for whichever lane comes first.
    ready: Vec<Work>,
    /// Cursors that wait for their [`Resume`](crate::Resume).
    parked: u64,
}

/// What kind of medium a batch last read, by which lanes guess whether they have room for its next window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It has not read anything yet.
    Unknown = 0,
    /// A local one.
    Local = 1,
    /// A remote one.
    Remote = 2,
}

#[derive(Default)]
struct End {
    finished: bool,
    error: Option<Error>,
    waker: Option<Waker>,
    /// Threads that sleep until the end: telling nobody would cost a system call.
    waiting: usize,
}

impl BatchState {
    pub(crate) fn new(
        batch: BatchRef,
        window_count: u64,
        engine: Engine,
        control: Control,
        priority: i32,
    ) -> Arc<BatchState> {
        let state = Arc::new(BatchState {
            batch,
            engine,
            control,
            priority,
            cancel: CancelFlag::default(),
            window_count,
            next_window: AtomicU64::new(0),
            outstanding: AtomicU64::new(window_count),
            shelf: Mutex::default(),
            ready_len: AtomicUsize::new(0),
            reach: AtomicU8::new(Reach::Unknown as u8),
            ended_early: AtomicBool::new(false),
            end: Mutex::default(),
            finished: Condvar::new(),
        });
        if window_count == 0 {
            state.finish();
        }
        state.control.attach(&state);
        state
    }

    /// The batch. Only for who holds one of its windows unreleased, or lent it.
    pub(crate) fn batch(&self) -> &dyn Batch {
        self.batch.get()
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Windows of the batch, claimed or not.
    pub(crate) fn window_count(&self) -> u64 {
        self.window_count
    }

    /// Windows that are not done, and what they led to, as far as that is not more than all windows.
    pub(crate) fn windows_left(&self) -> u64 {
        self.outstanding.load(Ordering::Relaxed).min(self.window_count)
    }

    /// True while a lane could take work from this batch.
    pub(crate) fn has_work(&self) -> bool {
        self.next_window.load(Ordering::Relaxed) < self.window_count
            || self.ready_len.load(Ordering::Acquire) != 0
    }

    /// Takes the next piece of work, if there is any. What is taken must be released, or handed on.
    pub(crate) fn take_work(&self) -> Option<Work> {
        if self.ready_len.load(Ordering::Acquire) != 0 {
            let mut shelf = lock(&self.shelf);
            if let Some(work) = shelf.ready.pop() {
                self.ready_len.store(shelf.ready.len(), Ordering::Release);
                return Some(work);
            }
        }
        if self.window_count <= self.next_window.load(Ordering::Relaxed) {
            return None;
        }
        let window = self.next_window.fetch_add(1, Ordering::Relaxed);
        (window < self.window_count).then_some(Work::Plan { cursor: Cursor { window, step: 0 }, replans: 0 })
    }

    /// Hands work to whichever lane comes first.
    pub(crate) fn make_ready(self: &Arc<Self>, work: Work) {
        let shelf = lock(&self.shelf);
        if self.is_ended_early() {
            drop(shelf);
            drop(work);
            return self.release(1);
        }
        self.shelve(shelf, work);
    }

    fn shelve(self: &Arc<Self>, mut shelf: MutexGuard<'_, Shelf>, work: Work) {
        shelf.ready.push(work);
        self.ready_len.store(shelf.ready.len(), Ordering::Release);
        drop(shelf);
        self.engine.publish(self, 1);
    }

    /// Lays a cursor aside whose plan answered that it waits. The batch then does not end before it was resumed, unless
    /// it ends early.
    pub(crate) fn park(&self, parking: &Parking) -> Parked {
        let mut shelf = lock(&self.shelf);
        if !self.is_ended_early() {
            let parked = parking.park();
            shelf.parked += u64::from(parked == Parked::Waiting);
            return parked;
        }
        drop(shelf);
        self.release(1);
        Parked::Waiting
    }

    /// Has a parked cursor planned again.
    pub(crate) fn unpark(self: &Arc<Self>, cursor: Cursor) {
        let mut shelf = lock(&self.shelf);
        // A batch that ended early has let go of what it had parked.
        if !self.is_ended_early() {
            shelf.parked -= 1;
            self.shelve(shelf, Work::Plan { cursor, replans: 0 });
        }
    }

    /// What kind of medium the batch last read.
    pub(crate) fn reach(&self) -> Reach {
        match self.reach.load(Ordering::Relaxed) {
            1 => Reach::Local,
            2 => Reach::Remote,
            _ => Reach::Unknown,
        }
    }

    pub(crate) fn set_reach(&self, reach: Reach) {
        self.reach.store(reach as u8, Ordering::Relaxed);
    }

    /// Counts follow-ups in, before the window that they came from is released.
    pub(crate) fn retain(&self, count: usize) {
        self.outstanding.fetch_add(crate::storage_len(count), Ordering::Relaxed);
    }

    /// Counts finished windows out. The last one ends the batch; the caller must not touch the batch afterwards.
    pub(crate) fn release(&self, count: u64) {
        if count != 0 && self.outstanding.fetch_sub(count, Ordering::AcqRel) == count {
            self.finish();
        }
    }

    #[expect(unsafe_code, reason = "gives an owned batch up")]
    fn finish(&self) {
        // SAFETY: called once, by who released the last window (or there was none); nobody uses the batch after that.
        unsafe { self.batch.let_go() };
        let mut end = lock(&self.end);
        end.finished = true;
        let waker = end.waker.take();
        // The lock is held while waiters are told, so that one who returns cannot free what is still used here.
        if end.waiting != 0 {
            self.finished.notify_all();
        }
        drop(end);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends the batch early: windows not yet claimed are dropped, reads in flight are asked to end, nothing more is
    /// delivered. The first error stays.
    pub(crate) fn end_early(self: &Arc<Self>, error: Error) {
        {
            let mut end = lock(&self.end);
            if end.finished || end.error.is_some() {
                return;
            }
            end.error = Some(error);
        }
        self.cancel.raise();
        self.ended_early.store(true, Ordering::Release);
        let Shelf { ready, parked } = {
            let mut shelf = lock(&self.shelf);
            self.ready_len.store(0, Ordering::Release);
            std::mem::take(&mut *shelf)
        };
        let dropped_count = crate::storage_len(ready.len()) + parked;
        drop(ready);
        let claimed = self.next_window.swap(self.window_count, Ordering::Relaxed).min(self.window_count);
        let unclaimed = self.window_count - claimed;
        self.engine.cancel_in_flight();
        self.release(unclaimed + dropped_count);
    }

    /// True once nothing more shall be delivered.
    pub(crate) fn is_ended_early(&self) -> bool {
        self.ended_early.load(Ordering::Acquire)
    }

    /// True once every window was released.
    pub(crate) fn is_finished(&self) -> bool {
        lock(&self.end).finished
    }

    /// Sleeps until the batch has finished or `timeout` passed. True when it has finished.
    pub(crate) fn wait_for(&self, timeout: Duration) -> bool {
        let mut end = lock(&self.end);
        if end.finished {
            return true;
        }
        end.waiting += 1;
        let (mut end, _) = self
            .finished
            .wait_timeout_while(end, timeout, |end| !end.finished)
            .unwrap_or_else(PoisonError::into_inner);
        end.waiting -= 1;
        end.finished
    }

    /// How a finished batch ended.
    pub(crate) fn result(&self) -> Result<(), Error> {
        match &lock(&self.end).error {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Polls for the end, as a future does.
    pub(crate) fn poll_finished(&self, waker: &Waker) -> bool {
        let mut end = lock(&self.end);
        if !end.finished {
            end.waker = Some(waker.clone());
        }
        end.finished
    }

    /// Ends the batch because one of its methods panicked.
    pub(crate) fn poison(self: &Arc<Self>, during: &str, panic: &(dyn std::any::Any + Send)) {
        let message = panic_message(panic);
        self.end_early(Error::new(
            ErrorKind::Panicked,
            format!("the batch panicked during {during}: {message}"),
        ));
    }
}
