//! Zip archives, written by the `zip` crate: read as what is in them, on any medium, and refused where they are broken.

use crate::block_on::block_on;
use crate::contained::specs;
use crate::written::{Spec, Written, rng};
use proptest::prelude::Rng;
use std::io::{Cursor, Write};
use std::path::Path;
use swath_ioengine::{Engine, EngineConfig, MemoryMedium, SimulatedConfig, SimulatedRemote};
use swath_zarr_front::{Array, DecodedCache, Error, ErrorKind, Group, Node, Selection, Store};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// How archives are written.
#[derive(Clone, Copy, Debug)]
struct Style {
    method: CompressionMethod,
    /// Whether lengths of 64 bits are written for every member.
    is_large: bool,
    /// What stands before every name.
    folder: &'static str,
    comment: &'static str,
}

const STORED: Style = Style { method: CompressionMethod::Stored, is_large: false, folder: "", comment: "" };
const DEFLATED: Style = Style { method: CompressionMethod::Deflated, ..STORED };

fn archive(written: &Written, style: Style) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(style.method).large_file(style.is_large);
    writer.set_comment(style.comment);
    for (key, bytes) in &written.objects {
        writer.start_file(format!("{}{key}", style.folder), options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn in_memory(archive: Vec<u8>) -> Store {
    let memory = MemoryMedium::new();
    memory.put("a.zip", archive);
    Store::zip(memory.object("a.zip"), None, "a.zip")
}

fn open(archive: Vec<u8>) -> Result<Array, Error> {
    Array::open_in(&in_memory(archive), "")
}

fn selections() -> Vec<Selection> {
    [":", "1:5, 3:9", "::-2, 5", "7, 15"].iter().map(|text| text.parse().unwrap()).collect()
}

fn check(array: &Array, written: &Written, what: &str) {
    for selection in selections() {
        let read = array.read(&selection).unwrap_or_else(|error| panic!("{what}: [{selection}]: {error}"));
        assert_eq!(read.as_bytes(), written.select(&selection), "{what}: [{selection}]");
    }
    let many = array.read_many(&selections()).unwrap();
    for (read, selection) in many.iter().zip(selections()) {
        assert_eq!(read.as_bytes(), written.select(&selection), "{what}: many, [{selection}]");
    }
    let read = block_on(array.read_async(&Selection::all())).unwrap();
    assert_eq!(read.as_bytes(), written.select(&Selection::all()), "{what}: async");
}

#[test]
fn archives_read_as_what_is_in_them() {
    let styles = [
        STORED,
        DEFLATED,
        Style { is_large: true, comment: "PK\x05\x06 is no end record", ..STORED },
        Style { folder: "a folder.zarr/", ..STORED },
        Style { folder: "a folder.zarr/", ..DEFLATED },
    ];
    for (number, spec) in specs().into_iter().enumerate() {
        let written = spec.write();
        for style in styles {
            let what = format!("spec {number}, {style:?}");
            let bytes = archive(&written, style);
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("Data.ZIP");
            std::fs::write(&file, &bytes).unwrap();
            let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
            remote.put("x/a.zip", bytes.clone());
            let arrays = [
                open(bytes).unwrap(),
                Array::open(&file).unwrap(),
                Array::open_in(&Store::zip(remote.object("x/a.zip"), None, "remote"), "").unwrap(),
            ];
            for array in arrays {
                let is_packed = style.method == CompressionMethod::Deflated;
                if 1 < spec.levels.len() && is_packed {
                    let error = array.read(&Selection::all()).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Unsupported, "{what}: {error}");
                    continue;
                }
                check(&array, &written, &what);
                // What is known of members by then changes nothing.
                check(&array, &written, &what);
                let (stored, objects) = array.stored_bytes().unwrap();
                assert_eq!(objects, written.objects.len() as u64 - 1, "{what}");
                assert!(0 < stored, "{what}");
            }
        }
    }
}

#[test]
fn the_root_is_what_the_caller_names_or_where_the_nodes_are() {
    let written = Spec::plain(&[8, 16], &[2, 4]).write();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for folder in ["a/b/", "a/b/a/b/", "other/"] {
        writer.add_directory(folder.trim_end_matches('/'), SimpleFileOptions::default()).unwrap();
        for (key, bytes) in &written.objects {
            writer.start_file(format!("{folder}{key}"), SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
    }
    let memory = MemoryMedium::new();
    memory.put("x", writer.finish().unwrap().into_inner());
    let at =
        |root: Option<&str>, path: &str| Array::open_in(&Store::zip(memory.object("x"), root, "x"), path);
    for (root, path) in
        [(None, "a/b"), (Some(""), "a/b/a/b"), (Some("a/b"), ""), (Some("/a/"), "b/a/b"), (Some("other"), "")]
    {
        check(&at(root, path).unwrap(), &written, path);
    }
    for (root, path) in [(None, ""), (None, "b"), (Some("a/b"), "a"), (Some("none"), "")] {
        assert_eq!(at(root, path).unwrap_err().kind(), ErrorKind::NotFound, "{root:?} {path}");
    }
    let folder = archive(&written, Style { folder: "a.zarr/", ..STORED });
    for path in ["", "a.zarr"] {
        check(&Array::open_in(&in_memory(folder.clone()), path).unwrap(), &written, path);
    }
    let error = open(archive(&written, Style { folder: "a/a.zarr/", ..STORED })).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[test]
fn groups_list_their_members() {
    let written = Spec::plain(&[8, 16], &[2, 4]).write();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let group = br#"{"zarr_format": 3, "node_type": "group"}"#;
    let mut put = |name: &str, bytes: &[u8]| {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    };
    for name in ["zarr.json", "b/zarr.json"] {
        put(name, group);
    }
    for folder in ["雲", "b-c", "b/é", "b/x"] {
        written.objects.iter().for_each(|(key, bytes)| put(&format!("{folder}/{key}"), bytes));
    }
    // Written again, as this writer does not: the last one counts.
    put("b/x/c/0/~", &[1; 16]);
    let mut bytes = writer.finish().unwrap().into_inner();
    while let Some(at) = bytes.windows(9).position(|name| name == b"b/x/c/0/~") {
        bytes[at + 8] = b'0';
    }
    let store = in_memory(bytes);
    let group = Group::open_in(&store, "").unwrap();
    let names: Vec<String> = group.walk().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["b", "b/x", "b/é", "b-c", "雲"]);
    check(&group.array("b/é").unwrap(), &written, "é");
    let read = group.array("b/x").unwrap().read(&"0:2, 0:4".parse().unwrap()).unwrap();
    assert_eq!(read.as_bytes(), [1; 16]);
    assert!(matches!(Node::open_in(&store, "b/none"), Err(error) if error.kind() == ErrorKind::NotFound));
}

/// Chunks of one archive are neighbours: they are read together.
#[test]
fn neighbours_in_an_archive_are_one_request() {
    for (spec, most) in [
        (Spec { compressor: Some("zstd"), ..Spec::plain(&[8, 16], &[2, 4]) }, 1),
        (Spec::plain(&[8, 16], &[2, 4]), 1),
    ] {
        let written = spec.write();
        let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
        remote.put("a.zip", archive(&written, STORED));
        let engine = Engine::new(EngineConfig::default());
        let array = Array::open_in(&Store::zip(remote.object("a.zip"), None, "remote"), "").unwrap();
        let array = array.with_engine(engine);
        for _ in 0..2 {
            let before = remote.requests();
            let read = array.read(&Selection::all()).unwrap();
            assert_eq!(read.as_bytes(), written.select(&Selection::all()));
            assert!(remote.requests() - before <= most, "{} requests", remote.requests() - before);
        }
    }
}

#[test]
fn what_stands_before_a_local_archive_is_skipped() {
    let written = Spec::plain(&[8, 16], &[2, 4]).write();
    let bytes = [b"#!/bin/sh\n".repeat(100), archive(&written, STORED)].concat();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.zip");
    std::fs::write(&file, &bytes).unwrap();
    check(&Array::open(&file).unwrap(), &written, "a file");
    check(&open(bytes).unwrap(), &written, "memory");
}

fn replace(file: &Path, bytes: &[u8]) {
    let new = file.with_extension("new");
    std::fs::write(&new, bytes).unwrap();
    std::fs::rename(new, file).unwrap();
}

/// An archive that changed is never mixed with its old directory, and is read anew.
#[test]
fn an_archive_that_changed_is_looked_at_again() {
    for spec in specs() {
        let (first, second) = (spec.write(), Spec { seed: 99, ..spec.clone() }.write());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.zip");
        replace(&file, &archive(&first, STORED));
        let array = Array::open(&file).unwrap();
        check(&array, &first, "before");
        replace(&file, &archive(&second, STORED));
        let whole = Selection::all();
        match array.read(&whole) {
            Ok(read) => assert_eq!(read.as_bytes(), second.select(&whole)),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "{error}"),
        }
        check(&array, &second, "after");
        std::fs::remove_file(&file).unwrap();
        let error = array.read(&whole).unwrap_err();
        assert_ne!(error.kind(), ErrorKind::NotFound, "{error}");
    }
}

/// Documents are read of the version of the archive that says where they are.
#[test]
fn documents_of_an_archive_that_changed_are_looked_up_again() {
    let of = |spec: &Spec| Style { folder: "a/", ..STORED }.write_all_of(spec);
    let (first, second) = (Spec::plain(&[8, 16], &[2, 4]), Spec::plain(&[4, 4], &[2, 2]));
    let memory = MemoryMedium::new();
    memory.put("x", of(&first));
    let store = Store::zip(memory.object("x"), None, "x");
    assert_eq!(Array::open_in(&store, "a").unwrap().shape(), [8, 16]);
    memory.put("x", of(&second));
    let array = Array::open_in(&store, "a").unwrap();
    assert_eq!(array.shape(), [4, 4]);
    assert_eq!(array.read(&Selection::all()).unwrap().as_bytes(), second.write().elements);
}

impl Style {
    fn write_all_of(self, spec: &Spec) -> Vec<u8> {
        archive(&spec.write(), self)
    }
}

/// Arrays of two folders of one archive share a cache of decoded chunks, and no chunk.
#[test]
fn decoded_chunks_are_those_of_their_folder() {
    let spec = Spec { compressor: Some("zstd"), ..Spec::sharded(&[8, 16], &[4, 8], &[&[2, 2]]) };
    let written = [spec.write(), Spec { seed: 77, ..spec }.write()];
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (written, folder) in written.iter().zip(["a", "b"]) {
        for (key, bytes) in &written.objects {
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            writer.start_file(format!("{folder}/{key}"), options).unwrap();
            writer.write_all(bytes).unwrap();
        }
    }
    let memory = MemoryMedium::new();
    memory.put("x", writer.finish().unwrap().into_inner());
    let cache = DecodedCache::new(1 << 20);
    for _ in 0..2 {
        for (written, folder) in written.iter().zip(["a", "b"]) {
            let store = Store::zip(memory.object("x"), Some(folder), "x");
            check(&Array::open_in(&store, "").unwrap().with_decoded_cache(&cache), written, folder);
        }
    }
    assert!(0 < cache.bytes());
}

/// A deflated shard is inflated whole by each read: keeping its chunks would save nothing.
#[test]
fn chunks_of_deflated_shards_are_not_kept() {
    let spec = Spec { compressor: Some("zstd"), ..Spec::sharded(&[8, 16], &[4, 8], &[&[2, 2]]) };
    let written = spec.write();
    for (style, is_kept) in [(STORED, true), (DEFLATED, false)] {
        let cache = DecodedCache::new(1 << 20);
        let array = open(archive(&written, style)).unwrap().with_decoded_cache(&cache);
        check(&array, &written, "deflated");
        // The array's name takes some hundred bytes.
        assert_eq!(2048 < cache.bytes(), is_kept, "{} bytes kept", cache.bytes());
    }
}

/// Whatever byte is wrong: whole chunks are right, or an error says so.
#[test]
fn broken_archives_are_errors() {
    let written = Spec { compressor: Some("crc32c"), ..Spec::plain(&[8, 16], &[4, 8]) }.write();
    let seed = rng(0).next_u64();
    println!("seed {seed}");
    let mut random = rng(seed);
    let (mut errors, mut right) = (0, 0);
    for style in [STORED, DEFLATED, Style { is_large: true, ..STORED }] {
        let whole = archive(&written, style);
        for round in 0..4 * whole.len() {
            let mut bytes = whole.clone();
            match round % 4 {
                0 => bytes.truncate(round / 4),
                _ => {
                    let at = usize::try_from(random.next_u64() % bytes.len() as u64).unwrap();
                    bytes[at] = u8::try_from(random.next_u64() % 256).unwrap();
                }
            }
            let read = open(bytes).and_then(|array| array.read(&Selection::all()));
            match read {
                Ok(read) if read.as_bytes() == written.elements => right += 1,
                // A name that is another one makes a chunk that is not stored.
                Ok(read) => {
                    let is_filled = |(found, wanted): (&[u8], &[u8])| found == wanted || found == [7, 0];
                    assert!(
                        read.as_bytes().chunks(2).zip(written.elements.chunks(2)).all(is_filled),
                        "round {round}"
                    );
                }
                Err(_) => errors += 1,
            }
        }
    }
    assert!(0 < right && right < errors, "{right} right, {errors} errors");
}

#[test]
fn members_that_cannot_be_read_are_named() {
    let written = Spec::plain(&[8, 16], &[8, 16]).write();
    // The chunk comes first, by name. In its central record, the flags are 8 bytes in, and the method 10.
    let whole = archive(&written, STORED);
    let central = whole.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    for (at, value, wanted) in
        [(8, 1, "encrypted"), (10, 93, "zstd"), (10, 77, "method 77"), (10, 12, "bzip2")]
    {
        let mut bytes = whole.clone();
        bytes[central + at] = value;
        let error = open(bytes).and_then(|array| array.read(&Selection::all())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(wanted), "{error}");
        assert_eq!(error.object(), Some("a.zip/c/0/0"), "{error}");
    }
    for (at, wanted) in [(42, "reaches into what follows it"), (20, "is said to be")] {
        let mut bytes = whole.clone();
        bytes[central + at + 1] = 0x7f;
        let error = open(bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(wanted), "{error}");
    }
}
