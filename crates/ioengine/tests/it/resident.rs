//! Files that are mapped because they are read again and again, and bytes that are there without a read.

use crate::stand::{noise, within_a_minute};
use std::path::PathBuf;
use std::sync::Mutex;
use swath_ioengine::{
    ByteRange, Engine, EngineConfig, ErrorKind, FileAccess, Freshness, Limits, LocalFiles, MemoryMedium,
    RangeRead, RunOptions,
};

fn engine() -> Engine {
    let limits = Limits { lanes: 2, inline_reads_max: 0, ..Limits::default() };
    Engine::new(EngineConfig { limits, freshness: Freshness::Checked })
}

/// A file that has not changed for a while: this program.
fn old_file() -> (PathBuf, String, Vec<u8>) {
    let program = std::env::current_exe().unwrap();
    let bytes = std::fs::read(&program).unwrap();
    let name = program.file_name().unwrap().to_string_lossy().into_owned();
    (program.parent().unwrap().to_owned(), name, bytes)
}

/// Reads a tenth of the file, in ranges from all over it, and compares.
fn read_a_tenth(engine: &Engine, files: &LocalFiles, name: &str, bytes: &[u8], round: u64) {
    let object = files.object(name);
    let reads: Vec<RangeRead> = (0..bytes.len() as u64 / 10 / 3000)
        .map(|number| {
            let offset = (number * 7919 + round * 104_729) * 4099 % (bytes.len() as u64 - 3000);
            RangeRead { object: 0, range: ByteRange::Bounded { offset, len: 3000 } }
        })
        .collect();
    let wrong = Mutex::new(Vec::new());
    let check = |index: usize, result: Result<&[u8], swath_ioengine::Error>| {
        let ByteRange::Bounded { offset, len } = reads[index].range else { return };
        if result.ok() != bytes.get(offset as usize..(offset + len) as usize) {
            wrong.lock().unwrap().push(index);
        }
    };
    engine.read_ranges(std::slice::from_ref(&object), &reads, check, &RunOptions::default()).unwrap();
    assert_eq!(*wrong.lock().unwrap(), [0usize; 0]);
}

#[test]
fn a_cached_file_is_mapped_once_a_quarter_of_it_was_read() {
    within_a_minute(|| {
        let (folder, name, bytes) = old_file();
        for (access, is_mapped) in
            [(FileAccess::Probe, true), (FileAccess::IoUring, false), (FileAccess::PreadThreads, false)]
        {
            let Ok(files) = LocalFiles::open(&folder, access) else {
                println!("skipped: {access:?} does not work here");
                continue;
            };
            let engine = engine();
            let mut served = Vec::new();
            for round in 0..8 {
                read_a_tenth(&engine, &files, &name, &bytes, round);
                served.push(engine.stats().served_reads);
            }
            // Reads of 3,000 bytes touch a page or two each, so that the second tenth is the one to reach a quarter.
            assert_eq!(served[0], 0, "{access:?}: {served:?}");
            if is_mapped && served[7] == 0 {
                println!("skipped: the program is not all in the page cache, or changed within the last 2 s");
                continue;
            }
            assert_eq!(served[7] != 0, is_mapped, "{access:?}: {served:?}");
        }
    });
}

#[test]
fn a_file_that_just_changed_is_not_mapped_until_asked_for() {
    within_a_minute(|| {
        let folder = tempfile::tempdir().unwrap();
        let bytes = noise(5, 300_000);
        std::fs::write(folder.path().join("new"), &bytes).unwrap();
        for (access, is_mapped) in [(FileAccess::Probe, false), (FileAccess::Mapped, true)] {
            let files = LocalFiles::open(folder.path(), access).unwrap();
            let engine = engine();
            for round in 0..8 {
                read_a_tenth(&engine, &files, "new", &bytes, round);
            }
            assert_eq!(engine.stats().served_reads != 0, is_mapped, "{access:?}");
        }
    });
}

#[test]
fn a_mapped_file_that_is_cut_short_fails_its_reads_and_no_others() {
    within_a_minute(|| {
        let folder = tempfile::tempdir().unwrap();
        let bytes = noise(6, 300_000);
        let files = LocalFiles::open(folder.path(), FileAccess::Mapped).unwrap();
        let engine = engine();
        for cut in [0u64, 4096, 100_000] {
            for name in ["cut", "whole"] {
                std::fs::write(folder.path().join(name), &bytes).unwrap();
                read_a_tenth(&engine, &files, name, &bytes, cut);
            }
            let objects = [files.object("cut"), files.object("whole")];
            let reads: Vec<RangeRead> = (0..200u64)
                .map(|number| RangeRead {
                    object: (number % 2) as usize,
                    range: ByteRange::Bounded { offset: number * 1490, len: 1000 },
                })
                .collect();
            let kinds = Mutex::new(vec![None; reads.len()]);
            let file = std::fs::File::options().write(true).open(folder.path().join("cut")).unwrap();
            let sink = |index: usize, result: Result<&[u8], swath_ioengine::Error>| {
                // Within the first read of the window, which is then checked against what is left.
                file.set_len(cut).unwrap();
                let ByteRange::Bounded { offset, len } = reads[index].range else { return };
                let kind = match result {
                    Ok(read) if index % 2 == 1 => {
                        assert_eq!(read, &bytes[offset as usize..(offset + len) as usize]);
                        None
                    }
                    Ok(_) => None,
                    Err(error) => Some(error.kind()),
                };
                kinds.lock().unwrap()[index] = kind;
            };
            engine.read_ranges(&objects, &reads, sink, &RunOptions::default()).unwrap();
            for (index, kind) in kinds.into_inner().unwrap().into_iter().enumerate() {
                let wanted = index % 2 == 0;
                // Each range of the cut file is told in the end that it cannot be trusted; those of the other are right.
                let is_right = match kind {
                    Some(ErrorKind::Changed | ErrorKind::UnexpectedEnd) => wanted,
                    Some(_) => false,
                    None => !wanted,
                };
                assert!(is_right, "cut at {cut}: range {index} ended as {kind:?}");
            }
        }
    });
}

#[test]
fn bytes_in_memory_need_no_read() {
    let memory = MemoryMedium::new();
    let bytes = noise(7, 100_000);
    memory.put("a", bytes.clone());
    let engine = engine();
    let object = swath_ioengine::ObjectRef { medium: memory.medium(), key: "a".into() };
    let read = engine.read_object(&object, ByteRange::Bounded { offset: 10, len: 99_000 }).unwrap();
    assert_eq!(read, bytes[10..99_010]);
    let stats = engine.stats();
    assert_eq!((stats.served_reads, stats.physical_reads), (1, 0));
}
