//! The readers of this package read what a naive reading of the same values gives, by the protocol.

mod conversation;
mod fixture;

use conversation::{answers, refusal};
use fixture::{Fixture, Stored};
use protocol::{array_checksum, item_sum, weighted};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const FLOOR: &str = env!("CARGO_BIN_EXE_floor");
const SWATH: &str = env!("CARGO_BIN_EXE_swath-rust");

/// Every reader of arrays, with its variants.
const ARRAY_READERS: [(&str, &str); 9] = [
    (FLOOR, "pread"),
    (FLOOR, "pread-merged"),
    (FLOOR, "mmap"),
    (SWATH, ""),
    (SWATH, "no-merge"),
    (SWATH, "mapped"),
    (SWATH, "inline"),
    (SWATH, "no-inline+immutable"),
    (SWATH, "pread-threads+lanes-1+depth-4"),
];

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // From an earlier run.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for a fixture");
    folder
}

/// Writes the fixture, and has every reader read it, in both modes.
fn check(name: &str, fixture: &Fixture, extents: &[u64], corners: &[Vec<u64>]) {
    let folder = folder(name);
    fixture.write(&folder.join("array.zarr"));
    let wanted: Vec<u8> = corners.iter().flat_map(|corner| fixture.crop(corner, extents)).collect();
    let checksum = format!("{:016x}", array_checksum(&wanted));
    for mode in ["batch", "one_by_one"] {
        let path = folder.join(format!("{mode}.json"));
        let case = json!({
            "name": name, "kind": "array", "array": folder.join("array.zarr"), "dtype": fixture.dtype,
            "selection_shape": extents, "selections": corners, "mode": mode,
        });
        std::fs::write(&path, case.to_string()).expect("a case file");
        for (reader, variant) in ARRAY_READERS {
            for answer in answers(reader, variant, &path, 3) {
                assert_eq!(answer["checksum"], checksum, "{name}, {mode}, {reader} {variant}");
                let latencies = answer["latencies_ns"].as_array().map_or(0, Vec::len);
                assert_eq!(latencies, if mode == "batch" { 0 } else { corners.len() });
            }
        }
    }
}

fn lz4() -> Value {
    json!({"name": "blosc", "configuration":
        {"cname": "lz4", "clevel": 5, "shuffle": "bitshuffle", "typesize": 2, "blocksize": 0}})
}

fn zstd() -> Value {
    json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}})
}

#[test]
fn shards_of_planes() {
    for (name, codec) in [("planes-raw", None), ("planes-blosc", Some(lz4())), ("planes-zstd", Some(zstd()))]
    {
        let fixture = Fixture {
            dtype: "int16",
            shape: vec![3, 2, 50, 70],
            outer: vec![1, 2, 32, 48],
            stored: Stored::V3 { inner: Some(vec![1, 1, 16, 16]), codec },
        };
        let corners = [vec![0, 0, 3, 5], vec![1, 0, 17, 30], vec![1, 0, 17, 30], vec![0, 0, 18, 37]];
        check(name, &fixture, &[2, 2, 32, 33], &corners);
    }
}

#[test]
fn volumes() {
    for (name, inner, codec) in [
        ("volume-raw", None, None),
        ("volume-zstd", None, Some(zstd())),
        ("volume-sharded", Some(vec![8, 8, 8]), None),
    ] {
        let stored = Stored::V3 { inner, codec };
        let fixture = Fixture { dtype: "uint16", shape: vec![40, 33, 20], outer: vec![16, 16, 16], stored };
        check(name, &fixture, &[9, 20, 11], &[vec![31, 13, 9], vec![0, 0, 0], vec![5, 12, 3]]);
        check(name, &fixture, &[40, 33, 20], &[vec![0, 0, 0]]);
    }
}

#[test]
fn chunks_that_are_read_in_slabs() {
    let stored = Stored::V3 { inner: None, codec: None };
    let fixture = Fixture { dtype: "uint32", shape: vec![70, 70, 70], outer: vec![60, 60, 60], stored };
    check("slabs", &fixture, &[50, 31, 60], &[vec![7, 30, 0], vec![20, 39, 10]]);
}

#[test]
fn tiny_chunks() {
    for (name, codec) in [("tiny-raw", None), ("tiny-blosc", Some(lz4()))] {
        let stored = Stored::V3 { inner: Some(vec![8, 8]), codec };
        let fixture = Fixture { dtype: "uint8", shape: vec![100, 90], outer: vec![64, 64], stored };
        let corners: Vec<Vec<u64>> = (0..40).map(|i| vec![i * 37 % 92, i * 53 % 82]).collect();
        check(name, &fixture, &[8, 8], &corners);
        check(name, &fixture, &[100, 90], &[vec![0, 0]]);
    }
}

#[test]
fn fields_of_version_2() {
    let compressor = json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0});
    for (name, compressor) in [("fields-blosc", compressor), ("fields-raw", Value::Null)] {
        let fixture = Fixture {
            dtype: "float32",
            shape: vec![6, 21, 40],
            outer: vec![1, 21, 40],
            stored: Stored::V2 { compressor },
        };
        check(name, &fixture, &[1, 21, 40], &[vec![5, 0, 0], vec![0, 0, 0], vec![3, 0, 0]]);
        check(name, &fixture, &[6, 2, 3], &[vec![0, 7, 11], vec![0, 19, 37]]);
    }
}

#[test]
fn files_and_ranges() {
    let folder = folder("items");
    let contents: Vec<Vec<u8>> =
        (0..30usize).map(|i| (0..i * 777 % 9000).map(|j| (j * 31 + i) as u8).collect()).collect();
    let keys: Vec<String> = (0..contents.len()).map(|i| format!("file-{i}")).collect();
    for (key, content) in keys.iter().zip(&contents) {
        std::fs::write(folder.join(key), content).expect("a file");
    }
    let checksum = |items: &[&[u8]]| {
        let sums = items.iter().zip(0..).map(|(item, index)| weighted(index, item_sum(item)));
        format!("{:016x}", sums.fold(0, u64::wrapping_add))
    };
    let files = folder.join("files.json");
    let case = json!({"name": "files", "kind": "files", "root": folder, "keys": keys});
    std::fs::write(&files, case.to_string()).expect("a case file");
    let items: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
    let wanted_files = checksum(&items);

    let (largest, content) =
        (0..).zip(&contents).max_by_key(|(_, content)| content.len()).expect("some files");
    let starts: Vec<u64> = (0..700).map(|i| i * 7919 % (content.len() as u64 - 100)).collect();
    let offsets: Vec<u8> = starts.iter().flat_map(|start| start.to_le_bytes()).collect();
    std::fs::write(folder.join("offsets"), offsets).expect("offsets");
    let ranges = folder.join("ranges.json");
    let case = json!({"name": "ranges", "kind": "ranges", "root": folder, "keys": [format!("file-{largest}")],
        "offsets_file": folder.join("offsets"), "range_len": 100});
    std::fs::write(&ranges, case.to_string()).expect("a case file");
    let items: Vec<&[u8]> = starts.iter().map(|start| &content[*start as usize..][..100]).collect();
    let wanted_ranges = checksum(&items);

    for variant in ["", "no-merge", "mapped", "inline", "pread-threads"] {
        for answer in answers(SWATH, variant, &files, 2) {
            assert_eq!(answer["checksum"], wanted_files, "files, {variant}");
        }
        for answer in answers(SWATH, variant, &ranges, 2) {
            assert_eq!(answer["checksum"], wanted_ranges, "ranges, {variant}");
        }
    }
    assert!(refusal(FLOOR, &files).contains("fio"));
}
