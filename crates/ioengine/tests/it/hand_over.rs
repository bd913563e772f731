//! What runs on the caller's thread, and what of it is left to the lanes.

use crate::batches::{Reads, bounded, made};
use crate::stand::{noise, within_a_minute};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;
use swath_ioengine::{
    ByteRange, Cursor, Engine, EngineConfig, FaultPlan, FaultyMedium, FileAccess, LaneContext, Limits,
    LocalFiles, MemoryMedium, Planned, RunOptions, Token, Window,
};

fn engine(limits: Limits) -> Engine {
    Engine::new(EngineConfig { limits, ..EngineConfig::default() })
}

/// Writes a file and drops it from the page cache. False where the file system keeps it.
fn write_cold(path: &Path, bytes: &[u8]) -> bool {
    std::fs::write(path, bytes).unwrap();
    drop_cached(path)
}

fn drop_cached(path: &Path) -> bool {
    let file = std::fs::File::open(path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let mut byte = [0u8];
    let mut target = [std::io::IoSliceMut::new(&mut byte)];
    let nowait = rustix::io::ReadWriteFlags::NOWAIT;
    let is_cold = rustix::io::preadv2(&file, &mut target, 0, nowait) == Err(rustix::io::Errno::AGAIN);
    // Asking started the read; forget it again.
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    if !is_cold {
        println!("skipped: this file system keeps its files in memory");
    }
    is_cold
}

#[test]
fn cold_files_are_left_to_the_lanes() {
    within_a_minute(|| {
        let folder = tempfile::tempdir().unwrap();
        let bytes = noise(1, 3 << 20);
        let path = folder.path().join("a");
        if !write_cold(&path, &bytes) {
            return;
        }
        let files = LocalFiles::open(folder.path(), FileAccess::Probe).unwrap();
        let limits = Limits {
            lanes: 2,
            inline_bytes_max: u64::MAX,
            split_bytes: 64 << 10,
            remote_split_bytes: 64 << 10,
            ..Limits::default()
        };
        let engine = engine(limits);
        let wanted: Vec<ByteRange> = (0..40)
            .map(|index| bounded(index * 70_001, 1 + index * 3000))
            .chain([bounded(5, 2 << 20)])
            .collect();
        for (round, window_reads) in [1, 3, 100].into_iter().enumerate() {
            drop_cached(&path);
            read_all(&engine, &files, &bytes, &wanted, window_reads, Into::Sink);
            drop_cached(&path);
            read_all(&engine, &files, &bytes, &wanted, window_reads, Into::Targets);
            assert!((round as u64) < engine.stats().deferred_windows);
        }
        let deferred = engine.stats().deferred_windows;
        read_all(&engine, &files, &bytes, &wanted, 3, Into::Targets);
        assert_eq!(engine.stats().deferred_windows, deferred, "all is cached by now");
        assert_eq!(engine.stats().inline_batches, 7);
    });
}

/// Some pages of the file are cached and others not: reads on the caller's thread are cut short in their middle.
#[test]
fn half_cached_files_are_read_in_two_steps() {
    within_a_minute(|| {
        let folder = tempfile::tempdir().unwrap();
        let bytes = noise(1, 1 << 20);
        let path = folder.path().join("a");
        if !write_cold(&path, &bytes) {
            return;
        }
        let files = LocalFiles::open(folder.path(), FileAccess::Probe).unwrap();
        let engine = engine(Limits {
            lanes: 2,
            split_bytes: 64 << 10,
            remote_split_bytes: 64 << 10,
            inline_bytes_max: u64::MAX,
            ..Limits::default()
        });
        let wanted: Vec<ByteRange> = (0..12).map(|index| bounded(index * 80_000 + 4000, 50_000)).collect();
        for target in [Into::Sink, Into::Targets] {
            for round in 0..10 {
                drop_cached(&path);
                let file = std::fs::File::open(&path).unwrap();
                rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
                for index in 0..12 {
                    let mut page = [0u8; 100];
                    rustix::io::pread(&file, &mut page, index * 80_000 + 4000 + round * 4096).unwrap();
                }
                read_all(&engine, &files, &bytes, &wanted, 2, target);
            }
        }
        assert_ne!(engine.stats().retries, 0);
        assert_ne!(engine.stats().deferred_windows, 0);
    });
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Into {
    Sink,
    Targets,
}

fn read_all(
    engine: &Engine,
    files: &LocalFiles,
    bytes: &[u8],
    wanted: &[ByteRange],
    window_reads: usize,
    into: Into,
) {
    let mut targets: Vec<Vec<u8>> =
        wanted.iter().map(|range| vec![0; usize::try_from(range.len_max()).unwrap()]).collect();
    let wants = wanted
        .iter()
        .zip(&mut targets)
        .map(|(range, target)| (0, *range, (into == Into::Targets).then_some(&mut target[..])));
    let batch = Reads::into(vec![files.object("a")], wants, window_reads);
    engine.run(&batch, &RunOptions::default()).unwrap();
    let results = batch.results();
    drop(batch);
    for ((found, target), range) in results.into_iter().zip(targets).zip(wanted) {
        let ByteRange::Bounded { offset, len } = *range else { unreachable!() };
        let found = if into == Into::Targets { found.map(|_| target) } else { found };
        assert!(found.unwrap() == bytes[offset as usize..(offset + len) as usize], "{range}");
    }
}

/// Inline reads that are interrupted, cut short or held back are tried again there, and none is lost.
#[test]
fn inline_reads_that_need_several_attempts_stay_whole() {
    within_a_minute(|| {
        let folder = tempfile::tempdir().unwrap();
        let bytes = noise(1, 300_000);
        std::fs::write(folder.path().join("a"), &bytes).unwrap();
        let files = LocalFiles::open(folder.path(), FileAccess::Probe).unwrap();
        let engine = engine(Limits { lanes: 1, ..Limits::default() });
        for seed in 0..50 {
            let plan = FaultPlan {
                seed,
                short_per_mille: 500,
                again_per_mille: 300,
                held_per_mille: 300,
                held_reaps_max: 4,
                ..FaultPlan::default()
            };
            let faulty = FaultyMedium::wrap(files.medium(), plan);
            let wanted: Vec<(usize, ByteRange)> =
                (0..30).map(|index| (0, bounded(index * 9000, 8000))).collect();
            let batch = Reads::new(vec![faulty.object("a")], &wanted, 4);
            engine.run(&batch, &RunOptions::default()).unwrap();
            for (found, (_, range)) in batch.results().into_iter().zip(&wanted) {
                let ByteRange::Bounded { offset, len } = *range else { unreachable!() };
                assert!(
                    found.unwrap() == bytes[offset as usize..(offset + len) as usize],
                    "{range}, seed {seed}"
                );
            }
        }
        assert_eq!((engine.stats().inline_batches, engine.stats().lane_batches), (50, 0));
    });
}

/// What a small batch asks for later is read by the lanes where it is large.
#[test]
fn large_follow_ups_leave_the_callers_thread() {
    within_a_minute(|| {
        let memory = MemoryMedium::new();
        memory.put("a", noise(1, 1 << 20));
        let engine = engine(Limits { lanes: 2, ..Limits::default() });
        let object = memory.object("a");
        let threads: Mutex<Vec<ThreadId>> = Mutex::default();
        let delivered = AtomicU64::new(0);
        for chunks in [10u64, 5000] {
            threads.lock().unwrap().clear();
            delivered.store(0, Ordering::SeqCst);
            let batch = made(
                1,
                |cursor: Cursor, _, window: &mut Window<'_, '_>| {
                    window.set_object(object.clone());
                    if cursor.step == 0 {
                        window.read(bounded(0, 100), Token(u64::MAX));
                        return Planned::Complete;
                    }
                    let first = (cursor.step - 1) * 50;
                    for chunk in first..(first + 50).min(chunks) {
                        window.read(bounded(chunk * 100, 100), Token(chunk));
                    }
                    if first + 50 < chunks {
                        return Planned::More(Cursor { step: cursor.step + 1, ..cursor });
                    }
                    Planned::Complete
                },
                |token, result, lane: &mut LaneContext<'_>| {
                    assert!(result.is_ok());
                    if token == Token(u64::MAX) {
                        lane.follow_up(Cursor { window: 0, step: 1 });
                    } else {
                        threads.lock().unwrap().push(std::thread::current().id());
                        delivered.fetch_add(1, Ordering::SeqCst);
                    }
                },
            );
            engine.run(&batch, &RunOptions::default()).unwrap();
            assert_eq!(delivered.load(Ordering::SeqCst), chunks);
            let own = std::thread::current().id();
            let here = threads.lock().unwrap().iter().filter(|id| **id == own).count() as u64;
            assert_eq!(here, if chunks == 10 { 10 } else { 50 }, "of {chunks} chunks on the calling thread");
        }
    });
}

/// Work that one lane asked for is shared with those that have nothing to do.
#[test]
fn idle_lanes_take_follow_ups() {
    within_a_minute(|| {
        let memory = MemoryMedium::new();
        memory.put("a", noise(1, 1 << 20));
        let engine = engine(Limits { lanes: 2, inline_reads_max: 0, ..Limits::default() });
        let object = memory.object("a");
        let threads: Mutex<Vec<ThreadId>> = Mutex::default();
        let batch = made(
            1,
            |cursor: Cursor, _, window: &mut Window<'_, '_>| {
                window.set_object(object.clone());
                window.read(bounded(cursor.step, 100), Token(cursor.step));
                Planned::Complete
            },
            |token, _, lane: &mut LaneContext<'_>| {
                if token == Token(0) {
                    (1..200).for_each(|step| lane.follow_up(Cursor { window: 0, step }));
                }
                std::thread::sleep(std::time::Duration::from_micros(200));
                threads.lock().unwrap().push(std::thread::current().id());
            },
        );
        engine.run(&batch, &RunOptions::default()).unwrap();
        let threads = threads.lock().unwrap();
        assert_eq!(threads.len(), 200);
        let first = threads.iter().filter(|id| **id == threads[0]).count();
        assert!((20..180).contains(&first), "{first} of 200 on one lane");
    });
}
