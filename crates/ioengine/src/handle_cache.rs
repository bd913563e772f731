//! Objects kept open between batches.

use crate::engine::lock;
use crate::medium::LocalMedium;
use crate::writing::writes;
use crate::{Error, Freshness, MediumId, OpenObject};
use quick_cache::sync::Cache;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A bounded cache of open objects, each tied to its object's identity.
pub(crate) struct HandleCache {
    entries: Option<Cache<(MediumId, Arc<str>), Entry>>,
}

#[derive(Clone)]
struct Entry {
    object: Arc<dyn OpenObject>,
    checked: Instant,
    /// The writes of this process that the object was opened or looked at after.
    writes: u64,
}

/// Where a handle came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Opened just now.
    Opened,
    /// Open since an earlier batch.
    Cached,
}

impl HandleCache {
    pub(crate) fn new(open_handles_max: usize) -> HandleCache {
        HandleCache { entries: (open_handles_max != 0).then(|| Cache::new(open_handles_max)) }
    }

    /// The object opened, from the cache where `freshness` allows it.
    pub(crate) fn open(
        &self,
        medium: &dyn LocalMedium,
        key: &Arc<str>,
        freshness: Freshness,
        now: Instant,
    ) -> Result<(Arc<dyn OpenObject>, Found), Error> {
        let Some(entries) = &self.entries else { return Ok((medium.open(key)?, Found::Opened)) };
        let name = (medium.id(), Arc::clone(key));
        let writes = writes();
        if let Some(entry) = entries.get(&name) {
            let due = if entry.writes == writes { freshness } else { Freshness::Checked };
            match is_fresh(medium, key, &entry, due, now) {
                Ok(true) => {
                    if due != freshness {
                        entries.insert(name, Entry { writes, ..entry.clone() });
                    }
                    return Ok((entry.object, Found::Cached));
                }
                Ok(false) => entries.remove(&name),
                Err(error) => {
                    entries.remove(&name);
                    return Err(error);
                }
            };
        }
        let object = medium.open(key)?;
        if object.is_settled() {
            entries.insert(name, Entry { object: Arc::clone(&object), checked: now, writes });
        }
        Ok((object, Found::Opened))
    }

    /// Drops all that is kept. What batches under way opened stays open until they end.
    pub(crate) fn clear(&self) {
        if let Some(entries) = &self.entries {
            entries.clear();
        }
    }

    /// Drops what is kept of an object.
    pub(crate) fn forget(&self, medium: MediumId, key: &Arc<str>) {
        if let Some(entries) = &self.entries {
            entries.remove(&(medium, Arc::clone(key)));
        }
    }
}

/// Caches by how many objects they keep: engines with the same bound share one.
#[derive(Default)]
pub(crate) struct HandleCaches(Mutex<Vec<(usize, Arc<HandleCache>)>>);

impl HandleCaches {
    /// The cache that keeps so many.
    pub(crate) fn keeping(&self, open_handles_max: usize) -> Arc<HandleCache> {
        let mut known = lock(&self.0);
        if let Some((_, handles)) = known.iter().find(|(kept, _)| *kept == open_handles_max) {
            return Arc::clone(handles);
        }
        let handles = Arc::new(HandleCache::new(open_handles_max));
        known.push((open_handles_max, Arc::clone(&handles)));
        handles
    }
}

fn is_fresh(
    medium: &dyn LocalMedium,
    key: &str,
    entry: &Entry,
    freshness: Freshness,
    now: Instant,
) -> Result<bool, Error> {
    match freshness {
        Freshness::Immutable => Ok(true),
        Freshness::Ttl(age) => Ok(now.saturating_duration_since(entry.checked) < age),
        Freshness::Checked => Ok(medium.identify(key)? == *entry.object.identity()),
    }
}
