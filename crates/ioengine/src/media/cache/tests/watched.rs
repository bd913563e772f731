//! What lanes and caches ask of a source besides bytes.

use super::super::CacheTier;
use super::*;
use crate::{
    AtHand, CostModel, Engine, EngineConfig, Entry, ErrorKind, Limits, MediumId, ObjectRef, PutCondition,
    RangeRead, RemoteSource, RemoteStats, RunOptions,
};
use bytes::Bytes;
use std::sync::{Arc, Mutex, OnceLock};

/// A source that notes what it is told to expect. When it is first told to expect nothing, or to fetch, it starts a thread.
struct Watched {
    source: Arc<dyn RemoteSource>,
    expected: Mutex<Vec<u64>>,
    thread_niceness: OnceLock<i32>,
    panics: bool,
}

impl Watched {
    fn of(remote: &SimulatedRemote, panics: bool) -> Arc<Watched> {
        let Medium::Remote(source) = remote.medium() else { panic!("a remote medium") };
        Arc::new(Watched { source, expected: Mutex::default(), thread_niceness: OnceLock::new(), panics })
    }

    fn start(&self) {
        self.thread_niceness.get_or_init(|| std::thread::spawn(niceness).join().unwrap());
    }
}

#[cfg(target_os = "linux")]
fn niceness() -> i32 {
    rustix::process::getpriority_process(None).unwrap()
}

#[cfg(not(target_os = "linux"))]
fn niceness() -> i32 {
    0
}

impl RemoteSource for Watched {
    fn id(&self) -> MediumId {
        self.source.id()
    }

    fn describe(&self) -> String {
        self.source.describe()
    }

    fn cost(&self) -> CostModel {
        self.source.cost()
    }

    fn expect(&self, fetches: u64) {
        self.expected.lock().unwrap().push(fetches);
        if fetches == 0 {
            self.start();
        }
    }

    fn at_hand(
        &self,
        _: &Arc<str>,
        _: Option<&Identity>,
        _: &mut dyn Iterator<Item = ByteRange>,
    ) -> Option<Box<dyn AtHand + '_>> {
        assert!(!self.panics, "nothing is at hand");
        None
    }

    fn fetch(&self, request: FetchRequest, reply: Reply) {
        self.start();
        self.source.fetch(request, reply);
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        self.source.list(prefix)
    }

    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        self.source.put(key, bytes, condition)
    }

    fn delete(&self, key: &str) -> Result<(), Error> {
        self.source.delete(key)
    }

    fn stats(&self) -> RemoteStats {
        self.source.stats()
    }
}

fn engine() -> Engine {
    let limits = Limits { inline_reads_max: 0, lanes: 1, ..Limits::default() };
    Engine::new(EngineConfig { limits, ..EngineConfig::default() })
}

/// Reads the first bytes of an object by an engine.
fn read(engine: &Engine, medium: &Medium) -> Result<(), Error> {
    let object = ObjectRef { medium: medium.clone(), key: "a".into() };
    let reads = [RangeRead { object: 0, range: bounded(0, 10) }];
    let result = Mutex::new(Ok(()));
    let sink = |_: usize, read: Result<&[u8], Error>| *result.lock().unwrap() = read.map(drop);
    engine.read_ranges(&[object], &reads, sink, &RunOptions::default())?;
    result.into_inner().unwrap()
}

#[test]
fn a_source_is_told_of_what_the_cache_is_likely_to_miss() {
    let remote = remote(Duration::ZERO);
    remote.put("a", vec![1; 100_000]);
    let source = Watched::of(&remote, false);
    let tier = CacheTier::new(immutable(8 << 20)).unwrap();
    let medium = tier.wrap(&Medium::Remote(Arc::clone(&source) as _), NAME);
    let last = || *source.expected.lock().unwrap().last().unwrap();
    medium.expect(100);
    assert_eq!(last(), 100, "nothing is cached");
    (0..20).for_each(|at| drop(get(&medium, "a", bounded(at * 1000, 1000)).unwrap()));
    medium.expect(100);
    assert_eq!(last(), 100, "all was missed");
    for _ in 0..10 {
        (0..20).for_each(|at| drop(get(&medium, "a", bounded(at * 1000, 1000)).unwrap()));
        medium.expect(100);
    }
    assert_eq!(last(), 0, "all was hit");
    assert_eq!(remote.requests(), 20);
}

/// Threads inherit niceness, and could not lay it down again.
#[test]
fn threads_that_a_source_starts_are_no_nicer_than_the_process() {
    let own = niceness();
    for cached in [false, true] {
        let remote = remote(Duration::ZERO);
        remote.put("a", vec![1; 100]);
        let source = Watched::of(&remote, false);
        let medium = Medium::Remote(Arc::clone(&source) as _);
        let tier = CacheTier::new(immutable(8 << 20)).unwrap();
        let medium = if cached { tier.wrap(&medium, NAME) } else { medium };
        read(&engine(), &medium).unwrap();
        assert_eq!(source.thread_niceness.get(), Some(&own), "cached: {cached}");
        assert_eq!(source.expected.lock().unwrap().last(), Some(&0));
    }
}

#[test]
fn a_source_that_panics_when_asked_what_is_at_hand_ends_the_batch() {
    let remote = remote(Duration::ZERO);
    remote.put("a", vec![1; 100]);
    let medium = Medium::Remote(Watched::of(&remote, true));
    let engine = engine();
    for _ in 0..3 {
        let error = read(&engine, &medium).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked);
        assert!(error.message().contains("nothing is at hand"), "{error}");
    }
    assert_eq!(remote.requests(), 0);
}
