//! When a file is read through a mapping.
//!
//! A copy from a mapping is the cheapest read there is of a cached page, once the page is in this process's page table;
//! putting it there costs more than one read (docs/decisions/0001-spike.md, section 2). So a file is mapped when it has
//! been asked for enough bytes to show that it is read again and again, and only while all of it is in the page cache:
//! otherwise a lane would wait for the device inside a copy.

use super::mapping::{CopyGuard, Mapping};
use super::memory::memory_bytes;
use super::open_file::OpenFile;
use super::residency::sampled_share;
use crate::medium::OpenObject;
use crate::resident::Resident;
use rustix::time::{ClockId, clock_gettime};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Which files of a directory are mapped.
#[derive(Clone)]
pub(super) enum MappingUse {
    /// None.
    Never,
    /// Those that are worth it, as far as the budget goes.
    WhereItPays(Arc<MappedBytes>),
    /// Every one, on its first read.
    Always,
}

/// Bytes mapped of one directory's files, and how many may be.
pub(super) struct MappedBytes {
    now: AtomicU64,
    max: u64,
}

/// One file's mapping, or what is known of whether it is worth one.
pub(super) struct Mapped {
    wanted: MappingUse,
    mapping: OnceLock<Mapping>,
    /// Bytes asked for since the file was opened, or was last found not worth mapping.
    asked: AtomicU64,
    /// Whether all of it was in the page cache and in the page table when that was last looked at.
    is_filled: AtomicBool,
    /// When that was, in ms of a monotonic clock.
    looked_ms: AtomicU64,
    /// Held by who looks.
    looking: Mutex<()>,
}

/// A file is mapped once so many bytes have been asked for that they are this fraction of it: filling its page table
/// costs 90 ns a page, which a tenth of its pages read once more pay back.
const ASKED_FRACTION: u64 = 4;

/// The share of a file's bytes that must be in the page cache.
const CACHED_SHARE_MIN: f64 = 63.0 / 64.0;

/// How long a file that was in the page cache is taken to be there.
const LOOK_AGAIN_MS: u64 = 100;

impl MappedBytes {
    /// As many as half of the memory that the process may use.
    pub(super) fn new() -> Arc<MappedBytes> {
        Arc::new(MappedBytes { now: AtomicU64::new(0), max: memory_bytes() / 2 })
    }

    fn take(&self, bytes: u64) -> bool {
        let taken = self.now.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| {
            now.checked_add(bytes).filter(|sum| *sum <= self.max)
        });
        taken.is_ok()
    }
}

impl Mapped {
    pub(super) fn new(wanted: MappingUse) -> Mapped {
        Mapped {
            wanted,
            mapping: OnceLock::new(),
            asked: AtomicU64::new(0),
            is_filled: AtomicBool::new(false),
            looked_ms: AtomicU64::new(0),
            looking: Mutex::new(()),
        }
    }

    /// The mapping, for reads of `bytes` in all, if they should go through it now.
    pub(super) fn resident(&self, file: &OpenFile, bytes: u64) -> Option<Resident<'_>> {
        match &self.wanted {
            MappingUse::Never => return None,
            MappingUse::Always => {
                if self.mapping.get().is_none() {
                    let _ = self.mapping.set(Mapping::new(file.descriptor(), file.size()).ok()?);
                }
            }
            MappingUse::WhereItPays(budget) => {
                if self.is_filled.load(Ordering::Acquire) {
                    self.look_again(file.descriptor());
                } else {
                    self.consider(file, bytes, budget);
                }
                if !self.is_filled.load(Ordering::Acquire) {
                    return None;
                }
            }
        }
        let mapping = self.mapping.get()?;
        match CopyGuard::look() {
            Ok(guard) => Some(Resident::mapped(mapping, guard)),
            Err(refusal) => {
                tracing::debug!(%refusal, "a mapped file is read in another way");
                None
            }
        }
    }

    /// Maps the file if enough was asked of it before, and all of it is in the page cache.
    fn consider(&self, file: &OpenFile, bytes: u64, budget: &MappedBytes) {
        let before = self.asked.fetch_add(bytes, Ordering::Relaxed);
        if before < file.size() / ASKED_FRACTION || before == 0 || !file.is_settled() {
            return;
        }
        let Ok(_looking) = self.looking.try_lock() else { return };
        // Whatever comes of it: it is not considered again before as much was asked once more.
        self.asked.store(0, Ordering::Relaxed);
        if self.mapping.get().is_none() {
            if !budget.take(file.size()) {
                return;
            }
            match Mapping::new(file.descriptor(), file.size()) {
                Ok(mapping) => drop(self.mapping.set(mapping)),
                Err(error) => {
                    budget.now.fetch_sub(file.size(), Ordering::Relaxed);
                    tracing::debug!(%error, "a file is not mapped");
                    return;
                }
            }
        }
        let Some(mapping) = self.mapping.get() else { return };
        let now_ms = now_ms();
        if is_cached(mapping, file.descriptor(), now_ms) && mapping.populate(0..mapping.len()).is_ok() {
            self.looked_ms.store(now_ms, Ordering::Relaxed);
            self.is_filled.store(true, Ordering::Release);
        }
    }

    /// Looks, now and then, whether the file is still in the page cache.
    fn look_again(&self, descriptor: BorrowedFd<'_>) {
        let now_ms = now_ms();
        let looked_ms = self.looked_ms.load(Ordering::Relaxed);
        if now_ms.saturating_sub(looked_ms) < LOOK_AGAIN_MS {
            return;
        }
        let Ok(_looking) = self.looking.try_lock() else { return };
        self.looked_ms.store(now_ms, Ordering::Relaxed);
        if !self.mapping.get().is_some_and(|mapping| is_cached(mapping, descriptor, now_ms)) {
            self.is_filled.store(false, Ordering::Release);
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if let (MappingUse::WhereItPays(budget), Some(mapping)) = (&self.wanted, self.mapping.get()) {
            budget.now.fetch_sub(mapping.len(), Ordering::Relaxed);
        }
    }
}

/// Of large files a part is looked at, so that looking again costs no more than a few reads.
fn is_cached(mapping: &Mapping, descriptor: BorrowedFd<'_>, seed: u64) -> bool {
    let cached = |start, len| mapping.resident_bytes(descriptor, start..start + len);
    sampled_share(mapping.len(), seed, cached).is_ok_and(|share| CACHED_SHARE_MIN <= share)
}

/// The kernel's clock of its last tick: no system call, and exact enough.
pub(super) fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1000).saturating_add(u64::try_from(now.tv_nsec / 1_000_000).unwrap_or(0))
}
