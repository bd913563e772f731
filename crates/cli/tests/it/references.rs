//! `swath convert references`: sets in Parquet, and of files behind URLs.

use crate::convert::message;
use crate::stored::put;
use crate::swath::run;
use crate::web::serve;
use serde_json::Value;
use std::path::Path;

/// A folder with two files of two messages each.
fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    put(folder.path(), "in/a.grib2", [message(24, 1), message(48, 1)].concat());
    put(folder.path(), "in/b.grib2", [message(24, 2), message(48, 2)].concat());
    folder
}

/// The values of `t`, as NumPy keeps them.
fn values(place: &Path, set: &str) -> Vec<u8> {
    run(place, &["read", &format!("{set}/t"), "...", "-o", "values.npy"]).text();
    std::fs::read(place.join("values.npy")).unwrap()
}

fn url_of(place: &Path, set: &str, key: &str) -> String {
    let set: Value = serde_json::from_slice(&std::fs::read(place.join(set)).unwrap()).unwrap();
    set["refs"][key][0].as_str().unwrap().to_owned()
}

#[test]
fn sets_in_parquet_are_read_as_those_in_json() {
    let folder = files();
    let place = folder.path();
    let list = |flags: &[&str], set: &str| {
        run(place, &[&["convert", "references"], flags, &["in/a.grib2", "in/b.grib2", set]].concat())
    };
    assert_eq!(list(&[], "all.json").text(), "7 arrays, 4 chunks\n");
    assert_eq!(list(&[], "all.parq").text(), "7 arrays, 4 chunks\n");
    assert_eq!(list(&["--record-size", "3"], "small.parquet").text(), "7 arrays, 4 chunks\n");
    assert!(place.join("small.parquet/t/refs.1.parq").is_file());
    assert!(!place.join("all.parq/t/refs.1.parq").exists());
    for set in ["all.parq", "small.parquet"] {
        assert_eq!(run(place, &["diff", "all.json", set]).text(), "", "{set}");
        assert_eq!(values(place, set), values(place, "all.json"), "{set}");
    }
    let again = list(&[], "all.parq").error(1);
    assert!(again.contains("all.parq") && again.contains("there is something already"), "{again}");
    // Named below the folder of the set, all of it may be moved.
    let told = run(place, &["convert", "references", "--relative", "in/a.grib2", "in/a.parq"]).text();
    assert_eq!(told, "7 arrays, 2 chunks\n");
    let wanted = values(place, "in/a.parq");
    std::fs::rename(place.join("in"), place.join("moved")).unwrap();
    assert_eq!(values(place, "moved/a.parq"), wanted);
}

#[test]
fn netcdf_files_are_listed_in_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../convert/tests/data/hdf5/dimensions.nc");
    let file = file.to_str().unwrap();
    let told = run(folder.path(), &["convert", "references", file, "ocean.parq"]).text();
    assert_eq!(told, "5 arrays, 12 chunks\n");
    assert_eq!(run(folder.path(), &["diff", "ocean.parq", file]).text(), "");
}

#[test]
fn files_and_sets_behind_urls_are_read() {
    let folder = files();
    let place = folder.path();
    let url = serve(place);
    let (a, b) = (format!("{url}/in/a.grib2"), format!("{url}/in/b.grib2"));
    let told = run(place, &["convert", "references", &a, &b, "remote.json"]).text();
    assert_eq!(told, "7 arrays, 4 chunks\n");
    assert_eq!(url_of(place, "remote.json", "t/1.0.0.0"), b);
    run(place, &["convert", "references", &a, &b, "remote.parq"]).text();
    run(place, &["convert", "references", "in/a.grib2", "in/b.grib2", "local.json"]).text();
    let wanted = values(place, "local.json");
    assert_eq!(values(place, "remote.json"), wanted);
    assert_eq!(values(place, "remote.parq"), wanted);
    // Sets that are behind a URL themselves, and name what lies beside them.
    for set in ["in/both.json", "in/both.parq"] {
        let listed = ["convert", "references", "--relative", "in/a.grib2", "in/b.grib2", set];
        assert_eq!(run(place, &listed).text(), "7 arrays, 4 chunks\n");
        assert_eq!(values(place, &format!("{url}/{set}")), wanted, "{set}");
    }
    assert_eq!(url_of(place, "in/both.json", "t/1.0.0.0"), "b.grib2");
    let refused = run(place, &["convert", "references", "--relative", &a, "in/remote.json"]).error(1);
    assert!(refused.contains("--relative: wanted files below"), "{refused}");
    let refused = run(place, &["convert", "references", &a, "s3://bucket/a.parq"]).error(1);
    assert!(refused.contains("wanted a local path to write references to"), "{refused}");
}

#[test]
fn netcdf_files_are_joined_along_a_dimension() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../convert/tests/data/hdf5/dimensions.nc");
    let first = std::fs::read(file).unwrap();
    let times = |days: [f64; 2]| days.map(f64::to_le_bytes).concat();
    let at = first.windows(16).position(|bytes| bytes == times([0.5, 1.5])).unwrap();
    let mut second = first.clone();
    second[at..at + 16].copy_from_slice(&times([2.5, 3.5]));
    put(place, "1.nc", first);
    put(place, "2.nc", second);
    for set in ["both.json", "both.parq"] {
        let told = run(place, &["convert", "references", "--concat", "time", "1.nc", "2.nc", set]).text();
        assert!(told.starts_with("5 arrays, "), "{told}");
        let read = |array: &str, selection: &str| {
            run(place, &["read", array, selection, "-o", "values.npy"]).text();
            std::fs::read(place.join("values.npy")).unwrap()
        };
        for (file, steps) in [("1.nc", "0:2"), ("2.nc", "2:4")] {
            for array in ["t", "time"] {
                let found = read(&format!("{set}/{array}"), steps);
                assert!(found == read(&format!("{file}/{array}"), "..."), "{set}: {array} of {file}");
            }
        }
        assert_eq!(read(&format!("{set}/below/w"), "..."), read("1.nc/below/w", "..."));
    }
    let backwards = run(place, &["convert", "references", "--concat", "time", "2.nc", "1.nc", "c.json"]);
    let told = backwards.error(1);
    assert!(
        told.contains("time: invalid: wanted coordinates that go on in one direction, found 0.5 behind 3.5"),
        "{told}"
    );
    let alone = run(place, &["convert", "references", "1.nc", "2.nc", "c.json"]).error(1);
    assert!(alone.contains("--concat time"), "{alone}");
}

#[test]
fn images_are_refused_by_name() {
    let folder = files();
    let place = folder.path();
    put(place, "in/image.nat", b"no header");
    for sources in
        [&["in/image.nat"][..], &["in/a.grib2", "in/image.nat"], &["--concat", "time", "in/image.nat"]]
    {
        let told = run(place, &[&["convert", "references"], sources, &["set.json"]].concat()).error(1);
        assert!(told.contains("in/image.nat: invalid: wanted GRIB, HDF5 or NetCDF-4 files"), "{told}");
        assert!(told.contains("found a EUMETSAT .nat file"), "{told}");
    }
    assert!(!place.join("set.json").exists());
}
