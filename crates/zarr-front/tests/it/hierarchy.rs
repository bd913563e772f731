//! Groups and nodes: what is found below a path, by which documents, and what is not.

use crate::corpus::files;
use crate::written::Spec;
use serde_json::{Value, json};
use std::path::Path;
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{Array, ErrorKind, Group, Node, Selection, Store, ZarrFormat};

fn put(memory: &MemoryMedium, key: &str, document: &Value) {
    memory.put(key, document.to_string());
}

fn group_v3() -> Value {
    json!({"zarr_format": 3, "node_type": "group", "attributes": {"v": 3}})
}

/// The document of an array of one chunk.
fn array(v2: bool) -> Value {
    let mut spec = Spec::plain(&[2], &[2]);
    spec.v2 = v2;
    spec.document().1
}

fn open(memory: &MemoryMedium) -> Group {
    Group::open_in(&Store::memory(memory), "").unwrap()
}

/// The paths of a walk, arrays marked by a star, errors by their kind.
fn walk(group: &Group) -> Vec<String> {
    let describe = |(path, node): (String, Result<Node, swath_zarr_front::Error>)| match node {
        Ok(Node::Array(array)) => {
            assert!(array.path().ends_with(&path));
            format!("{path}*")
        }
        Ok(Node::Group(group)) => {
            assert!(group.path().ends_with(&path));
            path
        }
        Err(error) => format!("{path}: {:?}", error.kind()),
    };
    group.walk().unwrap().into_iter().map(describe).collect()
}

#[test]
fn groups_of_both_formats_nest() {
    let memory = MemoryMedium::new();
    put(&memory, "zarr.json", &group_v3());
    put(&memory, "b/zarr.json", &group_v3());
    put(&memory, "b/z w/zarr.json", &array(false));
    put(&memory, "b/Größe/zarr.json", &array(false));
    put(&memory, "a/.zgroup", &json!({"zarr_format": 2}));
    put(&memory, "a/.zattrs", &json!({"title": "x"}));
    put(&memory, "a/deep/.zgroup", &json!({"zarr_format": 2}));
    put(&memory, "a/deep/t/.zarray", &array(true));
    put(&memory, "broken/zarr.json", &json!({"zarr_format": 3}));
    put(&memory, "later/zarr.json", &json!({"zarr_format": 4, "node_type": "group"}));
    // No documents: not a node, and neither is what lies below it.
    put(&memory, "implicit/below/zarr.json", &group_v3());
    memory.put("notes.txt", "no node");
    let root = open(&memory);
    assert_eq!(root.names().unwrap(), ["a", "b", "broken", "implicit", "later"]);
    let found = walk(&root);
    assert_eq!(
        found,
        ["a", "a/deep", "a/deep/t*", "b", "b/Größe*", "b/z w*", "broken: Invalid", "later: Invalid"]
    );
    let Node::Group(a) = root.get("a").unwrap() else { panic!("a group") };
    assert_eq!((a.zarr_format(), a.attributes()["title"].as_str()), (ZarrFormat::V2, Some("x")));
    assert_eq!(a.array("deep/t").unwrap().name(), "memory/a/deep/t");
    for path in ["implicit", "missing", "b/missing", "notes.txt", "b/z w/x"] {
        let error = root.get(path).unwrap_err();
        assert_eq!((error.kind(), error.object()), (ErrorKind::NotFound, Some(&*format!("memory/{path}"))));
    }
    assert!(root.get("implicit/below").is_ok());
}

#[test]
fn paths_have_one_form() {
    let memory = MemoryMedium::new();
    put(&memory, "zarr.json", &group_v3());
    put(&memory, "a/b/zarr.json", &array(false));
    let root = open(&memory);
    for path in ["a/b", "/a/b/", "a//b", "//a/b"] {
        assert_eq!(
            root.get(path).map(|node| matches!(node, Node::Array(array) if array.path() == "a/b")).ok(),
            Some(true)
        );
        assert_eq!(Array::open_in(root.store(), path).unwrap().path(), "a/b");
    }
    assert!(matches!(root.get("/").unwrap(), Node::Group(group) if group.path().is_empty()));
    for path in ["..", "a/../a/b", "./a", "a/."] {
        assert_eq!(root.get(path).unwrap_err().kind(), ErrorKind::Invalid, "{path}");
        assert_eq!(Node::open_in(root.store(), path).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn v3_wins_and_an_array_wins_over_a_group() {
    let memory = MemoryMedium::new();
    put(&memory, ".zgroup", &json!({"zarr_format": 2}));
    put(&memory, "zarr.json", &group_v3());
    assert_eq!(open(&memory).zarr_format(), ZarrFormat::V3);
    put(&memory, "x/.zarray", &array(true));
    put(&memory, "x/.zgroup", &json!({"zarr_format": 2}));
    assert_eq!(open(&memory).array("x").unwrap().zarr_format(), ZarrFormat::V2);
    put(&memory, "x/zarr.json", &array(false));
    assert_eq!(open(&memory).array("x").unwrap().zarr_format(), ZarrFormat::V3);
    let error = Array::open_in(&Store::memory(&memory), "").unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::NotFound, "wanted an array, found a group"));
    let error = Group::open_in(&Store::memory(&memory), "x").unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::NotFound, "wanted a group, found an array"));
}

#[test]
fn consolidated_metadata_is_all_there_is() {
    let memory = MemoryMedium::new();
    let mut root = group_v3();
    root["consolidated_metadata"] = json!({"kind": "inline", "must_understand": false, "metadata": {
        "a": group_v3(), "a/t": array(false), "a/g": group_v3(), "a/g/u": array(false), "ab": array(false),
        "bad": {"zarr_format": 3, "node_type": "array"},
    }});
    put(&memory, "zarr.json", &root);
    memory.put("ab/c/0", vec![1, 0, 2, 0]);
    // Not consolidated: not there.
    put(&memory, "z/zarr.json", &group_v3());
    let root = open(&memory);
    assert_eq!(walk(&root), ["a", "a/g", "a/g/u*", "a/t*", "ab*", "bad: Invalid"]);
    assert_eq!(root.get("z").unwrap_err().kind(), ErrorKind::NotFound);
    let Node::Group(a) = root.get("a").unwrap() else { panic!("a group") };
    assert_eq!(walk(&a), ["g", "g/u*", "t*"]);
    assert_eq!(a.array("g/u").unwrap().name(), "memory/a/g/u");
    let read = root.array("ab").unwrap().read(&Selection::all()).unwrap();
    assert_eq!(read.as_slice::<u16>().unwrap(), [1, 2]);

    let memory = MemoryMedium::new();
    put(&memory, "p/.zgroup", &json!({"zarr_format": 2}));
    put(
        &memory,
        "p/.zmetadata",
        &json!({"zarr_consolidated_format": 1, "metadata": {
            ".zgroup": {"zarr_format": 2}, ".zattrs": {"of": "root"}, "g/.zgroup": {"zarr_format": 2},
            "g/t/.zarray": array(true), "g/t/.zattrs": {"units": "K"}, "only/.zattrs": {},
        }}),
    );
    let root = Group::open_in(&Store::memory(&memory), "p").unwrap();
    assert_eq!(walk(&root), ["g", "g/t*", "only: Invalid"]);
    let t = root.array("g/t").unwrap();
    assert_eq!((t.path(), t.metadata().attributes()["units"].as_str()), ("p/g/t", Some("K")));
}

#[test]
fn thousands_of_arrays_are_listed() {
    const ARRAYS: usize = 3000;
    let memory = MemoryMedium::new();
    put(&memory, "zarr.json", &group_v3());
    for number in 0..ARRAYS {
        put(&memory, &format!("group/a{number:05}/zarr.json"), &array(false));
    }
    put(&memory, "group/zarr.json", &group_v3());
    assert_eq!(open(&memory).walk().unwrap().len(), ARRAYS + 1);

    let mut nodes = serde_json::Map::new();
    nodes.insert("group".to_owned(), group_v3());
    nodes.extend((0..ARRAYS).map(|number| (format!("group/a{number:05}"), array(false))));
    let mut root = group_v3();
    root["consolidated_metadata"] = json!({"kind": "inline", "must_understand": false, "metadata": nodes});
    put(&memory, "zarr.json", &root);
    assert_eq!(open(&memory).walk().unwrap().len(), ARRAYS + 1);
}

fn write(folder: &Path, key: &str, document: &Value) {
    let path = folder.join(key);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, document.to_string()).unwrap();
}

#[cfg(unix)]
#[test]
fn links_that_lead_back_up_end() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "zarr.json", &group_v3());
    write(folder.path(), "g/zarr.json", &group_v3());
    std::os::unix::fs::symlink("..", folder.path().join("g/up")).unwrap();
    let root = Group::open(folder.path()).unwrap();
    // The kernel follows 40 links of a path.
    let found = root.walk().unwrap();
    assert!(found.len() < 200, "{}", found.len());
    assert!(found.iter().any(|(path, node)| path == "g/up/g" && node.is_ok()));
    // Two of them make a tree of 2^40.
    std::os::unix::fs::symlink("..", folder.path().join("g/back")).unwrap();
    std::os::unix::fs::symlink(".", folder.path().join("g/same")).unwrap();
    assert_eq!(root.children().unwrap().len(), 1);
}

#[test]
fn what_is_no_hierarchy_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.zarr.zip");
    std::fs::write(&file, "PK").unwrap();
    let missing = folder.path().join("missing");
    let cases = [
        (file.join("inside"), "below the file"),
        (missing.join("deep"), "no such directory"),
        (missing, "no such directory"),
        (folder.path().to_owned(), "neither zarr.json nor .zarray nor .zgroup"),
    ];
    for (path, wanted) in cases {
        for error in
            [Array::open(&path).unwrap_err(), Group::open(&path).unwrap_err(), Node::open(&path).unwrap_err()]
        {
            assert_eq!((error.kind(), error.object()), (ErrorKind::NotFound, path.to_str()), "{error}");
            assert!(error.message().contains(wanted), "{path:?}: {error}");
        }
    }
    let error = Array::open(&file).unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::Corrupt, file.to_str()), "{error}");
    let file = folder.path().join("a.zarr");
    std::fs::write(&file, "PK").unwrap();
    let error = Array::open(&file).unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::NotFound, file.to_str()), "{error}");
    assert!(error.message().contains("found a file"), "{error}");
    let error = Array::open("").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[test]
fn names_of_any_script_are_read_from_files() {
    let written = Spec::plain(&[4, 4], &[2, 2]).write();
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "zarr.json", &group_v3());
    for name in ["température 2 m", "雲", "a%20b", "#", "-", "c", "x.y"] {
        for (key, bytes) in &written.objects {
            let path = folder.path().join(name).join(key);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let read = Group::open(folder.path()).unwrap().array(name).unwrap().read(&Selection::all()).unwrap();
        assert_eq!(read.as_bytes(), written.select(&Selection::all()), "{name}");
        let read = Array::open(folder.path().join(name)).unwrap().read(&Selection::all()).unwrap();
        assert_eq!(read.as_bytes(), written.select(&Selection::all()), "{name}");
    }
    assert_eq!(Group::open(folder.path()).unwrap().walk().unwrap().len(), 7);
    let array = Array::open(folder.path().join("雲")).unwrap();
    let stored: u64 =
        files(&folder.path().join("雲/c")).iter().map(|path| path.metadata().unwrap().len()).sum();
    assert_eq!(array.stored_bytes().unwrap(), (stored, 4));
}
