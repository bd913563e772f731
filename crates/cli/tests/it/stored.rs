//! Small arrays written by hand: raw chunks beside a document.

use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

/// Writes a file, and the folders above it.
pub(crate) fn put(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// The `zarr.json` of an array of raw little-endian chunks.
pub(crate) fn array_v3(data_type: &str, shape: &[u64], chunks: &[u64], fill: Value) -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": fill,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    })
}

/// Stores a one-chunk v3 array.
pub(crate) fn put_whole(
    folder: &Path,
    name: &str,
    data_type: &str,
    shape: &[u64],
    fill: Value,
    bytes: &[u8],
) {
    let chunks: Vec<u64> = shape.iter().map(|length| (*length).max(1)).collect();
    put(folder, &format!("{name}/zarr.json"), array_v3(data_type, shape, &chunks, fill).to_string());
    let key = shape.iter().fold("c".to_owned(), |key, _| key + "/0");
    put(folder, &format!("{name}/{key}"), bytes);
}

/// Stores `grid`, a v3 `int16` array of 6 x 4 in chunks of 4 x 2, whose element at (i, j) is 10 i + j. Its last chunk,
/// rows 4.. and columns 2.., is missing: -1.
pub(crate) fn put_grid(folder: &Path) {
    let mut document = array_v3("int16", &[6, 4], &[4, 2], json!(-1));
    document["dimension_names"] = json!(["y", null]);
    document["attributes"] = json!({"units": "K", "note": "long ".repeat(60)});
    put(folder, "grid/zarr.json", document.to_string());
    for (row, column) in [(0, 0), (0, 1), (1, 0)] {
        let cells = (0..8_i16).map(|cell| (4 * row + cell / 2, 2 * column + cell % 2));
        // Rows past the end of the array are stored too, with whatever the writer had there.
        let bytes: Vec<u8> = cells.flat_map(|(i, j)| (10 * i + j).to_le_bytes()).collect();
        put(folder, &format!("grid/c/{row}/{column}"), bytes);
    }
}

/// A v3 group with `grid`, a v2 array `old` of `>f4`, an array with a codec that nobody has, a broken document, and a
/// group in the group.
pub(crate) fn hierarchy() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {"title": "by hand"}});
    put(folder.path(), "zarr.json", group.to_string());
    put_grid(folder.path());
    let old = json!({
        "zarr_format": 2, "shape": [3], "chunks": [2], "dtype": ">f4", "compressor": null,
        "filters": null, "fill_value": "NaN", "order": "C",
    });
    put(folder.path(), "old/.zarray", old.to_string());
    put(folder.path(), "old/.zattrs", r#"{"units": "m"}"#);
    put(folder.path(), "old/0", [1.5_f32.to_be_bytes(), (-2.0_f32).to_be_bytes()].concat());
    let mut odd = array_v3("int16", &[4], &[4], json!(0));
    odd["codecs"] = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "imaginary"}]);
    put(folder.path(), "odd/zarr.json", odd.to_string());
    put(folder.path(), "broken/zarr.json", "{");
    put(folder.path(), "not a node/readme.txt", "nothing");
    put(folder.path(), "inner/zarr.json", group.to_string());
    put_whole(&folder.path().join("inner"), "scalar", "uint8", &[], json!(0), &[7]);
    folder
}
