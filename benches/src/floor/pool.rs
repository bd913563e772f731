//! The threads: started once, parked between passes, handed small runs of chunks by an atomic counter.

use crate::work::{Job, Worker};
use protocol::Failure;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Threads that work on one job; the thread that calls is one of them.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    /// Positions before the current pass: they count on from pass to pass, so that a thread that is late finds
    /// nothing that it could mistake for its own.
    base: u64,
    caller: Worker,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    job: Job,
    /// The next position to claim.
    next: AtomicU64,
    /// The positions to claim end here.
    limit: AtomicU64,
    /// Positions done.
    done: AtomicU64,
    /// Positions claimed at once.
    run: AtomicU64,
    /// Which of the threads sleep.
    parked: Vec<AtomicBool>,
    stop: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

/// Most chunks claimed at once.
const RUN_MAX: u64 = 16;

/// Most chunks claimed at once where one read may have them all.
const MERGED_RUN_MAX: u64 = 64;

/// How long a thread looks for more before it parks: longer than from one selection to the next.
const SPIN: Duration = Duration::from_micros(50);

impl Pool {
    /// Starts all threads but the caller's.
    pub(crate) fn new(job: Job, threads: usize) -> Pool {
        let caller = Worker::new(&job);
        let shared = Arc::new(Shared {
            job,
            next: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            done: AtomicU64::new(0),
            run: AtomicU64::new(1),
            parked: (1..threads).map(|_| AtomicBool::new(false)).collect(),
            stop: AtomicBool::new(false),
            failure: Mutex::new(None),
        });
        let start = |number| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.serve(number))
        };
        let threads = (0..shared.parked.len()).map(start).collect();
        Pool { shared, base: 0, caller, threads }
    }

    /// Reads everything once; the latency of each stage in nanoseconds.
    pub(crate) fn pass(&mut self) -> Result<Vec<u64>, Failure> {
        let shared = Arc::clone(&self.shared);
        let plan = &shared.job.plan;
        let mut latencies = Vec::with_capacity(plan.stages.len());
        for stage in &plan.stages {
            let start = Instant::now();
            self.stage(stage);
            latencies.push(start.elapsed().as_nanos() as u64);
        }
        self.base += plan.chunks.len() as u64;
        match shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Ok(latencies),
            Some(failure) => Err(failure),
        }
    }

    fn stage(&mut self, stage: &Range<usize>) {
        let shared = &self.shared;
        let share = stage.len() as u64 / (self.threads.len() as u64 + 1) / 4;
        let run = share.clamp(1, if shared.job.is_merging { MERGED_RUN_MAX } else { RUN_MAX });
        let limit = self.base + stage.end as u64;
        shared.run.store(run, Ordering::Relaxed);
        shared.limit.store(limit, Ordering::SeqCst);
        // What one claim takes is done before another thread is awake.
        if run < stage.len() as u64 {
            for (thread, parked) in self.threads.iter().zip(&shared.parked) {
                if parked.load(Ordering::SeqCst) {
                    thread.thread().unpark();
                }
            }
        }
        while shared.work(&mut self.caller) {}
        let waiting = Instant::now();
        while shared.done.load(Ordering::Acquire) < limit {
            // Where others use the machine as well, the last thread may be waiting for this core.
            if SPIN < waiting.elapsed() {
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // It ended by itself, or panicked and said so.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// A thread's life.
    fn serve(&self, number: usize) {
        let _abort = AbortOnPanic;
        let mut worker = Worker::new(&self.job);
        let parked = &self.parked[number];
        while !self.stop.load(Ordering::SeqCst) {
            while self.work(&mut worker) {}
            let idle = Instant::now();
            while !self.has_work() && idle.elapsed() < SPIN {
                std::hint::spin_loop();
            }
            // First told, then looked: the caller first shows work, then looks whom to wake.
            parked.store(true, Ordering::SeqCst);
            if !self.has_work() && !self.stop.load(Ordering::SeqCst) {
                std::thread::park();
            }
            parked.store(false, Ordering::SeqCst);
        }
    }

    fn has_work(&self) -> bool {
        self.next.load(Ordering::SeqCst) < self.limit.load(Ordering::SeqCst)
    }

    /// Does one run, unless there is none left.
    fn work(&self, worker: &mut Worker) -> bool {
        let Some(claimed) = self.claim() else { return false };
        let count = claimed.end - claimed.start;
        let chunks = &self.job.plan.chunks;
        // A claim lies within one stage, and so within one pass.
        let start = (claimed.start % chunks.len() as u64) as usize;
        if let Err(failure) = worker.chunks(&self.job, &chunks[start..start + count as usize]) {
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        }
        self.done.fetch_add(count, Ordering::Release);
        true
    }

    /// Takes the next run for the thread that calls.
    fn claim(&self) -> Option<Range<u64>> {
        let mut next = self.next.load(Ordering::Acquire);
        loop {
            let limit = self.limit.load(Ordering::SeqCst);
            if limit <= next {
                return None;
            }
            let end = limit.min(next + self.run.load(Ordering::Relaxed));
            match self.next.compare_exchange_weak(next, end, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(next..end),
                Err(found) => next = found,
            }
        }
    }
}

/// A thread that panicked would never be done, and the caller would wait for it.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}
