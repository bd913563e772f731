//! Ranges in files: written by one thread, read by whoever wants them.

mod folder;
mod parked;
mod readers;
mod record;
mod segment;
mod writer;

pub(super) use record::Record;
#[cfg(test)]
pub(super) use segment::RANGE_BYTES;
pub(super) use segment::{Loaded, Stored};
pub(super) use writer::{Insert, Job};

use super::catalog::Catalog;
use super::config::CacheConfig;
use crate::engine::lock;
use crate::{Error, fork};
use bytes::Bytes;
use folder::Folder;
use parked::Parked;
use readers::Readers;
use segment::{Look, Segment, Waiting};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use writer::Queue;

/// Bounds below this could not be divided into files.
const BYTES_MIN: u64 = 1 << 20;

/// A file is at most a sixteenth of all, and no longer than this where there are few.
const SEGMENT_BYTES_MAX: u64 = 64 << 20;

/// Files of one process at most, where those that are not full do not count: each takes a descriptor of all who read it.
const SEGMENTS_MAX: u64 = 256;

/// A file has at most so large a part of the ranges, one of so many, so that the oldest can go without most others.
const RANGE_PARTS: usize = 16;

/// Records found in files are kept until all are, up to this many, or twice those that there is room for.
const FOUND_MIN: usize = 1024;

/// The disk's part of a cache.
pub(super) struct Disk {
    shared: Arc<Shared>,
    readers: Readers,
    parked: Arc<Parked>,
    writer: Mutex<Option<JoinHandle<()>>>,
    generation: u64,
}

/// Where the bytes of a file were when they were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CameFrom {
    /// In memory.
    PageCache,
    /// The read waited for them.
    Device,
}

/// What the writer shares with the rest.
struct Shared {
    catalog: Arc<Catalog>,
    folder: Folder,
    segments: Mutex<HashMap<PathBuf, Arc<Segment>>>,
    segment_bytes: u64,
    ranges_max: usize,
    /// Ranges in all files.
    ranges: Arc<AtomicUsize>,
    queue: Queue,
}

impl Disk {
    /// Claims a place in the folder, finds what is stored there, and starts the writer.
    pub(super) fn open(config: &CacheConfig, catalog: &Arc<Catalog>) -> Result<Option<Disk>, Error> {
        let Some(root) = &config.folder else { return Ok(None) };
        let bytes_max = config.disk_bytes.max(BYTES_MIN);
        let shared = Arc::new(Shared {
            catalog: Arc::clone(catalog),
            folder: Folder::claim(root, bytes_max)?,
            segments: Mutex::default(),
            segment_bytes: (bytes_max / 16).min(SEGMENT_BYTES_MAX.max(bytes_max / SEGMENTS_MAX)),
            ranges_max: config.disk_ranges_max,
            ranges: Arc::default(),
            queue: Queue::new(config.write_queue_bytes),
        });
        shared.find_records();
        let writing = Arc::clone(&shared);
        let writer = std::thread::Builder::new()
            .name("swath-cache".to_owned())
            .spawn(move || writer::write(&writing))
            .map_err(Error::from_io)?;
        let (writer, generation) = (Mutex::new(Some(writer)), fork::generation());
        let parked = Parked::new(catalog, parked::WAIT_MAX);
        Ok(Some(Disk { shared, readers: Readers::new(), parked, writer, generation }))
    }

    /// Hands a job to the writer; gives it back where its queue is full.
    pub(super) fn put(&self, job: Job) -> Result<(), Job> {
        self.shared.queue.put(job)
    }

    /// Calls `then` once the writer has done what it was given so far, where that is much, or has not for some seconds; at
    /// once where it is not.
    pub(super) fn when_caught_up(&self, then: Box<dyn FnOnce() + Send>) {
        if self.shared.queue.is_behind() {
            self.shared.catalog.counts.delays.add(1);
            let number = self.parked.park(then);
            let parked = Arc::clone(&self.parked);
            let release = Job::Call(Box::new(move || parked.release(number)));
            if self.shared.queue.put(release).is_err() {
                self.parked.release(number);
            }
        } else {
            then();
        }
    }

    /// Reads `len` bytes from `skip` on of a stored range: at once where they are in the page cache, else on a thread. `None`
    /// where they are not what was written.
    pub(super) fn read(
        &self,
        stored: Stored,
        (skip, len): (u64, u64),
        then: impl FnOnce(Option<(Bytes, CameFrom)>) + Send + 'static,
    ) {
        match stored.read(skip, len, Waiting::Never) {
            Look::Sound(bytes) => then(Some((bytes, CameFrom::PageCache))),
            Look::Lost => then(None),
            Look::WouldWait => {
                self.shared.catalog.counts.disk_waits.add(1);
                self.readers.run(Box::new(move || match stored.read(skip, len, Waiting::Allowed) {
                    Look::Sound(bytes) => then(Some((bytes, CameFrom::Device))),
                    Look::Lost | Look::WouldWait => then(None),
                }));
            }
        }
    }

    /// Waits until all that was handed over is written.
    pub(super) fn flush(&self) {
        let (done, waited) = std::sync::mpsc::channel();
        let tell = move || done.send(()).unwrap_or(());
        if self.shared.queue.put(Job::Call(Box::new(tell))).is_ok() {
            waited.recv().unwrap_or(());
        }
    }

    /// Has writes fail from now on.
    #[cfg(test)]
    pub(super) fn fail_writes(&self) {
        self.shared.queue.fail_writes();
    }

    pub(super) fn queued_bytes(&self) -> u64 {
        self.shared.queue.bytes()
    }

    /// Bytes of records in the files known to this process.
    pub(super) fn held_bytes(&self) -> u64 {
        lock(&self.shared.segments).values().map(|segment| segment.scanned.load(Ordering::Relaxed)).sum()
    }
}

impl Shared {
    /// Takes the records that were added to the folder's files into the catalog, and lets go of files that were removed.
    /// The process's own active file is not looked at: the writer knows what is in it.
    fn find_records(&self) {
        let listed = self.folder.list();
        let mut found = Vec::new();
        for file in &listed {
            let known = lock(&self.segments).get(&file.path).cloned();
            let own = self.folder.is_own(file);
            let segment = match known {
                Some(_) if own => continue,
                Some(segment) => segment,
                // Processes of another user may have files that this one cannot read.
                None => match std::fs::File::open(&file.path) {
                    Ok(opened) => Segment::new(file.path.clone(), file.made_ns, opened, &self.ranges),
                    Err(_) => continue,
                },
            };
            let end = segment.scan(|record, stored| found.push((record, stored)));
            if own && end < file.bytes {
                // What a killed process did not fill.
                let cut = std::fs::OpenOptions::new().write(true).open(&file.path);
                let cut = cut.and_then(|opened| opened.set_len(end));
                cut.unwrap_or_else(|error| tracing::warn!(%error, "a file of the cache cannot be cut"));
            }
            lock(&self.segments).insert(file.path.clone(), segment);
            if FOUND_MIN.max(2 * self.room()) < found.len() {
                self.keep_latest(&mut found);
            }
        }
        self.forget_removed(&listed);
        self.keep_latest(&mut found);
        for (record, stored) in found {
            self.catalog.load(record, stored);
        }
    }

    /// Sorts what was found by when it was confirmed, since of several versions of an object the latest counts, and lets go
    /// of the oldest beyond what there is room for. What says that something was dropped is noted first.
    fn keep_latest(&self, found: &mut Vec<(Record, Stored)>) {
        found.sort_by_key(|(record, _)| record.confirmed_ns);
        let skipped = found.len().saturating_sub(self.room());
        for (record, stored) in found.drain(..skipped).filter(|(record, _)| record.len == 0) {
            self.catalog.load(record, stored);
        }
    }

    /// Ranges that may be added.
    fn room(&self) -> usize {
        self.ranges_max.saturating_sub(self.range_count())
    }

    fn forget_removed(&self, listed: &[folder::Listed]) {
        let listed: HashSet<&Path> = listed.iter().map(|file| file.path.as_path()).collect();
        let mut removed = Vec::new();
        lock(&self.segments).retain(|path, segment| {
            let stays = listed.contains(path.as_path());
            if !stays {
                removed.push(Arc::clone(segment));
            }
            stays
        });
        self.forget(&removed);
    }

    fn forget(&self, removed: &[Arc<Segment>]) {
        for segment in removed {
            self.catalog.counts.disk_evictions.add(segment.forget());
        }
    }

    fn range_count(&self) -> usize {
        self.ranges.load(Ordering::Relaxed)
    }
}

impl Drop for Disk {
    /// Writes what is queued, and ends the threads. In a forked child they do not exist, and their locks may be held.
    fn drop(&mut self) {
        let writer = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if self.generation != fork::generation() {
            // Not even let go of: that detaches a thread.
            return std::mem::forget(writer);
        }
        self.shared.queue.stop();
        let Some(writer) = writer else { return };
        // An answer that waited for the writer may hold the last of the cache: then the writer is here, and ends after this.
        if writer.thread().id() != std::thread::current().id() && writer.join().is_err() {
            tracing::error!("the cache's writer panicked");
        }
    }
}
