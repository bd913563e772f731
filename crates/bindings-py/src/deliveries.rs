//! The thread that goes on with reads that Python awaits, once their batches have ended.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use swath::ioengine::{Error, ErrorKind, PerProcess};

/// What is left to do of a read.
pub(crate) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Begins work on the calling thread; what has to wait goes on on the process's one thread for that.
///
/// # Errors
///
/// Where that thread cannot be started.
pub(crate) fn begin(work: Work) -> Result<(), Error> {
    static DELIVERIES: PerProcess<Arc<Deliveries>> = PerProcess::new();
    let deliveries = Arc::clone(DELIVERIES.get(Deliveries::start)?);
    Arc::new(Task { work: Mutex::new(Some(work)), deliveries }).go_on();
    Ok(())
}

/// Work that can go on.
#[derive(Default)]
struct Deliveries {
    ready: Mutex<VecDeque<Arc<Task>>>,
    filled: Condvar,
}

impl Deliveries {
    fn start() -> Result<Arc<Deliveries>, Error> {
        let deliveries = Arc::<Deliveries>::default();
        let of_thread = Arc::clone(&deliveries);
        let started = std::thread::Builder::new().name("swath-await".into()).spawn(move || {
            loop {
                of_thread.next().go_on();
            }
        });
        started.map_err(|error| {
            Error::new(ErrorKind::Io, format!("the thread of awaited reads was not started: {error}"))
        })?;
        Ok(deliveries)
    }

    fn next(&self) -> Arc<Task> {
        let mut ready = lock(&self.ready);
        loop {
            match ready.pop_front() {
                Some(task) => return task,
                None => ready = self.filled.wait(ready).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

struct Task {
    /// `None` once it is done.
    work: Mutex<Option<Work>>,
    deliveries: Arc<Deliveries>,
}

impl Task {
    /// Does what can be done now. Work that panics is dropped, and others go on.
    fn go_on(self: &Arc<Self>) {
        let waker = Waker::from(Arc::clone(self));
        let mut slot = lock(&self.work);
        let Some(work) = slot.as_mut() else { return };
        let mut context = Context::from_waker(&waker);
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(&mut context)));
        if !matches!(polled, Ok(Poll::Pending)) {
            *slot = None;
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let deliveries = Arc::clone(&self.deliveries);
        lock(&deliveries.ready).push_back(self);
        deliveries.filled.notify_one();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
