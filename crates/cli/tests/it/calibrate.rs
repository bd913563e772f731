//! `swath bench --calibrate`.

use crate::stored::hierarchy;
use crate::swath::{Ran, command};
use serde_json::json;
use std::path::Path;

/// Runs with a cache folder of its own.
fn run(folder: &Path, cache: &Path, arguments: &[&str]) -> Ran {
    let mut command = command(folder, arguments);
    command.env("XDG_CACHE_HOME", cache).env_remove("SWATH_CALIBRATION");
    command.output().unwrap().into()
}

const QUICK: [&str; 7] = ["bench", "--calibrate", ".", "--scratch", "4", "--seconds", "0.2"];

#[test]
fn a_calibration_is_printed_stored_and_used() {
    let (folder, cache) = (hierarchy(), tempfile::tempdir().unwrap());
    let entries = || folder.path().read_dir().unwrap().count();
    let before = entries();
    let text = run(folder.path(), cache.path(), &QUICK).text();
    for name in ["device", "cached 4 KiB, threads", "page cache costs", "direct 4 KiB", "least good depth"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}\n{text}");
    }
    let stored = text.lines().find_map(|line| line.strip_prefix("stored in ")).unwrap();
    assert!(Path::new(stored).starts_with(cache.path().join("swath")) && Path::new(stored).is_file());
    assert_eq!(entries(), before);

    let bench = ["bench", "grid", "--crop", "2,2", "--count", "5", "--json"];
    let drivers = |ran: Ran| ran.json()["drivers"].to_string();
    let told = drivers(run(folder.path(), cache.path(), &bench));
    assert!(told.contains("calibrated 20"), "{told}");
    // What cannot be read past the page cache has no depth, and reads on the calling thread have none.
    let depth = text.lines().find_map(|line| line.strip_prefix("least good depth")).unwrap();
    let no_depth = depth.contains("unknown") || told.contains("calling thread");
    assert!(told.contains(", depth ") || no_depth, "{depth}\n{told}");
    let mut off = command(folder.path(), &bench);
    off.env("XDG_CACHE_HOME", cache.path()).env("SWATH_CALIBRATION", "off");
    let told = drivers(off.output().unwrap().into());
    assert!(!told.contains("calibrated"), "{told}");
}

#[test]
fn a_calibration_as_json_says_where_it_is() {
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let value = run(folder.path(), cache.path(), &[&QUICK[..], &["--json"]].concat()).json();
    assert_eq!(value["version"], json!(1));
    assert!(Path::new(value["stored"].as_str().unwrap()).is_file());
}

#[test]
fn a_calibration_of_nothing_exits_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let missing = ["bench", "--calibrate", "missing"];
    let line = run(folder.path(), folder.path(), &missing).error(1);
    assert!(line.starts_with("missing: "), "{line}");
    let huge = ["bench", "--calibrate", ".", "--scratch", "1000000000000"];
    let line = run(folder.path(), folder.path(), &huge).error(1);
    assert!(line.contains("free bytes"), "{line}");
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}
