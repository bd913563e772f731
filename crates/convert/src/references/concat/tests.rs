//! Made files of raw chunks, joined.

use super::*;
use std::path::Path;
use swath_zarr_front::{Array, Selection, Store};

/// A file of so many times from `first` on, over three places, whose values count from `first` on: `t` in chunks of `chunk` times.
fn file(
    folder: &Path,
    name: &str,
    (first, times, chunk): (u64, u64, u64),
    units: &str,
) -> (String, References) {
    let path = folder.join(name);
    let mut bytes = b"head".to_vec();
    let mut references = References::default();
    let mut add = |path: &str, shape: Value, chunks: Value, dtype: &str, attributes: Value| {
        let document = json!({
            "zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "compressor": null, "filters": null,
            "fill_value": null, "order": "C",
        });
        references.documents.insert(format!("{path}/.zarray"), document);
        references.documents.insert(format!("{path}/.zattrs"), attributes);
    };
    let time = json!({DIMENSIONS: ["time"], "units": units});
    add("time", json!([times]), json!([TIMES]), "<i8", time);
    add(
        "t",
        json!([times, 3]),
        json!([chunk, 3]),
        "<f4",
        json!({DIMENSIONS: ["time", "x"], "history": name}),
    );
    add("x", json!([3]), json!([3]), "<f8", json!({DIMENSIONS: ["x"]}));
    references.documents.insert(".zgroup".to_owned(), json!({"zarr_format": 2}));
    references.documents.insert(".zattrs".to_owned(), json!({"title": "made"}));
    let mut part = |key: String, chunk: Vec<u8>| {
        let (offset, len) = (bytes.len() as u64, chunk.len() as u64);
        bytes.extend(chunk);
        references.parts.push(Part { key, file: 0, offset, len });
    };
    let row = |time: u64| (0..3u8).flat_map(move |x| (time as f32 * 10.0 + f32::from(x)).to_ne_bytes());
    for number in 0..times.div_ceil(chunk) {
        part(format!("t/{number}.0"), (0..chunk).flat_map(|at| row(first + number * chunk + at)).collect());
    }
    part("x/0".to_owned(), [1.0f64, 2.0, 3.0].into_iter().flat_map(f64::to_ne_bytes).collect());
    let mut values: Vec<u8> = (first..first + times).flat_map(u64::to_ne_bytes).collect();
    values.resize(TIMES * 8, 0);
    part("time/0".to_owned(), values);
    std::fs::write(&path, bytes).unwrap();
    (path.display().to_string(), references)
}

fn joined(files: &[(String, References)], dimension: &str) -> Result<References, Error> {
    References::concatenated(files, dimension, &ReferenceTargets::new())
}

fn values(references: &References, files: &[(String, References)], path: &str) -> (Vec<u64>, Vec<u8>) {
    let names: Vec<&String> = files.iter().map(|(name, _)| name).collect();
    let document = references.to_json(&names).unwrap().to_string();
    let store = Store::references(document.as_bytes(), ReferenceTargets::new(), "test").unwrap();
    let array = Array::open_in(&store, path).unwrap();
    (array.shape().to_vec(), array.read(&Selection::all()).unwrap().as_bytes().to_vec())
}

/// Times of a chunk of coordinates, more than a file has.
const TIMES: usize = 1 << 17;

const DAYS: &str = "days since 2019-01-01";

#[test]
fn chunks_and_coordinates_stand_one_behind_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, times| file(folder.path(), name, times, DAYS);
    // The last one ends within a chunk.
    let files = [file("a", (0, 4, 2)), file("b", (4, 2, 2)), file("c", (6, 3, 2))];
    let references = joined(&files, "time").unwrap();
    let (shape, times) = values(&references, &files, "time");
    assert_eq!((shape, times), (vec![9], (0..9u64).flat_map(u64::to_ne_bytes).collect()));
    let (shape, found) = values(&references, &files, "t");
    let wanted = (0..9u8).flat_map(|time| (0..3u8).map(move |x| f32::from(time) * 10.0 + f32::from(x)));
    assert_eq!((shape, found), (vec![9, 3], wanted.flat_map(f32::to_ne_bytes).collect()));
    assert_eq!(values(&references, &files, "x").0, [3]);
    assert_eq!((references.arrays(), references.chunks()), (3, 2 + 1 + 2 + 1));
    let told: Vec<&str> = references.differing.iter().map(|told| told.path.as_str()).collect();
    assert_eq!(told, ["t@history"]);
    assert_eq!(references.left_out, []);
    // One alone is what it was, but for its coordinate.
    assert_eq!(values(&joined(&files[..1], "time").unwrap(), &files, "t"), values(&files[0].1, &files, "t"));
}

#[test]
fn what_cannot_be_joined_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, times, units| file(folder.path(), name, times, units);
    let first = || file("a", (0, 4, 2), DAYS);
    let refused = |second: (String, References), dimension: &str| {
        let error = joined(&[first(), second], dimension).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        error.to_string()
    };
    for (second, dimension, wanted) in [
        (file("b", (4, 2, 2), DAYS), "tiem", "wanted one of the dimensions time, x, found \"tiem\""),
        (
            file("c", (4, 2, 2), "days since 2020-01-01"),
            "time",
            "wanted the same `units`, found \"days since 2019-01-01\"",
        ),
        (
            file("d", (3, 2, 2), DAYS),
            "time",
            "wanted coordinates that go on in one direction, found 3 behind 3",
        ),
        (file("e", (4, 2, 2), DAYS), "x", "wanted the same shape"),
    ] {
        let message = refused(second, dimension);
        assert!(message.contains(wanted), "{message}");
    }
    let mut other = file("b", (4, 2, 2), DAYS);
    other.1.documents.remove("x/.zarray");
    assert!(refused(other, "time").contains("one of the two alone has x"));
    let other = file("b", (4, 2, 2), DAYS);
    let place = other.1.parts.iter().find(|part| part.key == "x/0").unwrap().offset;
    let mut bytes = std::fs::read(&other.0).unwrap();
    bytes[usize::try_from(place).unwrap()] ^= 1;
    std::fs::write(&other.0, bytes).unwrap();
    assert!(refused(other, "time").contains("wanted the same values in all files, found others in"));
    let mut scaled = file("b", (4, 2, 2), DAYS);
    scaled.1.documents.get_mut("t/.zattrs").unwrap()["scale_factor"] = json!(0.5);
    assert!(refused(scaled, "time").contains("wanted the same `scale_factor`, found none in"));
    assert!(joined(&[], "time").is_err());
}

#[test]
fn arrays_whose_chunks_do_not_end_with_files_are_held_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = [file(folder.path(), "a", (0, 3, 2), DAYS), file(folder.path(), "b", (3, 2, 2), DAYS)];
    let references = joined(&files, "time").unwrap();
    let wanted = (0..5u8).flat_map(|time| (0..3u8).map(move |x| f32::from(time) * 10.0 + f32::from(x)));
    assert_eq!(values(&references, &files, "t"), (vec![5, 3], wanted.flat_map(f32::to_ne_bytes).collect()));
    assert_eq!(references.chunks(), 1);
    // More than what is held.
    let times = HELD_BYTES_MAX / 12 + 1;
    let files =
        [file(folder.path(), "a", (0, 401, 2), DAYS), file(folder.path(), "b", (401, times, 2), DAYS)];
    let error = joined(&files, "time").unwrap_err().to_string();
    assert!(
        error.contains("t: invalid: wanted chunks of 2 along time to divide the 401 elements of"),
        "{error}"
    );
}
