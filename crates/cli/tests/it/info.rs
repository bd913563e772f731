//! `swath info`.

use crate::stored::{array_v3, hierarchy, put};
use crate::swath::run;
use serde_json::json;

#[test]
fn a_hierarchy_is_a_tree_with_every_node_and_every_error() {
    let folder = hierarchy();
    let text = run(folder.path(), &["info", "."]).text();
    let tree = "\
.  group, Zarr v3, 3 arrays, 2 nodes that cannot be opened
├── broken      ✗ invalid:
├── grid        int16    (6, 4)  chunks (4, 2)  48 B from 48 B (1.00×)  bytes(little)
├── inner/
│   └── scalar  uint8    ()      chunks ()      1 B from 1 B (1.00×)    bytes
├── odd         ✗ not supported: codec `imaginary`:
└── old         float32  (3,)    chunks (2,)    12 B from 8 B (1.50×)   bytes(big)

  attributes  title = \"by hand\"
";
    for (line, wanted) in text.lines().zip(tree.lines()) {
        assert!(line.starts_with(wanted.trim_end_matches("bytes")), "{line}\n{wanted}");
    }
    assert_eq!(text.lines().count(), tree.lines().count());
}

#[test]
fn an_array_is_a_block_of_facts() {
    let folder = hierarchy();
    let text = run(folder.path(), &["info", "grid"]).text();
    let wanted = "\
grid  array, Zarr v3
  shape       (6, 4)
  dimensions  (y, _)
  dtype       int16
  chunks      (4, 2)
  shards      none
  codecs      bytes(little)
  fill value  -1
  logical     48 B
  stored      48 B in 3 of 4 chunks
  ratio       1.00
  attributes  units = \"K\"
              note = \"long long";
    assert!(text.starts_with(wanted), "{text}");
    assert!(text.ends_with("…\n") && text.lines().all(|line| line.chars().count() < 100), "{text}");
    let quick = run(folder.path(), &["info", "--quick", "grid"]).text();
    assert!(!quick.contains("stored") && quick.contains("logical     48 B"), "{quick}");
}

#[test]
fn long_shows_every_block() {
    let folder = hierarchy();
    let text = run(folder.path(), &["info", "--long", "."]).text();
    for part in [
        "./grid  array, Zarr v3",
        "./old  array, Zarr v2",
        "./inner/scalar  array",
        "./odd  cannot be opened",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn json_holds_all_of_it() {
    let folder = hierarchy();
    let value = run(folder.path(), &["info", ".", "--json"]).json();
    assert_eq!((&value["node_type"], &value["zarr_format"]), (&json!("group"), &json!(3)));
    let members = value["members"].as_array().unwrap();
    let kinds: Vec<_> = members.iter().map(|member| member["node_type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["error", "array", "group", "error", "array"]);
    let grid = &members[1];
    assert_eq!(grid["shape"], json!([6, 4]));
    assert_eq!(grid["data_type"], json!("int16"));
    assert_eq!((&grid["chunks"], &grid["shards"]), (&json!([4, 2]), &json!(null)));
    assert_eq!(grid["dimension_names"], json!(["y", null]));
    assert_eq!((&grid["stored_bytes"], &grid["stored_objects"]), (&json!(48), &json!(3)));
    assert_eq!((&grid["logical_bytes"], &grid["ratio"]), (&json!(48), &json!(1.0)));
    assert_eq!(grid["attributes"]["units"], json!("K"));
    assert!(members[3]["error"].as_str().unwrap().contains("imaginary"));
    assert_eq!(members[4]["fill_value"], json!("NaN"));
    let one = run(folder.path(), &["info", "--json", "inner/scalar"]).json();
    assert_eq!((&one["node_type"], &one["shape"]), (&json!("array"), &json!([])));
}

#[test]
fn shards_and_what_is_not_stored_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut document = array_v3("uint8", &[8, 8], &[4, 8], json!(0));
    document["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2, 2], "codecs": [{"name": "bytes"}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
    }}]);
    put(folder.path(), "zarr.json", document.to_string());
    let text = run(folder.path(), &["info", "."]).text();
    for part in ["chunks      (2, 2)", "shards      (4, 8)", "0 B in 0 of 2 shards", "ratio       none"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_path_below_consolidated_metadata_needs_no_documents() {
    let folder = tempfile::tempdir().unwrap();
    let inner = array_v3("uint8", &[2], &[2], json!(9));
    let group = json!({
        "zarr_format": 3, "node_type": "group", "attributes": {},
        "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {"a": inner}},
    });
    put(folder.path(), "root.zarr/zarr.json", group.to_string());
    put(folder.path(), "root.zarr/a/c/0", [3, 4]);
    assert!(run(folder.path(), &["info", "root.zarr/a"]).text().contains("uint8"));
    let read = run(folder.path(), &["read", "root.zarr/a", "--json"]).json();
    assert_eq!((&read["min"], &read["max"]), (&json!(3), &json!(4)));
}
