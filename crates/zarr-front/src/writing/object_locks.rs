//! One writer of an object at a time, within a process.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swath_ioengine::{Engine, ObjectRef};

/// Locks for whoever reads an object, changes a part of it and writes it back, in this process. Without them nothing is lost
/// where the store takes conditions, but much is done in vain. They are the process's engine's, whichever engine reads, so
/// that a forked child, which has an engine of its own, finds none that is held.
#[derive(Default)]
pub(super) struct ObjectLocks {
    chunks: Table,
    documents: Table,
}

struct Table(Box<[Mutex<()>]>);

/// Two objects share a lock now and then, which costs a wait; a lock takes 8 bytes.
const LOCKS: usize = 1024;

impl Default for Table {
    fn default() -> Table {
        Table((0..LOCKS).map(|_| Mutex::new(())).collect())
    }
}

impl ObjectLocks {
    /// Those of this process.
    pub(super) fn of_process() -> Arc<ObjectLocks> {
        Engine::global().extension::<ObjectLocks>()
    }

    /// Waits until nobody else writes the chunk or shard. A thread must not hold two.
    pub(super) fn lock_chunk(&self, object: &ObjectRef) -> Option<MutexGuard<'_, ()>> {
        self.chunks.lock(object)
    }

    /// Waits until nobody else changes the metadata document. A thread must not hold two, nor one and a chunk.
    pub(super) fn lock_document(&self, object: &ObjectRef) -> Option<MutexGuard<'_, ()>> {
        self.documents.lock(object)
    }
}

impl Table {
    fn lock(&self, object: &ObjectRef) -> Option<MutexGuard<'_, ()>> {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let hash = hasher.hash_one((object.medium.id(), &*object.key));
        let place = usize::try_from(hash % swath_ioengine::storage_len(LOCKS)).ok()?;
        Some(self.0.get(place)?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
