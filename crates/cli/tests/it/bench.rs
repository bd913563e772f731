//! `swath bench`.

use crate::stored::hierarchy;
use crate::swath::{Ran, command, run};
use serde_json::json;
use std::io::{BufRead, BufReader, Read};

#[test]
fn every_figure_has_its_line() {
    let folder = hierarchy();
    let text =
        run(folder.path(), &["bench", "grid", "--crop", "3,2", "--count", "50", "--batch", "8"]).text();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("grid  int16 (6, 4), chunks (4, 2)"));
    assert_eq!(lines.next(), Some("crops of (3, 2) in batches of 8, seed 1"));
    assert_eq!(lines.next(), Some("page cache as it was found"));
    let names = [
        "crops/s",
        "GB/s",
        "chunks/s",
        "read amplification",
        "fetched",
        "latency p50",
        "latency p90",
        "latency p99",
        "latency max",
        "CPU",
        "peak memory",
        "drivers",
    ];
    for name in names {
        let line =
            text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}\n{text}"));
        assert!(name.len() + 2 < line.len(), "{line}");
    }
}

#[test]
fn json_adds_up() {
    let folder = hierarchy();
    let arguments =
        ["bench", "grid", "--crop", "6,4", "--count", "10", "--batch", "4", "--json", "--seed", "7"];
    let value = run(folder.path(), &arguments).json();
    assert_eq!((&value["crops"], &value["output_bytes"]), (&json!(10), &json!(480)));
    // Three batches of four chunks each, of which three are stored; what of a chunk lies outside the array is not read.
    assert_eq!((&value["chunks_touched"], &value["bytes_wanted"]), (&json!(12), &json!(3 * 40)));
    assert_eq!((&value["latency_crops"], &value["cold"]), (&json!(10), &json!(null)));
    let latency = |name: &str| value["latency_seconds"][name].as_f64().unwrap();
    assert!(0.0 < latency("p50") && latency("p50") <= latency("p99") && latency("p99") <= latency("max"));
    assert!(!value["drivers"].as_array().unwrap().is_empty());
    assert!(1.0 <= value["read_amplification"].as_f64().unwrap());
}

#[test]
fn cold_says_what_it_dropped() {
    let folder = hierarchy();
    let arguments = ["bench", "grid", "--crop", "2,2", "--count", "5", "--cold", "--json"];
    let value = run(folder.path(), &arguments).json();
    assert_eq!(value["cold"]["files"], json!(4));
    if cfg!(target_os = "linux") {
        assert_eq!(value["cold"]["refused"], json!(0));
    }
}

#[test]
fn a_crop_larger_than_the_array_is_clamped_with_a_note() {
    let folder = hierarchy();
    let ran = run(folder.path(), &["bench", "grid", "--crop", "3,128", "--count", "5", "--json"]);
    assert_eq!(ran.stderr, "swath: note: crops of (3, 128) are clamped to (3, 4): the array is (6, 4)\n");
    let value: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((ran.code, &value["crop"]), (Some(0), &json!([3, 4])));
}

#[test]
fn more_than_a_second_without_a_terminal_shows_no_bar() {
    let folder = hierarchy();
    let value = run(folder.path(), &["bench", "grid", "--crop", "2,2", "--seconds", "1.1", "--json"]).json();
    assert!(1.1 <= value["seconds"].as_f64().unwrap() && value["crops"].as_u64().unwrap() != 0);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_run_with_130() {
    let folder = hierarchy();
    let arguments = ["bench", "grid", "--crop", "2,2", "--seconds", "600"];
    let mut child = command(folder.path(), &arguments).spawn().unwrap();
    // The heading is printed once the signal is taken over.
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    let kill = format!("kill -INT {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    out.read_to_end(&mut Vec::new()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "swath: interrupted\n");
}

#[test]
fn the_environment_says_how_files_are_read() {
    let folder = hierarchy();
    let run = |way: &str| -> Ran {
        let mut command =
            command(folder.path(), &["bench", "grid", "--crop", "2,2", "--count", "5", "--json"]);
        command.env("SWATH_FILE_ACCESS", way).output().unwrap().into()
    };
    let drivers = |way: &str| run(way).json()["drivers"].to_string();
    assert!(drivers("pread").contains("pread threads (asked for)"));
    assert!(drivers("probe").contains("past the page cache where it pays"));
    assert!(drivers("").contains("past the page cache where it pays"));
    assert!(!drivers("buffered").contains("past the page cache"));
    let line = run("fast").error(1);
    assert!(line.contains("SWATH_FILE_ACCESS") && line.contains("\"fast\""), "{line}");
}
