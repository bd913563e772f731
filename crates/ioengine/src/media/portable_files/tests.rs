//! Other platforms' files, by an engine of this one.

use super::*;
use crate::{ByteRange, Engine, EngineConfig, RangeRead, RunOptions};
use std::sync::Mutex;

/// The bytes of a range.
type Found = Result<Vec<u8>, Error>;

fn engine() -> Engine {
    Engine::new(EngineConfig::default())
}

/// What ranges of a file give, through the engine.
fn read(files: &LocalFiles, key: &str, ranges: &[(u64, u64)]) -> Vec<Found> {
    let reads: Vec<RangeRead> = ranges
        .iter()
        .map(|(offset, len)| RangeRead {
            object: 0,
            range: ByteRange::Bounded { offset: *offset, len: *len },
        })
        .collect();
    let found: Vec<Mutex<Option<Found>>> = reads.iter().map(|_| Mutex::default()).collect();
    let keep = |index: usize, result: Result<&[u8], Error>| {
        *found[index].lock().unwrap() = Some(result.map(<[u8]>::to_vec));
    };
    engine().read_ranges(&[files.object(key)], &reads, keep, &RunOptions::default()).unwrap();
    found.into_iter().map(|slot| slot.into_inner().unwrap().unwrap()).collect()
}

fn files() -> (tempfile::TempDir, LocalFiles) {
    let folder = tempfile::tempdir().unwrap();
    let files = LocalFiles::open(folder.path(), FileAccess::Probe).unwrap();
    (folder, files)
}

#[test]
fn ranges_are_those_of_the_file() {
    let (folder, files) = files();
    let bytes: Vec<u8> = (0..300_000u32).map(|number| (number % 251) as u8).collect();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    std::fs::write(folder.path().join("a/b"), &bytes).unwrap();
    let ranges: Vec<(u64, u64)> = (0..200).map(|number| (number * 1499, 1 + number % 700)).collect();
    for ((offset, len), found) in ranges.iter().zip(read(&files, "a/b", &ranges)) {
        let start = usize::try_from(*offset).unwrap();
        assert_eq!(found.unwrap(), bytes[start..][..usize::try_from(*len).unwrap()]);
    }
    let [end] = &read(&files, "a/b", &[(299_999, 2)])[..] else { panic!("one read") };
    assert_eq!(end.as_ref().unwrap_err().kind(), ErrorKind::UnexpectedEnd);
}

#[test]
fn what_is_no_file_is_not_found_and_what_leads_out_is_refused() {
    let (folder, files) = files();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    for key in ["none", "a", "a/none"] {
        assert_eq!(
            read(&files, key, &[(0, 1)])[0].as_ref().unwrap_err().kind(),
            ErrorKind::NotFound,
            "{key}"
        );
    }
    for key in ["../b", "a/../../b", "/etc/hostname"] {
        assert_eq!(read(&files, key, &[(0, 1)])[0].as_ref().unwrap_err().kind(), ErrorKind::Io, "{key}");
    }
    assert_eq!(LocalFiles::open("/none", FileAccess::Probe).err().unwrap().kind(), ErrorKind::NotFound);
    let refused = LocalFiles::open(folder.path(), FileAccess::Mapped).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
}

#[test]
fn writes_keep_their_conditions() {
    let (folder, files) = files();
    let medium = files.medium();
    let put = |text: &str, condition: &PutCondition| {
        medium.put("a/b", Bytes::copy_from_slice(text.as_bytes()), condition)
    };
    let first = put("first", &PutCondition::Absent).unwrap().unwrap();
    assert_eq!(put("again", &PutCondition::Absent).unwrap_err().kind(), ErrorKind::Changed);
    let second = put("the second", &PutCondition::Matches(first.clone())).unwrap().unwrap();
    assert_eq!(put("lost", &PutCondition::Matches(first.clone())).unwrap_err().kind(), ErrorKind::Changed);
    assert_eq!(medium.delete_version("a/b", &first).unwrap_err().kind(), ErrorKind::Changed);
    assert_eq!(read(&files, "a/b", &[(4, 6)])[0].as_ref().unwrap(), b"second");
    assert_eq!(medium.list("").unwrap(), [Entry::Prefix { name: "a".to_owned() }]);
    assert_eq!(medium.list("a").unwrap(), [Entry::Object { name: "b".to_owned(), size: 10 }]);
    // Nothing is left beside it.
    assert_eq!(folder.path().join("a").read_dir().unwrap().count(), 1);
    medium.delete("a/").unwrap();
    medium.delete_version("a/b", &second).unwrap();
    medium.delete("a/b").unwrap();
    medium.delete("a/").unwrap();
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_lock_is_held_by_one() {
    let (folder, files) = files();
    let medium = files.medium();
    let held = medium.try_lock("a/zarr.json").unwrap();
    assert!(matches!(held, TryLock::Held(_)));
    assert!(matches!(medium.try_lock("a/zarr.json").unwrap(), TryLock::Taken));
    drop(held);
    assert_eq!(folder.path().join("a").read_dir().unwrap().count(), 0);
    assert!(matches!(medium.try_lock("a/zarr.json").unwrap(), TryLock::Held(_)));
}

#[test]
fn a_file_that_was_replaced_is_another() {
    let (folder, files) = files();
    let path = folder.path().join("a");
    std::fs::write(&path, "before").unwrap();
    let Medium::Local(medium) = files.medium() else { panic!("files are local") };
    let open = medium.open("a").unwrap();
    assert!(!open.is_settled());
    medium.verify(open.as_ref()).unwrap();
    assert_eq!(medium.identify("a").unwrap(), *open.identity());
    std::fs::write(&path, "after it").unwrap();
    assert_eq!(medium.verify(open.as_ref()).unwrap_err().kind(), ErrorKind::Changed);
    assert_ne!(medium.identify("a").unwrap(), *open.identity());
}
