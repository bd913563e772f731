//! `swath read`.

use crate::npy::{Npy, parse};
use crate::stored::{array_v3, hierarchy, put, put_whole};
use crate::swath::{command, run};
use serde_json::json;
use std::io::Read;
use std::path::Path;

fn npy(folder: &Path, path: &str, selection: &str) -> Npy {
    let text = run(folder, &["read", path, selection, "-o", "out.npy"]).text();
    assert!(text.starts_with("wrote out.npy: "), "{text}");
    let file = std::fs::read(folder.join("out.npy")).unwrap();
    let piped = run(folder, &["read", path, selection, "--output", "-"]);
    assert_eq!((piped.code, piped.stderr.as_str()), (Some(0), ""));
    assert!(piped.stdout == file, "a file and a pipe get the same");
    parse(&file)
}

fn native(values: &[i16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

#[test]
fn selections_become_files_in_numpys_format() {
    let folder = hierarchy();
    let order = if cfg!(target_endian = "little") { '<' } else { '>' };
    let wanted = |shape: &str, values: &[i16]| Npy {
        dtype: format!("{order}i2"),
        shape: shape.to_owned(),
        data: native(values),
    };
    assert_eq!(npy(folder.path(), "grid", "3:, 1:3"), wanted("(3, 2)", &[31, 32, 41, -1, 51, -1]));
    assert_eq!(npy(folder.path(), "grid", "-1"), wanted("(4,)", &[50, 51, -1, -1]));
    assert_eq!(npy(folder.path(), "./grid/", "-6, 3"), wanted("()", &[3]));
    assert_eq!(npy(folder.path(), "grid", "::-4, ::3"), wanted("(2, 2)", &[50, -1, 10, 13]));
    assert_eq!(npy(folder.path(), "grid", "2:2"), wanted("(0, 4)", &[]));
    assert_eq!(
        std::fs::read_dir(folder.path())
            .unwrap()
            .filter(|entry| { entry.as_ref().unwrap().file_name().to_string_lossy().contains("unfinished") })
            .count(),
        0
    );
}

#[test]
fn every_kind_of_type_has_its_description() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("bool", "|b1", json!(false), 1),
        ("int8", "|i1", json!(0), 1),
        ("uint8", "|u1", json!(0), 1),
        ("int32", "<i4", json!(0), 4),
        ("uint64", "<u8", json!(0), 8),
        ("float16", "<f2", json!(0.0), 2),
        ("float64", "<f8", json!("NaN"), 8),
        ("complex64", "<c8", json!([0.0, 0.0]), 8),
        ("complex128", "<c16", json!([0.0, 0.0]), 16),
        ("r24", "|V3", json!([0, 0, 0]), 3),
    ];
    for (data_type, dtype, fill, size) in cases {
        let bytes: Vec<u8> = (0..2 * size).map(|byte| byte % 2).collect();
        put_whole(folder.path(), data_type, data_type, &[2], fill, &bytes);
        if cfg!(target_endian = "little") {
            let wanted = Npy { dtype: dtype.to_owned(), shape: "(2,)".to_owned(), data: bytes };
            assert_eq!(npy(folder.path(), data_type, "..."), wanted);
        }
        let text = run(folder.path(), &["read", data_type]).text();
        assert!(text.contains("count      2\n"), "{data_type}\n{text}");
    }
}

#[test]
fn statistics_are_shown_and_missing_ones_left_out() {
    let folder = hierarchy();
    let text = run(folder.path(), &["read", "grid", "2:6, ::2"]).text();
    let wanted = "\
array      grid
selection  2:6, ::2
shape      (4, 2)
dtype      int16
count      8
missing    0 NaN
filled     2 (25.0 %) equal to the fill value -1
min        -1
max        50
mean       24.0
std        16.9631955
";
    assert_eq!(text, wanted);
    let value = run(folder.path(), &["read", "old", "--json"]).json();
    assert_eq!((&value["count"], &value["missing"]), (&json!(3), &json!(1)));
    assert_eq!((&value["min"], &value["max"]), (&json!(-2.0), &json!(1.5)));
    assert_eq!((&value["mean"], &value["std"]), (&json!(-0.25), &json!(1.75)));
    let none = run(folder.path(), &["read", "grid", "0:0", "--json"]).json();
    assert_eq!((&none["count"], &none["min"], &none["mean"]), (&json!(0), &json!(null), &json!(null)));
}

#[test]
fn an_array_below_groups_is_read_by_its_path() {
    let folder = hierarchy();
    let value = run(folder.path(), &["read", "inner/scalar", "--json"]).json();
    assert_eq!((&value["shape"], &value["mean"]), (&json!([]), &json!(7.0)));
}

#[test]
fn a_failed_read_leaves_the_old_file() {
    let folder = hierarchy();
    put(folder.path(), "cut/zarr.json", array_v3("int32", &[4], &[4], json!(0)).to_string());
    put(folder.path(), "cut/c/0", [1, 2, 3]);
    put(folder.path(), "out.npy", "old");
    let before = std::fs::read_dir(folder.path()).unwrap().count();
    let line = run(folder.path(), &["read", "cut", ":", "-o", "out.npy"]).error(1);
    assert!(line.starts_with("cut/c/0: corrupt: "), "{line}");
    assert_eq!(std::fs::read(folder.path().join("out.npy")).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), before);
    let line = run(folder.path(), &["read", "grid", "-o", "no/such/out.npy"]).error(1);
    assert!(line.starts_with("no/such/out.npy: "), "{line}");
}

#[test]
fn results_larger_than_a_piece_are_read_piece_by_piece() {
    let folder = tempfile::tempdir().unwrap();
    let document = array_v3("uint8", &[5, 96 << 20], &[1, 48 << 20], json!(0));
    put(folder.path(), "zarr.json", document.to_string());
    put(folder.path(), "c/3/1", vec![2; 48 << 20]);
    let value = run(folder.path(), &["read", ".", "--json"]).json();
    assert_eq!((&value["count"], &value["max"]), (&json!(5_u64 * (96 << 20)), &json!(2)));
    assert_eq!(value["filled"], json!(9_u64 * (48 << 20)));
    assert!((value["mean"].as_f64().unwrap() - 0.2).abs() < 1e-12);
}

#[test]
fn a_reader_that_closes_early_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "zarr.json", array_v3("uint8", &[64 << 20], &[1 << 20], json!(5)).to_string());
    let mut child = command(folder.path(), &["read", ".", "-o", "-"]).spawn().unwrap();
    let mut start = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap(); // And closed.
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
