//! What a cache counts.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What a cache has counted since it was made in this process, and what it holds.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct CacheStats {
            $($(#[$doc])* pub $name: u64,)*
            /// Bytes of memory held for cached ranges, bookkeeping included.
            pub memory_bytes: u64,
            /// Bytes of files that this process may read from.
            pub disk_bytes: u64,
            /// Bytes that wait to be written to files.
            pub queued_bytes: u64,
        }

        /// The counters behind [`CacheStats`].
        #[derive(Default)]
        pub(super) struct Counts {
            $(pub(super) $name: Count,)*
        }

        impl Counts {
            pub(super) fn stats(&self) -> CacheStats {
                CacheStats { $($name: self.$name.get(),)* ..CacheStats::default() }
            }
        }
    };
}

counts! {
    /// Requests answered from the cache alone. Where lanes take all that a window wants from it, there are no requests: each of
    /// the cached ranges that a window is served from counts as one, as it was one request that brought it.
    hits,
    /// Requests that needed the source for all or some of their bytes.
    misses,
    /// Of the misses, those that needed it for some of their bytes only.
    partial,
    /// Requests that shared another's request to the source.
    shared,
    /// Requests that asked the source whether an object is still what it was.
    checks,
    /// Objects that were found to have changed, whose ranges were dropped.
    changes,
    /// Bytes answered from memory.
    bytes_from_memory,
    /// Bytes answered from files.
    bytes_from_disk,
    /// Bytes that the source answered.
    bytes_from_source,
    /// Ranges taken into memory or handed to the writer.
    inserts,
    /// Ranges that were not stored in a file: the queue or the folder was full, or writing failed.
    drops,
    /// Answers that waited for the writer.
    delays,
    /// Of the delays, those that ended before the writer had caught up, because they had lasted five seconds.
    overdue,
    /// Ranges written to files.
    writes,
    /// Ranges that made room in memory.
    memory_evictions,
    /// Ranges that were lost with a file that made room.
    disk_evictions,
    /// Ranges of files whose bytes could not be read, or were not those that had been written: fetched anew.
    corrupt,
    /// Reads of files that waited for the device, on a thread.
    disk_waits,
}

/// A counter that many threads raise.
#[derive(Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
