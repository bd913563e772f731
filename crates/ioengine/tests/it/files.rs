//! Files that are not what they were a moment ago.

use crate::batches::{Reads, bounded, made};
use crate::stand::{noise, within_a_minute};
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use swath_ioengine::{
    Arrival, Batch, ByteRange, Cursor, Engine, EngineConfig, Error, ErrorKind, Estimate, FaultPlan,
    FaultyMedium, FileAccess, Freshness, LaneContext, Limits, LocalFiles, ObjectRef, PlanContext, Planned,
    RunOptions, Token, Window,
};

struct Folder {
    folder: tempfile::TempDir,
    files: LocalFiles,
    engine: Engine,
}

const ACCESS: [FileAccess; 2] = [FileAccess::Probe, FileAccess::PreadThreads];

impl Folder {
    fn new(access: FileAccess, inline_max: u64, freshness: Freshness) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        let files = LocalFiles::open(folder.path(), access).unwrap();
        let limits = Limits {
            lanes: 2,
            inline_reads_max: inline_max,
            inline_bytes_max: inline_max,
            ..Limits::default()
        };
        let engine = Engine::new(EngineConfig { limits, freshness });
        Folder { folder, files, engine }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.path().join(key)
    }

    fn put(&self, key: &str, bytes: &[u8]) {
        fs::write(self.path(key), bytes).unwrap();
    }

    fn replace(&self, key: &str, bytes: &[u8]) {
        fs::write(self.path("next"), bytes).unwrap();
        fs::rename(self.path("next"), self.path(key)).unwrap();
    }

    fn read(&self, key: &str, offset: u64, len: u64) -> Result<Vec<u8>, ErrorKind> {
        let read = self.engine.read_object(&self.files.object(key), bounded(offset, len));
        read.map(|bytes| bytes.to_vec()).map_err(|error| error.kind())
    }
}

/// Every way in: rings, threads, the caller's thread.
fn each(test: impl Fn(Folder) + Send + Sync + Clone + 'static) {
    for access in ACCESS {
        for inline_max in [0, u64::MAX] {
            let test = test.clone();
            within_a_minute(move || test(Folder::new(access, inline_max, Freshness::Checked)));
        }
    }
}

type Outcome = Result<Vec<u8>, ErrorKind>;

/// A batch that calls `between` once: after its file was opened and before the last of its reads.
struct Interrupted<'a, F> {
    object: ObjectRef,
    reads: Vec<ByteRange>,
    between: F,
    done: AtomicBool,
    got: Mutex<Vec<(u64, Outcome)>>,
    spoiled: Mutex<Vec<ErrorKind>>,
    folder: &'a Folder,
}

impl<F: Fn(&Folder) + Send + Sync> Batch for Interrupted<'_, F> {
    fn window_count(&self) -> u64 {
        1
    }

    fn estimate(&self) -> Estimate {
        Estimate { reads: self.reads.len() as u64, bytes: 0 }
    }

    fn plan<'b>(&'b self, _: Cursor, _: &PlanContext<'_>, window: &mut Window<'_, 'b>) -> Planned {
        window.set_object(self.object.clone());
        for (range, token) in self.reads.iter().zip(0..) {
            window.read(*range, Token(token));
        }
        Planned::Complete
    }

    fn deliver(&self, token: Token, result: Result<Arrival<'_>, Error>, _: &mut LaneContext<'_>) {
        if !self.done.swap(true, Ordering::SeqCst) {
            (self.between)(self.folder);
        }
        let result = match result {
            Ok(Arrival::Bytes(bytes)) => Ok(bytes.to_vec()),
            Ok(Arrival::Placed(_) | Arrival::Piece(_)) => unreachable!(),
            Err(error) => Err(error.kind()),
        };
        self.got.lock().unwrap().push((token.0, result));
    }

    fn stale(&self, _: Cursor) {}

    fn spoiled(&self, _: Cursor, error: Error, _: &mut LaneContext<'_>) {
        self.spoiled.lock().unwrap().push(error.kind());
    }
}

/// Reads pages of `a`, one at a time, with `between` after the first. Returns what came, and whether the batch was told
/// that it was spoiled.
fn interrupted(
    folder: &Folder,
    pages: u64,
    between: impl Fn(&Folder) + Send + Sync,
) -> (Vec<Outcome>, Vec<ErrorKind>) {
    let batch = Interrupted {
        object: folder.files.object("a"),
        reads: (0..pages).map(|page| bounded(page * 20_000, 4096)).collect(),
        between,
        done: AtomicBool::new(false),
        got: Mutex::default(),
        spoiled: Mutex::default(),
        folder,
    };
    folder.engine.run(&batch, &RunOptions::default()).unwrap();
    let mut got = batch.got.into_inner().unwrap();
    got.sort_by_key(|(token, _)| *token);
    assert_eq!(got.len() as u64, pages);
    (got.into_iter().map(|(_, result)| result).collect(), batch.spoiled.into_inner().unwrap())
}

fn one_by_one(access: FileAccess) -> Folder {
    let mut folder = Folder::new(access, 0, Freshness::Checked);
    let limits =
        Limits { lanes: 1, local_depth: 1, submit_batch: 1, inline_reads_max: 0, ..Limits::default() };
    folder.engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
    folder
}

#[test]
fn truncated_between_open_and_read() {
    for access in ACCESS {
        within_a_minute(move || {
            let folder = one_by_one(access);
            let bytes = noise(1, 200_000);
            fs::write(folder.path("a"), &bytes).unwrap();
            let (results, spoiled) = interrupted(&folder, 10, |folder| {
                let file = fs::File::options().write(true).open(folder.path("a")).unwrap();
                file.set_len(50_000).unwrap();
            });
            for (page, result) in results.iter().enumerate() {
                match result {
                    Ok(found) => assert!(*found == bytes[page * 20_000..][..4096]),
                    Err(kind) => assert_eq!(*kind, ErrorKind::UnexpectedEnd),
                }
            }
            assert!(results[5..].iter().all(Result::is_err), "{access:?}");
            assert_eq!(spoiled, [ErrorKind::Changed]);
            assert_eq!(folder.read("a", 0, 50_001), Err(ErrorKind::UnexpectedEnd));
            assert_eq!(folder.read("a", 0, 50_000), Ok(bytes[..50_000].to_vec()));
        });
    }
}

#[test]
fn replaced_between_open_and_read() {
    for access in ACCESS {
        within_a_minute(move || {
            let folder = one_by_one(access);
            let (old, new) = (noise(1, 200_000), noise(2, 200_000));
            folder.put("a", &old);
            assert_eq!(folder.read("a", 0, 10), Ok(old[..10].to_vec()));
            let (results, spoiled) = interrupted(&folder, 10, |folder| folder.replace("a", &new));
            for (page, result) in results.into_iter().enumerate() {
                assert!(result.unwrap() == old[page * 20_000..][..4096], "of the version that was opened");
            }
            assert_eq!(spoiled, []);
            assert_eq!(folder.read("a", 0, 200_000), Ok(new.clone()));
        });
    }
}

#[test]
fn written_in_place_while_it_is_read() {
    for access in ACCESS {
        within_a_minute(move || {
            let folder = one_by_one(access);
            folder.put("a", &noise(1, 200_000));
            let (results, spoiled) = interrupted(&folder, 10, |folder| {
                let file = fs::File::options().write(true).open(folder.path("a")).unwrap();
                file.write_all_at(b"new", 100_000).unwrap();
            });
            assert!(results.iter().all(Result::is_ok));
            assert_eq!(spoiled, [ErrorKind::Changed]);
            assert_eq!(folder.read("a", 100_000, 3), Ok(b"new".to_vec()));
            let (_, spoiled) = interrupted(&folder, 10, |_| {});
            assert_eq!(spoiled, []);
        });
    }
}

/// A panic while a batch is told that its object changed poisons the batch, not the lane.
#[test]
fn panics_when_told_of_a_change() {
    for access in ACCESS {
        within_a_minute(move || {
            let folder = one_by_one(access);
            folder.put("a", &noise(1, 200_000));
            let object = folder.files.object("a");
            let mut batch = made(
                1,
                |_, _, window: &mut Window<'_, '_>| {
                    window.set_object(object.clone());
                    window.read(bounded(0, 10), Token(0));
                    Planned::Complete
                },
                |_, _, _| {
                    let file = fs::File::options().write(true).open(folder.path("a")).unwrap();
                    file.write_all_at(b"new", 0).unwrap();
                },
            );
            batch.spoiled = || panic!("injected");
            let error = folder.engine.run(&batch, &RunOptions::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Panicked);
            assert_eq!(folder.read("a", 0, 3), Ok(b"new".to_vec()));
        });
    }
}

/// Readers while a writer replaces the file by rename, over and over: each read is of one version, whole.
#[test]
fn replaced_again_and_again_no_read_is_a_mix() {
    each(|folder| {
        let versions: Vec<Vec<u8>> = (0..8).map(|version| noise(version, 150_000)).collect();
        folder.put("a", &versions[0]);
        let (stop, reads) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0.. {
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                    folder.replace("a", &versions[round % 8]);
                }
            });
            let started = std::time::Instant::now();
            while started.elapsed() < Duration::from_millis(400) {
                let found = folder.read("a", 1, 149_000).unwrap();
                assert!(versions.iter().any(|version| found == version[1..149_001]));
                reads.fetch_add(1, Ordering::SeqCst);
            }
            stop.store(true, Ordering::SeqCst);
        });
        assert!(10 < reads.load(Ordering::SeqCst));
    });
}

#[test]
fn what_is_no_readable_file_is_an_error() {
    each(|folder| {
        fs::create_dir(folder.path("folder")).unwrap();
        fs::write(folder.path("target"), b"linked").unwrap();
        symlink("target", folder.path("link")).unwrap();
        symlink("nowhere", folder.path("dangling")).unwrap();
        symlink("loop", folder.path("loop")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path("pipe"), rustix::fs::Mode::RUSR).unwrap();
        assert_eq!(folder.read("link", 0, 6), Ok(b"linked".to_vec()));
        for missing in ["missing", "folder", "dangling", "target/below", "pipe", "missing/below", ""] {
            assert_eq!(folder.read(missing, 0, 6), Err(ErrorKind::NotFound), "{missing}");
        }
        for odd in
            ["loop", "/etc/hostname", "../outside", "folder/../target", "nul\0byte", &"long".repeat(100)]
        {
            assert_eq!(folder.read(odd, 0, 6), Err(ErrorKind::Io), "{odd}");
        }
        for outside in ["/etc/", "../"] {
            assert_eq!(folder.files.medium().list(outside).unwrap_err().kind(), ErrorKind::Io);
        }
    });
}

#[test]
fn unreadable_files_are_denied() {
    each(|folder| {
        fs::write(folder.path("a"), b"secret").unwrap();
        fs::set_permissions(folder.path("a"), fs::Permissions::from_mode(0o000)).unwrap();
        if fs::read(folder.path("a")).is_ok() {
            println!("skipped: this user may read everything");
            return;
        }
        assert_eq!(folder.read("a", 0, 6), Err(ErrorKind::PermissionDenied));
    });
}

#[test]
fn errors_name_the_object_and_the_range() {
    let folder = Folder::new(FileAccess::Probe, 0, Freshness::Checked);
    fs::write(folder.path("a"), [0; 10]).unwrap();
    let error = folder.engine.read_object(&folder.files.object("a"), bounded(5, 10)).unwrap_err();
    assert_eq!(error.to_string(), "a: bytes 5..15: the object has 10 bytes");
    let error = folder.engine.read_object(&folder.files.object("b"), bounded(5, 10)).unwrap_err();
    assert_eq!(error.to_string(), "b: bytes 5..15: No such file or directory (os error 2)");
}

/// Faults and changes together: still either right or an error.
#[test]
fn truncated_while_faults_are_injected() {
    within_a_minute(|| {
        for seed in 0..20 {
            let folder = Folder::new(FileAccess::Probe, 0, Freshness::Checked);
            let bytes = noise(1, 300_000);
            fs::write(folder.path("a"), &bytes).unwrap();
            let plan = FaultPlan { seed, short_per_mille: 500, again_per_mille: 100, ..FaultPlan::default() };
            let faulty = FaultyMedium::wrap(folder.files.medium(), plan);
            let wanted: Vec<(usize, ByteRange)> =
                (0..70).map(|index| (0, bounded(index * 4000, 4000))).collect();
            let batch = Reads::new(vec![faulty.object("a")], &wanted, 5);
            let file = fs::File::options().write(true).open(folder.path("a")).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| file.set_len(40_000 + seed * 10_000).unwrap());
                folder.engine.run(&batch, &RunOptions::default()).unwrap();
            });
            for (found, (_, range)) in batch.results().into_iter().zip(&wanted) {
                let ByteRange::Bounded { offset, .. } = *range else { unreachable!() };
                match found {
                    Ok(found) => assert!(found == bytes[offset as usize..][..4000], "{range}, seed {seed}"),
                    Err(kind) => assert_eq!(kind, ErrorKind::UnexpectedEnd, "{range}, seed {seed}"),
                }
            }
        }
    });
}

#[test]
fn the_active_mechanism_is_told() {
    for (access, driver) in [(FileAccess::Probe, "io_uring"), (FileAccess::PreadThreads, "pread threads")] {
        let folder = Folder::new(access, 0, Freshness::Checked);
        fs::write(folder.path("a"), [0; 10]).unwrap();
        folder.read("a", 0, 10).unwrap();
        let drivers = folder.engine.stats().drivers;
        if folder.files.mechanism().starts_with(driver) {
            assert!(drivers.iter().any(|active| active.starts_with(driver)), "{drivers:?}");
        } else {
            println!("skipped: {}", folder.files.mechanism());
        }
    }
}
