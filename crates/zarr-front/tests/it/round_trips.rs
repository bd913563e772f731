//! Requests and round trips to remote stores, counted.

use crate::written::{Layout, Spec, Written};
use serde_json::{Map, Value, json};
use std::time::Duration;
use swath_ioengine::{Answers, CostModel, Engine, EngineConfig, Limits, SimulatedConfig, SimulatedRemote};
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

/// A group of which every member is an array.
fn put_arrays(remote: &SimulatedRemote, v2: bool) {
    put_group(remote, v2, false);
    let group = if v2 { "data/group/.zgroup" } else { "data/group/zarr.json" };
    for key in [group, "data/group/.zattrs", "data/none/c/0/0"] {
        remote.medium().delete(key).unwrap();
    }
}

#[test]
fn a_group_and_its_arrays_are_opened_in_two_round_trips_from_nothing() {
    for v2 in [false, true] {
        let remote = remote();
        put_arrays(&remote, v2);
        let ((group, children), requests, rounds) =
            cost(&remote, || Group::open_with_children(&store(&remote), "").unwrap());
        assert_eq!((group.path(), children.len()), ("", ARRAYS));
        assert!(children.iter().all(|(name, node)| node.as_ref().is_ok_and(|node| match node {
            Node::Array(array) =>
                array.path() == name && array.metadata().attributes().len() == usize::from(v2),
            Node::Group(_) => false,
        })));
        assert_eq!((rounds, remote.listings()), (2, 1), "v2: {v2}");
        // Of v3 `zarr.json` each, of v2 `.zarray` and `.zattrs`; the group's five documents.
        let each = if v2 { 2 } else { 1 };
        assert!(requests <= each * ARRAYS as u64 + 5, "v2: {v2}: {requests} requests");
    }
}

#[test]
fn members_of_any_kind_are_opened_in_one_round_trip_more() {
    for v2 in [false, true] {
        let remote = remote();
        put_group(&remote, v2, false);
        let (group, requests, rounds) = cost(&remote, || Group::open_in(&store(&remote), "").unwrap());
        assert!(rounds <= 2, "v2: {v2}: {rounds}");
        let (children, more_requests, rounds) = cost(&remote, || group.children().unwrap());
        check_members(&children, v2);
        assert!(rounds <= 2, "v2: {v2}: {rounds} rounds");
        // Of v3 `zarr.json` each, of v2 `.zarray` and `.zattrs`; the two folders that are no array are asked for more.
        let each = if v2 { 2 } else { 1 };
        assert!(more_requests <= each * (ARRAYS as u64 + 2) + 6, "v2: {v2}: {more_requests} requests");
        assert_eq!(remote.listings(), 1);
        let ((_, children), at_once, rounds) =
            cost(&remote, || Group::open_with_children(&store(&remote), "").unwrap());
        check_members(&children, v2);
        assert_eq!((rounds, at_once), (3, requests + more_requests));
    }
}

#[test]
fn consolidated_groups_and_others_are_opened_with_their_members_as_without() {
    for v2 in [false, true] {
        let remote = remote();
        put_group(&remote, v2, true);
        let ((_, children), requests, rounds) =
            cost(&remote, || Group::open_with_children(&store(&remote), "/").unwrap());
        check_members(&children, v2);
        assert_eq!((requests, rounds, remote.listings()), (2, 1, 0), "v2: {v2}");
        for (path, kind) in
            [("a001", ErrorKind::NotFound), ("none", ErrorKind::NotFound), ("..", ErrorKind::Invalid)]
        {
            let store = store(&remote);
            assert_eq!(Group::open_with_children(&store, path).unwrap_err().kind(), kind, "{path}");
        }
        let (group, children) = Group::open_with_children(&store(&remote), "group").unwrap();
        assert_eq!((group.path(), children.len()), ("group", 0));
        put(&remote, "group/below/.zarray", &array(true));
        put(&remote, "group/besides/zarr.json", &array(false));
        let (_, children) = Group::open_with_children(&store(&remote), "group").unwrap();
        let names: Vec<&str> = children.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["below", "besides"]);
        assert!(children.iter().all(|(_, node)| matches!(node, Ok(Node::Array(_)))));
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
    // However little is wanted, all gaps may be bridged.
    let array =
        open(&remote).with_engine(engine(Limits { remote_bridged_bytes: 1 << 20, ..Limits::default() }));
    // Two crops lie in one shard, one in four, one in another: six shards.
    let crops = crops(&["1:9, 3:7", "10:60, 50:60", "60:70, 120:136", "200:210, 200:256"]);
    let (read, requests, rounds) = cost(&remote, || array.read_many(&crops).unwrap());
    for (crop, read) in crops.iter().zip(&read) {
        assert_eq!(read.as_bytes(), written.select(crop), "{crop}");
    }
    assert_eq!(rounds, 2, "indexes, then chunks");
    assert_eq!(requests, 12, "of 6 shards");
    // The indexes are known by now.
    let (again, fewer, rounds) = cost(&remote, || array.read_many(&crops).unwrap());
    assert!(again == read);
    assert_eq!((fewer, rounds), (requests - 6, 1));
}

#[test]
fn all_chunks_of_a_shard_are_merged_however_they_lie() {
    let remote = remote();
    let written = put_shards(&remote);
    // All gaps may be bridged, and shards of which less than all is wanted are not read whole.
    let limits = Limits { remote_bridged_percent: 0, remote_bridged_bytes: 1 << 20, ..Limits::default() };
    let array = open(&remote).with_engine(engine(limits));
    let crop: Selection = "1:63, 64:126".parse().unwrap();
    let (read, requests, rounds) = cost(&remote, || array.read(&crop).unwrap());
    assert_eq!(read.as_bytes(), written.select(&crop));
    assert_eq!((requests, rounds), (2, 2), "an index, and a merged read of 992 chunks");
}

fn engine(limits: Limits) -> Engine {
    Engine::new(EngineConfig { limits, ..EngineConfig::default() })
}

/// Shards of `16 x 16` chunks in Morton order, compressed, some chunks and some shards not stored.
fn put_morton(remote: &SimulatedRemote, at_start: bool) -> Written {
    let mut spec = Spec::sharded(&[512, 512], &[256, 256], &[&[16, 16]]);
    spec.layout = Layout::Morton;
    spec.compressor = Some("zstd");
    spec.missing_percent = 10;
    spec.levels[0].at_start = at_start;
    let written = spec.write();
    for (key, bytes) in &written.objects {
        remote.put(&format!("data/{key}"), bytes.clone());
    }
    written
}

#[test]
fn small_shards_of_which_most_is_wanted_are_read_whole() {
    for at_start in [false, true] {
        let remote = remote();
        let written = put_morton(&remote, at_start);
        let stored = written.objects.len() as u64 - 1;
        let array = open(&remote);
        let all = Selection::all();
        let (read, requests, rounds) = cost(&remote, || array.read(&all).unwrap());
        assert!(read.as_bytes() == written.select(&all));
        assert_eq!((requests, rounds), (4, 1), "of {stored} shards that are stored, and of others");
        // The indexes came along: of less than most, the chunks are read.
        let crop: Selection = "10:40, 300:340".parse().unwrap();
        let (read, requests, rounds) = cost(&remote, || array.read(&crop).unwrap());
        assert!(read.as_bytes() == written.select(&crop));
        assert!(rounds == 1 && requests < 10, "{requests} in {rounds}");
        // Of less than most of a shard that is not known, the index is read first.
        let array = open(&remote);
        let crop: Selection = "0:160, 0:256".parse().unwrap();
        let (read, _, rounds) = cost(&remote, || array.read(&crop).unwrap());
        assert!(read.as_bytes() == written.select(&crop));
        assert_eq!(rounds, 2);
    }
}

#[test]
fn shards_longer_than_their_chunks_are_read_by_their_index() {
    let remote = remote();
    let written = put_morton(&remote, true);
    for (key, bytes) in &written.objects {
        if key.starts_with('c') {
            let padding = vec![0; 1 << 20];
            remote.put(&format!("data/{key}"), [&bytes[..], &padding].concat());
        }
    }
    let array = open(&remote);
    let all = Selection::all();
    let (read, _, rounds) = cost(&remote, || array.read(&all).unwrap());
    assert!(read.as_bytes() == written.select(&all));
    assert_eq!(rounds, 3, "the whole, the index, the chunks");
}

#[test]
fn a_shard_read_whole_whose_index_makes_no_sense_is_an_error() {
    let remote = remote();
    let written = put_morton(&remote, false);
    for (key, bytes) in written.objects.iter().filter(|(key, _)| key.starts_with('c')) {
        for broken in
            [&bytes[..100], &bytes[..0], &[&bytes[..bytes.len() - 1], &[!bytes[bytes.len() - 1]]].concat()]
        {
            remote.put(&format!("data/{key}"), broken.to_vec());
            let error = open(&remote).read(&Selection::all()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        }
        remote.put(&format!("data/{key}"), bytes.clone());
    }
    assert!(open(&remote).read(&Selection::all()).is_ok());
}

/// Requests for the chunks of random crops of shards in Morton order, and bytes sent for each byte wanted.
fn random_crops(limits: Limits) -> (u64, f64) {
    let config = SimulatedConfig {
        latency: Duration::from_micros(100),
        jitter: Duration::ZERO,
        cost: CostModel { request_cost_ns: 80_000.0, byte_cost_ns: 0.08 },
        ..SimulatedConfig::default()
    };
    let remote = SimulatedRemote::new(config).unwrap();
    let mut spec = Spec::sharded(&[4, 1024, 1024], &[2, 512, 512], &[&[1, 32, 32]]);
    (spec.layout, spec.compressor, spec.element_bytes) = (Layout::Morton, Some("zstd"), 8);
    let written = spec.write();
    for (key, bytes) in &written.objects {
        remote.put(&format!("data/{key}"), bytes.clone());
    }
    let engine = engine(limits);
    let array = Array::open_in(&store(&remote), "").unwrap().with_engine(engine.clone());
    // The indexes are read beforehand.
    let corners: Vec<Selection> = (0..8)
        .map(|at| format!("{}, {}, {}", at / 4 * 2, at / 2 % 2 * 512, at % 2 * 512).parse().unwrap())
        .collect();
    array.read_many(&corners).unwrap();
    let (before, requests, sent) = (engine.stats(), remote.requests(), bytes_sent(&array));
    let mut random = 7u64;
    let mut below = |limit: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    for _ in 0..8 {
        let crops: Vec<Selection> = (0..4)
            .map(|_| {
                let (t, y, x) = (below(4), below(900), below(900));
                format!("{t}, {y}:{}, {x}:{}", y + 120, x + 120).parse().unwrap()
            })
            .collect();
        for (crop, read) in crops.iter().zip(array.read_many(&crops).unwrap()) {
            assert!(read.as_bytes() == written.select(crop), "{crop}");
        }
    }
    let wanted = engine.stats().bytes_wanted - before.bytes_wanted;
    (remote.requests() - requests, (bytes_sent(&array) - sent) as f64 / wanted as f64)
}

fn bytes_sent(array: &Array) -> u64 {
    array.store().remote_stats().unwrap().bytes_received
}

#[test]
fn read_amplification_is_bounded_and_narrow_gaps_are_bridged() {
    let none = Limits { remote_bridged_percent: 0, remote_bridged_bytes: 0, ..Limits::default() };
    let (touching, exact) = random_crops(none);
    let (bridged, amplification) = random_crops(Limits::default());
    let all = Limits { remote_bridged_percent: 100_000, ..Limits::default() };
    let (least, without_cap) = random_crops(all);
    println!("{touching} requests of 1.0, {bridged} of {amplification}, {least} of {without_cap}");
    assert!((0.99..1.01).contains(&exact), "{exact}");
    assert!(amplification <= 1.3 && 1.5 < without_cap, "{amplification}, {without_cap}");
    assert!(least < bridged && bridged * 10 <= touching * 8, "{least}, {bridged}, {touching}");
}
