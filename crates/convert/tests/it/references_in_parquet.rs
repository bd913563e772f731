//! References written in Parquet, against the same ones in JSON.

use crate::references::{all_arrays, in_folder, opened, planned, two_fields, values};
use serde_json::Value;
use std::path::Path;
use swath_convert::{ErrorKind, RECORD_SIZE, References, names_below, register_grib_codecs};
use swath_zarr_front::{Array, DataType, ReferenceTargets, Store};

/// The store of a set in Parquet, whose relative names start from a folder.
fn in_parquet(set: &Path, folder: &Path) -> Store {
    register_grib_codecs();
    let targets = ReferenceTargets::new().with_folder(folder.to_str().unwrap());
    Store::parquet_references(Store::directory(set).unwrap(), targets).unwrap()
}

/// Writes a set with so many rows a file, and compares all of it with the same in JSON. Returns how many files of rows there are.
fn check_written(references: &References, names: &[String], folder: &Path, record_size: u64) -> usize {
    let set = folder.join(format!("{record_size}.parq"));
    references.write(names, &set, record_size).unwrap();
    let (found, wanted) = (in_parquet(&set, folder), opened(references, names, folder));
    let paths = all_arrays(&wanted);
    assert_eq!(all_arrays(&found), paths);
    for path in &paths {
        let [one, other] = [&found, &wanted].map(|store| Array::open_in(store, path).unwrap());
        assert_eq!(one.metadata().attributes(), other.metadata().attributes(), "{path}");
        assert_eq!((one.shape(), one.data_type()), (other.shape(), other.data_type()), "{path}");
        if !matches!(one.data_type(), DataType::String) {
            assert!(values(&found, path) == values(&wanted, path), "{path}");
        }
    }
    let files = std::fs::read_dir(folder).unwrap();
    let left = files.filter(|file| file.as_ref().unwrap().path().to_string_lossy().contains("partial"));
    assert_eq!(left.count(), 0);
    rows_files(&set)
}

/// Files of rows at or below a folder.
fn rows_files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let count = |path: std::path::PathBuf| {
        if path.is_dir() {
            rows_files(&path)
        } else {
            usize::from(path.extension().is_some_and(|extension| extension == "parq"))
        }
    };
    entries.map(count).sum()
}

#[test]
fn messages_are_listed_by_rows() {
    // Two steps of two levels; the last field of the second file is a gap, and its place a row of nothing.
    let files = [two_fields(0, 24, 1), two_fields(0, 48, 101), two_fields(0, 72, 201)];
    let (folder, names, objects) = in_folder(&files);
    let (plan, mut sources) = planned(&objects);
    assert_eq!(plan.fields(), 6);
    sources.retain(|source| (source.file, source.field.number) != (1, 1));
    let plan = swath_convert::Plan::of(plan.files, &sources, &swath_convert::PlanOptions::default()).unwrap();
    let references = plan.plan.references(&sources).unwrap();
    assert_eq!(references.chunks(), 5);
    // Seven arrays, of which that of the fields has six rows.
    let arrays = references.arrays();
    assert_eq!(check_written(&references, &names, folder.path(), RECORD_SIZE), arrays);
    assert_eq!(check_written(&references, &names, folder.path(), 4), arrays + 1);
    assert_eq!(check_written(&references, &names, folder.path(), 1), arrays + 4);
    let text = std::fs::read(folder.path().join("4.parq/.zmetadata")).unwrap();
    let document: Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(document["record_size"], 4);
    assert_eq!(document["metadata"]["t/.zarray"]["shape"], serde_json::json!([3, 2, 2, 3]));
}

#[cfg(feature = "hdf5")]
#[test]
fn chunks_of_hdf5_files_are_listed_by_rows() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hdf5");
    let mut count = 0;
    for name in ["dimensions.nc", "latest.h5", "earliest.h5", "user_block.h5"] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(source.join(name), folder.path().join(name)).unwrap();
        let references = crate::hdf5::references(folder.path(), name);
        for record_size in [3, RECORD_SIZE] {
            count += check_written(&references, &[name.to_owned()], folder.path(), record_size);
        }
    }
    assert!(100 < count, "{count}");
}

#[test]
fn what_cannot_be_written_leaves_nothing() {
    let (folder, names, objects) = in_folder(&[two_fields(0, 24, 1)]);
    let (plan, sources) = planned(&objects);
    let references = plan.references(&sources).unwrap();
    let write = |names: &[String], target: &str, rows: u64| {
        let target = if target.contains("://") { target.into() } else { folder.path().join(target) };
        let error = references.write(names, &target, rows).unwrap_err();
        (error.kind(), error.to_string())
    };
    std::fs::create_dir(folder.path().join("there.parquet")).unwrap();
    for (names, target, rows, wanted) in [
        (&names[..], "there.parquet", RECORD_SIZE, "there is something already"),
        (&names[..], "a.parq", 0, "wanted a record size of 1 to 4194304 rows, found 0"),
        (&[], "b.parq", RECORD_SIZE, "wanted the name of file 0, found 0 names"),
        (&names[..], "s3://bucket/a.parq", RECORD_SIZE, "wanted a local path to write references to"),
        (&names[..], "s3://bucket/a.json", RECORD_SIZE, "wanted a local path to write references to"),
    ] {
        let (kind, message) = write(names, target, rows);
        assert!(kind == ErrorKind::Invalid && message.contains(wanted), "{message}");
    }
    let mut left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["0.grib2", "there.parquet"]);
    let file = folder.path().join("0.grib2");
    let below = names_below(&[file.to_str().unwrap()], &folder.path().join("a.parq")).unwrap();
    assert_eq!(below, ["0.grib2"]);
    let elsewhere = names_below(&["https://host/a"], &folder.path().join("a.parq")).unwrap_err();
    assert!(elsewhere.message().contains("found https://host/a"), "{elsewhere}");
}
