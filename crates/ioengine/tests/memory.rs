//! How much memory a large batch takes: its output, the byte budget, and little more.
#![expect(unsafe_code, reason = "counts what the allocator hands out")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "all of it is a test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use swath_ioengine::{
    ByteRange, Engine, EngineConfig, FileAccess, Limits, LocalFiles, RangeRead, RunOptions,
};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it came; only numbers are kept.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MIB: usize = 1 << 20;
const FILE_BYTES: usize = 64 * MIB;
const BUDGET: usize = 4 * MIB;
/// Buffers kept by two lanes, their windows, the batch's own lists.
const SLACK: usize = 2 * MIB;

/// Peak of the memory in use while `work` runs, beyond what was in use before.
fn peak_of(work: impl FnOnce()) -> usize {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    work();
    PEAK.load(Ordering::Relaxed) - before
}

/// One test, because the counters are the process's.
#[test]
fn a_batch_takes_no_more_than_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a"), vec![7u8; FILE_BYTES]).unwrap();
    for access in [FileAccess::Probe, FileAccess::PreadThreads, FileAccess::Direct] {
        let files = LocalFiles::open(folder.path(), access).unwrap();
        let before = LIVE.load(Ordering::Relaxed);
        for (read_bytes, allowed) in [
            (100, BUDGET),
            (5000, BUDGET),
            (100_000, BUDGET),
            (MIB, BUDGET),
            // Larger than the budget: one at a time, whole.
            (10 * MIB, 10 * MIB),
            (33 * MIB, 33 * MIB),
        ] {
            check(&files, read_bytes, allowed);
        }
        // A lane that lets go of its engine last ends a moment after it.
        let left = || LIVE.load(Ordering::Relaxed).saturating_sub(before);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while MIB / 4 <= left() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(left() < MIB / 4, "{} bytes are left of engines that are gone", left());
    }
}

fn check(files: &LocalFiles, read_bytes: usize, allowed: usize) {
    let limits =
        Limits { lanes: 2, in_flight_bytes_max: BUDGET, pooled_bytes_max: MIB / 4, ..Limits::default() };
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
    let count = (FILE_BYTES / read_bytes).min(5000);
    // A page apart at least, so that small reads are not merged into few.
    let stride = read_bytes.max(3 * 4096);
    let reads: Vec<RangeRead> = (0..count)
        .map(|index| {
            let range = ByteRange::Bounded { offset: (index * stride) as u64, len: read_bytes as u64 };
            RangeRead { object: 0, range }
        })
        .collect();
    let delivered = AtomicU64::new(0);
    let peak = peak_of(|| {
        let objects = [files.object("a")];
        let sink = |_, result: Result<&[u8], _>| {
            delivered.fetch_add(result.unwrap().len() as u64, Ordering::Relaxed);
        };
        engine.read_ranges(&objects, &reads, sink, &RunOptions::default()).unwrap();
    });
    assert_eq!(delivered.into_inner(), (count * read_bytes) as u64);
    println!("reads of {read_bytes} bytes: at most {peak} bytes in use, {allowed} allowed");
    assert!(peak <= allowed + SLACK, "reads of {read_bytes} bytes took {peak} bytes, not {allowed}");
}
