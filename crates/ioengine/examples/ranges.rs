//! Random ranges of one file in one batch: what the engine reaches beside `fio`.
//!
//! `cargo run --release -p swath-ioengine --example ranges -- FILE [KEY=VALUE]...`, with the keys `bytes` (of a range,
//! 4096), `count` (1000000), `access` (`probe`, `buffered`, `direct`, `mapped`, `threads`), `merge` (parts of one read
//! at most; 1 reads each range by itself), `depth`, `batch`, `submit`, `pool`, `lanes`, `window`, `passes`, `drop` (1 drops the file
//! from the page cache before each pass), `sum` (1 adds up every byte, as a reader of them would). Prints reads a
//! second, bytes a second and processor time of each pass, and checks the sums of all passes against each other.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::expect_used,
    reason = "an example for people"
)]

use rustix::fs::Advice;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, EngineConfig, Error, Estimate, FileAccess, LaneContext,
    Limits, LocalFiles, ObjectRef, PlanContext, Planned, RunOptions, Token, Window,
};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().expect("the first argument is a file"));
    let values: HashMap<String, String> = arguments
        .map(|argument| {
            let (key, value) = argument.split_once('=').expect("arguments are KEY=VALUE");
            (key.to_owned(), value.to_owned())
        })
        .collect();
    let number = |key: &str, default: u64| {
        values.get(key).map_or(default, |value| value.parse().expect("a value is a number"))
    };
    let defaults = Limits::default();
    let limit = |key: &str, default: usize| usize::try_from(number(key, default as u64)).unwrap();
    let limits = Limits {
        lanes: limit("lanes", defaults.lanes),
        local_depth: limit("depth", defaults.local_depth),
        submit_batch: limit("batch", defaults.submit_batch),
        merged_parts_max: limit("merge", defaults.merged_parts_max),
        pooled_bytes_max: limit("pool", defaults.pooled_bytes_max),
        submit_bytes_max: limit("submit", defaults.submit_bytes_max),
        ..defaults
    };
    let access = match values.get("access").map_or("probe", String::as_str) {
        "probe" => FileAccess::Probe,
        "buffered" => FileAccess::Buffered,
        "direct" => FileAccess::Direct,
        "mapped" => FileAccess::Mapped,
        "threads" => FileAccess::PreadThreads,
        other => panic!("no access named {other}"),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let files = LocalFiles::open(folder, access).unwrap();
    let object = files.object(path.file_name().unwrap().to_str().unwrap());
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
    let bytes = number("bytes", 4096);
    let batch = Ranges {
        object,
        bytes,
        count: number("count", 1_000_000),
        places: std::fs::metadata(&path).unwrap().len() / bytes,
        window_reads: number("window", 256),
        sums_all: number("sum", 0) != 0,
        sums: std::array::from_fn(|_| Sum::default()),
        failed: AtomicU64::new(0),
    };
    let mut wanted = None;
    for _ in 0..number("passes", 3) {
        if number("drop", 0) != 0 {
            let file = File::open(&path).unwrap();
            file.sync_all().unwrap();
            rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        }
        let (found, elapsed, processor) = batch.pass(&engine);
        assert_eq!(*wanted.get_or_insert(found), found, "passes differ");
        report(&batch, elapsed, processor);
    }
    println!("{:?}", engine.stats().drivers);
}

fn report(batch: &Ranges, elapsed: Duration, processor: f64) {
    let seconds = elapsed.as_secs_f64();
    let gigabytes = (batch.count * batch.bytes) as f64 / 1e9;
    println!(
        "{:>9.0} reads/s {:>7.0} MB/s {:>7.3} s {:>7.3} cpu s {:>7.3} cpu s/GB",
        batch.count as f64 / seconds,
        gigabytes * 1e3 / seconds,
        seconds,
        processor,
        processor / gigabytes
    );
}

const SUMS: usize = 64;

#[derive(Default)]
#[repr(align(128))]
struct Sum(AtomicU64);

struct Ranges {
    object: ObjectRef,
    bytes: u64,
    count: u64,
    places: u64,
    window_reads: u64,
    sums_all: bool,
    /// One for each few windows, so that lanes do not contend for them.
    sums: [Sum; SUMS],
    failed: AtomicU64,
}

impl Ranges {
    fn pass(&self, engine: &Engine) -> (u64, Duration, f64) {
        for sum in &self.sums {
            sum.0.store(0, Ordering::Relaxed);
        }
        let (start, processor) = (Instant::now(), processor_seconds());
        engine.run(self, &RunOptions::default()).unwrap();
        let (elapsed, processor) = (start.elapsed(), processor_seconds() - processor);
        assert_eq!(self.failed.load(Ordering::Relaxed), 0);
        let sum = self.sums.iter().fold(0u64, |all, sum| all.wrapping_add(sum.0.load(Ordering::Relaxed)));
        (sum, elapsed, processor)
    }
}

fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

impl Batch for Ranges {
    fn window_count(&self) -> u64 {
        self.count.div_ceil(self.window_reads)
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: self.count, bytes: self.count * self.bytes }
    }

    fn plan<'b>(&'b self, cursor: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        window.set_object(self.object.clone());
        let first = cursor.window * self.window_reads;
        for index in first..(first + self.window_reads).min(self.count) {
            let place = scrambled(index) % self.places;
            window.read(ByteRange::Bounded { offset: place * self.bytes, len: self.bytes }, Token(index));
        }
        Planned::Complete
    }

    fn deliver(&self, _: Token, result: Result<Arrival<'_>, Error>, lane: &mut LaneContext<'_>) {
        let Ok(Arrival::Bytes(bytes)) = result else {
            self.failed.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let sum = if self.sums_all {
            sum_of_words(bytes)
        } else {
            bytes.first().map_or(0, |byte| u64::from(*byte))
        };
        let own = usize::try_from(lane.cursor.window).unwrap() % SUMS;
        self.sums[own].0.fetch_add(sum, Ordering::Relaxed);
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, _: Cursor, error: Error, _: &mut LaneContext<'_>) {
        panic!("{error}");
    }
}

/// A place for each index, without a pattern (splitmix64).
fn scrambled(index: u64) -> u64 {
    let mut state = index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ (state >> 31)
}

fn sum_of_words(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(words, |sum, byte| sum.wrapping_add(u64::from(*byte)))
}
