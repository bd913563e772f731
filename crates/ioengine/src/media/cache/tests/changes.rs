//! Objects that change under the cache.

use super::super::CacheTier;
use super::*;
use crate::{ErrorKind, PutCondition};
use std::sync::atomic::{AtomicBool, Ordering};

/// Readers of two ranges at once, and a writer: every answer is of one version, and says which.
#[test]
fn versions_are_never_mixed() {
    for (freshness, folder) in [
        (Freshness::Checked, None),
        (Freshness::Ttl(Duration::from_millis(1)), Some(tempfile::tempdir().unwrap())),
        (Freshness::Immutable, None),
    ] {
        let remote = remote(Duration::from_micros(300));
        let put = |version: u64| remote.put("a", version.to_le_bytes().repeat(2000));
        put(0);
        let folder = folder.as_ref().map(|folder| folder.path().to_owned());
        let check_interval = Duration::from_micros(500);
        let config = CacheConfig { freshness, folder, check_interval, ..immutable(20_000) };
        let tier = CacheTier::new(config).unwrap();
        let medium = tier.wrap(&remote.medium(), NAME);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for seed in 0..3 {
                let (medium, done) = (&medium, &done);
                scope.spawn(move || {
                    let mut random = Random::new(seed);
                    while !done.load(Ordering::Relaxed) {
                        let (first, count) = (random.below(1500), random.below(500) + 1);
                        let found = get(medium, "a", bounded(first * 8, count * 8)).unwrap();
                        let first = &found.bytes[..8];
                        assert!(found.bytes.chunks(8).all(|chunk| chunk == first), "a mix");
                        // Entity tags of the simulation count writes, from 1.
                        let version = u64::from_le_bytes(first.try_into().unwrap());
                        let tag = Identity::Tag(format!("\"{}\"", version + 1).into());
                        assert_eq!(found.identity, Some(tag));
                    }
                });
            }
            for version in 1..200 {
                put(version);
                get(&medium, "a", bounded(version * 8, 8)).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn checks_are_as_many_as_the_rule_says() {
    let hour = Duration::from_secs(3600);
    for (freshness, check_interval, requests, version) in [
        (Freshness::Immutable, Duration::ZERO, 0, 1),
        (Freshness::Ttl(hour), Duration::ZERO, 0, 1),
        (Freshness::Checked, hour, 0, 1),
        // A check in vain, the bytes, and checks of the nine others.
        (Freshness::Checked, Duration::ZERO, 11, 2),
        (Freshness::Ttl(Duration::ZERO), hour, 11, 2),
    ] {
        let remote = remote(Duration::ZERO);
        remote.put("a", vec![1; 1000]);
        let config = CacheConfig { freshness, check_interval, ..immutable(1 << 20) };
        let tier = CacheTier::new(config).unwrap();
        let medium = tier.wrap(&remote.medium(), NAME);
        get(&medium, "a", bounded(0, 1000)).unwrap();
        remote.put("a", vec![2; 1000]);
        let before = remote.requests();
        for index in 0..10 {
            let found = get(&medium, "a", bounded(index * 10, 10)).unwrap();
            assert_eq!(found.bytes[..], [version; 10], "{freshness:?}");
            if index == 0 {
                get(&medium, "a", bounded(0, 1000)).unwrap();
            }
        }
        let asked = remote.requests() - before;
        // The whole range once more, after the first.
        let extra = if version == 2 { 1 } else { 0 };
        assert_eq!(asked, requests + extra, "{freshness:?}, {:?}", tier.stats());
        assert_eq!(tier.stats().changes, u64::from(version == 2));
    }
}

/// Many requests for a version that must be confirmed share one check, if they may use one that is under way.
#[test]
fn checks_are_shared() {
    let remote = remote(Duration::from_millis(50));
    remote.put("a", vec![1; 1000]);
    let (freshness, check_interval) = (Freshness::Checked, Duration::from_millis(100));
    let tier = CacheTier::new(CacheConfig { freshness, check_interval, ..immutable(1 << 20) }).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    get(&medium, "a", bounded(0, 1000)).unwrap();
    std::thread::sleep(check_interval);
    let asked: Vec<_> = (0..50).map(|at| start(&medium, "a", bounded(at, 10), None)).collect();
    asked.iter().for_each(|answer| drop(wait(answer).unwrap()));
    let stats = tier.stats();
    assert!(stats.checks <= 2 && remote.requests() <= 3, "{stats:?}");
    assert_eq!((stats.hits, stats.misses), (50, 1));
}

#[test]
fn a_wanted_version_is_the_only_one_answered() {
    let remote = remote(Duration::ZERO);
    remote.put("a", vec![1; 100]);
    let tier = CacheTier::new(immutable(1 << 20)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    let first = get(&medium, "a", bounded(0, 100)).unwrap().identity;
    assert_eq!(wait(&start(&medium, "a", bounded(0, 9), first.clone())).unwrap().identity, first);
    assert_eq!(remote.requests(), 1);
    remote.put("a", vec![2; 100]);
    let second = remote_identity(&remote);
    let found = wait(&start(&medium, "a", bounded(0, 9), second.clone())).unwrap();
    assert_eq!((found.identity, found.bytes[0]), (second.clone(), 2));
    // The older one is gone, here and there.
    let error = wait(&start(&medium, "a", bounded(0, 9), first)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Changed);
    let before = remote.requests();
    assert_eq!(get(&medium, "a", bounded(0, 9)).unwrap().identity, second);
    assert_eq!(remote.requests(), before);
}

fn remote_identity(remote: &SimulatedRemote) -> Option<Identity> {
    get(&remote.medium(), "a", bounded(0, 1)).unwrap().identity
}

#[test]
fn writing_through_the_medium_drops_at_once_and_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let remote = remote(Duration::ZERO);
    remote.put("a", vec![1; 100]);
    remote.put("b", vec![1; 100]);
    let config = in_folder(folder.path(), 1 << 20, 16 << 20);
    let tier = CacheTier::new(config.clone()).unwrap();
    let other = CacheTier::new(config.clone()).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    get(&medium, "a", bounded(0, 100)).unwrap();
    get(&medium, "b", bounded(0, 100)).unwrap();
    medium.put("a", vec![2; 100].into(), &PutCondition::Always).unwrap();
    assert_eq!(get(&medium, "a", bounded(0, 1)).unwrap().bytes[..], [2]);
    medium.put("a", vec![3; 100].into(), &PutCondition::Always).unwrap();
    medium.delete("b").unwrap();
    assert_eq!(get(&medium, "b", bounded(0, 100)).unwrap_err().kind(), ErrorKind::NotFound);
    tier.flush();
    drop((medium, tier, other));
    let tier = CacheTier::new(config).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    assert_eq!(get(&medium, "a", bounded(0, 1)).unwrap().bytes[..], [3]);
    assert_eq!(get(&medium, "b", bounded(0, 100)).unwrap_err().kind(), ErrorKind::NotFound);
}

/// An answer that was under way when the object was written to through the medium is not kept.
#[test]
fn answers_of_before_a_write_are_not_kept() {
    let remote = remote(Duration::from_millis(50));
    remote.put("a", vec![1; 100]);
    let tier = CacheTier::new(immutable(1 << 20)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    let early = start(&medium, "a", bounded(0, 100), None);
    medium.put("a", vec![2; 100].into(), &PutCondition::Always).unwrap();
    let late = start(&medium, "a", bounded(0, 100), None);
    assert_eq!(wait(&early).unwrap().bytes[0], 1);
    assert_eq!(wait(&late).unwrap().bytes[0], 2);
    assert_eq!(get(&medium, "a", bounded(0, 100)).unwrap().bytes[0], 2);
    assert_eq!(remote.requests(), 2);
}
