//! An executor for tests: polls on this thread, sleeps in between.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The waker of this thread.
pub(crate) fn waker() -> Waker {
    Waker::from(Arc::new(Unpark(std::thread::current())))
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = waker();
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        std::thread::park();
    }
}
