//! Shard indexes kept between batches: bounded, tied to their object's identity, and loaded once even when many want
//! the same one.

use crate::shard_index::ShardIndex;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use swath_ioengine::{Identity, MediumId, ObjectRef, Resume};

/// Bytes of indexes that are kept. An index of a shard of 1,000 inner chunks takes 16 KB.
const CACHED_BYTES_MAX: u64 = 256 << 20;

/// Files changed more recently than this are not kept: their next change might carry the same time.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// A medium, an object of it, and where in the object: the level of sharding, and the offset at which the shard starts
/// (the first of its inner shards may start there as well).
type Key = (MediumId, Arc<str>, Part);

type Part = (usize, u64);

/// The object itself.
const WHOLE: Part = (0, 0);

/// An index, and the version of the object that it was read from.
#[derive(Clone, Debug)]
pub(crate) struct CachedIndex {
    pub(crate) index: Arc<ShardIndex>,
    pub(crate) identity: Option<Identity>,
    /// The writes of this process that were done before it was read.
    pub(crate) writes: u64,
}

/// The engine's shard indexes.
pub(crate) struct IndexCache {
    entries: Cache<Key, CachedIndex, BytesWeighter>,
    loading: Mutex<HashMap<Key, Vec<Resume>>>,
}

/// What a look-up came to.
pub(crate) enum LookUp {
    /// Here it is.
    Found(CachedIndex),
    /// Nobody is reading it: the caller does, and completes the ticket.
    Load(LoadTicket),
    /// Somebody is reading it: the caller's cursor is planned again when that is done.
    Wait,
}

/// The duty to read an index. Dropping it unfulfilled lets the next one try.
pub(crate) struct LoadTicket {
    cache: Arc<IndexCache>,
    key: Key,
}

#[derive(Clone)]
struct BytesWeighter;

impl Weighter<Key, CachedIndex> for BytesWeighter {
    fn weight(&self, key: &Key, entry: &CachedIndex) -> u64 {
        entry.index.memory_bytes() + swath_ioengine::storage_len(key.1.len()) + ENTRY_OVERHEAD_BYTES
    }
}

/// What an entry costs beside its index and its key, roughly.
const ENTRY_OVERHEAD_BYTES: u64 = 128;

impl Default for IndexCache {
    fn default() -> IndexCache {
        const ENTRIES_EXPECTED: usize = 4096;
        IndexCache {
            entries: Cache::with_weighter(ENTRIES_EXPECTED, CACHED_BYTES_MAX, BytesWeighter),
            loading: Mutex::default(),
        }
    }
}

impl IndexCache {
    /// Looks an object's index up. `resume` is kept where the caller must wait.
    pub(crate) fn look_up(self: &Arc<Self>, object: &ObjectRef, resume: impl FnOnce() -> Resume) -> LookUp {
        let key = key_of(object, WHOLE);
        if let Some(found) = self.entries.get(&key) {
            return LookUp::Found(found);
        }
        let mut loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = loading.get_mut(&key) {
            waiting.push(resume());
            return LookUp::Wait;
        }
        // It may have been completed between the first look and the lock.
        if let Some(found) = self.entries.get(&key) {
            return LookUp::Found(found);
        }
        loading.insert(key.clone(), Vec::new());
        LookUp::Load(LoadTicket { cache: Arc::clone(self), key })
    }

    /// The index of an inner shard, by level and offset in its object, if it is kept and of this version.
    pub(crate) fn inner(
        &self,
        object: &ObjectRef,
        part: Part,
        identity: &Identity,
    ) -> Option<Arc<ShardIndex>> {
        let found = self.entries.get(&key_of(object, part))?;
        (found.identity.as_ref() == Some(identity)).then_some(found.index)
    }

    /// Keeps the index of an inner shard, where its object's identity is sure enough.
    pub(crate) fn keep_inner(&self, object: &ObjectRef, part: Part, found: CachedIndex) {
        if found.identity.as_ref().is_some_and(is_settled) {
            self.entries.insert(key_of(object, part), found);
        }
    }

    /// Drops what is kept of an object. Indexes of inner shards are left to age: they are found by identity only.
    pub(crate) fn forget(&self, object: &ObjectRef) {
        self.entries.remove(&key_of(object, WHOLE));
    }
}

fn key_of(object: &ObjectRef, part: Part) -> Key {
    (object.medium.id(), Arc::clone(&object.key), part)
}

impl LoadTicket {
    /// Keeps the index for later batches, where its object's identity is sure enough.
    pub(crate) fn complete(self, found: &CachedIndex) {
        if found.identity.as_ref().is_some_and(is_settled) {
            self.cache.entries.insert(self.key.clone(), found.clone());
        }
    }
}

impl Drop for LoadTicket {
    fn drop(&mut self) {
        let waiting = {
            let mut loading = self.cache.loading.lock().unwrap_or_else(PoisonError::into_inner);
            loading.remove(&self.key)
        };
        // Resumed outside the lock: each plans its cursor again.
        drop(waiting);
    }
}

/// Whether a file's next change would show in its identity.
pub(crate) fn is_settled(identity: &Identity) -> bool {
    let Identity::File(file) = identity else { return true };
    let now_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
    let changed_ns = u128::try_from(file.modified_ns.max(file.changed_ns)).unwrap_or(u128::MAX);
    changed_ns.saturating_add(SETTLED_AFTER.as_nanos()) <= now_ns
}
