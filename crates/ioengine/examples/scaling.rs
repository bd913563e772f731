//! What the size of a batch, and the number of batches, cost: the engine itself, not simulated.
//!
//! `cargo run --release -p swath-ioengine --example scaling -- WAY` where WAY is one of
//!
//! - `threads`: eight threads with batches of their own against one batch of as many reads: rates, the longest batch.
//! - `memory`: the most memory that batches of 1,000 to 1,000,000 reads take.
//! - `once MEDIUM READS [READ_BYTES [SUBMIT_BATCH]]`: one batch, for profilers: instructions a read are those of a run less those of
//!   one with 0 READS. MEDIUM is `files` (as the probe finds best), `uring`,
//!   `threads` (of pread), `memory`, `instant` (a driver that completes every read at once: the lane's work alone) or
//!   `list` (as `uring`, by [`Engine::read_ranges`]).
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::expect_used, reason = "an example for people")]

use bytes::Bytes;
use std::any::Any;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use swath_ioengine::{
    Arrival, Batch, Blocks, ByteRange, Completion, CostModel, Cursor, DriverSite, Engine, EngineConfig,
    Entry, Error, ErrorKind, Estimate, FileAccess, Freshness, Identity, LaneContext, Limits, LocalDriver,
    LocalFiles, LocalMedium, Medium, MediumId, MemoryMedium, ObjectRef, OpenObject, Outcome, PlanContext,
    Planned, PutCondition, RangeRead, ReadOp, ReadTarget, Resident, RunOptions, TargetUse, Token, TryLock,
    WaitsFor, Wake, Window,
};

const FILE_BYTES: u64 = 256 << 20;
const READ_BYTES: u64 = 4096;
const WINDOW_READS: u64 = 256;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = tempfile::tempdir().unwrap();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["threads"] => threads(folder.path()),
        ["memory"] => memory(folder.path()),
        ["once", medium, ref numbers @ ..] => once(folder.path(), medium, numbers),
        _ => println!("scaling threads | memory | once MEDIUM READS [READ_BYTES [SUBMIT_BATCH]]"),
    }
}

fn once(folder: &Path, medium: &str, numbers: &[&str]) {
    let number = |at: usize| numbers.get(at).map(|number| number.parse::<u64>().expect("a number"));
    let (reads, read_bytes) = (number(0).unwrap_or(0), number(1).unwrap_or(READ_BYTES));
    let mut limits = limits(1);
    if let Some(submit_batch) = number(2) {
        limits.submit_batch = usize::try_from(submit_batch).unwrap();
    }
    let engine = Engine::new(EngineConfig { limits, freshness: Freshness::Immutable });
    let list = medium == "list";
    let object = object(folder, if list { "uring" } else { medium });
    // What is started, opened and allocated once is not the batch's.
    run(&engine, &object, (1000, read_bytes), list);
    run(&engine, &object, (reads, read_bytes), list);
    println!("{:?}", engine.stats());
}

fn run(engine: &Engine, object: &ObjectRef, (reads, read_bytes): (u64, u64), list: bool) -> Duration {
    let start = Instant::now();
    let delivered = AtomicU64::new(0);
    let batch = Pages { object, reads, read_bytes, delivered: &delivered };
    if list {
        let reads: Vec<RangeRead> =
            (0..reads).map(|index| RangeRead { object: 0, range: batch.range(index) }).collect();
        let count = |_, result: Result<&[u8], Error>| {
            delivered.fetch_add(u64::from(result.is_ok()), Ordering::Relaxed);
        };
        engine.read_ranges(std::slice::from_ref(object), &reads, count, &RunOptions::default()).unwrap();
    } else {
        engine.run(&batch, &RunOptions::default()).unwrap();
    }
    assert_eq!(delivered.into_inner(), reads);
    start.elapsed()
}

/// Peaks of the process's memory, each against that before the batch.
fn memory(folder: &Path) {
    for medium in ["files", "uring", "instant", "list"] {
        let list = medium == "list";
        let object = object(folder, if list { "uring" } else { medium });
        for reads in [1_000, 10_000, 100_000, 1_000_000] {
            let engine = engine(2);
            run(&engine, &object, (1000, READ_BYTES), list);
            let before = peak_kib(true);
            run(&engine, &object, (reads, READ_BYTES), list);
            println!("{medium:<8} {reads:>9} reads: {:>7} KiB more", peak_kib(false) - before);
        }
    }
}

/// The most memory that the process had resident since the last reset, in KiB.
fn peak_kib(reset: bool) -> i64 {
    if reset {
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Passes of each way, taken in turn; the shortest count, because other work on the machine only makes them longer.
const PASSES: usize = 9;
const THREADS: u64 = 8;

fn threads(folder: &Path) {
    println!("medium   one batch  eight threads  ratio  longest/median batch");
    for (medium, reads) in
        [("instant", 2 << 20), ("memory", 16 << 20), ("uring", 1 << 19), ("files", 2 << 20)]
    {
        let object = object(folder, medium);
        let engine = engine(Limits::default().lanes);
        let (mut one, mut eight, mut spread) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..PASSES {
            one.push(run(&engine, &object, (reads, READ_BYTES), false).as_secs_f64());
            let (elapsed, longest) = in_threads(&engine, &object, reads);
            eight.push(elapsed);
            spread.push(longest);
        }
        let (one, eight) = (shortest(&one), shortest(&eight));
        println!(
            "{medium:<8} {:>7.3} M/s {:>9.3} M/s  {:>4.2}  {:.2}",
            reads as f64 / one / 1e6,
            reads as f64 / eight / 1e6,
            one / eight,
            median(&mut spread),
        );
    }
}

/// Returns the time from the start to the last batch's end, and the longest batch's time over their median.
fn in_threads(engine: &Engine, object: &ObjectRef, reads: u64) -> (f64, f64) {
    let barrier = Barrier::new(usize::try_from(THREADS).unwrap() + 1);
    let (elapsed, mut times) = std::thread::scope(|scope| {
        let work = || {
            barrier.wait();
            run(engine, object, (reads / THREADS, READ_BYTES), false).as_secs_f64()
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        barrier.wait();
        let start = Instant::now();
        let times: Vec<f64> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        (start.elapsed().as_secs_f64(), times)
    });
    let median = median(&mut times);
    (elapsed, times.iter().copied().fold(0.0, f64::max) / median)
}

fn shortest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// An engine that runs nothing on the caller's thread.
fn engine(lanes: usize) -> Engine {
    Engine::new(EngineConfig { limits: limits(lanes), freshness: Freshness::Immutable })
}

fn limits(lanes: usize) -> Limits {
    Limits { lanes, inline_reads_max: 0, ..Limits::default() }
}

fn object(folder: &Path, medium: &str) -> ObjectRef {
    let access = match medium {
        "files" => FileAccess::Probe,
        "uring" => FileAccess::IoUring,
        "threads" => FileAccess::PreadThreads,
        "memory" => {
            let memory = MemoryMedium::new();
            memory.put("a", vec![7; usize::try_from(FILE_BYTES).unwrap()]);
            return memory.object("a");
        }
        "instant" => {
            let medium: Arc<dyn LocalMedium> = Arc::new(Instantly(MediumId::unique()));
            return ObjectRef { medium: Medium::Local(medium), key: Arc::from("a") };
        }
        _ => panic_on(medium),
    };
    let path = folder.join("a");
    if !path.exists() {
        std::fs::write(&path, vec![7; usize::try_from(FILE_BYTES).unwrap()]).unwrap();
        // A file that changed just now would be opened anew for each window.
        std::thread::sleep(Duration::from_millis(2100));
    }
    LocalFiles::open(folder, access).unwrap().object("a")
}

fn panic_on(medium: &str) -> ! {
    println!("there is no medium {medium}");
    std::process::exit(2);
}

struct Pages<'a> {
    object: &'a ObjectRef,
    reads: u64,
    read_bytes: u64,
    delivered: &'a AtomicU64,
}

impl Pages<'_> {
    /// Places far apart, so that no two reads of a window merge.
    fn range(&self, index: u64) -> ByteRange {
        let stride = self.read_bytes.next_multiple_of(READ_BYTES) + 3 * READ_BYTES;
        let places = FILE_BYTES / stride;
        ByteRange::Bounded {
            offset: index.wrapping_mul(2_654_435_761) % places * stride,
            len: self.read_bytes,
        }
    }
}

impl Batch for Pages<'_> {
    fn window_count(&self) -> u64 {
        self.reads.div_ceil(WINDOW_READS)
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: self.reads, bytes: self.reads * self.read_bytes }
    }

    fn plan<'b>(&'b self, cursor: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        window.set_object(self.object.clone());
        let first = cursor.window * WINDOW_READS;
        for index in first..(first + WINDOW_READS).min(self.reads) {
            window.read(self.range(index), Token(index));
        }
        Planned::Complete
    }

    fn deliver(&self, _: Token, result: Result<Arrival<'_>, Error>, _: &mut LaneContext<'_>) {
        self.delivered.fetch_add(u64::from(result.is_ok()), Ordering::Relaxed);
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, _: Cursor, _: Error, _: &mut LaneContext<'_>) {}
}

/// A medium whose reads are complete once they are submitted, and bring nothing.
struct Instantly(MediumId);

struct Nothing(Identity);

#[derive(Default)]
struct InstantDriver(Vec<Completion>);

impl OpenObject for Nothing {
    fn size(&self) -> u64 {
        FILE_BYTES
    }

    fn identity(&self) -> &Identity {
        &self.0
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn resident(&self, _: u64) -> Option<Resident<'_>> {
        None
    }

    fn blocks(&self, _: u64) -> Option<Blocks> {
        None
    }

    fn refuse_blocks(&self) {}

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl LocalMedium for Instantly {
    fn id(&self) -> MediumId {
        self.0
    }

    fn describe(&self) -> String {
        "nothing, at once".to_owned()
    }

    fn family(&self) -> &'static str {
        "instant"
    }

    fn depth(&self) -> Option<usize> {
        None
    }

    fn cost(&self) -> CostModel {
        CostModel::PAGE_CACHE
    }

    fn driver(&self, _: DriverSite<'_>) -> Result<Box<dyn LocalDriver>, Error> {
        Ok(Box::<InstantDriver>::default())
    }

    fn open(&self, _: &str) -> Result<Arc<dyn OpenObject>, Error> {
        Ok(Arc::new(Nothing(Identity::Version(0))))
    }

    fn identify(&self, _: &str) -> Result<Identity, Error> {
        Ok(Identity::Version(0))
    }

    fn verify(&self, _: &dyn OpenObject) -> Result<(), Error> {
        Ok(())
    }

    fn list(&self, _: &str) -> Result<Vec<Entry>, Error> {
        Ok(Vec::new())
    }

    fn put(&self, _key: &str, _bytes: Bytes, _condition: &PutCondition) -> Result<Option<Identity>, Error> {
        Err(Error::new(ErrorKind::Unsupported, "this medium is read only"))
    }

    fn delete(&self, _key: &str) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Unsupported, "this medium is read only"))
    }

    fn delete_version(&self, _key: &str, _version: &Identity) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Unsupported, "this medium is read only"))
    }

    fn try_lock(&self, _key: &str) -> Result<TryLock, Error> {
        Ok(TryLock::None)
    }
}

impl LocalDriver for InstantDriver {
    fn name(&self) -> &'static str {
        "instant"
    }

    fn target_use(&self) -> TargetUse {
        TargetUse::Fills
    }

    fn waits_for(&self) -> WaitsFor {
        WaitsFor::Device
    }

    fn submit(&mut self, read: ReadOp<'_>) {
        let target: Option<ReadTarget> = read.target;
        self.0.push(Completion { slot: read.slot, target, outcome: Outcome::Filled(read.len) });
    }

    fn flush(&mut self) {}

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        completions.append(&mut self.0);
    }

    fn wait(&mut self, _: &Wake, _: Duration) {}

    fn cancel(&mut self, _: u32) {}

    fn in_flight(&self) -> usize {
        self.0.len()
    }
}
