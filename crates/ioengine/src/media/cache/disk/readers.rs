//! Threads for reads of files that wait for the device.

use crate::engine::lock;
use crate::fork;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Reads that wait at once: what a solid-state disk needs to be busy.
const THREADS_MAX: usize = 16;

/// A read, with what is to be done with its bytes. There are as many as requests of lanes in flight.
type Job = Box<dyn FnOnce() + Send>;

/// Threads that are started as reads queue up.
pub(super) struct Readers {
    shared: Arc<Pool>,
    generation: u64,
}

#[derive(Default)]
struct Pool {
    jobs: Mutex<Jobs>,
    added: Condvar,
}

#[derive(Default)]
struct Jobs {
    queue: VecDeque<Job>,
    idle: usize,
    threads: usize,
    stop: bool,
}

impl Readers {
    pub(super) fn new() -> Readers {
        Readers { shared: Arc::default(), generation: fork::generation() }
    }

    /// Runs a job on a thread; here and now, where none can be started.
    pub(super) fn run(&self, job: Job) {
        let mut jobs = lock(&self.shared.jobs);
        jobs.queue.push_back(job);
        if jobs.queue.len() <= jobs.idle || THREADS_MAX <= jobs.threads {
            drop(jobs);
            self.shared.added.notify_one();
            return;
        }
        jobs.threads += 1;
        drop(jobs);
        let pool = Arc::clone(&self.shared);
        let named = std::thread::Builder::new().name("swath-cache-read".to_owned());
        if let Err(error) = named.spawn(move || pool.work()) {
            tracing::warn!(%error, "no thread for reads of the cache could be started");
            let mut jobs = lock(&self.shared.jobs);
            jobs.threads -= 1;
            let left = if jobs.threads == 0 { std::mem::take(&mut jobs.queue) } else { VecDeque::new() };
            drop(jobs);
            left.into_iter().for_each(|job| job());
        }
    }
}

impl Pool {
    /// Does jobs until stopped; those that are queued then are still done.
    fn work(&self) {
        let mut jobs = lock(&self.jobs);
        loop {
            if let Some(job) = jobs.queue.pop_front() {
                drop(jobs);
                job();
                jobs = lock(&self.jobs);
            } else if jobs.stop {
                return;
            } else {
                jobs.idle += 1;
                jobs = self.added.wait(jobs).unwrap_or_else(PoisonError::into_inner);
                jobs.idle -= 1;
            }
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        if self.generation == fork::generation() {
            lock(&self.shared.jobs).stop = true;
            self.shared.added.notify_all();
        }
    }
}
