//! Windows taken at once: right bytes, each read once, and no request.

use super::super::CacheTier;
use super::*;
use crate::{Engine, EngineConfig, Limits, ObjectRef, RangeRead, RunOptions};
use std::sync::Mutex;

const OBJECT_BYTES: usize = 400_000;
const SIZE: u64 = OBJECT_BYTES as u64;

fn object(seed: u64) -> (SimulatedRemote, Vec<u8>, Random) {
    println!("seed {seed}");
    let (remote, mut random) = (remote(Duration::ZERO), Random::new(seed));
    let bytes = noise(&mut random, OBJECT_BYTES);
    remote.put("a", bytes.clone());
    (remote, bytes, random)
}

fn part(random: &mut Random, len_max: u64) -> ByteRange {
    let offset = random.below(SIZE);
    bounded(offset, random.below((SIZE - offset).min(len_max)) + 1)
}

fn slice(bytes: &[u8], range: ByteRange) -> &[u8] {
    let (offset, len) = range.resolve(SIZE).unwrap();
    &bytes[usize::try_from(offset).unwrap()..usize::try_from(offset + len).unwrap()]
}

/// Takes what is at hand, if all is, and compares. Returns how many reads that were.
fn take(medium: &Medium, bytes: &[u8], ranges: &[ByteRange]) -> Option<usize> {
    let Medium::Remote(source) = medium else { panic!("a remote medium") };
    let mut found = source.at_hand(&"a".into(), None, &mut ranges.iter().copied())?;
    assert_eq!(found.bytes(), ranges.iter().map(|range| range.len_max()).sum::<u64>());
    let (mut memory, mut seen) = (Vec::new(), vec![false; ranges.len()]);
    while let Some((number, part)) = found.next(&mut memory) {
        assert!(part == slice(bytes, ranges[number]), "{}", ranges[number]);
        assert!(!std::mem::replace(&mut seen[number], true), "twice");
    }
    Some(seen.into_iter().filter(|seen| *seen).count())
}

/// Ranges that were cached one by one and at random, so that a read is of several of them, some in memory and some in files.
#[test]
fn what_is_at_hand_is_what_the_object_has() {
    for (seed, memory_bytes, in_files) in
        [(1, 8 << 20, false), (2, 0, true), (3, 200_000, true), (4, 8 << 20, true)]
    {
        let folder = tempfile::tempdir().unwrap();
        let (remote, bytes, mut random) = object(seed);
        let config = match in_files {
            true => in_folder(folder.path(), memory_bytes, 64 << 20),
            false => immutable(memory_bytes),
        };
        let tier = CacheTier::new(config).unwrap();
        let medium = tier.wrap(&remote.medium(), NAME);
        let (mut taken, mut refused) = (0, 0);
        for round in 0..60 {
            get(&medium, "a", part(&mut random, 30_000)).unwrap();
            tier.flush();
            for len_max in [100, 3000, 60_000] {
                let count = random.below(20) + 1;
                let ranges: Vec<_> = (0..count).map(|_| part(&mut random, len_max)).collect();
                let before = (remote.requests(), tier.stats().hits);
                let reads = take(&medium, &bytes, &ranges);
                assert!(reads.is_none_or(|reads| reads == ranges.len()), "round {round}");
                taken += u32::from(reads.is_some());
                refused += u32::from(reads.is_none());
                assert_eq!(remote.requests(), before.0);
                assert_eq!(before.1 < tier.stats().hits, reads.is_some());
            }
        }
        assert!(0 < taken && 0 < refused, "{taken} taken, {refused} refused");
        let stats = tier.stats();
        assert_eq!(
            (stats.bytes_from_memory != 0, stats.bytes_from_disk != 0),
            (memory_bytes != 0, in_files && memory_bytes < 1 << 20)
        );
        assert_eq!(stats.corrupt, 0);
    }
}

#[test]
fn what_does_not_count_is_not_at_hand() {
    let (remote, bytes, _) = object(5);
    let whole = [bounded(0, SIZE)];
    let config = |freshness| CacheConfig { freshness, ..immutable(8 << 20) };
    let tier = CacheTier::new(config(Freshness::Ttl(Duration::ZERO))).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    get(&medium, "a", whole[0]).unwrap();
    assert_eq!(take(&medium, &bytes, &whole), None, "it would have to be checked");

    let tier = CacheTier::new(config(Freshness::Ttl(Duration::from_secs(3600)))).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    assert_eq!(take(&medium, &bytes, &whole), None, "nothing is there");
    let identity = get(&medium, "a", whole[0]).unwrap().identity.unwrap();
    assert_eq!(take(&medium, &bytes, &whole), Some(1));
    assert_eq!(take(&medium, &bytes, &[whole[0], bounded(SIZE - 1, 2)]), None, "a byte too many");
    let Medium::Remote(source) = &medium else { panic!("a remote medium") };
    let at_hand = |identity| source.at_hand(&"a".into(), Some(&identity), &mut whole.into_iter()).is_some();
    assert!(at_hand(identity) && !at_hand(Identity::Tag("another".into())));
    medium.put("a", bytes.clone().into(), &crate::PutCondition::Always).unwrap();
    assert_eq!(take(&medium, &bytes, &whole), None, "it was written to");
}

/// Reads ranges by an engine, and compares. Returns how many were served without a request.
fn read_all(engine: &Engine, medium: &Medium, bytes: &[u8], ranges: &[ByteRange]) -> u64 {
    let object = ObjectRef { medium: medium.clone(), key: "a".into() };
    let reads: Vec<_> = ranges.iter().map(|range| RangeRead { object: 0, range: *range }).collect();
    let before = engine.stats().served_reads;
    let seen = Mutex::new(vec![0; ranges.len()]);
    let sink = |index: usize, result: Result<&[u8], Error>| {
        assert!(result.unwrap() == slice(bytes, ranges[index]), "{}", ranges[index]);
        seen.lock().unwrap()[index] += 1;
    };
    engine.read_ranges(&[object], &reads, sink, &RunOptions::default()).unwrap();
    assert!(seen.lock().unwrap().iter().all(|count| *count == 1));
    engine.stats().served_reads - before
}

/// On lanes and on the caller's thread; a window that is too large for that goes to a lane, which takes it at once too.
#[test]
fn lanes_take_what_is_at_hand() {
    for (inline_reads_max, inline_bytes_max) in [(0, 0), (1000, 1 << 30), (1000, 1000)] {
        let folder = tempfile::tempdir().unwrap();
        let (remote, bytes, mut random) = object(6);
        let tier = CacheTier::new(in_folder(folder.path(), 100_000, 64 << 20)).unwrap();
        let medium = tier.wrap(&remote.medium(), NAME);
        let limits = Limits { inline_reads_max, inline_bytes_max, lanes: 2, ..Limits::default() };
        let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
        let mut ranges: Vec<_> = (0..200).map(|_| part(&mut random, 5000)).collect();
        ranges.push(ByteRange::Suffix { len: 1000 });
        read_all(&engine, &medium, &bytes, &ranges);
        tier.flush();
        let before = remote.requests();
        assert_eq!(read_all(&engine, &medium, &bytes, &ranges), 201);
        assert_eq!(remote.requests(), before);
        ranges.push(bounded(0, SIZE));
        assert_eq!(read_all(&engine, &medium, &bytes, &ranges), 0, "a part is not there");
        assert_ne!(remote.requests(), before);
        assert_eq!(read_all(&engine, &medium, &bytes, &ranges), 202);
    }
}

/// A second epoch hits as often as the first one missed, however many reads each request was merged from.
#[test]
fn what_is_at_hand_counts_as_the_requests_that_brought_it() {
    let (remote, bytes, _) = object(10);
    let tier = CacheTier::new(immutable(8 << 20)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    let engine = Engine::new(EngineConfig::default());
    // Ten reads that touch one another, and a hundred that do not.
    let near = (0..10).map(|at| bounded(at * 10, 10));
    let far = (0..100).map(|at| bounded(1000 + at * 3900, 20));
    let ranges: Vec<_> = near.chain(far).collect();
    assert_eq!(read_all(&engine, &medium, &bytes, &ranges), 0);
    let first = tier.stats();
    assert_eq!((first.hits, first.misses), (0, remote.requests()));
    assert!(first.misses < 110, "{first:?}");
    for epoch in 1..4 {
        assert_eq!(read_all(&engine, &medium, &bytes, &ranges), 110);
        let stats = tier.stats();
        assert_eq!((stats.hits, stats.misses), (epoch * first.misses, first.misses));
    }
}

/// Changes a byte of the folder's first file, where it holds these.
fn damage(folder: &Path, held: &[u8]) {
    let segment = super::files::segments(folder).remove(0);
    let mut stored = std::fs::read(&segment).unwrap();
    let at = stored.windows(held.len()).position(|window| window == held).unwrap();
    stored[at] ^= 1;
    std::fs::write(&segment, stored).unwrap();
}

/// A damaged file: what was given before stays given, the rest is fetched, and nothing comes twice.
#[test]
fn what_a_file_has_lost_is_fetched() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, bytes, _) = object(7);
    let tier = CacheTier::new(in_folder(folder.path(), 0, 64 << 20)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    let engine = Engine::new(EngineConfig::default());
    let ranges: Vec<_> = (0..40).map(|at| bounded(at * 10_000, 10_000)).collect();
    for range in &ranges {
        get(&medium, "a", *range).unwrap();
    }
    tier.flush();
    assert_eq!(read_all(&engine, &medium, &bytes, &ranges), 40);
    damage(folder.path(), &bytes[205_000..205_016]);
    let before = remote.requests();
    assert_eq!(read_all(&engine, &medium, &bytes, &ranges), 20);
    assert_eq!((remote.requests() - before, tier.stats().corrupt), (1, 1));
    tier.flush();
    assert_eq!(read_all(&engine, &medium, &bytes, &ranges), 40);
}

/// Where nothing was given of the version that was cached, another one may be read.
#[test]
fn what_was_lost_and_replaced_is_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, bytes, mut random) = object(9);
    let tier = CacheTier::new(in_folder(folder.path(), 0, 64 << 20)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    let engine = Engine::new(EngineConfig::default());
    let ranges = [bounded(1000, 50_000)];
    read_all(&engine, &medium, &bytes, &ranges);
    tier.flush();
    assert_eq!(read_all(&engine, &medium, &bytes, &ranges), 1);
    damage(folder.path(), &bytes[2000..2016]);
    let bytes = noise(&mut random, OBJECT_BYTES);
    remote.put("a", bytes.clone());
    assert_eq!(read_all(&engine, &medium, &bytes, &ranges), 0);
}

/// What the system has in memory anyway does not push other ranges out.
#[test]
fn ranges_of_files_that_are_in_memory_are_not_kept_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, bytes, _) = object(8);
    let config = in_folder(folder.path(), 8 << 20, 64 << 20);
    let tier = CacheTier::new(config.clone()).unwrap();
    get(&tier.wrap(&remote.medium(), NAME), "a", bounded(0, SIZE)).unwrap();
    tier.flush();
    drop(tier);
    let tier = CacheTier::new(config).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    let found = get(&medium, "a", bounded(0, SIZE)).unwrap();
    assert!(found.bytes == bytes);
    let stats = tier.stats();
    assert!(stats.memory_bytes == 0 || stats.disk_waits != 0, "{stats:?}");
    assert_eq!(stats.bytes_from_disk, SIZE);
}
