//! A process that is killed while it writes.

use super::super::CacheTier;
use super::*;
use std::process::{Command, Stdio};

const FOLDER: &str = "SWATH_TEST_CACHE_FOLDER";
const ROUNDS: u64 = 20;
const OBJECTS: u64 = 40;
const OBJECT_BYTES: usize = 200_000;

fn objects() -> (SimulatedRemote, Vec<Vec<u8>>) {
    let remote = remote(Duration::ZERO);
    let objects: Vec<_> = (0..OBJECTS).map(|seed| noise(&mut Random::new(seed), OBJECT_BYTES)).collect();
    for (index, bytes) in objects.iter().enumerate() {
        remote.put(&index.to_string(), bytes.clone());
    }
    (remote, objects)
}

/// Reads random ranges and compares them, until killed or `count` are read.
fn read(tier: &CacheTier, (remote, objects): &(SimulatedRemote, Vec<Vec<u8>>), seed: u64, count: u64) {
    let medium = tier.wrap(&remote.medium(), NAME);
    let mut random = Random::new(seed);
    for _ in 0..count {
        let index = usize::try_from(random.below(OBJECTS)).unwrap();
        let (offset, len) = (random.below(190_000), random.below(9_000) + 1);
        let found = get(&medium, &index.to_string(), bounded(offset, len)).unwrap();
        let at = usize::try_from(offset).unwrap();
        assert!(found.bytes == objects[index][at..at + found.bytes.len()]);
    }
}

#[test]
fn what_a_killed_process_leaves_is_whole() {
    if let Ok(folder) = std::env::var(FOLDER) {
        let tier = CacheTier::new(in_folder(Path::new(&folder), 0, 4 << 20)).unwrap();
        let objects = objects();
        println!("reading");
        return read(&tier, &objects, u64::from(std::process::id()), u64::MAX);
    }
    let folder = tempfile::tempdir().unwrap();
    let objects = objects();
    let mut random = Random::new(9);
    let mut found = 0;
    for round in 0..ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "media::cache::tests::killed::what_a_killed_process_leaves_is_whole",
                "--nocapture",
            ])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("reading") {
            line.clear();
            assert_ne!(std::io::BufRead::read_line(&mut said, &mut line).unwrap(), 0, "the child ended");
        }
        // Not proof of anything: so that kills come at different moments.
        std::thread::sleep(Duration::from_micros(random.below(60_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let tier = CacheTier::new(in_folder(folder.path(), 0, 4 << 20)).unwrap();
        found += tier.stats().disk_bytes;
        read(&tier, &objects, round, 300);
        assert_eq!(tier.stats().corrupt, 0, "{:?}", tier.stats());
    }
    assert_ne!(found, 0);
}
