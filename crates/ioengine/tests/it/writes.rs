//! Local files written whole.

use crate::batches::bounded;
use crate::stand::within_a_minute;
use bytes::Bytes;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};
use swath_ioengine::{
    Engine, EngineConfig, Entry, Error, ErrorKind, FileAccess, Freshness, Identity, LocalFiles, Medium,
    PutCondition,
};

struct Folder {
    folder: tempfile::TempDir,
    files: LocalFiles,
    medium: Medium,
}

impl Folder {
    fn new() -> Folder {
        let folder = tempfile::tempdir().unwrap();
        let files = LocalFiles::open(folder.path(), FileAccess::Probe).unwrap();
        let medium = files.medium();
        Folder { folder, files, medium }
    }

    fn put(&self, key: &str, bytes: &[u8], condition: &PutCondition) -> Result<Identity, ErrorKind> {
        let written = self.medium.put(key, Bytes::copy_from_slice(bytes), condition);
        written.map(Option::unwrap).map_err(|error| error.kind())
    }

    fn always(&self, key: &str, bytes: &[u8]) -> Identity {
        self.put(key, bytes, &PutCondition::Always).unwrap()
    }

    /// Every name in the folder, whether it can be a key or not.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path().join(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn on_disk(&self, key: &str) -> Vec<u8> {
        fs::read(self.folder.path().join(key)).unwrap()
    }

    fn identity(&self, key: &str) -> Identity {
        let Medium::Local(medium) = &self.medium else { panic!("files are local") };
        medium.identify(key).unwrap()
    }
}

fn engine(freshness: Freshness) -> Engine {
    Engine::new(EngineConfig { freshness, ..EngineConfig::default() })
}

#[test]
fn files_are_written_with_their_folders_and_removed() {
    let folder = Folder::new();
    let identity = folder.always("a/b/c", b"first");
    assert_eq!(identity, folder.identity("a/b/c"));
    let second = folder.always("a/b/c", b"second, longer");
    assert_ne!(identity, second);
    assert_eq!(second, folder.identity("a/b/c"));
    assert_eq!(folder.on_disk("a/b/c"), b"second, longer");
    folder.always("empty", b"");
    assert_eq!(folder.on_disk("empty"), b"");
    assert_eq!(folder.names("a/b"), ["c"], "no temporary file is left");
    assert_eq!(folder.names(""), ["a", "empty"]);
    folder.medium.delete("a/b/c").unwrap();
    folder.medium.delete("a/b/c").unwrap();
    folder.medium.delete("none/of/it").unwrap();
    assert_eq!(folder.names("a/b"), [""; 0]);
}

#[test]
fn what_goes_past_the_page_cache_is_put_as_all_else() {
    let folder = Folder::new();
    let past = |bytes: &[u8], condition: &PutCondition| {
        let (first, second) = bytes.split_at(bytes.len() / 3);
        let pieces = [Bytes::copy_from_slice(first), Bytes::copy_from_slice(second)];
        let written = folder.medium.put_past_cache("a/large", &pieces, condition);
        written.map(Option::unwrap).map_err(|error| error.kind())
    };
    let bytes = |len: usize| (0..=250u8).cycle().take(len).collect::<Vec<_>>();
    let (first, second) = (bytes((5 << 20) + 123), bytes(3 << 20));
    let version = past(&first, &PutCondition::Absent).unwrap();
    assert!(folder.on_disk("a/large") == first);
    assert_eq!(past(&second, &PutCondition::Absent), Err(ErrorKind::Changed));
    assert!(folder.on_disk("a/large") == first);
    assert_eq!(version, folder.identity("a/large"));
    past(&second, &PutCondition::Matches(version)).unwrap();
    assert!(folder.on_disk("a/large") == second);
    assert_eq!(folder.names("a"), ["large"]);
}

#[test]
fn conditions_hold_or_nothing_is_written() {
    let folder = Folder::new();
    let first = folder.put("a", b"1", &PutCondition::Absent).unwrap();
    assert_eq!(folder.put("a", b"2", &PutCondition::Absent), Err(ErrorKind::Changed));
    let second = folder.put("a", b"two", &PutCondition::Matches(first.clone())).unwrap();
    assert_eq!(folder.put("a", b"3", &PutCondition::Matches(first.clone())), Err(ErrorKind::Changed));
    assert_eq!(folder.on_disk("a"), b"two");
    assert_eq!(second, folder.identity("a"));
    assert_eq!(folder.put("b/c", b"3", &PutCondition::Matches(first)), Err(ErrorKind::Changed));
    assert_eq!(folder.names(""), ["a"], "neither a temporary file nor a folder");
}

#[test]
fn keys_stay_below_the_directory_and_failures_leave_nothing() {
    let folder = Folder::new();
    fs::create_dir(folder.folder.path().join("taken")).unwrap();
    for key in [
        "../out",
        "a/../../out",
        "/out",
        "",
        "a/",
        ".",
        ".swath-part-1-1",
        ".swath-part-x/zarr.json",
        "taken",
    ] {
        assert!(folder.put(key, b"1", &PutCondition::Always).is_err(), "{key}");
        assert!(folder.put(key, b"1", &PutCondition::Absent).is_err(), "{key}");
        // A slash at the end is a folder's: see the next test.
        assert!(key.ends_with('/') || folder.medium.delete(key).is_err(), "{key}");
    }
    fs::write(folder.folder.path().join("file"), b"1").unwrap();
    assert!(folder.put("file/below", b"1", &PutCondition::Always).is_err());
    assert_eq!(folder.names(""), ["file", "taken"]);
    assert!(!folder.folder.path().parent().unwrap().join("out").exists());
}

#[test]
fn folders_are_removed_by_their_names_with_a_slash_where_they_are_empty() {
    let folder = Folder::new();
    for name in ["empty", "full"] {
        fs::create_dir(folder.folder.path().join(name)).unwrap();
    }
    folder.put("full/a", b"1", &PutCondition::Always).unwrap();
    for key in ["empty/", "full/", "none/"] {
        folder.medium.delete(key).unwrap();
    }
    assert_eq!(folder.names(""), ["full"]);
    assert_eq!(folder.on_disk("full/a"), b"1");
    for key in ["../out/", "/", "a/../../out/"] {
        assert!(folder.medium.delete(key).is_err(), "{key}");
    }
}

#[test]
fn files_that_are_being_written_are_not_listed() {
    let folder = Folder::new();
    folder.always("a", b"1");
    fs::write(folder.folder.path().join(".swath-part-7-7"), b"left by a process that was killed").unwrap();
    let listed = folder.medium.list("").unwrap();
    assert_eq!(listed, [Entry::Object { name: "a".to_owned(), size: 1 }]);
}

#[test]
fn files_of_killed_processes_are_in_nobodys_way() {
    const LEFT: usize = 500;
    let folder = Folder::new();
    let left = |number: usize| {
        let name = format!(".swath-part-{}-{number}", std::process::id());
        fs::File::create(folder.folder.path().join(name)).unwrap()
    };
    let count = || fs::read_dir(folder.folder.path()).unwrap().count();
    let files: Vec<fs::File> = (0..LEFT).map(left).collect();
    // They may be other processes' that are being written.
    folder.always("a", b"1");
    assert_eq!((folder.on_disk("a"), count()), (b"1".to_vec(), LEFT + 1));
    let old = SystemTime::now() - Duration::from_hours(25);
    for file in files {
        file.set_modified(old).unwrap();
    }
    folder.always("b", b"22");
    assert_eq!((folder.on_disk("b"), count()), (b"22".to_vec(), LEFT - 1 + 2));
}

#[test]
fn of_many_that_write_where_nothing_is_one_does() {
    let folder = Folder::new();
    for round in 0..20 {
        let (won, key) = (AtomicUsize::new(0), format!("{round}"));
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (folder, won, key) = (&folder, &won, &key);
                scope.spawn(move || {
                    if folder.put(key, &[writer; 100], &PutCondition::Absent).is_ok() {
                        won.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(won.into_inner(), 1);
        let found = folder.on_disk(&key);
        assert!(found.len() == 100 && found.iter().all(|byte| *byte == found[0]));
    }
    assert_eq!(folder.names("").len(), 20);
}

#[test]
fn what_is_written_is_read_at_once_however_fresh_it_was_taken_to_be() {
    within_a_minute(|| {
        let folder = Folder::new();
        let engines = [engine(Freshness::Immutable), engine(Freshness::Checked)];
        let read = |engine: &Engine| engine.read_object(&folder.files.object("a"), bounded(0, 3));
        folder.always("a", b"old");
        // Files that changed lately are not kept open: wait until this one is.
        std::thread::sleep(std::time::Duration::from_millis(2100));
        for engine in &engines {
            for _ in 0..3 {
                assert_eq!(read(engine).unwrap(), "old");
            }
            assert_eq!(engine.stats().opens, 1);
        }
        folder.always("a", b"new");
        engines.iter().for_each(|engine| assert_eq!(read(engine).unwrap(), "new"));
        folder.medium.delete("a").unwrap();
        for engine in &engines {
            assert_eq!(read(engine).map_err(|error: Error| error.kind()), Err(ErrorKind::NotFound));
        }
    });
}

#[test]
fn no_reader_sees_a_part_of_a_file() {
    within_a_minute(|| {
        let folder = Folder::new();
        let versions: Vec<Vec<u8>> = (1..20u8).map(|byte| vec![byte; 1000 * usize::from(byte)]).collect();
        folder.always("a", &versions[0]);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..50 {
                    versions.iter().for_each(|version| drop(folder.always("a", version)));
                }
                done.store(true, Ordering::Release);
            });
            while !done.load(Ordering::Acquire) {
                let found = folder.on_disk("a");
                assert!(versions.contains(&found), "{} bytes", found.len());
            }
        });
        assert_eq!(folder.names(""), ["a"]);
    });
}
