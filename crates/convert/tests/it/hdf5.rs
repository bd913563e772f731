//! HDF5 and NetCDF-4 files read through references, against what h5py and netCDF4 read in them.

use crate::corpus;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use swath_convert::{ErrorKind, References, hdf5_references};
use swath_ioengine::{Engine, FileAccess, LocalFiles};
use swath_zarr_front::{Array, DataType, ReferenceTargets, Selection, Store};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hdf5")
}

pub(crate) fn references(folder: &Path, name: &str) -> References {
    let file = LocalFiles::open(folder, FileAccess::default()).unwrap().object(name);
    hdf5_references(&Engine::global(), &file, None).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The arrays of a file by their paths: the shape, and the sum of what is read.
fn arrays(references: &References, path: &Path) -> BTreeMap<String, String> {
    let document = references.to_json(&[path.to_str().unwrap()]).unwrap();
    let store = Store::references(document.to_string().as_bytes(), ReferenceTargets::new(), "test").unwrap();
    let keys: Vec<String> = document["refs"].as_object().unwrap().keys().cloned().collect();
    let paths = keys.iter().filter_map(|key| key.strip_suffix("/.zarray"));
    paths.map(|path| (path.to_owned(), sum(&Array::open_in(&store, path).unwrap()))).collect()
}

/// Of strings of any length, the sum is that of their list in JSON.
fn sum(array: &Array) -> String {
    let all = Selection::all();
    let digest = if matches!(array.data_type(), DataType::String) {
        Sha256::digest(json!(array.read_variable(&all).unwrap().strings().unwrap()).to_string())
    } else {
        Sha256::digest(array.read(&all).unwrap().as_bytes())
    };
    format!("{:?} {digest:x}", array.shape())
}

/// What the files made for these tests hold.
fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(folder().join("expected.json")).unwrap()).unwrap()
}

#[test]
fn datasets_of_every_kind_are_read_as_h5py_reads_them() {
    for (name, wanted) in expected().as_object().unwrap() {
        let references = references(&folder(), name);
        let found = arrays(&references, &folder().join(name));
        for (path, found) in &found {
            let renamed = format!("_nc4_non_coord_{path}");
            // h5py lists what has several names once.
            let linked = ["hard", "link"].contains(&path.as_str()).then_some("filters/plain");
            let wanted = wanted.get(&renamed).or_else(|| wanted.get(linked.unwrap_or(path)));
            assert_eq!(wanted.and_then(Value::as_str), Some(found.as_str()), "{name}: {path}");
        }
        let missing: Vec<&String> =
            wanted.as_object().unwrap().keys().filter(|path| !found.contains_key(*path)).collect();
        let (others, left_out): (Vec<&String>, Vec<&String>) =
            missing.into_iter().partition(|path| !path.starts_with("left_out/"));
        let others: Vec<&str> = others.into_iter().map(String::as_str).collect();
        let others: Vec<&str> =
            others.into_iter().filter(|path| !path.starts_with("_nc4_non_coord_")).collect();
        let is_netcdf = name == "dimensions.nc";
        let no_variables = ["below/z", "y"];
        assert_eq!(others, if is_netcdf { &no_variables[..] } else { &[] }, "{name}");
        let said: Vec<&str> = references.left_out.iter().map(|left| left.path.as_str()).collect();
        assert!(left_out.iter().all(|path| said.contains(&path.as_str())), "{name}: {said:?}");
    }
}

#[test]
fn what_references_cannot_say_is_left_out_with_the_reason() {
    for name in ["earliest.h5", "latest.h5", "user_block.h5"] {
        let found = references(&folder(), name);
        let said: BTreeMap<&str, &str> =
            found.left_out.iter().map(|left| (left.path.as_str(), left.reason.as_str())).collect();
        let wanted = BTreeMap::from([
            ("left_out/bitshuffle", "filter 32008"),
            ("left_out/empty", "no elements and no shape"),
            ("left_out/scaled", "filter 6"),
            ("left_out/skipped", "a chunk at [0, 0] that skips filters before others"),
        ]);
        for (path, reason) in wanted {
            assert!(said.get(path).is_some_and(|said| said.starts_with(reason)), "{name}: {path}: {said:?}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_left_out_by_itself() {
    let (name, folder) = ("virtual.h5", folder());
    let references = references(&folder, name);
    let said: Vec<(&str, &str)> =
        references.left_out.iter().map(|left| (left.path.as_str(), left.reason.as_str())).collect();
    let reason = "a virtual dataset: its elements are those of others";
    // In symbol tables, in links within headers, and in links within heaps.
    let wanted = ["compact", "dense", "old"].map(|kind| format!("left_out/{kind}/virtual"));
    assert_eq!(said, wanted.each_ref().map(|path| (path.as_str(), reason)));
    let expected = expected();
    let mut sound: Vec<&str> = expected[name].as_object().unwrap().keys().map(String::as_str).collect();
    sound.retain(|path| !path.ends_with("virtual"));
    let found = arrays(&references, &folder.join(name));
    assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), sound);
}

#[test]
fn a_group_whose_links_cannot_be_read_is_left_out_by_itself() {
    let mut file = std::fs::read(folder().join("latest.h5")).unwrap();
    let all = hdf5_references(&Engine::global(), &corpus::object(file.clone()), None).unwrap();
    // The heap of the only group with many links.
    let heap = file.windows(4).position(|octets| octets == b"FRHP").unwrap();
    file[heap] ^= 1;
    let some = hdf5_references(&Engine::global(), &corpus::object(file), None).unwrap();
    assert!(some.arrays() != 0 && some.arrays() < all.arrays());
    let lost: Vec<&str> = some.left_out.iter().map(|left| left.path.as_str()).collect();
    assert_eq!(lost.iter().filter(|path| !path.contains('/')).count(), 1, "{lost:?}");
}

#[test]
fn dimensions_have_the_names_that_netcdf_gives_them() {
    let document = references(&folder(), "dimensions.nc").to_json(&["/there.nc"]).unwrap();
    let parsed =
        |key: &str| -> Value { serde_json::from_str(document["refs"][key].as_str().unwrap()).unwrap() };
    for (path, names) in [
        ("time", json!(["time"])),
        ("x", json!(["y", "x"])),
        ("xc", json!(["y"])),
        ("t", json!(["time", "y", "x"])),
        ("below/w", json!(["z", "x"])),
    ] {
        assert_eq!(parsed(&format!("{path}/.zattrs"))["_ARRAY_DIMENSIONS"], names, "{path}");
    }
    assert_eq!(parsed("t/.zarray")["fill_value"], json!(-999));
    // NetCDF's own, where nothing else is said.
    assert_eq!(parsed("time/.zarray")["fill_value"], json!(9.969_209_968_386_869e36));
    let attributes = parsed("t/.zattrs");
    assert_eq!((&attributes["scale_factor"], &attributes["valid_range"]), (&json!(0.5), &json!([0, 100])));
    assert_eq!(parsed(".zattrs"), json!({"title": "dimensions"}));
}

#[test]
fn attributes_keep_their_values() {
    let document = references(&folder(), "latest.h5").to_json(&["/there.h5"]).unwrap();
    let found: Value = serde_json::from_str(document["refs"]["types/.zattrs"].as_str().unwrap()).unwrap();
    let wanted = json!({
        "words": ["a", "bc"], "one": 7, "pi": 3.25, "flag": true, "many": [0.0, 1.0, 2.0], "nothing": [],
        "not_a_number": "NaN"
    });
    assert_eq!(found, wanted);
}

#[test]
fn every_sample_file_is_read_as_others_read_it() {
    let Some(root) = corpus::root() else { return };
    let expected: Value =
        serde_json::from_slice(&std::fs::read(root.join("expected.json")).unwrap()).unwrap();
    let folder = root.join("netcdf_hdf5");
    let mut count = 0;
    for (name, wanted) in expected["netcdf_hdf5"].as_object().unwrap() {
        if wanted["netcdf_format"] != json!("NETCDF4") {
            let file = LocalFiles::open(&folder, FileAccess::default()).unwrap().object(name);
            let error = hdf5_references(&Engine::global(), &file, None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            continue;
        }
        let references = references(&folder, name);
        let found = arrays(&references, &folder.join(name));
        for (path, wanted) in wanted["variables"].as_object().unwrap() {
            let Some(sum) = wanted["sha256"].as_str() else { continue };
            assert_eq!(
                found.get(path),
                Some(&format!("{} {sum}", wanted["shape"]).replace(',', ", ")),
                "{name}: {path}: {:?}",
                references.left_out
            );
            count += 1;
        }
    }
    assert_eq!(count, 11);
}

#[test]
fn damaged_files_end_in_an_error_or_in_fewer_arrays() {
    let sound = std::fs::read(folder().join("latest.h5")).unwrap();
    for cut in (0..sound.len()).step_by(997) {
        drop(hdf5_references(&Engine::global(), &corpus::object(sound[..cut].to_vec()), None));
    }
    let mut damaged = sound.clone();
    for (number, at) in (0..sound.len()).step_by(61).enumerate() {
        damaged[at] ^= 1 << (number % 8);
        drop(hdf5_references(&Engine::global(), &corpus::object(damaged.clone()), None));
        damaged[at] = sound[at];
    }
}
