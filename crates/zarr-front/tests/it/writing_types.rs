//! Writes of every kind of element, and what is refused of them.

use serde_json::{Map, json};
use std::io::{Cursor, Write as _};
use swath_codecs::ByteOrder;
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{
    Array, ArrayBuilder, ChunkKeyEncoding, DataType, ErrorKind, Existing, Group, Selection, Separator, Store,
    ZarrFormat,
};

fn v3(data_type: serde_json::Value) -> DataType {
    DataType::from_v3(&data_type).unwrap()
}

fn structure() -> DataType {
    v3(json!({"name": "struct", "configuration": {"fields": [
        {"name": "x", "data_type": "float32"}, {"name": "n", "data_type": "uint8"}, {"name": "t", "data_type": "int16"}]}}))
}

/// Writes all of an array, then a part of a chunk, and reads it as another process would.
fn check(builder: &ArrayBuilder, what: &str) {
    let store = Store::memory(&MemoryMedium::new());
    let array = builder.create(&store, "a").unwrap_or_else(|error| panic!("{what}: {error}"));
    let element = array.data_type().size_bytes();
    // Small enough for elements of 2 bits, and for characters.
    let number = |place: usize| u8::from(place.is_multiple_of(element)) * u8::try_from(place % 2).unwrap();
    let mut expected: Vec<u8> = (0..6 * element).map(number).collect();
    array.write(&Selection::all(), &expected).unwrap();
    let (first, last) = (expected[..element].to_vec(), expected.len() - element);
    array.write(&"5".parse().unwrap(), &first).unwrap();
    expected[last..].copy_from_slice(&first);
    let read = Array::open_in(&store, "a").unwrap();
    assert_eq!(read.data_type(), array.data_type(), "{what}");
    assert_eq!(read.read(&Selection::all()).unwrap().as_bytes(), expected, "{what}");
}

#[test]
fn elements_of_every_kind_come_back() {
    let unit = json!({"unit": "ns", "scale_factor": 1});
    let both = [
        v3(json!("bool")),
        v3(json!("r24")),
        v3(json!({"name": "null_terminated_bytes", "configuration": {"length_bytes": 5}})),
        v3(json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}})),
        v3(json!({"name": "numpy.datetime64", "configuration": unit})),
        v3(json!({"name": "numpy.timedelta64", "configuration": unit})),
        structure(),
    ];
    let only_v3 = [
        v3(json!("int2")),
        v3(json!("uint4")),
        v3(json!("bfloat16")),
        v3(json!("float8_e4m3")),
        v3(json!("complex_float16")),
        v3(json!({"name": "optional", "configuration": {"name": "int16", "configuration": {}}})),
        v3(json!({"name": "optional", "configuration": {"name": "optional", "configuration": {
            "name": "float64", "configuration": {}}}})),
    ];
    for data_type in both.iter().chain(&only_v3) {
        let builder = ArrayBuilder::new(&[6], data_type.clone()).chunk_shape(&[2]);
        check(&builder, &format!("{data_type}"));
        check(&builder.clone().shard_shape(&[4]), &format!("{data_type}, in shards"));
        let v2 = builder.zarr_format(ZarrFormat::V2);
        if both.contains(data_type) {
            check(&v2, &format!("{data_type}, v2"));
            check(&v2.byte_order(ByteOrder::Big), &format!("{data_type}, v2, big"));
        } else {
            let error = v2.create(&Store::memory(&MemoryMedium::new()), "a").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
    }
    let base = Box::new(ChunkKeyEncoding::V2 { separator: Separator::Dot });
    let suffixed = ChunkKeyEncoding::Suffix { base, suffix: ".bin".to_owned() };
    check(&ArrayBuilder::new(&[6], DataType::Int16).chunk_key_encoding(suffixed), "suffix");
}

#[test]
fn elements_that_are_not_written_are_refused() {
    let store = Store::memory(&MemoryMedium::new());
    let strings = ArrayBuilder::new(&[6], DataType::String).create(&store, "strings").unwrap();
    let error = strings.write(&Selection::all(), &[0; 96]).unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::Unsupported, Some("memory/strings")));
    assert!(error.message().contains("`write_variable`"), "{error}");
}

/// The documents and chunks of a store in memory as a zip archive in it.
fn archive(memory: &MemoryMedium, keys: &[(&str, Vec<u8>)]) -> Store {
    let mut writer = zip::write::ZipWriter::new(Cursor::new(Vec::new()));
    for (key, bytes) in keys {
        writer.start_file(*key, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    memory.put("a.zip", writer.finish().unwrap().into_inner());
    Store::zip(memory.object("a.zip"), None, "a.zip")
}

#[test]
fn archives_are_not_written_to() {
    let source = Store::memory(&MemoryMedium::new());
    let array = ArrayBuilder::new(&[4], DataType::UInt8).create(&source, "a").unwrap();
    let document = serde_json::to_vec(array.metadata().document()).unwrap();
    let group = br#"{"zarr_format": 3, "node_type": "group"}"#.to_vec();
    let memory = MemoryMedium::new();
    let store = archive(&memory, &[("zarr.json", group), ("a/zarr.json", document)]);
    let array = Array::open_in(&store, "a").unwrap();
    assert_eq!(array.read(&Selection::all()).unwrap().as_bytes(), [0; 4]);
    let group = Group::open_in(&store, "").unwrap();
    let none = Map::new();
    let new = |existing| ArrayBuilder::new(&[4], DataType::UInt8).existing(existing);
    let refusals = [
        array.write(&Selection::all(), &[1; 4]).err(),
        array.resize(&[2]).err(),
        array.change_attributes(|_| Ok(())).err(),
        group.change_attributes(|_| Ok(())).err(),
        group.consolidate().err(),
        store.remove_node("a").err(),
        new(Existing::Refuse).create(&store, "b").err(),
        new(Existing::Replace).create(&store, "a").err(),
        Group::create(&store, "c", ZarrFormat::V3, &none, Existing::Refuse).err(),
    ];
    for (place, error) in refusals.into_iter().enumerate() {
        let error = error.unwrap_or_else(|| panic!("call {place} wrote"));
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{place}: {error}");
        assert!(error.to_string().contains("a.zip"), "{place}: {error}");
    }
    for key in ["a/zarr.json", "a/c/0", "zarr.json", "b/zarr.json", "c/zarr.json"] {
        assert!(!memory.remove(&format!("a.zip/{key}")) && !memory.remove(key), "{key}");
    }
}
