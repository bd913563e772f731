//! What is wrong is told in one line, with an exit code that says whose fault it is.

use crate::stored::{hierarchy, put};
use crate::swath::{command, run};
use std::io::{BufRead, BufReader};

#[test]
fn wrong_usage_exits_with_2() {
    let folder = hierarchy();
    let cases: [(&[&str], &str); 17] = [
        (&[], "info, read, bench"),
        (&["inspect"], "inspect"),
        (&["info"], "<PATH>"),
        (&["info", ".", "--jsn"], "--json"),
        (&["read", "grid", "a:b"], "\"a:b\""),
        (&["read", "grid", "0:4:0"], "step"),
        (&["read", "grid", "--fast"], "--fast"),
        (&["read", "grid", "-z"], "-z"),
        (&["read", "grid", "0", "1"], "1"),
        (&["read", "grid", "-o"], "--output"),
        (&["bench", "grid"], "--crop"),
        (&["bench", "grid", "--crop", "4,0"], "at least one element"),
        (&["bench", "grid", "--crop", "1,1", "--count", "0"], "0"),
        (&["bench", "grid", "--crop", "1,1", "--seconds", "never"], "positive"),
        (&["bench", "--crop", "1,1"], "<PATH>"),
        (&["bench", "grid", "--calibrate", "."], "--calibrate"),
        (&["bench", "grid", "--crop", "1,1", "--scratch", "1"], "--scratch"),
    ];
    for (arguments, part) in cases {
        let line = run(folder.path(), arguments).error(2);
        assert!(line.contains(part), "{arguments:?}: {line}");
    }
}

#[test]
fn what_cannot_be_read_exits_with_1() {
    let folder = hierarchy();
    put(folder.path(), "file", "");
    let cases: [(&[&str], &str); 12] = [
        (&["info", "/no/such/path"], "/no/such/path: not found"),
        (&["info", "gird"], "gird: not found; the group . holds broken, grid, inner, not a node, odd, old"),
        (&["info", "file"], "file: is a file"),
        (&["info", "not a node"], "not a node: not found"),
        (&["info", "odd"], "odd/zarr.json: not supported: codec `imaginary`"),
        (&["info", "broken"], "broken/zarr.json: invalid"),
        (&["read", "."], "wanted an array; the group . holds"),
        (&["read", "odd"], "not supported: codec `imaginary`"),
        (&["read", "grid", "6"], "grid: out of bounds: index 6 is out of bounds for axis 0 with length 6"),
        (&["read", "grid", "0, 0, 0"], "too many indices"),
        (&["bench", "grid", "--crop", "1"], "wanted 2 extents in --crop"),
        (&["bench", "inner", "--crop", "1"], "wanted an array"),
    ];
    for (arguments, part) in cases {
        let line = run(folder.path(), arguments).error(1);
        assert!(line.contains(part), "{arguments:?}: {line}");
    }
}

#[test]
fn version_and_help_are_answers() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), &["--version"]).text(), concat!("swath ", env!("CARGO_PKG_VERSION"), "\n"));
    assert!(run(folder.path(), &["--help"]).text().contains("bench"));
    assert!(run(folder.path(), &["bench", "--help"]).text().contains("--cold"));
}

#[test]
fn a_closed_standard_output_is_no_error() {
    let folder = hierarchy();
    for round in 0..20 {
        let mut child = command(folder.path(), &["info", "--long", "."]).spawn().unwrap();
        let mut out = BufReader::with_capacity(1, child.stdout.take().unwrap());
        if round % 2 == 0 {
            out.read_line(&mut String::new()).unwrap();
        }
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    }
}
