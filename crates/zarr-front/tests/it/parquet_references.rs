//! Reference sets in Parquet, written by fsspec: see their README.

use crate::written::rng;
use proptest::prelude::Rng;
use std::path::{Path, PathBuf};
use swath_ioengine::{CloudOptions, Engine, EngineConfig, MemoryMedium};
use swath_zarr_front::{Array, DataType, ErrorKind, Group, ReferenceTargets, Selection, Store};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/references_in_parquet")
}

/// What the array `a` holds: numbers, but for the chunk that is not there.
fn values() -> Vec<i32> {
    let value = |number: i32| if number / 20 < 5 && 10 <= number % 20 { -1 } else { number };
    (0..12 * 20).map(value).collect()
}

fn check(group: &Group) {
    assert_eq!(group.attributes()["title"], "in Parquet");
    let array = group.array("a").unwrap();
    assert_eq!(array.data_type(), &DataType::Int32);
    for _ in 0..2 {
        let read = array.read(&Selection::all()).unwrap();
        assert_eq!(read.as_slice::<i32>().unwrap(), values());
    }
    let read = array.read(&"4:11:3, 8:12".parse().unwrap()).unwrap();
    let wanted = [4, 7, 10].map(|row: usize| values()[row * 20 + 8..row * 20 + 12].to_vec()).concat();
    assert_eq!(read.as_slice::<i32>().unwrap(), wanted);
    let bytes = group.array("g/b").unwrap().read(&Selection::all()).unwrap();
    assert_eq!(bytes.as_bytes(), &std::fs::read(folder().join("data.bin")).unwrap()[..24]);
    assert_eq!(group.array("s").unwrap().read(&Selection::all()).unwrap().as_slice::<i32>().unwrap(), [7]);
    assert_eq!(group.names().unwrap(), ["a", "g", "s"]);
}

#[test]
fn what_fsspec_wrote_is_read() {
    let path = folder().join("refs.parq");
    check(&Group::open(&path).unwrap());
    let url = format!("reference::{}", path.display());
    check(&Group::open_in(&Store::open(&url, &CloudOptions::new()).unwrap(), "").unwrap());
    let told = Store::open_references(path.to_str().unwrap(), &CloudOptions::new(), ReferenceTargets::new());
    check(&Group::open_in(&told.unwrap(), "").unwrap());
    let array = Array::open_in(&Store::path(&path).unwrap(), "a").unwrap();
    assert_eq!(array.stored_bytes().unwrap_err().kind(), ErrorKind::Unsupported);
}

fn copied(medium: &MemoryMedium, change: impl Fn(&str, Vec<u8>) -> Vec<u8>) {
    for name in ["data.bin", "whole.bin"] {
        medium.put(name, std::fs::read(folder().join(name)).unwrap());
    }
    let files = [".zmetadata", "a/refs.0.parq", "g/b/refs.0.parq", "g/b/refs.1.parq", "s/refs.0.parq"];
    for name in files {
        let bytes = std::fs::read(folder().join("refs.parq").join(name)).unwrap();
        medium.put(&format!("refs.parq/{name}"), change(name, bytes));
    }
}

#[test]
fn they_are_read_from_any_medium() {
    let medium = MemoryMedium::named("parquet").unwrap();
    copied(&medium, |_, bytes| bytes);
    for url in ["memory://parquet/refs.parq", "reference::memory://parquet/refs.parq/"] {
        check(&Group::open_in(&Store::open(url, &CloudOptions::new()).unwrap(), "").unwrap());
    }
}

/// A folder that is all of a bucket: relative paths start from the bucket.
#[test]
fn they_are_read_from_the_root_of_a_medium() {
    let medium = MemoryMedium::named("parquet-root").unwrap();
    copied(&medium, |_, bytes| bytes);
    let files = [".zmetadata", "a/refs.0.parq", "g/b/refs.0.parq", "g/b/refs.1.parq", "s/refs.0.parq"];
    for name in files {
        medium.put(name, std::fs::read(folder().join("refs.parq").join(name)).unwrap());
    }
    for url in ["reference::memory://parquet-root/", "reference::memory://parquet-root//"] {
        check(&Group::open_in(&Store::open(url, &CloudOptions::new()).unwrap(), "").unwrap());
    }
}

/// Files of rows are read once, and only those of which something is wanted.
#[test]
fn files_of_rows_are_read_when_they_are_wanted() {
    let engine = Engine::new(EngineConfig::default());
    let store = Store::path(folder().join("refs.parq")).unwrap();
    let array = Array::open_in(&store, "g/b").unwrap().with_engine(engine.clone());
    let reads = |selection: &str| {
        let before = engine.stats().logical_reads;
        array.read(&selection.parse().unwrap()).unwrap();
        engine.stats().logical_reads - before
    };
    assert_eq!(reads("0:3"), 1 + 3);
    assert_eq!(reads("5:12"), 7);
    assert_eq!(reads("10:14"), 1 + 4);
    assert_eq!(reads(":"), 24);
}

#[test]
fn a_file_that_is_not_there_has_nothing_stored() {
    let medium = MemoryMedium::named("parquet-missing").unwrap();
    copied(&medium, |_, bytes| bytes);
    medium.remove("refs.parq/g/b/refs.1.parq");
    let store = Store::open("memory://parquet-missing/refs.parq", &CloudOptions::new()).unwrap();
    let read = Array::open_in(&store, "g/b").unwrap().read(&Selection::all()).unwrap();
    assert_eq!(read.as_bytes()[12..], [255; 12]);
    medium.remove("refs.parq/.zmetadata");
    let error = Store::open("memory://parquet-missing/refs.parq", &CloudOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

/// Whatever byte is wrong: an answer or an error, and no panic that leaves the reader.
#[test]
fn broken_files_are_errors() {
    let seed = rng(0).next_u64();
    println!("seed {seed}");
    let mut random = rng(seed);
    let medium = MemoryMedium::named("parquet-broken").unwrap();
    let (mut errors, mut answers) = (0, 0);
    for round in 0..600usize {
        let place = random.next_u64();
        copied(&medium, |name, mut bytes| {
            if name == "a/refs.0.parq" {
                let at = usize::try_from(place % bytes.len() as u64).unwrap();
                match round % 3 {
                    0 => bytes.truncate(at),
                    _ => bytes[at] ^= 1 << (place >> 40 & 7),
                }
            }
            bytes
        });
        let store = Store::open("memory://parquet-broken/refs.parq", &CloudOptions::new()).unwrap();
        match Array::open_in(&store, "a").unwrap().read(&Selection::all()) {
            Ok(_) => answers += 1,
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
                errors += 1;
            }
        }
    }
    assert!(200 <= errors && 0 < answers, "{errors} errors, {answers} answers");
}
