//! Every array of the shared sample data against the checksums that other readers agreed on.

use crate::corpus;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use swath_ioengine::{FileAccess, LocalFiles};
use swath_zarr_front::{Array, DataType, Error, ErrorKind, Selection, Store};

/// What became of one array.
enum Outcome {
    Equal {
        slices: usize,
    },
    /// Nobody else reads it: its data type and its checksum.
    Unchecked(String, String),
    Unsupported(String),
}

/// What no other reader gives in a raw form tells itself what it should be: strings of their own numbers, every fourth of
/// them missing.
#[test]
fn strings_that_may_be_missing_are_numbered() {
    let Some(root) = corpus::root() else { return };
    let folder = root.join("zarr_v3/zarrs_snapshots/zarrs.optional(string)");
    let mut count = 0;
    for file in corpus::files(&folder).into_iter().filter(|file| file.ends_with("zarr.json")) {
        let array = Array::open(file.parent().unwrap()).unwrap();
        let columns = usize::try_from(array.shape()[1]).unwrap();
        let wanted = |row: usize, column: usize| {
            let number = row * columns + column;
            (number % 4 != 3).then(|| format!("str_{number:04}"))
        };
        for (selection, rows, step) in
            [("...", (0..8).collect::<Vec<_>>(), 1), ("6:1:-3, ::7", vec![6, 3], 7)]
        {
            let read = array.read_variable(&selection.parse().unwrap()).unwrap();
            let found: Vec<Option<String>> = read
                .options()
                .map(|bytes| bytes.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()))
                .collect();
            let columns = || (0..columns).step_by(step);
            let all: Vec<Option<String>> =
                rows.iter().flat_map(|row| columns().map(|column| wanted(*row, column))).collect();
            assert_eq!(found, all, "{}", file.display());
            assert!(
                read.presence().iter().zip(&all).all(|(present, text)| (*present == 1) == text.is_some())
            );
        }
        count += 1;
    }
    assert_eq!(count, 5);
}

#[test]
fn every_supported_array_reads_to_its_checksums() {
    let Some(root) = corpus::root() else { return };
    let expected: Value =
        serde_json::from_slice(&std::fs::read(root.join("expected.json")).unwrap()).unwrap();
    let (mut equal, mut slices_equal) = (0, 0);
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let mut places = Places { root, scratch: tempfile::tempdir().unwrap(), unpacked: BTreeMap::new() };
    let mut wrong: Vec<String> = Vec::new();
    let mut unchecked: BTreeMap<String, String> = BTreeMap::new();
    let mut unchecked_count = 0;
    for (key, entry) in expected["zarr"].as_object().unwrap() {
        match check(&places.path(key), entry) {
            Ok(Outcome::Equal { slices }) => {
                equal += 1;
                slices_equal += slices;
            }
            // What one writer stored by different codecs is the same at least.
            Ok(Outcome::Unchecked(what, digest)) => {
                unchecked_count += 1;
                let first = unchecked.entry(what).or_insert_with(|| digest.clone());
                if *first != digest {
                    wrong.push(format!("{key}: {digest}, where another of its type is {first}"));
                }
            }
            Ok(Outcome::Unsupported(what)) => *refused.entry(what).or_default() += 1,
            Err(message) => wrong.push(format!("{key}: {message}")),
        }
    }
    println!("{equal} arrays and {slices_equal} slices of them read to their checksums");
    println!("{unchecked_count} arrays that no other reader reads are read: {unchecked:?}");
    for (what, count) in &refused {
        println!("refused {count}: {what}");
    }
    assert!(wrong.is_empty(), "{} arrays are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let others: Vec<&String> = refused.keys().filter(|what| !what.contains("storage transformer")).collect();
    assert!(others.is_empty(), "arrays are refused: {others:?}");
    assert!(ARRAYS_SUPPORTED_MIN <= equal, "only {equal} arrays were read");
}

/// Arrays of the sample data whose codecs and data types are supported. Raise it when more are.
const ARRAYS_SUPPORTED_MIN: usize = 603;

/// Where an array is: a directory, or a zip archive and a path in it. Of those that hold the metadata of both formats, each
/// is tried with one of them.
struct Places {
    root: PathBuf,
    scratch: tempfile::TempDir,
    unpacked: BTreeMap<String, PathBuf>,
}

impl Places {
    fn path(&mut self, key: &str) -> (PathBuf, String) {
        if let Some((zip, within)) = key.split_once('!') {
            return (self.root.join(zip), within.to_owned());
        }
        (self.directory(key), String::new())
    }

    fn directory(&mut self, key: &str) -> PathBuf {
        match key.split_once("#v2") {
            None => self.root.join(key.trim_end_matches("#v3")),
            Some((path, _)) => {
                let number = self.unpacked.len();
                let target = self.scratch.path().join(format!("v2-{number}"));
                copy_without(&self.root.join(path), &target, "zarr.json");
                self.unpacked.insert(key.to_owned(), target.clone());
                target
            }
        }
    }
}

fn copy_without(source: &Path, target: &Path, left_out: &str) {
    for file in corpus::files(source).into_iter().filter(|file| !file.ends_with(left_out)) {
        let copy = target.join(file.strip_prefix(source).unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(file, copy).unwrap();
    }
}

fn check((path, within): &(PathBuf, String), entry: &Value) -> Result<Outcome, String> {
    let opened = Store::path(path).and_then(|store| Array::open_in(&store, within));
    let array = match opened {
        Ok(array) => array,
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            return Ok(Outcome::Unsupported(error.message().to_owned()));
        }
        Err(error) => return Err(error.to_string()),
    };
    let Some(whole) = entry["sha256"].as_str() else {
        let read = bytes_of(&array, &Selection::all()).map_err(|error| error.to_string())?;
        return Ok(Outcome::Unchecked(array.data_type().to_string(), hex(&Sha256::digest(&read))));
    };
    let shape: Vec<u64> =
        serde_json::from_value(entry["shape"].clone()).map_err(|error| error.to_string())?;
    if array.shape() != shape {
        return Err(format!("shape {:?}, wanted {shape:?}", array.shape()));
    }
    compare(&array, &Selection::all(), whole)?;
    let mapped = mapped(path, within).map_err(|error| error.to_string())?;
    compare(&mapped, &Selection::all(), whole)?;
    if let Some(mask) = entry["mask_sha256"].as_str() {
        let present: Vec<u8> = present(&array).map_err(|error| error.to_string())?;
        if hex(&Sha256::digest(&present)) != mask {
            return Err("other elements are missing".to_owned());
        }
    }
    let slices = entry["slices"].as_object();
    let mut compared = 0;
    for slice in slices.into_iter().flat_map(|slices| slices.values()) {
        let text: Vec<String> =
            slice["start_stop_step"].as_array().into_iter().flatten().map(as_slice).collect();
        let selection: Selection = text.join(", ").parse().map_err(|error| format!("{text:?}: {error}"))?;
        compare(&array, &selection, slice["sha256"].as_str().unwrap_or_default())?;
        compared += 1;
    }
    Ok(Outcome::Equal { slices: compared })
}

/// The array, read through mappings.
fn mapped(path: &Path, within: &str) -> Result<Array, Error> {
    let open = |folder: &Path| LocalFiles::open(folder, FileAccess::Mapped);
    let store = match path.is_file() {
        true => {
            let name = path.file_name().unwrap().to_str().unwrap();
            Store::zip(open(path.parent().unwrap()).unwrap().object(name), None, "mapped")
        }
        false => Store::new(open(path).unwrap().medium(), "", "mapped"),
    };
    Array::open_in(&store, within)
}

fn as_slice(axis: &Value) -> String {
    format!("{}:{}:{}", axis[0], axis[1], axis[2])
}

/// The bytes that checksums are of: of elements of any length, a list of them in JSON.
fn bytes_of(array: &Array, selection: &Selection) -> Result<Vec<u8>, Error> {
    match array.data_type() {
        DataType::Optional(_) if array.data_type().is_variable_length() => {
            let read = array.read_variable(selection)?;
            let elements: Vec<Option<&str>> =
                read.options().map(|bytes| bytes.map(|bytes| std::str::from_utf8(bytes).unwrap())).collect();
            Ok(serde_json::to_vec(&elements).unwrap())
        }
        DataType::String => Ok(serde_json::to_vec(&array.read_variable(selection)?.strings()?).unwrap()),
        DataType::Bytes => {
            let read = array.read_variable(selection)?;
            let elements: Vec<Value> = read.iter().map(|bytes| json!({"bytes": hex(bytes)})).collect();
            Ok(serde_json::to_vec(&elements).unwrap())
        }
        // Which are missing has a checksum of its own.
        DataType::Optional(inner) => {
            let read = array.read(selection)?.into_bytes();
            Ok(read.chunks(1 + inner.size_bytes()).flat_map(|element| &element[1..]).copied().collect())
        }
        _ => Ok(array.read(selection)?.into_bytes()),
    }
}

/// One byte for each element of an array whose elements may be missing.
fn present(array: &Array) -> Result<Vec<u8>, Error> {
    let read = array.read(&Selection::all())?.into_bytes();
    Ok(read.chunks(array.data_type().size_bytes()).map(|element| element[0]).collect())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn compare(array: &Array, selection: &Selection, wanted: &str) -> Result<(), String> {
    let read = bytes_of(array, selection).map_err(|error| format!("[{selection}]: {error}"))?;
    let found = hex(&Sha256::digest(&read));
    if found == wanted { Ok(()) } else { Err(format!("[{selection}]: checksum {found}, wanted {wanted}")) }
}
