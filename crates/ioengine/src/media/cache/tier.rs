//! A cache, as its users hold it.

use super::catalog::Catalog;
use super::config::CacheConfig;
use super::disk::Disk;
use super::source::CachedSource;
use super::stats::CacheStats;
use crate::per_process::PerProcess;
use crate::{Error, Medium, fork};
use std::fmt;
use std::sync::Arc;

/// A cache of ranges of remote objects, in memory and in files, that several media may share.
///
/// A request is answered from cached ranges where they cover it; where they cover some of it, only the rest is fetched, if
/// that costs less than fetching all. Requests for the same bytes at the same time share one to the source. What is cached
/// is tied to the object's identity, and dropped when an answer shows another one. Absence is not cached.
///
/// **When cached bytes count.** Every answer of the source confirms the version that it shows, as of when it was asked for.
/// [`Freshness::Immutable`](crate::Freshness::Immutable): always. [`Freshness::Ttl`](crate::Freshness::Ttl): while the
/// version was confirmed within that time. [`Freshness::Checked`](crate::Freshness::Checked): as `Ttl` with
/// [`check_interval`](CacheConfig::check_interval), so bytes are never older than that. After that time a request that
/// could be answered from the cache first asks the source for one byte of that version (If-Match): it costs one round trip
/// for each object and interval, and no bytes where the object is the same. A request that names a version is never answered
/// with another one. Writing or deleting through the medium drops what is cached at once; of writes by others, other
/// processes with the same folder included, the rule above tells. Objects whose source names no version are cached only
/// under `Immutable`.
///
/// **Files.** A folder may be shared by several processes: each adds to files of its own, and reads all. What a crash
/// leaves is used as far as it is whole. Every read of a file is checked (CRC-32C), and what fails is fetched anew. That an
/// object was written to through a medium is noted in a file too, and the note goes when that file makes room: a process
/// that opens the folder after that may find older ranges of another process's files, and under `Immutable` answers them.
///
/// **Fork.** A forked child begins with an empty memory and its own place in the folder.
#[derive(Clone)]
pub struct CacheTier(pub(super) Arc<Generations>);

/// A cache for each process that a fork made of the one that asked for it. A child leaves its parent's alone, whose locks
/// may be held by threads that it does not have.
pub(super) struct Generations {
    config: CacheConfig,
    /// Of the process that asked for it, which has this number.
    generation: u64,
    first: Arc<Tier>,
    /// Of processes forked from it.
    later: PerProcess<Arc<Tier>>,
}

/// One process's cache.
pub(super) struct Tier {
    pub(super) config: CacheConfig,
    pub(super) catalog: Arc<Catalog>,
    pub(super) disk: Option<Disk>,
}

impl CacheTier {
    /// A cache of that size. Blocks while the folder's files are looked through: two reads a stored range.
    ///
    /// # Errors
    ///
    /// Where the folder cannot be made, written to or locked.
    pub fn new(config: CacheConfig) -> Result<CacheTier, Error> {
        let first = Arc::new(Tier::new(config.clone())?);
        Ok(CacheTier(Arc::new(Generations {
            config,
            generation: fork::generation(),
            first,
            later: PerProcess::new(),
        })))
    }

    /// The medium with this cache in front. Local media are returned as they are.
    ///
    /// `name` tells the medium from others, in this process and in those that use the folder later: the same for the same
    /// objects, whoever reads them (`s3://bucket`, and the endpoint where it is not the usual one). It must not hold secrets:
    /// it is stored.
    pub fn wrap(&self, medium: &Medium, name: &str) -> Medium {
        self.in_front(medium, Some(name))
    }

    /// As [`wrap`](CacheTier::wrap), by the medium's own name: that of the service, the bucket or container, and who asks,
    /// as URL, options, environment and profiles give them at the first fetch. Media without one are not cached.
    pub fn wrap_named(&self, medium: &Medium) -> Medium {
        self.in_front(medium, None)
    }

    fn in_front(&self, medium: &Medium, name: Option<&str>) -> Medium {
        let Medium::Remote(source) = medium else { return medium.clone() };
        let (generations, source) = (Arc::clone(&self.0), Arc::clone(source));
        Medium::Remote(Arc::new(CachedSource::new(generations, source, name)))
    }

    /// What was counted since the cache was made, in this process.
    pub fn stats(&self) -> CacheStats {
        let tier = self.0.current();
        let disk = tier.disk.as_ref();
        CacheStats {
            memory_bytes: tier.catalog.memory.held(),
            disk_bytes: disk.map_or(0, Disk::held_bytes),
            queued_bytes: disk.map_or(0, Disk::queued_bytes),
            ..tier.catalog.counts.stats()
        }
    }

    /// Waits until what was cached so far is in the files. A process that ends without this, or without dropping the cache
    /// and its media, loses what the writer had not come to, and nothing else. Does nothing for a cache without files.
    pub fn flush(&self) {
        if let Some(disk) = &self.0.current().disk {
            disk.flush();
        }
    }

    /// The cache of this process.
    #[cfg(test)]
    pub(super) fn tier(&self) -> Arc<Tier> {
        Arc::clone(self.0.current())
    }
}

impl fmt::Debug for CacheTier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CacheTier({:?})", self.0.config)
    }
}

impl Tier {
    fn new(config: CacheConfig) -> Result<Tier, Error> {
        let catalog = Catalog::new(config.memory_bytes, config.freshness);
        let disk = Disk::open(&config, &catalog)?;
        Ok(Tier { config, catalog, disk })
    }

    fn after_fork(config: &CacheConfig) -> Tier {
        Tier::new(config.clone()).unwrap_or_else(|error| {
            tracing::warn!(%error, "a forked process goes on without files for its cache");
            let catalog = Catalog::new(config.memory_bytes, config.freshness);
            Tier { config: config.clone(), catalog, disk: None }
        })
    }
}

impl Generations {
    pub(super) fn config(&self) -> &CacheConfig {
        &self.config
    }

    /// The cache of this process: made anew in a forked child.
    pub(super) fn current(&self) -> &Arc<Tier> {
        if self.generation == fork::generation() {
            return &self.first;
        }
        // What is made does not fail, so the first process's is not used in another.
        self.later.get(|| Ok(Arc::new(Tier::after_fork(&self.config)))).unwrap_or(&self.first)
    }
}
