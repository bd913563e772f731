//! Fetches against a web server and stores of the tests' own, with faults.

mod engine;
mod faults;
mod versions;
mod web_server;

use super::concurrency::Bounds;
use super::credentials::Renewal;
use super::endpoint::Endpoint;
use super::provider::Abilities;
use super::service::Service;
use super::{CloudSettings, Hedging};
use crate::ByteRange;
use object_store::ObjectStore;
use std::sync::Arc;

const BOUNDS: Bounds = Bounds { min: 1, initial: 64, max: 64 };

/// A service over a store, with a plain web server's abilities and ranges from the end.
fn service(store: Arc<dyn ObjectStore>, settings: CloudSettings) -> Service {
    Service {
        lasting_name: None,
        store,
        reads: None,
        endpoint: Arc::new(Endpoint::new(Arc::from("http://test"), BOUNDS)),
        abilities: Abilities { suffix_ranges: true, lists: false, conditional_puts: false },
        settings,
        gather: None,
        transport: None,
        renewal: Renewal::default(),
    }
}

fn bounded(offset: u64, len: u64) -> ByteRange {
    ByteRange::Bounded { offset, len }
}

fn hedging() -> CloudSettings {
    CloudSettings { hedging: Hedging::Late, ..CloudSettings::default() }
}

/// Bytes that differ from place to place.
fn noise(len: usize) -> Vec<u8> {
    let mut random = crate::random::Random::new(len as u64);
    (0..len).map(|_| random.next().to_le_bytes()[0]).collect()
}
