//! References to GRIB messages on servers: made of what is there, and read in place.

use crate::scans::message;
use crate::stand::{Stand, fast, within};
use std::path::Path;
use std::time::Duration;
use swath::convert::{
    Plan, PlanOptions, PlannedFile, References, ScanOptions, Source, WritePlanOptions, register_grib_codecs,
    scan_all,
};
use swath_cloud_testing::Link;
use swath_ioengine::{Engine, MemoryMedium, RunOptions};
use swath_zarr_front::{Array, ReferenceTargets, Selection, Store};

const NAMES: [&str; 2] = ["data/a.grib2", "data/b.grib2"];

/// References to the files of a server, and what a conversion makes of these.
fn listed(stand: &Stand) -> (References, Store) {
    let objects = NAMES.map(|name| stand.object(name));
    let found =
        scan_all(&Engine::global(), &objects, &ScanOptions::default(), &RunOptions::default()).unwrap();
    let (sources, damages) = Source::of(found);
    assert_eq!((sources.len(), damages.len()), (4, 0));
    let files = NAMES.iter().zip(&objects).map(|(name, object)| PlannedFile::of(&stand.url(name), object));
    let planned = Plan::of(files.map(Result::unwrap).collect(), &sources, &PlanOptions::default()).unwrap();
    let written = Store::memory(&MemoryMedium::new());
    let options = WritePlanOptions::default();
    assert_eq!(planned.plan.write(&Engine::global(), &objects, &written, &options).unwrap(), []);
    (planned.plan.references(&sources).unwrap(), written)
}

fn check_same(found: &Store, wanted: &Store, what: &str) {
    let read = |store: &Store| {
        let array = Array::open_in(store, "t").unwrap();
        (array.shape().to_vec(), array.read(&Selection::all()).unwrap().as_bytes().to_vec())
    };
    assert!(read(found) == read(wanted), "{what}");
}

/// Puts all files of a local folder below a prefix of a server.
fn put_folder(stand: &Stand, folder: &Path, prefix: &str) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let key = format!("{prefix}/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            put_folder(stand, &path, &key);
        } else {
            stand.put(&key, std::fs::read(&path).unwrap());
        }
    }
}

/// Sets that name files by their URLs lie here, those that name them by where they are beside the set lie on the server.
#[test]
fn messages_behind_urls_are_read_in_place() {
    register_grib_codecs();
    within(Duration::from_secs(120), || {
        for stand in fast(Link::default(), &[]) {
            let name = stand.name;
            stand.put(NAMES[0], [message(85_000), message(50_000)].concat());
            stand.put(NAMES[1], [message(30_000), message(10_000)].concat());
            let (references, written) = listed(&stand);
            let folder = tempfile::tempdir().unwrap();
            let targets = || ReferenceTargets::new().with_options(stand.options().clone());
            let urls = NAMES.map(|name| stand.url(name));
            let document = references.to_json(&urls).unwrap().to_string();
            check_same(&Store::references(document.as_bytes(), targets(), "set").unwrap(), &written, name);
            let set = folder.path().join("set.parq");
            references.write(&urls, &set, 3).unwrap();
            let local = Store::directory(&set).unwrap();
            check_same(&Store::parquet_references(local, targets()).unwrap(), &written, name);
            // Beside the files, and named from there.
            let beside = ["a.grib2", "b.grib2"];
            stand.put("data/set.json", references.to_json(&beside).unwrap().to_string().into_bytes());
            check_same(&stand.store("data/set.json"), &written, name);
            let set = folder.path().join("beside.parq");
            references.write(&beside, &set, 3).unwrap();
            put_folder(&stand, &set, "data/beside.parq");
            check_same(&stand.store("data/beside.parq"), &written, name);
        }
    });
}
