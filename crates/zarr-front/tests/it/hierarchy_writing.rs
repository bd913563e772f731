//! Nodes made, changed, resized and removed.

use serde_json::{Map, Value, json};
use swath_ioengine::{Entry, MemoryMedium, SimulatedConfig, SimulatedRemote};
use swath_zarr_front::{
    ArrayBuilder, DataType, Elements, ErrorKind, Existing, Group, Node, Selection, Store, WriteOptions,
    ZarrFormat,
};

const FORMATS: [ZarrFormat; 2] = [ZarrFormat::V3, ZarrFormat::V2];

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn nodes_are_made_with_the_groups_above_them() {
    for zarr_format in FORMATS {
        let store = Store::memory(&MemoryMedium::new());
        let array = ArrayBuilder::new(&[4], DataType::UInt8).zarr_format(zarr_format);
        let attributes = object(&json!({"units": "K", "nested": {"a": [1, null]}}));
        array.clone().attributes(attributes.clone()).create(&store, "a/b/c").unwrap();
        let group = Group::open_in(&store, "").unwrap();
        let paths: Vec<String> = group.walk().unwrap().into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["a", "a/b", "a/b/c"]);
        assert_eq!(group.array("a/b/c").unwrap().metadata().attributes(), &attributes);
        assert_eq!(group.zarr_format(), zarr_format);
        // Again, it is refused, and nothing is changed.
        let error = array.create(&store, "/a/b/c/").unwrap_err();
        assert_eq!((error.kind(), error.object()), (ErrorKind::Invalid, Some("memory/a/b/c")));
        assert!(Group::create(&store, "a", zarr_format, &Map::new(), Existing::Refuse).is_err());
        assert_eq!(group.array("a/b/c").unwrap().metadata().attributes(), &attributes);
        Group::create(&store, "a", zarr_format, &attributes, Existing::Replace).unwrap();
        let Node::Group(replaced) = group.get("a").unwrap() else { panic!("an array") };
        assert_eq!((replaced.attributes(), replaced.names().unwrap().len()), (&attributes, 0));
    }
}

#[test]
fn nodes_are_removed_with_their_folders() {
    let folder = tempfile::tempdir().unwrap();
    let stores = [
        Store::create_directory(folder.path().join("new/folder")).unwrap(),
        Store::memory(&MemoryMedium::new()),
        Store::new(SimulatedRemote::new(SimulatedConfig::default()).unwrap().medium(), "", "remote"),
    ];
    for store in stores {
        for (path, format) in [("a", ZarrFormat::V3), ("a/b", ZarrFormat::V2), ("ab", ZarrFormat::V3)] {
            let array = ArrayBuilder::new(&[40, 4], DataType::UInt8).zarr_format(format).chunk_shape(&[1, 2]);
            array.create(&store, path).unwrap().write(&Selection::all(), &[7; 160]).unwrap();
        }
        store.remove_node("a").unwrap();
        store.remove_node("a").unwrap();
        assert!(!store.contains_node("a").unwrap() && !store.contains_node("a/b").unwrap());
        let group = Group::open_in(&store, "").unwrap();
        assert_eq!(group.names().unwrap(), ["ab"]);
        assert_eq!(group.array("ab").unwrap().read(&Selection::all()).unwrap().as_bytes(), [7; 160]);
    }
}

#[test]
fn attributes_are_changed_where_they_are_stored() {
    for zarr_format in FORMATS {
        let store = Store::memory(&MemoryMedium::new());
        let array =
            ArrayBuilder::new(&[4], DataType::UInt8).zarr_format(zarr_format).create(&store, "x").unwrap();
        let insert = |name: &'static str| {
            move |attributes: &mut Map<String, Value>| {
                attributes.insert(name.to_owned(), json!([name]));
                Ok(())
            }
        };
        let changed = array.change_attributes(insert("a")).unwrap();
        // The first handle knows nothing of it, and loses nothing.
        let changed_again = array.change_attributes(insert("b")).unwrap();
        assert_eq!(changed.metadata().attributes().len(), 1);
        let expected = object(&json!({"a": ["a"], "b": ["b"]}));
        assert_eq!(changed_again.metadata().attributes(), &expected);
        let group = Group::open_in(&store, "").unwrap();
        assert_eq!(group.array("x").unwrap().metadata().attributes(), &expected);
        assert_eq!(group.change_attributes(insert("c")).unwrap().attributes(), &object(&json!({"c": ["c"]})));
        assert_eq!(Group::open_in(&store, "").unwrap().attributes(), &object(&json!({"c": ["c"]})));
    }
}

fn entries(store: &MemoryMedium, prefix: &str) -> Vec<String> {
    let objects = store.medium().list(prefix).unwrap().into_iter();
    let objects = objects.filter(|entry| matches!(entry, Entry::Object { .. }));
    objects
        .map(|entry| entry.name().to_owned())
        .filter(|name| !name.contains("zarr") && !name.starts_with('.'))
        .collect()
}

#[test]
fn arrays_grow_and_shrink() {
    for zarr_format in FORMATS {
        let memory = MemoryMedium::new();
        let store = Store::memory(&memory);
        let encoding = swath_zarr_front::ChunkKeyEncoding::V2 { separator: swath_zarr_front::Separator::Dot };
        let array = ArrayBuilder::new(&[4, 4], DataType::UInt8).zarr_format(zarr_format);
        let array = array.chunk_shape(&[2, 2]).chunk_key_encoding(encoding).create(&store, "").unwrap();
        let values: Vec<u8> = (1..17).collect();
        array.write(&Selection::all(), &values).unwrap();
        let smaller = array.resize(&[3, 2]).unwrap();
        assert_eq!(smaller.read(&Selection::all()).unwrap().as_bytes(), [1, 2, 5, 6, 9, 10]);
        assert_eq!(entries(&memory, ""), ["0.0", "1.0"]);
        // The first handle does not know of it, and need not.
        let larger = array.resize(&[4, 5]).unwrap();
        let read = larger.read(&Selection::all()).unwrap();
        assert_eq!(read.as_bytes()[10..], [9, 10, 0, 0, 0, 13, 14, 0, 0, 0]);
        assert!(smaller.resize(&[1]).is_err());
        assert_eq!(larger.resize(&[0, 5]).unwrap().shape(), [0, 5]);
        assert!(entries(&memory, "").is_empty());
    }
}

#[test]
fn arrays_are_appended_to() {
    let store = Store::memory(&MemoryMedium::new());
    let array = ArrayBuilder::new(&[3, 2], DataType::UInt8).chunk_shape(&[2, 2]).create(&store, "").unwrap();
    array.write(&Selection::all(), &[1; 6]).unwrap();
    let more = [2; 6];
    let more = Elements::new(&more, &[3, 2], 1).unwrap();
    let options = WriteOptions::default();
    let longer = array.append(0, &more, &options).unwrap();
    assert_eq!(longer.read(&Selection::all()).unwrap().as_bytes(), [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
    // Whoever does not know of it appends behind it all the same.
    let longest = array.append(0, &more, &options).unwrap();
    assert_eq!(longest.read(&"3:".parse().unwrap()).unwrap().as_bytes(), [2; 12]);
    let column = [3; 9];
    let wider = longer.append(1, &Elements::new(&column, &[9, 1], 1).unwrap(), &options).unwrap();
    assert_eq!(wider.read(&":, 1:".parse().unwrap()).unwrap().as_bytes()[..4], [1, 3, 1, 3]);
    for (axis, shape) in [(0, &[3, 1][..]), (1, &[3, 2]), (2, &[3, 2]), (0, &[6])] {
        let bytes = vec![0; usize::try_from(shape.iter().product::<u64>()).unwrap()];
        let source = Elements::new(&bytes, shape, 1).unwrap();
        assert_eq!(wider.append(axis, &source, &options).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn consolidated_metadata_holds_every_node() {
    for zarr_format in FORMATS {
        let store = Store::memory(&MemoryMedium::new());
        let attributes = object(&json!({"k": 1}));
        Group::create(&store, "g/empty", zarr_format, &attributes, Existing::Refuse).unwrap();
        let array = ArrayBuilder::new(&[4], DataType::UInt8).zarr_format(zarr_format);
        array.clone().attributes(attributes.clone()).create(&store, "g/x").unwrap();
        array.create(&store, "y").unwrap();
        let group = Group::open_in(&store, "").unwrap();
        assert!(group.metadata().consolidated().is_none());
        let group = group.consolidate().unwrap();
        let paths = |group: &Group| {
            group
                .walk()
                .unwrap()
                .into_iter()
                .map(|(path, node)| node.map(|_| path).unwrap())
                .collect::<Vec<_>>()
        };
        assert!(group.metadata().consolidated().is_some());
        assert_eq!(paths(&group), ["g", "g/empty", "g/x", "y"]);
        assert_eq!(group.array("g/x").unwrap().metadata().attributes(), &attributes);
        // What is made later is not in it, until it is written again.
        ArrayBuilder::new(&[4], DataType::UInt8).zarr_format(zarr_format).create(&store, "z").unwrap();
        let stale = Group::open_in(&store, "").unwrap();
        assert!(stale.get("z").is_err() && stale.without_consolidated().get("z").is_ok());
        let group = stale.consolidate().unwrap();
        assert_eq!(paths(&group), ["g", "g/empty", "g/x", "y", "z"]);
        let inner = group.get("g").unwrap();
        let Node::Group(inner) = inner else { panic!("an array") };
        assert_eq!(paths(&inner), ["empty", "x"]);
    }
}
