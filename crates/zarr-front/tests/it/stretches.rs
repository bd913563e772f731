//! Large remote shards, which several lanes read and decode.

use crate::written::{Layout, Spec, Written};
use bytes::Bytes;
use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use swath_ioengine::{
    CostModel, Engine, EngineConfig, Entry, Error, FetchRequest, Identity, Limits, Medium, MediumId,
    PutCondition, RemoteSource, RemoteStats, Reply, SimulatedConfig, SimulatedRemote,
};
use swath_zarr_front::{Array, ErrorKind, Selection, Store};

/// What a source does before it is asked for the nth time.
type Before = Box<dyn Fn(u64) + Send + Sync>;

/// Does something before it asks.
struct Watched {
    inner: Arc<dyn RemoteSource>,
    asked: Mutex<u64>,
    before: Before,
}

impl RemoteSource for Watched {
    fn id(&self) -> MediumId {
        self.inner.id()
    }
    fn describe(&self) -> String {
        self.inner.describe()
    }
    fn cost(&self) -> CostModel {
        self.inner.cost()
    }
    fn fetch(&self, request: FetchRequest, reply: Reply) {
        let asked = {
            let mut asked = self.asked.lock().unwrap();
            *asked += 1;
            *asked
        };
        (self.before)(asked);
        self.inner.fetch(request, reply);
    }
    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        self.inner.list(prefix)
    }
    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        self.inner.put(key, bytes, condition)
    }
    fn delete(&self, key: &str) -> Result<(), Error> {
        self.inner.delete(key)
    }
    fn stats(&self) -> RemoteStats {
        self.inner.stats()
    }
}

/// One shard of 16 MiB in chunks of 8 KiB.
fn large_shard(seed: u64) -> Written {
    let mut spec = Spec::sharded(&[2048, 1024], &[2048, 1024], &[&[32, 32]]);
    (spec.layout, spec.compressor, spec.element_bytes, spec.seed) = (Layout::Morton, Some("zstd"), 8, seed);
    spec.missing_percent = 5;
    spec.write()
}

fn remote(written: &Written) -> SimulatedRemote {
    let config = SimulatedConfig {
        latency: Duration::from_millis(20),
        jitter: Duration::ZERO,
        ..SimulatedConfig::default()
    };
    let remote = SimulatedRemote::new(config).unwrap();
    written.put_to(&remote);
    remote
}

fn watched(remote: &SimulatedRemote, before: Before) -> Arc<Watched> {
    let Medium::Remote(inner) = remote.medium() else { panic!("a remote medium") };
    Arc::new(Watched { inner, asked: Mutex::default(), before })
}

fn array(source: &Arc<Watched>, lanes: usize) -> Array {
    let store = Store::new(Medium::Remote(Arc::clone(source) as Arc<dyn RemoteSource>), "", "remote");
    let limits = Limits { lanes, ..Limits::default() };
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() });
    Array::open_in(&store, "").unwrap().with_engine(engine)
}

/// Requests before the first for chunks.
const DOCUMENTS_AND_INDEX: u64 = 3;

/// Requests of two reads of a selection by so many lanes, and how many of the lanes asked.
fn read_by(lanes: usize, written: &Written, selection: &str) -> (u64, usize) {
    let remote = remote(written);
    let asking = Arc::new((Mutex::new(HashSet::new()), Condvar::new()));
    let others = Arc::clone(&asking);
    // As a lane that decodes does, one that asks for chunks takes on nothing else until another lane asks as well.
    let wait_for_others = move |asked| {
        let (lanes_asking, came) = &*others;
        let mut asking = lanes_asking.lock().unwrap();
        asking.insert(std::thread::current().id());
        came.notify_all();
        if DOCUMENTS_AND_INDEX < asked && 1 < lanes {
            drop(came.wait_timeout_while(asking, Duration::from_secs(20), |asking| asking.len() < 2));
        }
    };
    let source = watched(&remote, Box::new(wait_for_others));
    let array = array(&source, lanes);
    asking.0.lock().unwrap().clear();
    let (selection, before): (Selection, u64) = (selection.parse().unwrap(), remote.requests());
    assert!(array.read(&selection).unwrap().as_bytes() == written.select(&selection));
    let lanes_asking = asking.0.lock().unwrap().len();
    // The index is known by now.
    assert!(array.read(&selection).unwrap().as_bytes() == written.select(&selection));
    (remote.requests() - before, lanes_asking)
}

#[test]
fn several_lanes_share_a_large_shard_at_a_request_more_for_each() {
    let written = large_shard(1);
    for selection in ["...", "8:2040, 8:1016", ":, :768"] {
        let (alone, one) = read_by(1, &written, selection);
        let (requests, several) = read_by(4, &written, selection);
        println!("{selection}: {alone} requests of one lane, {requests} of {several}");
        assert_eq!(one, 1);
        assert!(1 < several, "{selection}");
        assert!(requests <= alone + 2 * 4, "{selection}: {requests} requests, {alone} of one lane");
    }
}

#[test]
fn stretches_of_two_versions_are_never_mixed() {
    let versions = [large_shard(1), large_shard(2)];
    for change_before in 1..12 {
        let remote = Arc::new(remote(&versions[0]));
        let (changed, objects) = (Arc::clone(&remote), versions[1].objects.clone());
        // The two documents of the array come first.
        let change = move |asked| {
            if asked == 2 + change_before {
                objects.iter().for_each(|(key, bytes)| changed.put(key, bytes.clone()));
            }
        };
        let source = watched(&remote, Box::new(change));
        let all = Selection::all();
        match array(&source, 4).read(&all) {
            Ok(read) => {
                let version = versions.iter().position(|version| read.as_bytes() == version.select(&all));
                println!("before request {change_before}: version {version:?}");
                assert!(version.is_some(), "a mix, after a change before request {change_before}");
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{change_before}: {error}"),
        }
    }
}
