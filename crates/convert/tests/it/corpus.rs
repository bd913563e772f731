//! The shared sample files and what other readers found in them.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use swath_convert::{Damage, Error, Field, Found, ScanOptions, scan};
use swath_ioengine::{Engine, MemoryMedium, ObjectRef, RunOptions};

/// The folder of the samples, or `None`, having said so, where it is absent.
///
/// `SWATH_TEST_DATA` names it; otherwise it is `shared/data` beside the repository.
pub(crate) fn root() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let root = std::env::var_os("SWATH_TEST_DATA").map_or_else(beside, PathBuf::from);
    if root.is_dir() {
        return Some(root);
    }
    eprintln!("SKIPPED: no shared test data at {}; set SWATH_TEST_DATA", root.display());
    None
}

/// What is expected of each GRIB file, by its path below the root.
pub(crate) fn expected(root: &Path) -> Vec<(String, Value)> {
    let all: Value = serde_json::from_slice(&std::fs::read(root.join("expected.json")).unwrap()).unwrap();
    all["grib"].as_object().unwrap().iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// An object in memory.
pub(crate) fn object(bytes: Vec<u8>) -> ObjectRef {
    let memory = MemoryMedium::new();
    memory.put("file", bytes);
    memory.object("file")
}

/// What a scan finds in files, each by itself.
pub(crate) fn found_in(files: &[ObjectRef], options: &ScanOptions) -> Result<Vec<Vec<Found>>, Error> {
    let found: Vec<Mutex<Vec<Found>>> = files.iter().map(|_| Mutex::default()).collect();
    let keep = |file: usize, next| found[file].lock().unwrap().push(next);
    scan(&Engine::global(), files, keep, options, &RunOptions::default())?;
    Ok(found.into_iter().map(|slot| slot.into_inner().unwrap()).collect())
}

/// The fields and damages of a file's bytes.
pub(crate) fn scanned(bytes: Vec<u8>) -> (Vec<Field>, Vec<Damage>) {
    let mut found = found_in(&[object(bytes)], &ScanOptions::default()).unwrap();
    parted(found.remove(0))
}

/// Fields and damages apart.
pub(crate) fn parted(found: Vec<Found>) -> (Vec<Field>, Vec<Damage>) {
    let (mut fields, mut damages) = (Vec::new(), Vec::new());
    for one in found {
        match one {
            Found::Field(field) => fields.push(*field),
            Found::Damage(damage) => damages.push(damage),
        }
    }
    (fields, damages)
}
