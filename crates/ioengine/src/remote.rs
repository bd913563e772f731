//! What a lane asks of a [`RemoteSource`](crate::RemoteSource), and the way back into the lane.

use crate::wake::Wake;
use crate::{ByteRange, Error, ErrorKind, Identity};
use bytes::Bytes;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// One ranged read of a remote object.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    /// The object's key.
    pub key: Arc<str>,
    /// Which bytes. Sources without suffix ranges resolve them themselves.
    pub range: ByteRange,
    /// Read only this version: another one is an error of kind [`Changed`](ErrorKind::Changed).
    pub if_match: Option<Identity>,
    /// Raised when nobody waits for the bytes any more. The source may stop, and must still complete the reply.
    pub cancelled: CancelFlag,
}

/// Raised once, seen by everyone who holds a clone.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Raises the flag.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// True once the flag was raised.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What a fetch brought.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Exactly the bytes of the range.
    pub bytes: Bytes,
    /// The version that they belong to, where the source knows it.
    pub identity: Option<Identity>,
}

/// The way back to who asked: a lane, mostly. Completing it wakes the lane; dropping it unused is an error of that read,
/// never a hang.
pub struct Reply(Option<Way>);

enum Way {
    Lane { slot: u32, inbox: Arc<Inbox> },
    Call(Box<dyn FnOnce(Result<Fetched, Error>) + Send>),
}

impl Reply {
    pub(crate) fn new(slot: u32, inbox: Arc<Inbox>) -> Reply {
        Reply(Some(Way::Lane { slot, inbox }))
    }

    /// A reply that hands its one result to `then`, on the thread that completes it: for sources in front of others.
    /// `then` must not wait for anything.
    pub fn calling(then: impl FnOnce(Result<Fetched, Error>) + Send + 'static) -> Reply {
        Reply(Some(Way::Call(Box::new(then))))
    }

    /// Reports the fetch's one result.
    pub fn complete(mut self, result: Result<Fetched, Error>) {
        self.send(result);
    }

    fn send(&mut self, result: Result<Fetched, Error>) {
        match self.0.take() {
            Some(Way::Lane { slot, inbox }) => inbox.push(RemoteCompletion { slot, result }),
            Some(Way::Call(then)) => then(result),
            None => {}
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if self.0.is_some() {
            self.send(Err(Error::new(
                ErrorKind::Internal,
                "the remote source dropped a request without an answer",
            )));
        }
    }
}

pub(crate) struct RemoteCompletion {
    pub(crate) slot: u32,
    pub(crate) result: Result<Fetched, Error>,
}

/// A lane's inbox. It holds at most one entry for each fetch in flight, so the remote depth bounds it.
pub(crate) struct Inbox {
    arrived: Mutex<Vec<RemoteCompletion>>,
    wake: Arc<Wake>,
}

impl Inbox {
    pub(crate) fn new(wake: Arc<Wake>) -> Arc<Inbox> {
        Arc::new(Inbox { arrived: Mutex::new(Vec::new()), wake })
    }

    fn push(&self, completion: RemoteCompletion) {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner).push(completion);
        self.wake.wake();
    }

    pub(crate) fn take(&self, into: &mut Vec<RemoteCompletion>) {
        into.append(&mut self.arrived.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}
