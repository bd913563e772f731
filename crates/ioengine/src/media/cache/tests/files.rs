//! What is in files: found again, never wrong, never too much.

use super::super::CacheTier;
use super::super::disk::Job;
use super::*;
use crate::ErrorKind;
use std::path::PathBuf;

const OBJECT_BYTES: usize = 3_000_000;

fn object(seed: u64) -> (SimulatedRemote, Vec<u8>) {
    let remote = remote(Duration::ZERO);
    let bytes = noise(&mut Random::new(seed), OBJECT_BYTES);
    remote.put("a/b", bytes.clone());
    (remote, bytes)
}

/// Reads the object in pieces, and compares. Returns how many requests that took.
fn read_all(tier: &CacheTier, remote: &SimulatedRemote, bytes: &[u8], piece: usize) -> u64 {
    let medium = tier.wrap(&remote.medium(), NAME);
    let before = remote.requests();
    for at in (0..bytes.len()).step_by(piece) {
        let len = piece.min(bytes.len() - at);
        let found = get(&medium, "a/b", bounded(at as u64, len as u64)).unwrap();
        assert!(found.bytes == bytes[at..at + len], "bytes at {at}");
    }
    remote.requests() - before
}

pub(super) fn segments(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder.join("swath-cache-1")).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "segment")).collect();
    found.sort();
    found
}

fn bytes_in(folder: &Path) -> u64 {
    segments(folder).iter().map(|path| path.metadata().unwrap().len()).sum()
}

#[test]
fn a_folder_that_is_opened_again_has_everything() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, bytes) = object(1);
    let config = in_folder(folder.path(), 0, 64 << 20);
    let tier = CacheTier::new(config.clone()).unwrap();
    assert_eq!(read_all(&tier, &remote, &bytes, 10_000), 300);
    get(&tier.wrap(&remote.medium(), NAME), "a/b", ByteRange::Suffix { len: 30 }).unwrap();
    tier.flush();
    drop(tier);
    for piece in [10_000, 4096, 123_456] {
        let tier = CacheTier::new(config.clone()).unwrap();
        assert_eq!(read_all(&tier, &remote, &bytes, piece), 0);
        get(&tier.wrap(&remote.medium(), NAME), "a/b", ByteRange::Suffix { len: 30 }).unwrap();
        assert_eq!(tier.stats().misses, 0);
        // Of another medium nothing is there.
        let other = tier.wrap(&remote.medium(), &format!("s3://other{piece}"));
        get(&other, "a/b", bounded(0, 10)).unwrap();
        assert_eq!(tier.stats().misses, 1);
    }
}

/// Under a time to live, the time counts from the request, also over the end of the process.
#[test]
fn what_is_found_again_is_checked_as_anything() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, bytes) = object(2);
    let config = |freshness| CacheConfig { freshness, ..in_folder(folder.path(), 0, 64 << 20) };
    let tier = CacheTier::new(config(Freshness::Immutable)).unwrap();
    read_all(&tier, &remote, &bytes, 100_000);
    tier.flush();
    drop(tier);
    for (freshness, requests) in
        [(Freshness::Ttl(Duration::from_secs(3600)), 0), (Freshness::Ttl(Duration::ZERO), 30)]
    {
        let tier = CacheTier::new(config(freshness)).unwrap();
        assert_eq!(read_all(&tier, &remote, &bytes, 100_000), requests, "{freshness:?}");
        assert_eq!(tier.stats().misses, 0);
    }
}

#[test]
fn files_stay_within_their_bound() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, bytes) = object(3);
    let config = in_folder(folder.path(), 0, 1 << 20);
    let tier = CacheTier::new(config.clone()).unwrap();
    for piece in [5000, 7000, 4096, 60_000] {
        read_all(&tier, &remote, &bytes, piece);
        tier.flush();
        assert!(bytes_in(folder.path()) <= 1 << 20);
    }
    let stats = tier.stats();
    assert_ne!(stats.disk_evictions, 0);
    assert!((1 << 19) < stats.disk_bytes && stats.disk_bytes <= 1 << 20, "{stats:?}");
    tier.flush();
    drop(tier);
    let tier = CacheTier::new(config).unwrap();
    let found = tier.stats().disk_bytes;
    assert!((1 << 19) < found && found <= 1 << 20, "{found} bytes are there");
    read_all(&tier, &remote, &bytes, 60_000);
}

#[test]
fn ranges_in_files_are_bounded_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, bytes) = object(4);
    let config = CacheConfig { disk_ranges_max: 100, ..in_folder(folder.path(), 0, 64 << 20) };
    let tier = CacheTier::new(config.clone()).unwrap();
    read_all(&tier, &remote, &bytes, 10_000);
    tier.flush();
    let ranges = |tier: &CacheTier| tier.stats().writes - tier.stats().disk_evictions;
    assert!(ranges(&tier) <= 201, "{:?}", tier.stats());
    tier.flush();
    drop(tier);
    assert_ne!(read_all(&CacheTier::new(config).unwrap(), &remote, &bytes, 10_000), 0);
}

/// Ranges of a process that is there take all places: what comes then is dropped, and makes no files. Once it is gone its
/// files make room.
#[test]
fn ranges_of_others_do_not_make_files() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, bytes) = object(9);
    let config = CacheConfig { disk_ranges_max: 100, ..in_folder(folder.path(), 0, 64 << 20) };
    let first = CacheTier::new(config.clone()).unwrap();
    read_all(&first, &remote, &bytes, 10_000);
    first.flush();
    let before = segments(folder.path()).len();
    let full = CacheTier::new(config.clone()).unwrap();
    read_all(&full, &remote, &bytes[..1_000_000], 1000);
    full.flush();
    let stats = full.stats();
    assert!(900 <= stats.drops + stats.hits && segments(folder.path()).len() <= before + 8, "{stats:?}");
    drop((first, full));
    let after = CacheTier::new(config).unwrap();
    read_all(&after, &remote, &bytes, 20_000);
    after.flush();
    let stats = after.stats();
    assert!(stats.writes != 0 && stats.drops == 0, "{stats:?}");
}

/// Jobs that panic, and one that holds the last of the cache, whose end waits for the writer.
#[test]
fn the_writer_outlives_its_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, bytes) = object(10);
    let tier = CacheTier::new(in_folder(folder.path(), 0, 64 << 20)).unwrap();
    let put = |tier: &CacheTier, then: Box<dyn FnOnce() + Send>| {
        let tier = tier.tier();
        assert!(tier.disk.as_ref().unwrap().put(Job::Call(then)).is_ok());
    };
    put(&tier, Box::new(|| panic!("a test's")));
    read_all(&tier, &remote, &bytes, 100_000);
    tier.flush();
    assert_eq!((tier.stats().writes, read_all(&tier, &remote, &bytes, 100_000)), (30, 0));
    let (go, gone) = (std::sync::mpsc::channel(), std::sync::mpsc::channel());
    let last = tier.tier();
    put(
        &tier,
        Box::new(move || {
            go.1.recv().unwrap();
            drop(last);
            gone.0.send(()).unwrap();
        }),
    );
    drop(tier);
    go.0.send(()).unwrap();
    gone.1.recv_timeout(Duration::from_secs(60)).unwrap();
}

/// Flips bits anywhere in the files, while they are open and before.
#[test]
fn broken_files_never_give_wrong_bytes() {
    let seed = 77;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let (remote, bytes) = object(5);
    for round in 0..30 {
        let folder = tempfile::tempdir().unwrap();
        let config = in_folder(folder.path(), 0, 64 << 20);
        let mut open = Some(CacheTier::new(config.clone()).unwrap());
        if let Some(tier) = &open {
            read_all(tier, &remote, &bytes, 30_000);
            tier.flush();
        }
        open = open.filter(|_| round % 2 != 0);
        for path in segments(folder.path()) {
            let mut content = std::fs::read(&path).unwrap();
            for _ in 0..1 + random.below(20) {
                let at = usize::try_from(random.below(content.len() as u64)).unwrap();
                content[at] ^= 1 << random.below(8);
            }
            match random.below(3) {
                0 => content.truncate(usize::try_from(random.below(content.len() as u64)).unwrap()),
                1 => content.extend(noise(&mut random, 100)),
                _ => {}
            }
            // In place: an open file stays the same.
            std::fs::write(&path, content).unwrap();
        }
        let tier = open.unwrap_or_else(|| CacheTier::new(config).unwrap());
        read_all(&tier, &remote, &bytes, 30_000);
        read_all(&tier, &remote, &bytes, 4096);
        let stats = tier.stats();
        assert!(round % 2 == 0 || stats.corrupt != 0, "{stats:?}");
        assert_eq!(read_all(&tier, &remote, &bytes, 4096), 0, "it was fetched anew, and stored");
    }
}

#[test]
fn writes_that_fail_are_counted_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, bytes) = object(6);
    let tier = CacheTier::new(in_folder(folder.path(), 0, 64 << 20)).unwrap();
    tier.tier().disk.as_ref().unwrap().fail_writes();
    assert_eq!(read_all(&tier, &remote, &bytes, 10_000), 300);
    tier.flush();
    assert_eq!((tier.stats().drops, tier.stats().writes), (300, 0));
    assert_eq!(read_all(&tier, &remote, &bytes, 10_000), 300);
}

/// A queue that holds next to nothing: answers wait for the writer, and all is stored.
#[test]
fn a_burst_is_stored_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, bytes) = object(7);
    let config = CacheConfig { write_queue_bytes: 20_000, ..in_folder(folder.path(), 0, 64 << 20) };
    let tier = CacheTier::new(config).unwrap();
    assert_eq!(read_all(&tier, &remote, &bytes, 15_000), 200);
    tier.flush();
    let stats = tier.stats();
    assert_eq!((stats.writes, stats.drops), (200, 0));
    assert_eq!(read_all(&tier, &remote, &bytes, 15_000), 0);
}

#[test]
fn processes_share_a_folder_and_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let (remote, bytes) = object(8);
    let config = in_folder(folder.path(), 0, 8 << 20);
    // Locks belong to open files, so two caches of one process are as two processes.
    let first = CacheTier::new(config.clone()).unwrap();
    read_all(&first, &remote, &bytes, 10_000);
    first.flush();
    let second = CacheTier::new(config.clone()).unwrap();
    assert_eq!(read_all(&second, &remote, &bytes, 10_000), 0, "what one stored the other finds");
    for round in 0..6u64 {
        let key = format!("more{round}");
        remote.put(&key, noise(&mut Random::new(round), 1 << 20));
        for tier in [&first, &second] {
            let medium = tier.wrap(&remote.medium(), &format!("{NAME}{}", tier.stats().writes % 2));
            (0..64).for_each(|at| drop(get(&medium, &key, bounded(at << 14, 1 << 14)).unwrap()));
            tier.flush();
            assert!(bytes_in(folder.path()) <= 8 << 20);
        }
    }
    assert_ne!(second.stats().writes, 0, "{:?}", second.stats());
    read_all(&first, &remote, &bytes, 10_000);
    read_all(&second, &remote, &bytes, 4096);
}

#[test]
fn a_folder_that_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    for path in [file.join("below"), PathBuf::from("/proc/swath-no-such-folder")] {
        let error = CacheTier::new(in_folder(&path, 0, 8 << 20)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::Io));
        let message = error.to_string();
        assert!(message.contains("wanted a cache in the folder") && message.contains(path.to_str().unwrap()));
    }
}
