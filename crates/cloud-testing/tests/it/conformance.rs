//! What every server must do the same way through swath.

use crate::raw::noise;
use crate::stand::{Stand, all, bytes, engine, every, fast, within};
use std::sync::Mutex;
use std::time::Duration;
use swath_cloud_testing::{Faults, Link};
use swath_ioengine::{ByteRange, Engine, Entry, ErrorKind, PutCondition, RangeRead, RunOptions};

fn stands() -> Vec<Stand> {
    if all() { every(Link::default(), &[]) } else { fast(Link::default(), &[]) }
}

fn each(check: impl Fn(&Stand) + Send + 'static) {
    within(Duration::from_secs(120), move || {
        for stand in stands() {
            eprintln!("{}", stand.name);
            check(&stand);
        }
    });
}

fn bounded(offset: u64, len: u64) -> ByteRange {
    ByteRange::Bounded { offset, len }
}

#[test]
fn ranges_bring_their_bytes() {
    each(|stand| {
        let stored = noise(6, 100_000);
        stand.put("d/a b", stored.clone());
        stand.put("empty", Vec::new());
        let engine = engine(64);
        let object = stand.object("d/a b");
        let read = |range| engine.read_object(&object, range);
        assert!(read(bounded(0, 100_000)).unwrap() == stored);
        assert!(read(bounded(17, 5000)).unwrap() == stored[17..5017]);
        assert!(read(bounded(99_999, 1)).unwrap() == stored[99_999..]);
        assert_eq!(read(bounded(50, 0)).unwrap().len(), 0);
        assert!(read(ByteRange::Suffix { len: 777 }).unwrap() == stored[99_223..]);
        assert!(read(ByteRange::Whole { len_max: 1 << 20 }).unwrap() == stored);
        assert_eq!(read(ByteRange::Whole { len_max: 99_999 }).unwrap_err().kind(), ErrorKind::LimitExceeded);
        for past in [bounded(100_000, 1), bounded(99_990, 20), bounded(1 << 40, 5)] {
            assert_eq!(read(past).unwrap_err().kind(), ErrorKind::UnexpectedEnd, "{past:?}");
        }
        let empty = stand.object("empty");
        assert_eq!(engine.read_object(&empty, ByteRange::Whole { len_max: 10 }).unwrap().len(), 0);
        let missing = stand.object("d/missing");
        for range in [bounded(0, 5), ByteRange::Suffix { len: 5 }, ByteRange::Whole { len_max: 5 }] {
            assert_eq!(engine.read_object(&missing, range).unwrap_err().kind(), ErrorKind::NotFound);
        }
        while 0 < stand.proxy.counts().in_flight {
            std::thread::yield_now();
        }
    });
}

#[test]
fn many_ranges_bring_their_bytes_merged_and_one_by_one() {
    each(|stand| {
        let stored = noise(7, 3_000_000);
        stand.put("a", stored.clone());
        let reads: Vec<RangeRead> = (0..300)
            .map(|index| RangeRead { object: 0, range: bounded(index * 7919 % 2_990_000, 1 + index * 31) })
            .collect();
        for engine in [engine(64), Engine::new(swath_ioengine::EngineConfig::default())] {
            let right = Mutex::new(0);
            let check = |index: usize, result: Result<&[u8], swath_ioengine::Error>| {
                let ByteRange::Bounded { offset, len } = reads[index].range else { panic!() };
                let (from, len) = (usize::try_from(offset).unwrap(), usize::try_from(len).unwrap());
                assert!(result.unwrap() == &stored[from..from + len]);
                *right.lock().unwrap() += 1;
            };
            engine.read_ranges(&[stand.object("a")], &reads, check, &RunOptions::default()).unwrap();
            assert_eq!(*right.lock().unwrap(), reads.len());
        }
    });
}

/// The object is replaced when a certain request comes. What arrives is of one version.
#[test]
fn versions_are_never_mixed() {
    each(|stand| {
        let Some(objects) = stand.objects() else { return };
        for change_at in 0..12 {
            stand.put("a", vec![1; 9 << 20]);
            let first = stand.proxy.counts().seen.last().map_or(0, |seen| seen.number + 1);
            let changed = objects.clone();
            stand.proxy.set_faults(Faults::by(move |seen| {
                if seen.number == first + change_at {
                    changed.put("a", vec![2; 9 << 20]);
                }
                None
            }));
            let engine = engine(3);
            match engine.read_object(&stand.object("a"), ByteRange::Whole { len_max: 10 << 20 }) {
                Ok(bytes) => {
                    assert_eq!(bytes.len(), 9 << 20);
                    assert!(bytes.iter().all(|byte| *byte == bytes[0]), "{} {change_at}", stand.name);
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Changed, "{error}"),
            }
            let found = Mutex::new(Vec::new());
            let reads: Vec<RangeRead> = (0..20)
                .map(|index| RangeRead { object: 0, range: bounded(index * 400_000, 100_000) })
                .collect();
            let keep = |_, result: Result<&[u8], swath_ioengine::Error>| match result {
                Ok(bytes) => {
                    assert!(bytes.iter().all(|byte| *byte == bytes[0]));
                    found.lock().unwrap().push(bytes[0]);
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Changed, "{error}"),
            };
            engine.read_ranges(&[stand.object("a")], &reads, keep, &RunOptions::default()).unwrap();
            let found = found.into_inner().unwrap();
            assert!(found.windows(2).all(|two| two[0] == two[1]), "{} {change_at}: {found:?}", stand.name);
        }
    });
}

#[test]
fn listings_go_over_pages() {
    each(|stand| {
        for index in 0..25 {
            stand.put(&format!("g/{index:02}/zarr.json"), vec![1]);
        }
        stand.put("g/zarr.json", vec![1; 5]);
        if !stand.writes() {
            assert_eq!(stand.medium.list("g/").unwrap_err().kind(), ErrorKind::Unsupported);
            return;
        }
        let mut wanted: Vec<Entry> =
            (0..25).map(|index| Entry::Prefix { name: format!("{index:02}") }).collect();
        wanted.push(Entry::Object { name: "zarr.json".into(), size: 5 });
        assert_eq!(stand.medium.list("g/").unwrap(), wanted);
        assert!(stand.medium.list("nothing/").map_or(true, |found| found.is_empty()));
    });
}

#[test]
fn writes_hold_their_conditions() {
    each(|stand| {
        let medium = &stand.medium;
        let engine = engine(8);
        let read = |key: &str| engine.read_object(&stand.object(key), ByteRange::Whole { len_max: 100 });
        if !stand.writes() {
            let error = medium.put("w/a", bytes(b"one"), &PutCondition::Always).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            return;
        }
        let first = medium.put("w/a", bytes(b"one"), &PutCondition::Absent).unwrap().unwrap();
        assert_eq!(read("w/a").unwrap(), "one");
        let error = medium.put("w/a", bytes(b"two"), &PutCondition::Absent).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
        let second =
            medium.put("w/a", bytes(b"two"), &PutCondition::Matches(first.clone())).unwrap().unwrap();
        assert_ne!(first, second);
        let error = medium.put("w/a", bytes(b"three"), &PutCondition::Matches(first)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{error}");
        assert_eq!(read("w/a").unwrap(), "two");
        medium.put("w/a", bytes(b"four"), &PutCondition::Always).unwrap();
        assert_eq!(read("w/a").unwrap(), "four");
        medium.delete("w/a").unwrap();
        assert_eq!(read("w/a").unwrap_err().kind(), ErrorKind::NotFound);
        medium.delete("w/a").unwrap();
    });
}
