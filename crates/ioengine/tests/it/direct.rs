//! Reads past the page cache.

use crate::batches::{Reads, bounded};
use crate::stand::{noise, within_a_minute};
use std::fs;
use std::path::Path;
use swath_ioengine::{
    ByteRange, Engine, EngineConfig, FaultPlan, FaultyMedium, FileAccess, Limits, LocalFiles, Medium,
    ObjectRef, RunOptions,
};

fn engine(inline_max: u64, limits: Limits) -> Engine {
    let limits = Limits { lanes: 2, inline_reads_max: inline_max, inline_bytes_max: inline_max, ..limits };
    Engine::new(EngineConfig { limits, ..EngineConfig::default() })
}

fn object(medium: &Medium) -> ObjectRef {
    ObjectRef { medium: medium.clone(), key: "a".into() }
}

fn medium(folder: &Path, access: FileAccess) -> Medium {
    LocalFiles::open(folder, access).unwrap().medium()
}

/// A file in a folder of its own, written through to the device.
fn folder(bytes: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), bytes).unwrap();
    fs::File::open(folder.path().join("a")).unwrap().sync_all().unwrap();
    folder
}

/// What the engine tells of how it read.
fn drivers(engine: &Engine) -> String {
    engine.stats().drivers.join("\n")
}

/// True where the folders of tests can be read past the page cache at all; says so where not.
fn works(engine: &Engine) -> bool {
    let works = !drivers(engine).contains("could not be");
    if !works {
        println!("skipped: {}", drivers(engine));
    }
    works
}

fn slice(bytes: &[u8], offset: u64, len: u64) -> &[u8] {
    &bytes[offset as usize..(offset + len) as usize]
}

/// Reads ranges to the sink and to targets `skew` bytes off a page, and compares both with slices.
fn check(engine: &Engine, medium: &Medium, bytes: &[u8], ranges: &[(u64, u64)], skew: usize) {
    let wanted: Vec<(usize, ByteRange)> =
        ranges.iter().map(|(offset, len)| (0, bounded(*offset, *len))).collect();
    let batch = Reads::new(vec![object(medium)], &wanted, 7);
    engine.run(&batch, &RunOptions::default()).unwrap();
    for (found, (offset, len)) in batch.results().into_iter().zip(ranges) {
        assert!(found.unwrap() == slice(bytes, *offset, *len), "{len} bytes at {offset}");
    }
    let mut targets: Vec<Vec<u8>> =
        ranges.iter().map(|(_, len)| vec![0; *len as usize + 4096 + skew]).collect();
    let places: Vec<usize> = targets
        .iter()
        .map(|target| target.as_ptr().addr().next_multiple_of(4096) - target.as_ptr().addr() + skew)
        .collect();
    let wants = ranges.iter().zip(&mut targets).zip(&places).map(|(((offset, len), target), place)| {
        (0, bounded(*offset, *len), Some(&mut target[*place..*place + *len as usize]))
    });
    let batch = Reads::into(vec![object(medium)], wants, 7);
    engine.run(&batch, &RunOptions::default()).unwrap();
    assert!(batch.results().iter().all(Result::is_ok));
    drop(batch);
    for (((offset, len), target), place) in ranges.iter().zip(&targets).zip(places) {
        let found = &target[place..place + *len as usize];
        assert!(found == slice(bytes, *offset, *len), "{len} bytes at {offset}, skew {skew}");
        let rest = target[..place].iter().chain(&target[place + *len as usize..]);
        assert!(rest.copied().all(|byte| byte == 0), "{len} bytes at {offset} spill over");
    }
}

/// Ranges at every kind of place in a file of this size.
fn places(size: u64) -> Vec<(u64, u64)> {
    let mut ranges = Vec::new();
    for offset in [0, 1, 511, 512, 4095, 4096, 8192, 65_536, size / 2, size.saturating_sub(1)] {
        for len in [1, 511, 512, 513, 4096, 8192, 12_345, 65_536, 70_000, size] {
            if offset < size {
                ranges.push((offset, len.min(size - offset)));
            }
        }
    }
    ranges
}

#[test]
fn sizes_and_tails_that_no_block_ends_at_read_right() {
    within_a_minute(|| {
        for size in [1u64, 511, 512, 513, 4095, 4097, 8192, 100_000, 300_001] {
            let bytes = noise(size, size as usize);
            let folder = folder(&bytes);
            let files = medium(folder.path(), FileAccess::Direct);
            for inline_max in [0, u64::MAX] {
                let limits = Limits { split_bytes: 16 << 10, ..Limits::default() };
                let engine = engine(inline_max, limits);
                for skew in [0, 1, 16, 512] {
                    check(&engine, &files, &bytes, &places(size), skew);
                }
                let drivers = drivers(&engine);
                assert!(drivers.contains("past the page cache (files so far: "), "{drivers}");
            }
        }
    });
}

#[test]
fn a_refused_read_goes_through_the_page_cache_and_so_do_those_after_it() {
    within_a_minute(|| {
        let bytes = noise(3, 200_000);
        let folder = folder(&bytes);
        let plan = FaultPlan { seed: 1, refused_per_mille: 1000, ..FaultPlan::default() };
        let faulty = FaultyMedium::wrap(medium(folder.path(), FileAccess::Direct), plan);
        // Handles are kept of files that did not change just now.
        std::thread::sleep(std::time::Duration::from_millis(2100));
        // Two lanes may open a file twice at once, and each handle learns for itself.
        let limits = Limits { lanes: 1, inline_reads_max: 0, inline_bytes_max: 0, ..Limits::default() };
        let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
        check(&engine, &faulty.medium(), &bytes, &places(200_000), 1);
        if !works(&engine) && faulty.injected() == 0 {
            return;
        }
        let refused = faulty.injected();
        assert!(0 < refused);
        check(&engine, &faulty.medium(), &bytes, &places(200_000), 1);
        assert_eq!(faulty.injected(), refused);
        let drivers = drivers(&engine);
        assert!(drivers.contains("1 could not be: a read was refused"), "{drivers}");
    });
}

#[test]
fn a_file_system_in_memory_is_read_through_the_page_cache_and_says_so() {
    within_a_minute(|| {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
            return println!("skipped: no file system in memory at its usual place");
        };
        let bytes = noise(4, 100_000);
        fs::write(folder.path().join("a"), &bytes).unwrap();
        let engine = engine(0, Limits::default());
        check(&engine, &medium(folder.path(), FileAccess::Direct), &bytes, &places(100_000), 0);
        let drivers = drivers(&engine);
        // Since Linux 6.6 it takes O_DIRECT, and reads as it always does.
        assert!(drivers.contains("past the page cache (files so far: "), "{drivers}");
        println!("{drivers}");
    });
}

#[test]
fn files_that_are_not_cached_are_read_past_the_cache_until_they_were_asked_for_once() {
    within_a_minute(|| {
        let bytes = noise(5, 4 << 20);
        let folder = folder(&bytes);
        std::thread::sleep(std::time::Duration::from_millis(2100));
        let file = fs::File::open(folder.path().join("a")).unwrap();
        let files = medium(folder.path(), FileAccess::Probe);
        let engine = engine(0, Limits::default());
        check(&engine, &files, &bytes, &[(0, 1000), (70_000, 8192)], 0);
        assert!(!drivers(&engine).contains("files so far"), "a cached file: {}", drivers(&engine));
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        // What is chosen stands for a while.
        std::thread::sleep(std::time::Duration::from_millis(150));
        check(&engine, &files, &bytes, &[(0, 1000), (70_000, 8192)], 0);
        let found = drivers(&engine);
        if !found.contains("files so far: 1") {
            return println!("skipped: not dropped from the page cache, or no O_DIRECT: {found}");
        }
        // Everything was asked for once: from now on it is cached, and stays.
        check(&engine, &files, &bytes, &[(0, 4 << 20)], 0);
        std::thread::sleep(std::time::Duration::from_millis(150));
        check(&engine, &files, &bytes, &[(0, 4 << 20)], 0);
        let fetched = engine.stats().bytes_fetched;
        check(&engine, &files, &bytes, &[(513, 1000)], 0);
        let fetched = engine.stats().bytes_fetched - fetched;
        assert_eq!(fetched, 2000, "not in blocks");
    });
}
