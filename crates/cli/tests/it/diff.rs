//! `swath diff`.

use crate::stored::{array_v3, put};
use crate::swath::run;
use serde_json::{Map, Value, json};
use std::path::Path;
use swath::{ArrayBuilder, DataType, Existing, Group, Store, ZarrFormat};

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn array(folder: &Path, name: &str, builder: &ArrayBuilder, values: &[f32]) {
    let store = Store::create_directory(folder).unwrap();
    builder.create(&store, name).unwrap().write(&"...".parse().unwrap(), &bytes(values)).unwrap();
}

fn diff(folder: &Path, arguments: &[&str], code: i32) -> Value {
    let ran = run(folder, &[&["diff", "--json"], arguments].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), ""));
    serde_json::from_slice(&ran.stdout).unwrap()
}

#[test]
fn arrays_are_equal_in_whatever_chunks_and_format() {
    let folder = tempfile::tempdir().unwrap();
    let values: Vec<f32> = (0..20 * 30).map(|number| number as f32 / 7.0).collect();
    let new = ArrayBuilder::new(&[20, 30], DataType::Float32);
    array(folder.path(), "a", &new.clone().chunk_shape(&[3, 30]), &values);
    array(folder.path(), "b", &new.clone().zarr_format(ZarrFormat::V2).chunk_shape(&[20, 7]), &values);
    assert_eq!(run(folder.path(), &["diff", "a", "b"]).text(), "");
    let found = diff(folder.path(), &["a", "b", "--layout"], 1);
    assert_eq!(found["differences"][0]["metadata"].as_array().map(Vec::len), Some(2), "{found}");

    let mut others = values.clone();
    others[61] += 0.5;
    others[599] = f32::NAN;
    array(folder.path(), "c", &new.chunk_shape(&[5, 5]), &others);
    let text = run(folder.path(), &["diff", "a", "c"]).found();
    let wanted = format!("(2, 1): {:?} in a, {:?} in b", f64::from(values[61]), f64::from(others[61]));
    assert!(
        text.contains(".: 2 elements of 600 differ (0.333 %), by inf at most") && text.contains(&wanted),
        "{text}"
    );
    let found = diff(folder.path(), &["a", "c", "--atol", "0.6"], 1);
    assert_eq!(found["differences"][0]["values"]["count"], 1);
    assert_eq!(found["differences"][0]["values"]["first"][0]["position"], json!([19, 29]));
}

#[test]
fn groups_are_compared_with_all_that_is_below_them() {
    let folder = tempfile::tempdir().unwrap();
    let builder = ArrayBuilder::new(&[3], DataType::Float32);
    for root in ["a", "b"] {
        let store = Store::create_directory(folder.path().join(root)).unwrap();
        let attributes = Map::from_iter([("title".to_owned(), json!(root))]);
        Group::create(&store, "", ZarrFormat::V3, &attributes, Existing::Refuse).unwrap();
    }
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    array(&a, "same", &builder, &[1.0, 2.0, 3.0]);
    array(&b, "same", &builder, &[1.0, 2.0, 3.0]);
    array(&a, "in/longer", &builder, &[1.0; 3]);
    array(&b, "in/longer", &ArrayBuilder::new(&[2], DataType::Float32), &[1.0; 2]);
    array(&b, "new", &builder, &[1.0; 3]);
    let text = run(folder.path(), &["diff", "a", "b"]).found();
    let wanted = "\
.: attribute title \"a\" in a, \"b\" in b
in/longer: shape (3,) in a, (2,) in b
new: only in b
";
    assert_eq!(text, wanted);
    assert_eq!(run(folder.path(), &["diff", "a", "a"]).text(), "");
}

#[test]
fn trouble_has_its_own_code() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a/zarr.json", array_v3("uint8", &[4], &[4], json!(0)).to_string());
    put(folder.path(), "a/c/0", [1; 3]);
    assert!(run(folder.path(), &["diff", "a", "nowhere"]).error(2).starts_with("nowhere: not found"));
    put(folder.path(), "b/zarr.json", array_v3("uint8", &[4], &[4], json!(0)).to_string());
    assert!(run(folder.path(), &["diff", "a", "b"]).error(2).starts_with("a/c/0: corrupt"));
    assert!(run(folder.path(), &["diff", "a"]).error(2).contains("<B>"));
}

#[test]
fn infinities_are_near_to_themselves_only() {
    let folder = tempfile::tempdir().unwrap();
    let new = ArrayBuilder::new(&[3], DataType::Float32);
    array(folder.path(), "a", &new, &[1.0, f32::NEG_INFINITY, f32::INFINITY]);
    array(folder.path(), "b", &new, &[f32::INFINITY, f32::INFINITY, f32::INFINITY]);
    let found = diff(folder.path(), &["a", "b", "--rtol", "1e-6"], 1);
    assert_eq!(found["differences"][0]["values"]["count"], 2, "{found}");
}
