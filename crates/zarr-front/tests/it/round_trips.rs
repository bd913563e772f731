//! Requests and round trips to remote stores, counted.

use crate::written::{Spec, Written};
use serde_json::{Map, Value, json};
use std::time::Duration;
use swath_ioengine::{Answers, Engine, EngineConfig, SimulatedConfig, SimulatedRemote};
use swath_zarr_front::{Array, ErrorKind, Group, Node, Selection, Store};

/// A store whose round trips can be counted: a round ends once nothing was asked for this long.
pub(crate) fn remote() -> SimulatedRemote {
    let config = SimulatedConfig {
        latency: Duration::from_millis(150),
        jitter: Duration::ZERO,
        answers: Answers::InRounds,
        ..SimulatedConfig::default()
    };
    SimulatedRemote::new(config).unwrap()
}

fn store(remote: &SimulatedRemote) -> Store {
    Store::new(remote.medium(), "data", "remote")
}

fn put(remote: &SimulatedRemote, key: &str, document: &Value) {
    remote.put(&format!("data/{key}"), document.to_string());
}

/// What `work` costs: requests, and round trips.
fn cost<T>(remote: &SimulatedRemote, work: impl FnOnce() -> T) -> (T, u64, u64) {
    let (requests, rounds) = (remote.requests(), remote.rounds());
    let done = work();
    (done, remote.requests() - requests, remote.rounds() - rounds)
}

fn array(v2: bool) -> Value {
    Spec { v2, ..Spec::plain(&[4, 4], &[2, 2]) }.document().1
}

const ARRAYS: usize = 200;

/// A group of many arrays, an inner group and a folder that is no node.
fn put_group(remote: &SimulatedRemote, v2: bool, is_consolidated: bool) {
    let (array, mut consolidated) = (array(v2), Map::new());
    let group = if v2 { json!({"zarr_format": 2}) } else { json!({"zarr_format": 3, "node_type": "group"}) };
    let (array_name, group_name) = if v2 { (".zarray", ".zgroup") } else { ("zarr.json", "zarr.json") };
    let mut members: Vec<(String, &str, &Value)> =
        (0..ARRAYS).map(|number| (format!("a{number:03}"), array_name, &array)).collect();
    members.push(("group".to_owned(), group_name, &group));
    for (path, name, document) in members {
        put(remote, &format!("{path}/{name}"), document);
        let entry = if v2 { format!("{path}/{name}") } else { path.clone() };
        consolidated.insert(entry, document.clone());
        if v2 {
            put(remote, &format!("{path}/.zattrs"), &json!({"units": "K"}));
            consolidated.insert(format!("{path}/.zattrs"), json!({"units": "K"}));
        }
    }
    put(remote, "none/c/0/0", &json!(1));
    if !is_consolidated {
        return put(remote, group_name, &group);
    }
    if v2 {
        put(remote, group_name, &group);
        consolidated.insert(".zgroup".to_owned(), group);
        put(remote, ".zmetadata", &json!({"zarr_consolidated_format": 1, "metadata": consolidated}));
    } else {
        let inline = json!({"kind": "inline", "must_understand": false, "metadata": consolidated});
        let root = json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata": inline});
        put(remote, "zarr.json", &root);
    }
}

fn check_members(children: &[(String, Result<Node, swath_zarr_front::Error>)], v2: bool) {
    assert_eq!(children.len(), ARRAYS + 1);
    for (name, node) in children {
        match node.as_ref().unwrap() {
            Node::Array(array) => {
                assert_eq!((array.shape(), array.path()), (&[4, 4][..], &**name));
                assert_eq!(array.metadata().attributes().len(), usize::from(v2));
            }
            Node::Group(group) => assert_eq!((group.path(), &**name), ("group", "group")),
        }
    }
}

#[test]
fn a_consolidated_group_takes_two_requests() {
    for v2 in [false, true] {
        let remote = remote();
        put_group(&remote, v2, true);
        let (children, requests, rounds) = cost(&remote, || {
            let group = Group::open_in(&store(&remote), "").unwrap();
            group.children().unwrap()
        });
        check_members(&children, v2);
        assert_eq!((requests, rounds, remote.listings()), (2, 1, 0), "v2: {v2}");
    }
}

#[test]
fn members_of_a_group_are_opened_in_two_round_trips() {
    for v2 in [false, true] {
        let remote = remote();
        put_group(&remote, v2, false);
        let (group, _, rounds) = cost(&remote, || Group::open_in(&store(&remote), "").unwrap());
        assert!(rounds <= 2, "v2: {v2}: {rounds}");
        let (children, requests, rounds) = cost(&remote, || group.children().unwrap());
        check_members(&children, v2);
        assert!(rounds <= 2, "v2: {v2}: {rounds} rounds");
        // Of v3 `zarr.json` each, of v2 `.zarray` and `.zattrs` as well, and what the two folders that are no array take.
        let each = if v2 { 3 } else { 1 };
        assert!(requests <= each * (ARRAYS as u64 + 2) + 8, "v2: {v2}: {requests} requests");
        assert_eq!(remote.listings(), 1);
    }
}

#[test]
fn single_nodes_take_two_round_trips_at_most() {
    let remote = remote();
    put_group(&remote, true, false);
    put(&remote, "v3/zarr.json", &array(false));
    let store = store(&remote);
    let (opened, requests, rounds) = cost(&remote, || Array::open_in(&store, "v3"));
    assert_eq!((opened.unwrap().shape(), requests, rounds), (&[4, 4][..], 2, 1));
    let (opened, requests, rounds) = cost(&remote, || Array::open_in(&store, "a001"));
    assert_eq!(opened.unwrap().metadata().attributes().len(), 1);
    assert_eq!((requests, rounds), (5, 2));
    let (opened, requests, rounds) = cost(&remote, || Node::open_in(&store, "none"));
    assert_eq!((opened.unwrap_err().kind(), requests, rounds), (ErrorKind::NotFound, 5, 2));
}

#[test]
fn long_documents_take_one_more_request() {
    let remote = remote();
    let attributes = json!({"history": "x".repeat(3 << 20)});
    put(&remote, "zarr.json", &json!({"zarr_format": 3, "node_type": "group", "attributes": attributes}));
    let (group, requests, rounds) = cost(&remote, || Group::open_in(&store(&remote), "").unwrap());
    assert_eq!(group.attributes().len(), 1);
    assert_eq!((requests, rounds), (3, 2));
}

/// An array of `4 x 4` shards of `32 x 32` chunks, laid out in no order.
fn put_shards(remote: &SimulatedRemote) -> Written {
    let mut spec = Spec::sharded(&[256, 256], &[64, 64], &[&[2, 2]]);
    spec.seed = 40;
    let written = spec.write();
    for (key, bytes) in &written.objects {
        remote.put(&format!("data/{key}"), bytes.clone());
    }
    written
}

fn crops(text: &[&str]) -> Vec<Selection> {
    text.iter().map(|crop| crop.parse().unwrap()).collect()
}

/// The array, read by an engine that knows nothing of it yet.
fn open(remote: &SimulatedRemote) -> Array {
    let array = Array::open_in(&store(remote), "").unwrap();
    array.with_engine(Engine::new(EngineConfig::default()))
}

#[test]
fn crops_take_a_round_for_indexes_and_a_round_for_chunks() {
    let remote = remote();
    let written = put_shards(&remote);
    let array = open(&remote);
    // Two crops lie in one shard, one in four, one in another: six shards.
    let crops = crops(&["1:9, 3:7", "10:60, 50:60", "60:70, 120:136", "200:210, 200:256"]);
    let (read, requests, rounds) = cost(&remote, || array.read_many(&crops).unwrap());
    for (crop, read) in crops.iter().zip(&read) {
        assert_eq!(read.as_bytes(), written.select(crop), "{crop}");
    }
    assert_eq!(rounds, 2, "indexes, then chunks");
    // Each shard's chunks are so few bytes that all gaps are bridged, up to 16 KiB a shard.
    assert!((12..=18).contains(&requests), "{requests} requests for 6 shards");
    // The indexes are known by now.
    let (again, fewer, rounds) = cost(&remote, || array.read_many(&crops).unwrap());
    assert!(again == read);
    assert_eq!((fewer, rounds), (requests - 6, 1));
}

#[test]
fn all_chunks_of_a_shard_are_merged_however_they_lie() {
    let remote = remote();
    let written = put_shards(&remote);
    let array = open(&remote);
    let all = Selection::all();
    let (read, requests, rounds) = cost(&remote, || array.read(&all).unwrap());
    assert_eq!(read.as_bytes(), written.select(&all));
    assert_eq!((requests, rounds), (32, 2), "16 indexes, 16 merged reads of 1,024 chunks each");
}
