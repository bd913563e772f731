//! A pool of threads that call `pread(2)`: for kernels and containers without io_uring, for network file systems, and where
//! there is no Linux.
//!
//! On a local disk the lane reads what is in the page cache itself (`RWF_NOWAIT`, Linux 4.14): handing a read to a thread
//! and back costs several times what copying some KiB does.

use super::open_file::OpenFile;
use crate::driver::{Caching, Completion, LocalDriver, Outcome, ReadOp, ReadTarget, TargetUse, WaitsFor};
use crate::engine::lock;
use crate::media::positioned::{resume_offset, unfilled};
use crate::wake::Wake;
use crate::{Error, ErrorKind, OpenObject};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub(super) struct PreadThreads {
    shared: Arc<Pool>,
    threads: Vec<JoinHandle<()>>,
    threads_max: usize,
    waits_for: WaitsFor,
    /// Reads of the threads, and those below.
    in_flight: usize,
    /// Reads that the lane made itself, not reaped yet.
    own: Vec<Completion>,
    at_once: AtOnce,
}

/// Whether the lane tries a read itself first: as long as that finds bytes.
#[derive(Debug, Default)]
struct AtOnce {
    /// Tries in a row that found nothing cached.
    misses: u32,
    /// Reads since the last try.
    skipped: u32,
}

/// After so many tries in vain the file is taken to be cold.
const MISSES_MAX: u32 = 4;

/// Of a cold file, one read of so many is tried: a try in vain costs about a microsecond.
const SKIPPED_MAX: u32 = 64;

impl AtOnce {
    fn is_worth_a_try(&mut self) -> bool {
        if self.misses < MISSES_MAX || SKIPPED_MAX <= self.skipped {
            self.skipped = 0;
            return true;
        }
        self.skipped += 1;
        false
    }

    fn note(&mut self, found: bool) {
        self.misses = if found { 0 } else { self.misses.saturating_add(1) };
    }
}

struct Pool {
    jobs: Mutex<Jobs>,
    added: Condvar,
    done: Mutex<Vec<Completion>>,
    wake: Arc<Wake>,
}

#[derive(Default)]
struct Jobs {
    queue: VecDeque<Job>,
    idle: usize,
    stop: bool,
}

struct Job {
    slot: u32,
    object: Arc<dyn OpenObject>,
    offset: u64,
    len: usize,
    target: Option<ReadTarget>,
    filled: usize,
    caching: Caching,
}

impl PreadThreads {
    /// A pool without threads: they are started one by one, as reads queue up, `threads_max` at most.
    pub(super) fn new(wake: &Arc<Wake>, threads_max: usize, waits_for: WaitsFor) -> PreadThreads {
        let shared = Pool {
            jobs: Mutex::default(),
            added: Condvar::new(),
            done: Mutex::default(),
            wake: Arc::clone(wake),
        };
        PreadThreads {
            shared: Arc::new(shared),
            threads: Vec::new(),
            threads_max,
            waits_for,
            in_flight: 0,
            own: Vec::new(),
            at_once: AtOnce::default(),
        }
    }

    /// Makes a read of cached bytes here and now; gives back one that would wait.
    fn read_at_once(&mut self, mut job: Job) -> Result<(), Job> {
        let may_wait = self.waits_for != WaitsFor::Device || job.caching != Caching::Cached;
        if may_wait || !self.at_once.is_worth_a_try() {
            return Err(job);
        }
        let read = job.read(|file, target, offset| file.read_at_once(target, offset));
        let outcome = read.unwrap_or_else(|failed| Some(Outcome::Failed(failed)));
        self.at_once.note(outcome.is_some());
        let Some(outcome) = outcome else { return Err(job) };
        self.own.push(Completion { slot: job.slot, target: job.target, outcome });
        Ok(())
    }

    /// Starts another thread where the queue is longer than the idle threads can take at once.
    fn grow(&mut self, queued: usize, idle: usize) {
        if queued <= idle || self.threads_max <= self.threads.len() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let started = std::thread::Builder::new().name("swath-pread".to_owned()).spawn(move || shared.work());
        match started {
            Ok(thread) => self.threads.push(thread),
            Err(error) if self.threads.is_empty() => {
                // Without any thread the reads are done here, one by one, rather than never.
                tracing::warn!(%error, "no thread for reads could be started");
                self.shared.drain();
            }
            Err(_) => {}
        }
    }
}

impl Pool {
    fn work(&self) {
        loop {
            let mut jobs = lock(&self.jobs);
            let job = loop {
                if let Some(job) = jobs.queue.pop_front() {
                    break job;
                }
                if jobs.stop {
                    return;
                }
                jobs.idle += 1;
                jobs = self.added.wait(jobs).unwrap_or_else(PoisonError::into_inner);
                jobs.idle -= 1;
            };
            drop(jobs);
            self.run(job);
        }
    }

    fn drain(&self) {
        while let Some(job) = { lock(&self.jobs).queue.pop_front() } {
            self.run(job);
        }
    }

    fn run(&self, mut job: Job) {
        let caching = job.caching;
        let outcome = job.read(|file, target, offset| file.read(caching, target, offset));
        let outcome = outcome.unwrap_or_else(Outcome::Failed);
        lock(&self.done).push(Completion { slot: job.slot, target: job.target, outcome });
        self.wake.wake();
    }
}

impl Job {
    /// Has what is left of it read.
    fn read<T>(&mut self, read: impl FnOnce(&OpenFile, &mut [u8], u64) -> T) -> Result<T, Error> {
        let (Some(target), Some(file)) = (&mut self.target, self.object.as_any().downcast_ref::<OpenFile>())
        else {
            return Err(Error::new(ErrorKind::Internal, "not a read of a local file"));
        };
        let target = unfilled(target.as_mut_slice(), self.filled, self.len)?;
        Ok(read(file, target, resume_offset(self.offset, self.filled)))
    }
}

impl LocalDriver for PreadThreads {
    fn name(&self) -> &'static str {
        "pread threads"
    }

    fn target_use(&self) -> TargetUse {
        TargetUse::Fills
    }

    fn waits_for(&self) -> WaitsFor {
        self.waits_for
    }

    fn submit(&mut self, read: ReadOp<'_>) {
        let ReadOp { slot, object, offset, len, target, filled, caching } = read;
        let job = Job { slot, object: Arc::clone(object), offset, len, target, filled, caching };
        self.in_flight += 1;
        let Err(job) = self.read_at_once(job) else { return };
        let (queued, idle) = {
            let mut jobs = lock(&self.shared.jobs);
            jobs.queue.push_back(job);
            (jobs.queue.len(), jobs.idle)
        };
        self.shared.added.notify_one();
        self.grow(queued, idle);
    }

    fn flush(&mut self) {}

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        let mut done = lock(&self.shared.done);
        self.in_flight -= done.len() + self.own.len();
        completions.append(&mut self.own);
        completions.append(&mut done);
    }

    fn wait(&mut self, wake: &Wake, timeout: Duration) {
        if self.own.is_empty() && lock(&self.shared.done).is_empty() {
            wake.wait(timeout);
        }
    }

    fn cancel(&mut self, slot: u32) {
        // A read that a thread has begun cannot be called back; one that waits can.
        let cancelled = {
            let mut jobs = lock(&self.shared.jobs);
            let at = jobs.queue.iter().position(|job| job.slot == slot);
            at.and_then(|at| jobs.queue.remove(at))
        };
        if let Some(job) = cancelled {
            let outcome = Outcome::Failed(Error::new(ErrorKind::Cancelled, "the read was cancelled"));
            lock(&self.shared.done).push(Completion { slot, target: job.target, outcome });
        }
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }
}

impl Drop for PreadThreads {
    fn drop(&mut self) {
        lock(&self.shared.jobs).stop = true;
        self.shared.added.notify_all();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a pread thread panicked");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cold_file_is_tried_now_and_then_and_a_warm_one_always() {
        let mut at_once = AtOnce::default();
        let tries = |at_once: &mut AtOnce, found: bool| {
            let mut tries = 0;
            for _ in 0..1_000 {
                if at_once.is_worth_a_try() {
                    tries += 1;
                    at_once.note(found);
                }
            }
            tries
        };
        assert_eq!(tries(&mut at_once, true), 1_000);
        let cold = tries(&mut at_once, false);
        assert!((10..=25).contains(&cold), "{cold} tries");
        let warm_again = tries(&mut at_once, true);
        assert!(900 < warm_again, "{warm_again} tries");
    }
}
