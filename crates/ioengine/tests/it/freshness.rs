//! Handles kept open between batches.

use crate::batches::bounded;
use crate::stand::within_a_minute;
use std::fs;
use std::time::{Duration, SystemTime};
use swath_ioengine::{Engine, EngineConfig, ErrorKind, FileAccess, Freshness, Limits, LocalFiles};

struct Kept {
    folder: tempfile::TempDir,
    files: LocalFiles,
    engine: Engine,
}

impl Kept {
    fn new(open_handles_max: usize, freshness: Freshness) -> Kept {
        let folder = tempfile::tempdir().unwrap();
        let files = LocalFiles::open(folder.path(), FileAccess::Probe).unwrap();
        let limits = Limits { lanes: 1, open_handles_max, ..Limits::default() };
        Kept { folder, files, engine: Engine::new(EngineConfig { limits, freshness }) }
    }

    fn put(&self, key: &str, bytes: &[u8], age: Duration) {
        let next = self.folder.path().join("next");
        fs::write(&next, bytes).unwrap();
        let file = fs::File::options().write(true).open(&next).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        fs::rename(next, self.folder.path().join(key)).unwrap();
    }

    fn read(&self, key: &str) -> Result<Vec<u8>, ErrorKind> {
        let read = self.engine.read_object(&self.files.object(key), bounded(0, 3));
        read.map(|bytes| bytes.to_vec()).map_err(|error| error.kind())
    }

    /// Opens and hits so far.
    fn counts(&self) -> (u64, u64) {
        let stats = self.engine.stats();
        (stats.opens, stats.handle_hits)
    }
}

/// A file's change time is set by the kernel to now, whatever its times are set to: wait until it has settled.
fn settle() {
    std::thread::sleep(Duration::from_millis(2100));
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn settled_files_stay_open_until_they_change() {
    within_a_minute(|| {
        let kept = Kept::new(100, Freshness::Checked);
        kept.put("a", b"old", HOUR);
        kept.read("a").unwrap();
        kept.read("a").unwrap();
        assert_eq!(kept.counts(), (2, 0), "changed less than 2 s ago");
        settle();
        for _ in 0..5 {
            assert_eq!(kept.read("a"), Ok(b"old".to_vec()));
        }
        assert_eq!(kept.counts(), (3, 4));
        kept.put("a", b"new", HOUR);
        assert_eq!(kept.read("a"), Ok(b"new".to_vec()));
        assert_eq!(kept.counts(), (4, 4));
        fs::remove_file(kept.folder.path().join("a")).unwrap();
        assert_eq!(kept.read("a"), Err(ErrorKind::NotFound));
        fs::create_dir(kept.folder.path().join("a")).unwrap();
        assert_eq!(kept.read("a"), Err(ErrorKind::NotFound));
        fs::remove_dir(kept.folder.path().join("a")).unwrap();
        kept.put("a", b"yet", HOUR);
        assert_eq!(kept.read("a"), Ok(b"yet".to_vec()), "absence is not remembered");
    });
}

#[test]
fn a_deleted_file_is_let_go() {
    within_a_minute(|| {
        let kept = Kept::new(100, Freshness::Checked);
        kept.put("a", b"old", HOUR);
        settle();
        kept.read("a").unwrap();
        let path = kept.folder.path().join("a");
        let is_open = || {
            let open = fs::read_dir("/proc/self/fd").unwrap();
            open.filter_map(|one| fs::read_link(one.unwrap().path()).ok())
                .any(|target| target.starts_with(&path))
        };
        assert!(is_open());
        let deleted = path.with_file_name("a (deleted)");
        fs::remove_file(&path).unwrap();
        assert_eq!(kept.read("a"), Err(ErrorKind::NotFound));
        let open = fs::read_dir("/proc/self/fd").unwrap();
        let still =
            open.filter_map(|one| fs::read_link(one.unwrap().path()).ok()).any(|target| target == deleted);
        assert!(!still, "its descriptor is closed");
    });
}

#[test]
fn handles_kept_are_bounded() {
    within_a_minute(|| {
        for open_handles_max in [0, 1, 16] {
            let kept = Kept::new(open_handles_max, Freshness::Checked);
            for index in 0..200 {
                kept.put(&format!("{index}"), b"abc", HOUR);
            }
            settle();
            for index in 0..200 {
                kept.read(&format!("{index}")).unwrap();
            }
            let open = fs::read_dir("/proc/self/fd").unwrap();
            let kept_open = open
                .filter_map(|one| fs::read_link(one.unwrap().path()).ok())
                .filter(|target| target.parent() == Some(kept.folder.path()))
                .count();
            assert!(kept_open <= open_handles_max, "{kept_open} of {open_handles_max}");
        }
    });
}

#[test]
fn unchecked_handles_are_trusted_as_long_as_was_said() {
    within_a_minute(|| {
        let immutable = Kept::new(100, Freshness::Immutable);
        let brief = Kept::new(100, Freshness::Ttl(Duration::from_millis(500)));
        for kept in [&immutable, &brief] {
            kept.put("a", b"old", HOUR);
        }
        settle();
        for kept in [&immutable, &brief] {
            assert_eq!(kept.read("a"), Ok(b"old".to_vec()));
            kept.put("a", b"new", HOUR);
            assert_eq!(kept.read("a"), Ok(b"old".to_vec()));
        }
        std::thread::sleep(Duration::from_millis(600));
        assert_eq!(immutable.read("a"), Ok(b"old".to_vec()));
        assert_eq!(brief.read("a"), Ok(b"new".to_vec()));
    });
}
