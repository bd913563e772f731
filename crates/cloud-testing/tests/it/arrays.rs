//! Arrays and groups of every server, as users open them: by a URL.

use crate::stand::{Stand, all, every, fast, within};
use serde_json::{Value, json};
use std::num::NonZeroI64;
use std::time::Duration;
use swath_cloud_testing::Link;
use swath_zarr_front::{Array, AxisSelection, Group, Selection, Store};

const SHAPE: [u64; 2] = [21, 31];
const CHUNK: [u64; 2] = [4, 5];
/// Inner chunks of a shard along each axis.
const SHARD: [u64; 2] = [2, 3];

/// The element at a place.
fn element(row: u64, column: u64) -> [u8; 2] {
    u16::try_from(row * 100 + column).unwrap().to_le_bytes()
}

fn region(rows: std::ops::Range<u64>, columns: std::ops::Range<u64>) -> Vec<u8> {
    rows.flat_map(|row| columns.clone().flat_map(move |column| element(row, column))).collect()
}

/// A whole chunk, zero where it hangs over the array's end.
fn chunk(row: u64, column: u64) -> Vec<u8> {
    let at = |row, column| {
        if row < SHAPE[0] && column < SHAPE[1] { element(row, column) } else { [0; 2] }
    };
    let rows = row * CHUNK[0]..(row + 1) * CHUNK[0];
    rows.flat_map(|row| (column * CHUNK[1]..(column + 1) * CHUNK[1]).flat_map(move |column| at(row, column)))
        .collect()
}

/// Inner chunks one behind the other, and where each lies.
fn shard(row: u64, column: u64) -> Vec<u8> {
    let (mut bytes, mut index) = (Vec::new(), Vec::new());
    for inner in 0..SHARD[0] * SHARD[1] {
        let (row, column) = (row * SHARD[0] + inner / SHARD[1], column * SHARD[1] + inner % SHARD[1]);
        let is_there = row * CHUNK[0] < SHAPE[0] && column * CHUNK[1] < SHAPE[1];
        let chunk = if is_there { chunk(row, column) } else { Vec::new() };
        let place = if is_there { [bytes.len() as u64, chunk.len() as u64] } else { [u64::MAX; 2] };
        index.extend(place.into_iter().flat_map(u64::to_le_bytes));
        bytes.extend(chunk);
    }
    bytes.extend(index);
    bytes
}

fn v3(chunk_shape: [u64; 2], codecs: &Value) -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": SHAPE, "data_type": "uint16", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": codecs,
    })
}

/// A group of three arrays of the same elements.
fn put_group(stand: &Stand) {
    let put =
        |key: &str, document: &Value| stand.put(&format!("data/{key}"), document.to_string().into_bytes());
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let sharded = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": CHUNK, "codecs": [bytes], "index_codecs": [bytes], "index_location": "end",
    }}]);
    put("zarr.json", &json!({"zarr_format": 3, "node_type": "group"}));
    put("plain/zarr.json", &v3(CHUNK, &json!([bytes])));
    put("sharded/zarr.json", &v3([CHUNK[0] * SHARD[0], CHUNK[1] * SHARD[1]], &sharded));
    let old = json!({
        "zarr_format": 2, "shape": SHAPE, "chunks": CHUNK, "dtype": "<u2", "compressor": null, "fill_value": 0,
        "order": "C", "filters": null,
    });
    put("old/.zarray", &old);
    for row in 0..SHAPE[0].div_ceil(CHUNK[0]) {
        for column in 0..SHAPE[1].div_ceil(CHUNK[1]) {
            stand.put(&format!("data/plain/c/{row}/{column}"), chunk(row, column));
            stand.put(&format!("data/old/{row}.{column}"), chunk(row, column));
        }
    }
    for row in 0..SHAPE[0].div_ceil(CHUNK[0] * SHARD[0]) {
        for column in 0..SHAPE[1].div_ceil(CHUNK[1] * SHARD[1]) {
            stand.put(&format!("data/sharded/c/{row}/{column}"), shard(row, column));
        }
    }
}

fn slice(range: &std::ops::Range<u64>) -> AxisSelection {
    let at = |place: u64| Some(i64::try_from(place).unwrap());
    AxisSelection::Slice { start: at(range.start), stop: at(range.end), step: NonZeroI64::new(1).unwrap() }
}

fn check_array(array: &Array) {
    assert_eq!(array.shape(), SHAPE);
    assert!(array.read(&Selection::all()).unwrap().as_bytes() == region(0..SHAPE[0], 0..SHAPE[1]));
    let crops =
        [(0..1, 0..1), (3..17, 4..26), (20..21, 30..31), (5..6, 0..31), (0..21, 7..8), (7..9, 14..16)];
    let selections: Vec<Selection> =
        crops.iter().map(|(rows, columns)| Selection::new(vec![slice(rows), slice(columns)])).collect();
    let read = array.read_many(&selections).unwrap();
    for ((rows, columns), read) in crops.into_iter().zip(read) {
        assert!(read.as_bytes() == region(rows.clone(), columns.clone()), "{rows:?} {columns:?}");
    }
}

fn check(stand: &Stand, store: &Store) {
    let group = Group::open_in(store, "").unwrap();
    for name in ["plain", "sharded"] {
        check_array(&group.array(name).unwrap());
    }
    check_array(&Array::open_in(store, "old").unwrap());
    match group.names() {
        Ok(names) => assert_eq!(names, ["old", "plain", "sharded"]),
        // A web server lists nothing.
        Err(error) => assert!(!stand.writes(), "{error}"),
    }
    let missing = Array::open_in(store, "none").unwrap_err();
    assert!(missing.to_string().contains("none"), "{missing}");
}

#[test]
fn arrays_are_read_from_every_server() {
    within(Duration::from_secs(120), || {
        let stands = if all() { every(Link::default(), &[]) } else { fast(Link::default(), &[]) };
        for stand in &stands {
            eprintln!("{}", stand.name);
            put_group(stand);
            check(stand, &stand.store("data"));
        }
    });
}
