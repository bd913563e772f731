//! URLs on the command line.

use crate::stored::hierarchy;
use crate::swath::run;
use crate::web::serve;
use serde_json::json;
use std::path::Path;

fn file_url(folder: &Path, below: &str) -> String {
    format!("file://{}/{below}", folder.display())
}

#[test]
fn urls_of_files_are_read_as_paths_are() {
    let folder = hierarchy();
    let url = file_url(folder.path(), "grid");
    let read = |place: &str| run(folder.path(), &["read", place, "1:3", "--json"]).json();
    let (mut by_url, mut by_path) = (read(&url), read("grid"));
    assert_eq!(by_url["array"].take(), json!(format!("{}/grid", folder.path().display())));
    by_path["array"].take();
    assert_eq!(by_url, by_path);
    let value =
        run(folder.path(), &["bench", &url, "--crop", "2,2", "--count", "5", "--cold", "--json"]).json();
    assert_eq!((&value["remote"], &value["cold"]["files"]), (&json!(null), &json!(4)));
    let names = run(folder.path(), &["info", &file_url(folder.path(), ""), "--json"]).json();
    assert_eq!(names["members"].as_array().map(Vec::len), Some(5));
}

#[test]
fn a_url_below_a_group_lists_what_is_there() {
    let folder = hierarchy();
    let line = run(folder.path(), &["info", &file_url(folder.path(), "gird")]).error(1);
    assert!(line.contains("gird: not found") && line.contains("grid, inner"), "{line}");
}

#[test]
fn what_is_wrong_is_one_line_without_values() {
    let folder = hierarchy();
    let cases: [(&[&str], &str); 6] = [
        (&["info", "ftp://user:S3CRET@host/a"], "ftp"),
        (&["info", "s3://bucket/a", "-O", "S3CRET"], "NAME=VALUE"),
        (&["info", "memory://cli/a", "-O", "anon=true", "--anon"], "zarr.json"),
        (&["read", "memory://cli/nothing"], "memory://cli/nothing: not found"),
        (&["bench", "memory://cli/nothing", "--crop", "1"], "memory://cli/nothing"),
        (&["info", "grid", "--anon"], "grid: options of storage are for URLs"),
    ];
    for (arguments, part) in cases {
        let line = run(folder.path(), arguments).error(1);
        assert!(line.contains(part) && !line.contains("S3CRET"), "{arguments:?}: {line}");
    }
}

#[test]
fn later_commands_read_from_the_files_of_the_cache() {
    let (folder, cache) = (hierarchy(), tempfile::tempdir().unwrap());
    let (url, files) = (format!("{}/grid", serve(folder.path())), cache.path().join("made"));
    let bench = |more: &[&str]| {
        let mut arguments = vec!["bench", &url, "--crop", "2,2", "--count", "20", "--batch", "5", "--json"];
        arguments.extend(more);
        run(folder.path(), &arguments).json()
    };
    assert_eq!(bench(&[])["cache"], json!(null));
    let in_memory = bench(&["--cache", "1MB"]);
    assert!(0 < in_memory["cache"]["hits"].as_u64().unwrap(), "{in_memory}");
    assert_eq!(in_memory["cache"]["disk_bytes"], json!(0));
    let settings = ["--cache-dir", files.to_str().unwrap(), "--cache", "64MB"];
    let read = || {
        let mut arguments = vec!["read", &url, "--json"];
        arguments.extend(settings);
        run(folder.path(), &arguments).json()
    };
    assert_eq!(read(), read());
    let again = bench(&settings);
    // Checks ask for one byte each, and a chunk that is not there is asked for again.
    let counted = |name: &str| again["cache"][name].as_u64().unwrap();
    assert!(counted("bytes_from_source") <= counted("checks"), "{again}");
    assert!(0 < counted("bytes_from_disk"), "{again}");
    let text = run(folder.path(), &["bench", &url, "--crop", "2,2", "--count", "5", "--cache", "1MB"]).text();
    assert!(text.contains("cache hits") && text.contains("from memory"), "{text}");
    let line = run(folder.path(), &["info", &url, "--cache", "much"]).error(2);
    assert!(line.contains("--cache") && line.contains("much"), "{line}");
}
