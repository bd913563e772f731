//! The engine on top of stores, and what blocks: listings, writes, cancelled fetches.

use super::noise;
use crate::media::cloud::{CloudMedium, CloudSettings};
use crate::random::Random;
use crate::remote::{CancelFlag, FetchRequest, Inbox, Reply};
use crate::{
    ByteRange, Engine, EngineConfig, Entry, ErrorKind, Medium, ObjectRef, PutCondition, RangeRead,
    RunOptions, Wake,
};
use bytes::Bytes;
use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn medium() -> Medium {
    CloudMedium::from_object_store(Arc::new(InMemory::new()), "memory", CloudSettings::default())
}

#[test]
fn random_ranges_are_what_the_objects_hold() {
    let medium = medium();
    let objects: Vec<Vec<u8>> = (0..5).map(|index| noise(100_000 + index)).collect();
    for (index, bytes) in objects.iter().enumerate() {
        let key = format!("a/{index}");
        medium.put(&key, Bytes::copy_from_slice(bytes), &PutCondition::Always).unwrap();
    }
    let references: Vec<ObjectRef> = (0..5)
        .map(|index| ObjectRef { medium: medium.clone(), key: format!("a/{index}").as_str().into() })
        .collect();
    let engine = Engine::new(EngineConfig::default());
    for seed in 0..20 {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let reads: Vec<RangeRead> = (0..300)
            .map(|_| {
                let offset = random.below(99_000);
                let len = random.below(1000);
                let range = if random.chance(50) {
                    ByteRange::Suffix { len }
                } else {
                    ByteRange::Bounded { offset, len }
                };
                RangeRead { object: usize::try_from(random.below(5)).unwrap(), range }
            })
            .collect();
        let right = Mutex::new(0);
        let check = |index: usize, result: Result<&[u8], crate::Error>| {
            let RangeRead { object, range } = reads[index];
            let bytes = &objects[object];
            let (offset, len) = range.resolve(bytes.len() as u64).unwrap();
            let wanted = &bytes[usize::try_from(offset).unwrap()..][..usize::try_from(len).unwrap()];
            assert_eq!(result.unwrap(), wanted, "{range}");
            *right.lock().unwrap() += 1;
        };
        engine.read_ranges(&references, &reads, check, &RunOptions::default()).unwrap();
        assert_eq!(*right.lock().unwrap(), 300);
    }
    let stats = medium.remote_stats().unwrap();
    assert!(0 < stats.requests && stats.retries == 0 && stats.in_flight == 0, "{stats:?}");
    assert_eq!(&*stats.endpoint, "memory");
}

#[test]
fn a_cancelled_fetch_completes_at_once() {
    let slow = ThrottleConfig { wait_get_per_call: Duration::from_secs(3600), ..ThrottleConfig::default() };
    let settings = CloudSettings { stall_timeout: Duration::from_secs(3600), ..CloudSettings::default() };
    let store = Arc::new(ThrottledStore::new(InMemory::new(), slow));
    let Medium::Remote(source) = CloudMedium::from_object_store(store, "slow", settings) else {
        panic!("local")
    };
    let inbox = Inbox::new(Arc::new(Wake::new().unwrap()));
    let cancelled = CancelFlag::default();
    for slot in 0..100 {
        let range = ByteRange::Bounded { offset: 0, len: 10 };
        let request = FetchRequest { key: "a".into(), range, if_match: None, cancelled: cancelled.clone() };
        source.fetch(request, Reply::new(slot, Arc::clone(&inbox)));
    }
    cancelled.raise();
    let (start, mut arrived) = (Instant::now(), Vec::new());
    while arrived.len() < 100 {
        inbox.take(&mut arrived);
        std::thread::sleep(Duration::from_millis(1));
        assert!(start.elapsed() < Duration::from_secs(30), "{} of 100", arrived.len());
    }
    for completion in arrived {
        assert_eq!(completion.result.unwrap_err().kind(), ErrorKind::Cancelled);
    }
}

#[test]
fn writes_hold_their_conditions() {
    let medium = medium();
    let put = |bytes: &'static [u8], condition: &PutCondition| {
        medium.put("a/b", Bytes::from_static(bytes), condition)
    };
    let first = put(b"one", &PutCondition::Absent).unwrap().unwrap();
    assert_eq!(put(b"two", &PutCondition::Absent).unwrap_err().kind(), ErrorKind::Changed);
    let second = put(b"two", &PutCondition::Matches(first.clone())).unwrap().unwrap();
    assert_ne!(first, second);
    assert_eq!(put(b"three", &PutCondition::Matches(first)).unwrap_err().kind(), ErrorKind::Changed);
    put(b"three", &PutCondition::Always).unwrap();
    medium.delete("a/b").unwrap();
    medium.delete("a/b").unwrap();
    assert_eq!(medium.list("a/").unwrap(), []);
    assert_eq!(
        medium.put("a//b", Bytes::new(), &PutCondition::Always).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
}

#[test]
fn large_objects_are_written_in_parts_and_read_back() {
    let medium = medium();
    let bytes: Bytes = noise((33 << 20) + 17).into();
    medium.put("large", bytes.clone(), &PutCondition::Always).unwrap();
    let object = ObjectRef { medium: medium.clone(), key: "large".into() };
    let reads = [RangeRead { object: 0, range: ByteRange::Whole { len_max: 64 << 20 } }];
    let equal = Mutex::new(false);
    Engine::new(EngineConfig::default())
        .read_ranges(
            &[object],
            &reads,
            |_, result| *equal.lock().unwrap() = result.unwrap() == &bytes[..],
            &RunOptions::default(),
        )
        .unwrap();
    assert!(*equal.lock().unwrap());
    assert!(5 <= medium.remote_stats().unwrap().requests);
}

#[test]
fn listings_are_sorted_and_bounded() {
    let settings = CloudSettings { listed_max: 4, ..CloudSettings::default() };
    let medium = CloudMedium::from_object_store(Arc::new(InMemory::new()), "listed", settings);
    for key in ["a/z", "a/b/c", "a/b/d", "a/a", "b/c", "ab"] {
        medium.put(key, Bytes::from_static(b"xyz"), &PutCondition::Always).unwrap();
    }
    let object = |name: &str| Entry::Object { name: name.to_owned(), size: 3 };
    let prefix = |name: &str| Entry::Prefix { name: name.to_owned() };
    assert_eq!(medium.list("a/").unwrap(), [object("a"), prefix("b"), object("z")]);
    assert_eq!(medium.list("").unwrap(), [prefix("a"), object("ab"), prefix("b")]);
    assert_eq!(medium.list("nothing/").unwrap(), []);
    for index in 0..5 {
        medium.put(&format!("many/{index}"), Bytes::new(), &PutCondition::Always).unwrap();
    }
    let error = medium.list("many/").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.message().contains('4') && error.message().contains('5'), "{error}");
}
