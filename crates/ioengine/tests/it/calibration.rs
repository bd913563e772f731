//! Measuring a device, and reading by what was measured.

use crate::stand::noise;
use std::fs;
use std::path::Path;
use std::time::Duration;
use swath_ioengine::{
    ByteRange, Calibration, CalibrationOptions, CalibrationUse, CostModel, Engine, EngineConfig, ErrorKind,
    FileAccess, Limits, LocalFiles, RangeRead, RunOptions, calibrate,
};

/// A small one: its figures mean nothing.
fn quick() -> CalibrationOptions<'static> {
    CalibrationOptions { scratch_bytes: 4 << 20, time: Duration::from_millis(200), ..Default::default() }
}

#[test]
fn a_calibration_measures_what_it_can_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let found = calibrate(folder.path(), &quick()).unwrap();
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    assert!(0.0 < *found.cached_threads.as_ref().unwrap(), "{found}");
    assert_eq!(Calibration::from_json(&found.to_json()), Some(found.clone()));
    if found.direct_4k.is_ok() {
        assert!(found.depth().is_some(), "{found}");
    } else {
        assert!(found.to_string().contains("unknown"), "{found}");
    }
}

#[test]
fn a_calibration_that_is_stopped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let stopped = calibrate(folder.path(), &CalibrationOptions { interrupt: Some(&|| true), ..quick() });
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_calibration_names_a_folder_that_is_missing() {
    let error = calibrate("/no/such/folder", &quick()).unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::NotFound, Some("/no/such/folder")));
}

/// Reads two ranges with 10,000 bytes between them, and tells how many reads were merged and what the engine says.
fn merged(data: &Path, calibration: &CalibrationUse) -> (u64, String) {
    let files = LocalFiles::open_calibrated(data, FileAccess::Buffered, calibration).unwrap();
    let engine = Engine::new(EngineConfig {
        limits: Limits { inline_reads_max: 0, ..Limits::default() },
        ..Default::default()
    });
    let reads =
        [0, 11_000].map(|offset| RangeRead { object: 0, range: ByteRange::Bounded { offset, len: 1_000 } });
    let sink = |_, result: Result<&[u8], _>| assert!(result.is_ok());
    engine.read_ranges(&[files.object("a")], &reads, sink, &RunOptions::default()).unwrap();
    let stats = engine.stats();
    let (told, mechanism) = (stats.drivers.join("\n"), files.mechanism());
    assert!(told.contains(&mechanism), "{told}\n{mechanism}");
    (stats.merged_reads, told)
}

#[test]
fn a_stored_calibration_is_used_and_told() {
    let (data, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(data.path().join("a"), noise(1, 20_000)).unwrap();
    let mut stored = calibrate(data.path(), &quick()).unwrap();
    stored.page_cache = Ok(CostModel { request_cost_ns: 20_000.0, byte_cost_ns: 1.0 });
    stored.measured_on = "2001-02-03".to_owned();
    let wanted = CalibrationUse::StoredIn(cache.path().to_owned());
    assert!(!merged(data.path(), &wanted).1.contains("calibrated"));

    let path = stored.store_in(cache.path()).unwrap();
    let (reads, told) = merged(data.path(), &wanted);
    assert!(reads != 0 && told.contains("calibrated 2001-02-03"), "{reads} {told}");
    let (reads, told) = merged(data.path(), &CalibrationUse::Ignored);
    assert!(reads == 0 && !told.contains("calibrated"), "{reads} {told}");

    fs::write(path, "{\"version\": 1}").unwrap();
    assert!(!merged(data.path(), &wanted).1.contains("calibrated"));
}

/// Reads many ranges by one lane, and tells the most that were in flight and what the engine says.
fn deepest(data: &Path, calibration: &CalibrationUse, local_depth: usize) -> (u64, Vec<String>) {
    let files = LocalFiles::open_calibrated(data, FileAccess::Buffered, calibration).unwrap();
    let limits =
        Limits { lanes: 1, local_depth, merged_parts_max: 1, inline_reads_max: 0, ..Limits::default() };
    let engine = Engine::new(EngineConfig { limits, ..Default::default() });
    let range = |index: u64| ByteRange::Bounded { offset: index * 100, len: 100 };
    let reads: Vec<RangeRead> = (0..200).map(|index| RangeRead { object: 0, range: range(index) }).collect();
    let sink = |_, result: Result<&[u8], _>| assert!(result.is_ok());
    engine.read_ranges(&[files.object("a")], &reads, sink, &RunOptions::default()).unwrap();
    let stats = engine.stats();
    (stats.in_flight_high_water, stats.drivers)
}

#[test]
fn a_stored_depth_is_kept_to_within_the_limits() {
    let (data, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(data.path().join("a"), noise(1, 20_000)).unwrap();
    let mut stored = calibrate(data.path(), &quick()).unwrap();
    stored.direct_4k = Ok([99_000.0, 100_000.0, 100_000.0]);
    assert_eq!(stored.depth(), Some(8));
    stored.store_in(cache.path()).unwrap();
    let wanted = CalibrationUse::StoredIn(cache.path().to_owned());
    for (calibration, local_depth, most, told) in [
        (&wanted, 128, 8, ", depth 8: files by "),
        (&wanted, 3, 3, ", depth 3: files by "),
        (&CalibrationUse::Ignored, 20, 20, ": files by "),
    ] {
        let (found, drivers) = deepest(data.path(), calibration, local_depth);
        assert_eq!(found, most, "{drivers:?}");
        assert!(drivers.len() == 1 && drivers[0].contains(told), "{told} {drivers:?}");
        assert_eq!(drivers[0].contains("depth"), told.contains("depth"), "{drivers:?}");
    }
}

#[test]
fn devices_of_different_depths_share_no_driver() {
    let (data, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(data.path().join("a"), noise(1, 20_000)).unwrap();
    let mut stored = calibrate(data.path(), &quick()).unwrap();
    stored.direct_4k = Ok([99_000.0, 100_000.0, 100_000.0]);
    stored.store_in(cache.path()).unwrap();
    let open =
        |calibration: &_, access| LocalFiles::open_calibrated(data.path(), access, calibration).unwrap();
    // Two accesses, because media of one id share their open files.
    let shallow = open(&CalibrationUse::StoredIn(cache.path().to_owned()), FileAccess::Buffered);
    let deep = open(&CalibrationUse::Ignored, FileAccess::PreadThreads);
    let limits = Limits { lanes: 1, inline_reads_max: 0, ..Limits::default() };
    let engine = Engine::new(EngineConfig { limits, ..Default::default() });
    for files in [&shallow, &deep, &shallow] {
        let range = ByteRange::Bounded { offset: 100, len: 100 };
        assert_eq!(engine.read_object(&files.object("a"), range).unwrap()[..], noise(1, 20_000)[100..200]);
    }
    let drivers = engine.stats().drivers;
    assert_eq!(drivers.iter().filter(|line| line.contains("depth 8")).count(), 1, "{drivers:?}");
    assert_eq!(drivers.len(), 2, "{drivers:?}");
}
