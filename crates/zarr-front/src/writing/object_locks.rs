//! One writer of an object at a time, within a process.

use crate::{Error, ErrorKind};
use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use swath_ioengine::{Engine, MediumId, ObjectRef, is_interrupted};

/// Locks for whoever reads an object, changes a part of it and writes it back, in this process. Without them nothing is lost
/// where the store takes conditions, but much is done in vain. They are the process's engine's, whichever engine reads, so
/// that a forked child, which has an engine of its own, finds none that is held.
#[derive(Default)]
pub(super) struct ObjectLocks {
    chunks: Arc<Table>,
    documents: Arc<Table>,
    shapes: Arc<Table>,
}

/// One object's, until it is dropped.
pub(super) struct ObjectLock {
    table: Arc<Table>,
    key: Key,
}

type Key = (MediumId, Arc<str>);

#[derive(Default)]
struct Table {
    held: Mutex<Held>,
    released: Condvar,
}

#[derive(Default)]
struct Held {
    keys: HashSet<Key>,
    /// Threads that wait for one of them.
    waiting: usize,
}

/// How often a thread that waits for a lock asks whether it shall go on.
pub(super) const WAIT_SLICE: Duration = Duration::from_millis(20);

impl ObjectLocks {
    /// Those of this process.
    pub(super) fn of_process() -> Arc<ObjectLocks> {
        Engine::global().extension::<ObjectLocks>()
    }

    /// Waits until nobody else writes the chunk or shard. A thread must not hold two.
    ///
    /// # Errors
    ///
    /// `Cancelled` where the thread's work was interrupted meanwhile: who holds the lock may wait for a server.
    pub(super) fn lock_chunk(&self, object: &ObjectRef) -> Result<ObjectLock, Error> {
        ObjectLock::take(&self.chunks, object, is_interrupted)
    }

    /// Waits until nobody else changes the metadata document. A thread must not hold two, nor one and a chunk.
    ///
    /// # Errors
    ///
    /// `Cancelled` where the thread's work was interrupted meanwhile.
    pub(super) fn lock_document(&self, object: &ObjectRef) -> Result<ObjectLock, Error> {
        ObjectLock::take(&self.documents, object, is_interrupted)
    }

    /// Waits until nobody else changes the shape of the array that has the metadata document, or `is_over` says so.
    ///
    /// # Errors
    ///
    /// `Cancelled` where it said so.
    pub(super) fn lock_shape(
        &self,
        document: &ObjectRef,
        is_over: impl Fn() -> bool,
    ) -> Result<ObjectLock, Error> {
        ObjectLock::take(&self.shapes, document, is_over)
    }
}

impl ObjectLock {
    fn take(table: &Arc<Table>, object: &ObjectRef, is_over: impl Fn() -> bool) -> Result<ObjectLock, Error> {
        let key = (object.medium.id(), Arc::clone(&object.key));
        let mut held = table.held();
        let mut asked = Instant::now();
        while !held.keys.insert(key.clone()) {
            let deaf = WAIT_SLICE.saturating_sub(asked.elapsed());
            if deaf.is_zero() {
                // Who is asked may want a lock himself.
                drop(held);
                if is_over() {
                    return Err(interrupted());
                }
                (held, asked) = (table.held(), Instant::now());
                continue;
            }
            held.waiting += 1;
            held = table.released.wait_timeout(held, deaf).unwrap_or_else(PoisonError::into_inner).0;
            held.waiting -= 1;
        }
        drop(held);
        Ok(ObjectLock { table: Arc::clone(table), key })
    }
}

/// What a write ends with that waited for a lock.
pub(super) fn interrupted() -> Error {
    Error::new(ErrorKind::Cancelled, "the write was interrupted")
}

impl Drop for ObjectLock {
    fn drop(&mut self) {
        let mut held = self.table.held();
        held.keys.remove(&self.key);
        if held.waiting != 0 {
            self.table.released.notify_all();
        }
    }
}

impl Table {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;
    use std::sync::mpsc::channel;
    use swath_ioengine::{InterruptFlag, MemoryMedium, interruptible};

    fn object(medium: &MemoryMedium, key: &str) -> ObjectRef {
        ObjectRef { medium: medium.medium(), key: key.into() }
    }

    #[test]
    fn an_object_is_held_by_one_and_others_are_free() {
        let (locks, medium) = (ObjectLocks::default(), MemoryMedium::new());
        let object = object(&medium, "a/c/0");
        let lock = locks.lock_chunk(&object).unwrap();
        // So many that some would meet if they shared a few locks by chance.
        let others =
            (1..1000).map(|number| ObjectRef { key: format!("a/c/{number}").into(), ..object.clone() });
        let others: Vec<ObjectLock> = others.map(|other| locks.lock_chunk(&other).unwrap()).collect();
        let elsewhere = MemoryMedium::new();
        let same_key = ObjectRef { medium: elsewhere.medium(), ..object.clone() };
        let _same_key = locks.lock_chunk(&same_key).unwrap();
        let _document = locks.lock_document(&object).unwrap();
        let (done, released) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _lock = locks.lock_chunk(&object).unwrap();
                done.send(()).unwrap();
            });
            assert!(released.recv_timeout(3 * WAIT_SLICE).is_err());
            drop(lock);
            released.recv().unwrap();
        });
        drop(others);
        assert_eq!(locks.chunks.held().keys.len(), 1);
    }

    #[test]
    fn who_waits_is_interrupted_while_another_holds_the_lock() {
        let (locks, medium) = (ObjectLocks::default(), MemoryMedium::new());
        let object = object(&medium, "a/c/0");
        let lock = locks.lock_chunk(&object).unwrap();
        interruptible(Rc::new(|| true), || {
            let flag = InterruptFlag::of_thread();
            std::thread::scope(|scope| {
                let helper = scope.spawn(|| flag.followed(|| locks.lock_chunk(&object).map(drop)));
                let error = locks.lock_chunk(&object).map(drop).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Cancelled);
                assert_eq!(helper.join().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
            });
        });
        drop(lock);
        locks.lock_chunk(&object).map(drop).unwrap();
    }
}
