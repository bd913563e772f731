//! Right bytes, within the bounds.

use super::super::CacheTier;
use super::*;
use crate::{CostModel, ErrorKind, MemoryMedium};

/// A range of any kind within, over and past an object of `size` bytes.
fn any_range(random: &mut Random, size: u64) -> ByteRange {
    match random.below(12) {
        0 => ByteRange::Suffix { len: random.below(size + 50) },
        1 => ByteRange::Whole { len_max: random.below(2 * size) },
        2 => bounded(random.below(size + 10), random.below(size)),
        3 => bounded(random.below(10), size),
        _ => {
            let offset = random.below(size);
            bounded(offset, random.below((size - offset).min(5000)) + 1)
        }
    }
}

fn check_against_oracle(config: CacheConfig, seed: u64) -> CacheTier {
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let remote = remote(Duration::ZERO);
    let sizes = [1u64, 700, 40_000, 300_000];
    let objects: Vec<Vec<u8>> =
        sizes.iter().map(|size| noise(&mut random, usize::try_from(*size).unwrap())).collect();
    for (index, bytes) in objects.iter().enumerate() {
        remote.put(&index.to_string(), bytes.clone());
    }
    let tier = CacheTier::new(config.clone()).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    for _ in 0..300 {
        let asked: Vec<_> = (0..8)
            .map(|_| {
                let index = usize::try_from(random.below(4)).unwrap();
                let range = any_range(&mut random, sizes[index]);
                (index, range, start(&medium, &index.to_string(), range, None))
            })
            .collect();
        for (index, range, answer) in asked {
            match (wait(&answer), range.resolve(sizes[index])) {
                (Ok(found), Ok((offset, len))) => {
                    let (offset, len) = (usize::try_from(offset).unwrap(), usize::try_from(len).unwrap());
                    assert!(found.bytes == objects[index][offset..offset + len], "{range:?} of {index}");
                }
                (Err(found), Err(wanted)) => assert_eq!(found.kind(), wanted.kind()),
                (found, wanted) => panic!("{found:?} where {wanted:?}, {range:?} of {index}"),
            }
            let stats = tier.stats();
            assert!(stats.memory_bytes <= config.memory_bytes + 8 * 320_000, "{stats:?}");
        }
    }
    tier
}

#[test]
fn any_ranges_from_memory_equal_the_object() {
    for seed in 0..6 {
        let tier = check_against_oracle(immutable(64 << 20), seed);
        let stats = tier.stats();
        assert!(stats.misses < stats.hits, "{stats:?}");
        assert_eq!(stats.memory_evictions, 0);
    }
}

#[test]
fn any_ranges_from_a_small_memory_equal_the_object() {
    for seed in 0..6 {
        let tier = check_against_oracle(immutable(100_000), seed);
        let stats = tier.stats();
        assert_ne!(stats.memory_evictions, 0);
        assert!(stats.memory_bytes <= 100_000);
    }
}

#[test]
fn any_ranges_from_files_equal_the_object() {
    for (seed, memory_bytes) in [(1, 0), (2, 50_000), (3, 10 << 20)] {
        let folder = tempfile::tempdir().unwrap();
        let tier = check_against_oracle(in_folder(folder.path(), memory_bytes, 64 << 20), seed);
        tier.flush();
        let stats = tier.stats();
        assert_ne!(stats.writes, 0);
        assert!(memory_bytes != 0 || stats.bytes_from_disk != 0, "{stats:?}");
        assert_eq!((stats.corrupt, stats.drops, stats.queued_bytes), (0, 0, 0));
    }
}

#[test]
fn any_ranges_under_checks_equal_the_object() {
    for check_interval in [Duration::ZERO, Duration::from_secs(5)] {
        let freshness = Freshness::Checked;
        check_against_oracle(CacheConfig { freshness, check_interval, ..immutable(10 << 20) }, 4);
    }
}

#[test]
fn memory_stays_within_its_bound() {
    let remote = remote(Duration::ZERO);
    remote.put("a", vec![1; 4 << 20]);
    let tier = CacheTier::new(immutable(300_000)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    for index in 0..1024 {
        get(&medium, "a", bounded(index * 4096, 4096)).unwrap();
        assert!(tier.stats().memory_bytes <= 300_000);
    }
    assert!(200_000 < tier.stats().memory_bytes, "the memory is used");
    // What is larger than a quarter of it is not kept.
    get(&medium, "a", bounded(0, 200_000)).unwrap();
    assert!(tier.stats().memory_bytes <= 300_000);
}

/// A scan of ten times the memory leaves most of what was hit before.
#[test]
fn a_scan_passes_through() {
    let remote = remote(Duration::ZERO);
    remote.put("hot", vec![1; 100_000]);
    remote.put("scan", vec![2; 4 << 20]);
    let tier = CacheTier::new(immutable(300_000)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    let hot = |medium: &Medium| {
        (0..25).for_each(|index| drop(get(medium, "hot", bounded(index * 4000, 4000)).unwrap()));
    };
    hot(&medium);
    hot(&medium);
    (0..750).for_each(|index| drop(get(&medium, "scan", bounded(index * 4096, 4096)).unwrap()));
    let before = remote.requests();
    hot(&medium);
    let missed = remote.requests() - before;
    assert!(missed <= 6, "{missed} of 25 were lost");
}

#[test]
fn ends_and_wholes_tell_sizes() {
    let remote = remote(Duration::ZERO);
    remote.put("a", (0..200).collect::<Vec<u8>>());
    let tier = CacheTier::new(immutable(1 << 20)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    assert_eq!(
        get(&medium, "a", ByteRange::Suffix { len: 20 }).unwrap().bytes[..],
        (180..200).collect::<Vec<u8>>()
    );
    assert_eq!(get(&medium, "a", ByteRange::Suffix { len: 5 }).unwrap().bytes[..], [195, 196, 197, 198, 199]);
    assert_eq!(remote.requests(), 1);
    get(&medium, "a", ByteRange::Whole { len_max: 300 }).unwrap();
    assert_eq!(remote.requests(), 2);
    for range in [ByteRange::Whole { len_max: 200 }, ByteRange::Suffix { len: 999 }, bounded(7, 193)] {
        get(&medium, "a", range).unwrap();
    }
    assert_eq!(remote.requests(), 2);
    // What the size forbids is the source's to refuse.
    let error = get(&medium, "a", ByteRange::Whole { len_max: 199 }).unwrap_err();
    assert_eq!((error.kind(), remote.requests()), (ErrorKind::LimitExceeded, 3));
    assert_eq!(get(&medium, "a", bounded(190, 11)).unwrap_err().kind(), ErrorKind::UnexpectedEnd);
}

#[test]
fn only_what_is_missing_is_fetched_where_that_pays() {
    let remote = remote(Duration::ZERO);
    let mut random = Random::new(5);
    let bytes = noise(&mut random, 2_000_000);
    remote.put("a", bytes.clone());
    let tier = CacheTier::new(immutable(16 << 20)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    // A request costs as much as 100,000 bytes there.
    assert_eq!(remote_cost(&medium).gap_bytes_max(), 100_000);
    get(&medium, "a", bounded(100_000, 300_000)).unwrap();
    assert!(get(&medium, "a", bounded(0, 500_000)).unwrap().bytes == bytes[..500_000]);
    let stats = tier.stats();
    assert_eq!((stats.partial, remote.requests(), stats.bytes_from_source), (1, 3, 500_000));
    get(&medium, "a", bounded(1_000_000, 10)).unwrap();
    assert!(get(&medium, "a", bounded(999_000, 2000)).unwrap().bytes == bytes[999_000..1_001_000]);
    assert_eq!((tier.stats().partial, remote.requests()), (1, 5));
    assert!(get(&medium, "a", bounded(999_000, 2000)).unwrap().bytes == bytes[999_000..1_001_000]);
    assert_eq!(remote.requests(), 5);
}

fn remote_cost(medium: &Medium) -> CostModel {
    let Medium::Remote(source) = medium else { panic!("a remote medium") };
    source.cost()
}

#[test]
fn absence_is_not_cached_and_local_media_are_left_alone() {
    let remote = remote(Duration::ZERO);
    let tier = CacheTier::new(immutable(1 << 20)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    assert_eq!(get(&medium, "a", bounded(0, 4)).unwrap_err().kind(), ErrorKind::NotFound);
    remote.put("a", vec![3; 10]);
    assert_eq!(get(&medium, "a", bounded(0, 4)).unwrap().bytes[..], [3; 4]);
    assert_eq!(medium.list("").unwrap().len(), 1);
    assert_eq!(medium.id(), remote.medium().id());
    assert!(medium.describe().contains("behind a cache of 1048576 bytes of memory"), "{medium:?}");
    let local = MemoryMedium::new().medium();
    assert!(matches!(tier.wrap(&local, "memory"), Medium::Local(_)));
}
