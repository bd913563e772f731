//! Files on a file system that answers late: how they are read, and what its faults come to.

use crate::batches::{Reads, bounded};
use crate::slow_fs::{self, Cache, SlowFs, Slowness};
use crate::stand::{noise, within_a_minute};
use std::time::{Duration, SystemTime};
use swath_ioengine::{
    ByteRange, Engine, EngineConfig, ErrorKind, FileAccess, Limits, LocalFiles, RunOptions,
};

const READS: u64 = 100;
const SPACING: u64 = 20_000;

/// What came of reads of 1,000 bytes, far apart, by one lane; what it counted, and what the file system did.
struct Run {
    results: Vec<Result<Vec<u8>, ErrorKind>>,
    stats: swath_ioengine::Stats,
    served: slow_fs::Served,
}

fn run(slowness: Slowness, limits: Limits, rounds: usize) -> Run {
    within_a_minute(move || {
        let mounted = SlowFs::mount(slowness).unwrap();
        std::fs::write(mounted.files().join("a"), bytes()).unwrap();
        let files = LocalFiles::open(mounted.path(), FileAccess::Probe).unwrap();
        let limits = Limits { lanes: 1, merged_parts_max: 1, ..limits };
        let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
        let mut results = Vec::new();
        for _ in 0..rounds {
            let batch = Reads::new(vec![files.object("a")], &wanted(), 1000);
            engine.run(&batch, &RunOptions::default()).unwrap();
            results.extend(batch.results());
        }
        let stats = engine.stats();
        drop(engine);
        Run { results, stats, served: mounted.stop() }
    })
}

fn bytes() -> Vec<u8> {
    noise(1, usize::try_from(READS * SPACING).unwrap())
}

fn wanted() -> Vec<(usize, ByteRange)> {
    (0..READS).map(|read| (0, bounded(read * SPACING, 1000))).collect()
}

fn assert_right(results: &[Result<Vec<u8>, ErrorKind>], failed: usize) {
    let bytes = bytes();
    let wanted = bytes.chunks(usize::try_from(SPACING).unwrap()).map(|chunk| &chunk[..1000]).cycle();
    for (found, wanted) in results.iter().zip(wanted) {
        match found {
            Ok(found) => assert!(found == wanted),
            Err(kind) => assert_eq!(*kind, ErrorKind::Io),
        }
    }
    assert_eq!(results.iter().filter(|result| result.is_err()).count(), failed);
}

/// More than the threads that a disk is given, and no more than the bound.
#[test]
fn the_file_system_is_asked_for_as_many_reads_as_the_queue_is_deep() {
    if !slow_fs::is_here() {
        return;
    }
    let slow = Slowness { latency: Duration::from_millis(50), cache: Cache::None, ..Slowness::default() };
    for (local_depth, waiting_threads_max, most) in [(64, 1024, 64), (64, 30, 30), (1, 1024, 1)] {
        let slow = if most == 1 { Slowness::default() } else { slow };
        let run = run(slow, Limits { local_depth, waiting_threads_max, ..Limits::default() }, 1);
        assert_right(&run.results, 0);
        assert!(run.served.in_flight_max <= most, "{:?}", run.served);
        assert!(most / 2 < run.served.in_flight_max, "{:?}", run.served);
    }
}

/// Which would take them one by one.
#[test]
fn small_batches_are_not_read_on_their_callers_thread() {
    if !slow_fs::is_here() {
        return;
    }
    let slow = Slowness { latency: Duration::from_millis(20), cache: Cache::None, ..Slowness::default() };
    let limits = Limits { inline_reads_max: u64::MAX, inline_bytes_max: u64::MAX, ..Limits::default() };
    let run = run(slow, limits, 1);
    assert_right(&run.results, 0);
    assert!(READS / 2 < run.served.in_flight_max, "{:?}", run.served);
}

#[test]
fn the_choice_is_told() {
    if !slow_fs::is_here() {
        return;
    }
    let mounted = SlowFs::mount(Slowness::default()).unwrap();
    let mechanism = |access| LocalFiles::open(mounted.path(), access).unwrap().mechanism();
    let chosen = mechanism(FileAccess::Probe);
    assert!(chosen.starts_with("pread threads") && chosen.contains("FUSE"), "{chosen}");
    assert!(mechanism(FileAccess::PreadThreads).contains("asked for"));
    let forced = LocalFiles::open(mounted.path(), FileAccess::IoUring);
    assert!(forced.is_ok_and(|files| files.mechanism().starts_with("io_uring")));
}

#[test]
fn a_read_that_the_file_system_fails_fails_alone() {
    if !slow_fs::is_here() {
        return;
    }
    let run = run(Slowness { fail_read: 7, cache: Cache::None, ..Slowness::default() }, Limits::default(), 2);
    assert_right(&run.results, 1);
    assert_eq!(run.stats.failed_reads, 1);
}

#[test]
fn short_reads_are_gone_on_with() {
    if !slow_fs::is_here() {
        return;
    }
    let short = Slowness { short_per_mille: 500, cache: Cache::None, ..Slowness::default() };
    let run = run(short, Limits::default(), 1);
    assert_right(&run.results, 0);
    assert!(READS + READS / 4 < run.served.reads, "{:?}", run.served);
}

/// However often all of it is read: a page fault would wait for the file system, and could not be cancelled.
#[test]
fn files_that_are_read_again_and_again_are_not_mapped() {
    if !slow_fs::is_here() {
        return;
    }
    let mounted = SlowFs::mount(Slowness { latency: Duration::ZERO, ..Slowness::default() }).unwrap();
    let path = mounted.files().join("a");
    std::fs::write(&path, bytes()).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
    let files = LocalFiles::open(mounted.path(), FileAccess::Probe).unwrap();
    let limits = Limits { inline_reads_max: 0, ..Limits::default() };
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
    let all: Vec<_> = (0..READS).map(|read| (0, bounded(read * SPACING, SPACING))).collect();
    for _ in 0..10 {
        let batch = Reads::new(vec![files.object("a")], &all, 1000);
        engine.run(&batch, &RunOptions::default()).unwrap();
        let found: Vec<u8> = batch.results().into_iter().flat_map(Result::unwrap).collect();
        assert!(found == bytes());
    }
    assert_eq!(engine.stats().served_reads, 0, "{:?}", engine.stats());
}

/// What a panic leaves: a directory with nothing mounted on it, which can be removed.
#[test]
fn a_panic_unmounts() {
    if !slow_fs::is_here() {
        return;
    }
    let panicked = std::thread::spawn(|| {
        let mounted = SlowFs::mount(Slowness::default()).unwrap();
        std::fs::write(mounted.files().join("a"), b"bytes").unwrap();
        let open = std::fs::File::open(mounted.path().join("a")).unwrap();
        let path = mounted.path();
        std::panic::resume_unwind(Box::new((path, open)));
    });
    let held = panicked.join().unwrap_err().downcast::<(std::path::PathBuf, std::fs::File)>().unwrap();
    assert!(!held.0.exists());
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(held.0.to_str().unwrap()));
}
