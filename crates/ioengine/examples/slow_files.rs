//! Files that are far away: cold random reads of a file system that answers late, by each mechanism and queue depth.
//!
//! `cargo run --release -p swath-ioengine --example slow_files [LATENCY_US [READS [pages]]]`, where FUSE can be mounted.
//! Prints reads a second, the median of several passes, with one lane. The bytes are checked. With `pages` the kernel's
//! page cache stands between, cold, as it does on most network file systems; else no cache does.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example for people")]

#[path = "../tests/it/slow_fs/mod.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod slow_fs;

use slow_fs::{Cache, SlowFs, Slowness};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, EngineConfig, Error, Estimate, FileAccess, LaneContext,
    Limits, LocalFiles, ObjectRef, PlanContext, Planned, RunOptions, Token, Window,
};

const FILE_BYTES: u64 = 256 << 20;
const READ_BYTES: u64 = 4096;
const PASSES: usize = 9;
const TIME_MAX: Duration = Duration::from_secs(4);

fn main() {
    if slow_fs::serve_if_asked() {
        return;
    }
    let mut arguments = std::env::args().skip(1);
    let latency_us = arguments.next().map_or(2000, |number| number.parse().unwrap());
    let reads: u64 = arguments.next().map_or(256, |number| number.parse().unwrap());
    let cache = if arguments.next().is_some() { Cache::Pages } else { Cache::None };
    let slowness = Slowness {
        latency: Duration::from_micros(latency_us),
        jitter: Duration::ZERO,
        cache,
        ..Slowness::default()
    };
    let mounted = match SlowFs::mount(slowness) {
        Ok(mounted) => mounted,
        Err(reason) => return println!("no FUSE here: {reason}"),
    };
    let bytes: Vec<u8> =
        (0..FILE_BYTES).map(|at| u8::try_from(at / READ_BYTES * 31 % 251).unwrap()).collect();
    std::fs::write(mounted.files().join("a"), &bytes).unwrap();
    // A file that changed just now would be opened anew for each window.
    std::thread::sleep(Duration::from_millis(2100));
    let chosen = LocalFiles::open(mounted.path(), FileAccess::Probe).unwrap();
    println!(
        "{latency_us} µs, {reads} reads of {READ_BYTES} bytes, {cache:?} cached; chosen: {}",
        chosen.mechanism()
    );
    println!("depth  io_uring  pread threads");
    for depth in [1, 4, 16, 64, 128, 256, 512] {
        let [rings, threads] = rates(&mounted.path(), depth, reads);
        println!("{depth:>5}  {rings:>6.0}/s  {threads:>11.0}/s");
    }
    println!("{:?}", mounted.stop());
}

/// Reads a second by each mechanism: taken in turn, the median of as many passes as there is time for.
fn rates(path: &Path, depth: usize, reads: u64) -> [f64; 2] {
    let files = [FileAccess::IoUring, FileAccess::PreadThreads]
        .map(|access| LocalFiles::open(path, access).unwrap().object("a"));
    let mut passes: [Vec<f64>; 2] = Default::default();
    let start = Instant::now();
    while passes[0].len() < PASSES && start.elapsed() < TIME_MAX {
        for (object, rates) in files.iter().zip(&mut passes) {
            rates.push(rate(object.clone(), depth, reads));
        }
    }
    passes.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    })
}

/// Reads a second, by an engine of its own: opening the file anew empties the page cache of it.
fn rate(object: ObjectRef, depth: usize, reads: u64) -> f64 {
    let limits = Limits {
        lanes: 1,
        local_depth: depth,
        waiting_threads_max: depth,
        inline_reads_max: 0,
        inline_bytes_max: 0,
        ..Limits::default()
    };
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
    // Threads and rings are made before the clock runs; the bytes are others.
    engine.run(&Pages::new(&object, 1, u64::try_from(depth).unwrap()), &RunOptions::default()).unwrap();
    let batch = Pages::new(&object, 2, reads);
    let start = Instant::now();
    engine.run(&batch, &RunOptions::default()).unwrap();
    let elapsed = start.elapsed();
    assert_eq!(batch.right.into_inner(), reads);
    reads as f64 / elapsed.as_secs_f64()
}

/// Random pages of a file, none of them twice, in one window.
struct Pages {
    object: ObjectRef,
    offsets: Vec<u64>,
    right: AtomicU64,
}

impl Pages {
    fn new(object: &ObjectRef, seed: u64, reads: u64) -> Pages {
        // Odd factors permute the places of a power of two. Only every other page is read, so that none merge.
        let places = FILE_BYTES / (2 * READ_BYTES);
        let place = |index: u64| (index + seed * 9973).wrapping_mul(2_654_435_761) % places;
        let offsets = (0..reads).map(|index| place(index) * 2 * READ_BYTES).collect();
        Pages { object: object.clone(), offsets, right: AtomicU64::new(0) }
    }
}

impl Batch for Pages {
    fn window_count(&self) -> u64 {
        1
    }

    fn estimate(&self) -> Estimate {
        let reads = u64::try_from(self.offsets.len()).unwrap();
        Estimate { reads, bytes: reads * READ_BYTES }
    }

    fn plan<'b>(&'b self, _: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        window.set_object(self.object.clone());
        for (token, offset) in (0..).zip(&self.offsets) {
            window.read(ByteRange::Bounded { offset: *offset, len: READ_BYTES }, Token(token));
        }
        Planned::Complete
    }

    fn deliver(&self, token: Token, result: Result<Arrival<'_>, Error>, _: &mut LaneContext<'_>) {
        let offset = self.offsets[usize::try_from(token.0).unwrap()];
        let wanted = u8::try_from(offset / READ_BYTES * 31 % 251).unwrap();
        if matches!(result, Ok(Arrival::Bytes(bytes)) if bytes.iter().all(|byte| *byte == wanted)) {
            self.right.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, _: Cursor, _: Error, _: &mut LaneContext<'_>) {}
}
