//! One writer of an object at a time, within a process.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use swath_ioengine::ObjectRef;

/// Locks for whoever reads an object, changes a part of it and writes it back. They are the engine's, so that a forked child,
/// which has an engine of its own, finds none that is held.
pub(super) struct ObjectLocks {
    locks: Box<[Mutex<()>]>,
}

/// Two objects share a lock now and then, which costs a wait; a lock takes 8 bytes.
const LOCKS: usize = 1024;

impl Default for ObjectLocks {
    fn default() -> ObjectLocks {
        ObjectLocks { locks: (0..LOCKS).map(|_| Mutex::new(())).collect() }
    }
}

impl ObjectLocks {
    /// Waits until nobody else of this engine writes the object. A thread must not hold two.
    pub(super) fn lock(&self, object: &ObjectRef) -> Option<MutexGuard<'_, ()>> {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let hash = hasher.hash_one((object.medium.id(), &*object.key));
        let place = usize::try_from(hash % swath_ioengine::storage_len(LOCKS)).ok()?;
        Some(self.locks.get(place)?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
