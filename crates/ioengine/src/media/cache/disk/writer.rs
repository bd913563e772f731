//! The thread that writes ranges to files, and keeps the folder within its bound.

use super::record::{LEN_MAX, Record};
use super::segment::{Segment, Stored};
use super::{RANGE_PARTS, Shared};
use crate::engine::lock;
use crate::media::cache::object::Object;
use crate::media::positioned::write_all_at;
use crate::storage_len;
use bytes::Bytes;
use std::collections::{HashSet, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the writer looks for what other processes wrote or removed.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// After a folder was found to be full of what others use, or a file could not be made: not tried again so long.
const FULL_INTERVAL: Duration = Duration::from_secs(1);

/// A range to be written.
pub(in super::super) struct Insert {
    pub(in super::super) object: Arc<Object>,
    pub(in super::super) id: u64,
    pub(in super::super) bytes: Bytes,
    pub(in super::super) record: Record,
}

/// Something for the writer to do.
pub(in super::super) enum Job {
    /// Store a range, if it is still wanted.
    Write(Box<Insert>),
    /// Say that what was cached of an object before does not count any more.
    Drop(Box<Record>),
    /// Call somebody who waits.
    Call(Box<dyn FnOnce() + Send>),
}

impl Job {
    fn bytes(&self) -> u64 {
        match self {
            Job::Write(insert) => storage_len(insert.bytes.len()),
            Job::Drop(_) | Job::Call(_) => 0,
        }
    }
}

/// What waits for the writer. Bounded in bytes of ranges; others are as many as writes of objects, or requests in flight.
pub(super) struct Queue {
    bytes_max: u64,
    state: Mutex<QueueState>,
    added: Condvar,
}

#[derive(Default)]
struct QueueState {
    jobs: VecDeque<Job>,
    bytes: u64,
    stop: bool,
    /// Writes fail: an injected fault.
    broken: bool,
}

impl Queue {
    pub(super) fn new(bytes_max: u64) -> Queue {
        Queue { bytes_max, state: Mutex::default(), added: Condvar::new() }
    }

    /// Adds a job; gives it back where there is no room.
    pub(super) fn put(&self, job: Job) -> Result<(), Job> {
        let mut state = lock(&self.state);
        let bytes = job.bytes();
        if state.stop || 0 < bytes && self.bytes_max.saturating_mul(2) < state.bytes + bytes {
            return Err(job);
        }
        state.bytes += bytes;
        state.jobs.push_back(job);
        drop(state);
        self.added.notify_one();
        Ok(())
    }

    /// True while more waits than should.
    pub(super) fn is_behind(&self) -> bool {
        self.bytes_max < lock(&self.state).bytes
    }

    pub(super) fn bytes(&self) -> u64 {
        lock(&self.state).bytes
    }

    /// Has the writer end once it has done what is queued.
    pub(super) fn stop(&self) {
        lock(&self.state).stop = true;
        self.added.notify_all();
    }

    #[cfg(test)]
    pub(super) fn fail_writes(&self) {
        lock(&self.state).broken = true;
    }

    fn next(&self, until: Instant) -> Next {
        let mut state = lock(&self.state);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if let Some(job) = state.jobs.pop_front() {
                return Next::Job(job);
            } else if state.stop {
                return Next::Stop;
            } else if left.is_zero() {
                return Next::Look;
            }
            state = self.added.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes no more jobs, and gives back those that were not done.
    fn close(&self) -> VecDeque<Job> {
        let mut state = lock(&self.state);
        (state.stop, state.bytes) = (true, 0);
        std::mem::take(&mut state.jobs)
    }

    fn done(&self, bytes: u64) {
        let mut state = lock(&self.state);
        state.bytes = state.bytes.saturating_sub(bytes);
    }

    fn is_broken(&self) -> bool {
        lock(&self.state).broken
    }
}

enum Next {
    Job(Job),
    Look,
    Stop,
}

/// The file that is written to.
struct Active {
    segment: Arc<Segment>,
    at: u64,
}

/// The writer's own state.
struct Writer<'a> {
    shared: &'a Shared,
    active: Option<Active>,
    full_until: Instant,
}

/// Has nobody wait for a writer that has ended, however it did.
struct Ending<'a>(&'a Queue);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        for job in self.0.close() {
            if let Job::Call(then) = job {
                then();
            }
        }
    }
}

/// Writes until stopped.
pub(super) fn write(shared: &Shared) {
    let _ending = Ending(&shared.queue);
    let mut writer = Writer { shared, active: None, full_until: Instant::now() };
    let mut look_at = Instant::now() + LOOK_INTERVAL;
    loop {
        let next = shared.queue.next(look_at);
        if look_at <= Instant::now() {
            shared.find_records();
            look_at = Instant::now() + LOOK_INTERVAL;
        }
        match next {
            Next::Job(job) => {
                let bytes = job.bytes();
                if catch_unwind(AssertUnwindSafe(|| writer.run(job))).is_err() {
                    tracing::error!("a job of the cache's writer panicked");
                }
                shared.queue.done(bytes);
            }
            Next::Look => {}
            Next::Stop => return writer.seal(),
        }
    }
}

impl Writer<'_> {
    fn run(&mut self, job: Job) {
        match job {
            Job::Write(insert) => self.store(&insert),
            Job::Drop(record) => {
                if let Err(error) = self.append(&record, &[]) {
                    tracing::warn!(%error, "what was dropped could not be noted in the cache's folder");
                }
            }
            Job::Call(then) => then(),
        }
    }

    /// Writes a range, and has its object find it there. Where that fails the range is in memory, or nowhere.
    fn store(&mut self, insert: &Insert) {
        let Insert { object, id, bytes, record } = insert;
        let wanted = |state: &mut crate::media::cache::object::State| {
            state.extents.get_mut(record.start, *id).is_some_and(|extent| extent.queued.is_some())
        };
        if !wanted(&mut object.lock()) {
            return;
        }
        let stored = self.append(record, bytes);
        let mut state = object.lock();
        let Some(extent) = state.extents.get_mut(record.start, *id) else { return };
        extent.queued = None;
        match stored {
            Ok(Some(stored)) => {
                let noted = stored.note(object, record.start, *id);
                extent.stored = noted.then(|| Box::new(stored));
                self.shared.catalog.counts.writes.add(1);
            }
            Ok(None) => self.shared.catalog.counts.drops.add(1),
            Err(error) => {
                self.shared.catalog.counts.drops.add(1);
                tracing::debug!(%error, "a range could not be stored in the cache's folder");
            }
        }
        state.extents.drop_unheld(record.start);
        drop(state);
        object.let_go_if_empty();
    }

    /// Adds a record. `None` for one that is not to be stored.
    fn append(&mut self, record: &Record, data: &[u8]) -> io::Result<Option<Stored>> {
        let Some(bytes) = record.head_len().map(|head| head + record.len) else { return Ok(None) };
        if self.shared.segment_bytes < bytes || LEN_MAX < record.len {
            return Ok(None);
        }
        if self.shared.queue.is_broken() {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let (segment, at) = self.room_for(bytes, usize::from(record.len != 0))?;
        let Some((head, sealed)) = record.seal(data, segment.place(at)) else { return Ok(None) };
        let data_at = at + sealed.head_bytes;
        // The head comes last: a record that is cut off has none.
        write_all_at(&segment.file, data, data_at)?;
        write_all_at(&segment.file, &head, at)?;
        segment.scanned.store(at + bytes, Ordering::Release);
        if let Some(active) = &mut self.active {
            active.at = at + bytes;
        }
        Ok(Some(Stored { segment, at: data_at, skip: 0, len: record.len, sealed }))
    }

    /// The file to write to, and where in it; a new one where the last has no room left.
    fn room_for(&mut self, bytes: u64, ranges: usize) -> io::Result<(Arc<Segment>, u64)> {
        if ranges <= self.shared.room()
            && let Some(found) = self.room_in_active(bytes)
        {
            return Ok(found);
        }
        if Instant::now() < self.full_until {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let found = self.make_room(bytes, ranges);
        if found.is_err() {
            self.full_until = Instant::now() + FULL_INTERVAL;
        }
        found
    }

    fn room_in_active(&self, bytes: u64) -> Option<(Arc<Segment>, u64)> {
        let Active { segment, at } = self.active.as_ref()?;
        let shared = self.shared;
        let fits = at + bytes <= shared.segment_bytes
            && segment.range_count() < shared.ranges_max.div_ceil(RANGE_PARTS).max(1);
        (fits && !segment.gone.load(Ordering::Acquire)).then(|| (Arc::clone(segment), *at))
    }

    fn make_room(&mut self, bytes: u64, ranges: usize) -> io::Result<(Arc<Segment>, u64)> {
        while self.shared.room() < ranges {
            self.remove_ranges()?;
        }
        if let Some(found) = self.room_in_active(bytes) {
            return Ok(found);
        }
        let segment = self.make()?;
        self.seal();
        self.active = Some(Active { segment: Arc::clone(&segment), at: 0 });
        Ok((segment, 0))
    }

    /// Removes a file that makes room for ranges; the active one stays.
    fn remove_ranges(&self) -> io::Result<()> {
        let shared = self.shared;
        let active = self.active.as_ref().map(|active| &active.segment.path);
        let may_go: HashSet<PathBuf> = lock(&shared.segments)
            .values()
            .filter(|segment| Some(&segment.path) != active && segment.range_count() != 0)
            .map(|segment| segment.path.clone())
            .collect();
        let Some(path) = shared.folder.remove_oldest(|path| may_go.contains(path))? else {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "other processes' files have all ranges"));
        };
        let removed: Vec<_> = lock(&shared.segments).remove(&path).into_iter().collect();
        shared.forget(&removed);
        Ok(())
    }

    fn make(&self) -> io::Result<Arc<Segment>> {
        let shared = self.shared;
        let mut removed = Vec::new();
        let made = shared.folder.make_segment(shared.segment_bytes, |path| {
            removed.extend(lock(&shared.segments).remove(path));
        });
        shared.forget(&removed);
        let (path, made_ns, file) = made?;
        let segment = Segment::new(path, made_ns, file, &shared.ranges);
        lock(&shared.segments).insert(segment.path.clone(), Arc::clone(&segment));
        Ok(segment)
    }

    /// Cuts the active file to what is in it.
    fn seal(&mut self) {
        let Some(Active { segment, at }) = self.active.take() else { return };
        if let Err(error) = segment.file.set_len(at) {
            tracing::warn!(%error, "a file of the cache cannot be cut");
        }
    }
}
