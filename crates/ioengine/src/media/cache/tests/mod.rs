//! The cache as a whole, in front of a simulated remote.

mod answers;
mod at_hand;
mod changes;
mod files;
mod killed;
mod names;
mod sharing;
mod watched;

use super::CacheConfig;
use crate::random::Random;
use crate::{
    ByteRange, CancelFlag, Error, FetchRequest, Fetched, Freshness, Identity, Medium, Reply, SimulatedConfig,
    SimulatedRemote,
};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The name that the tests' medium has in the cache.
const NAME: &str = "s3://bucket";

/// A source without jitter.
fn remote(latency: Duration) -> SimulatedRemote {
    let jitter = Duration::ZERO;
    SimulatedRemote::new(SimulatedConfig { latency, jitter, ..SimulatedConfig::default() }).unwrap()
}

/// A configuration that never checks.
fn immutable(memory_bytes: u64) -> CacheConfig {
    CacheConfig { memory_bytes, freshness: Freshness::Immutable, ..CacheConfig::default() }
}

fn in_folder(folder: &Path, memory_bytes: u64, disk_bytes: u64) -> CacheConfig {
    CacheConfig { folder: Some(folder.to_owned()), disk_bytes, ..immutable(memory_bytes) }
}

fn bounded(offset: u64, len: u64) -> ByteRange {
    ByteRange::Bounded { offset, len }
}

type Answer = Result<Fetched, Error>;

/// Starts a fetch.
fn start(medium: &Medium, key: &str, range: ByteRange, if_match: Option<Identity>) -> Receiver<Answer> {
    start_with(medium, key, range, if_match, CancelFlag::default())
}

fn start_with(
    medium: &Medium,
    key: &str,
    range: ByteRange,
    if_match: Option<Identity>,
    cancelled: CancelFlag,
) -> Receiver<Answer> {
    let Medium::Remote(source) = medium else { panic!("a remote medium") };
    let (told, answer) = channel();
    let request = FetchRequest { key: key.into(), range, if_match, cancelled };
    source.fetch(request, Reply::calling(move |result| told.send(result).unwrap_or(())));
    answer
}

/// Waits for an answer.
fn wait(answer: &Receiver<Answer>) -> Answer {
    answer.recv_timeout(Duration::from_secs(60)).expect("an answer within a minute")
}

/// Fetches, and waits.
fn get(medium: &Medium, key: &str, range: ByteRange) -> Answer {
    wait(&start(medium, key, range, None))
}

fn noise(random: &mut Random, len: usize) -> Vec<u8> {
    (0..len.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).take(len).collect()
}
