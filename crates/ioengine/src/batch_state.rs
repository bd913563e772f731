//! A batch under way: what is claimed, what is outstanding, how it ended, who waits.

use crate::batch_ref::BatchRef;
use crate::control::Control;
use crate::lane::OpenWindow;
use crate::remote::CancelFlag;
use crate::window::Cursor;
use crate::{Batch, Engine, Error, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
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
    ready: Mutex<Vec<Work>>,
    ready_len: AtomicUsize,
    ended_early: AtomicBool,
    end: Mutex<End>,
    finished: Condvar,
}

#[derive(Default)]
struct End {
    finished: bool,
    error: Option<Error>,
    waker: Option<Waker>,
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
            ready: Mutex::default(),
            ready_len: AtomicUsize::new(0),
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

    /// True while a lane could take work from this batch.
    pub(crate) fn has_work(&self) -> bool {
        self.next_window.load(Ordering::Relaxed) < self.window_count
            || self.ready_len.load(Ordering::Acquire) != 0
    }

    /// Takes the next piece of work, if there is any. What is taken must be released, or handed on.
    pub(crate) fn take_work(&self) -> Option<Work> {
        if self.ready_len.load(Ordering::Acquire) != 0 {
            let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(work) = ready.pop() {
                self.ready_len.store(ready.len(), Ordering::Release);
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
        {
            let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
            if !self.is_ended_early() {
                ready.push(work);
                self.ready_len.store(ready.len(), Ordering::Release);
                drop(ready);
                return self.engine.publish(self);
            }
        }
        drop(work);
        self.release(1);
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

    fn finish(&self) {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        end.finished = true;
        let waker = end.waker.take();
        // The lock is held while waiters are told, so that one who returns cannot free what is still used here.
        self.finished.notify_all();
        drop(end);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends the batch early: windows not yet claimed are dropped, reads in flight are asked to end, nothing more is
    /// delivered. The first error stays.
    pub(crate) fn end_early(self: &Arc<Self>, error: Error) {
        {
            let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
            if end.finished || end.error.is_some() {
                return;
            }
            end.error = Some(error);
        }
        self.cancel.raise();
        self.ended_early.store(true, Ordering::Release);
        let dropped = {
            let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
            self.ready_len.store(0, Ordering::Release);
            std::mem::take(&mut *ready)
        };
        let dropped_count = crate::storage_len(dropped.len());
        drop(dropped);
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
        self.end.lock().unwrap_or_else(PoisonError::into_inner).finished
    }

    /// Sleeps until the batch has finished or `timeout` passed. True when it has finished.
    pub(crate) fn wait_for(&self, timeout: Duration) -> bool {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let (end, _) = self
            .finished
            .wait_timeout_while(end, timeout, |end| !end.finished)
            .unwrap_or_else(PoisonError::into_inner);
        end.finished
    }

    /// How a finished batch ended.
    pub(crate) fn result(&self) -> Result<(), Error> {
        match &self.end.lock().unwrap_or_else(PoisonError::into_inner).error {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// Polls for the end, as a future does.
    pub(crate) fn poll_finished(&self, waker: &Waker) -> bool {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        if !end.finished {
            end.waker = Some(waker.clone());
        }
        end.finished
    }

    /// Ends the batch because one of its methods panicked.
    pub(crate) fn poison(self: &Arc<Self>, during: &str, panic: &(dyn std::any::Any + Send)) {
        let message = panic
            .downcast_ref::<&str>()
            .map(|message| (*message).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        self.end_early(Error::new(
            ErrorKind::Panicked,
            format!("the batch panicked during {during}: {message}"),
        ));
    }
}
