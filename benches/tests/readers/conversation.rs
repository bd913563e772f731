//! The runner's side of the protocol.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The answers of a reader to so many passes.
pub(crate) fn answers(reader: &str, variant: &str, case: &Path, passes: usize) -> Vec<Value> {
    let mut child = start(reader, variant, case);
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut input = child.stdin.take().expect("its input");
    let mut next = || -> Value {
        let line = lines.next().expect("one more line").expect("a line of text");
        serde_json::from_str(&line).expect("a line of JSON")
    };
    let ready = next();
    assert_eq!(ready["ready"], true, "{ready}");
    let mut pass = || {
        writeln!(input, "pass").expect("the reader reads");
        let answer = next();
        assert!(answer["seconds"].as_f64().is_some_and(|seconds| 0.0 < seconds), "{answer}");
        answer
    };
    let answers = (0..passes).map(|_| pass()).collect();
    writeln!(input, "close").expect("the reader reads");
    assert!(child.wait().expect("the reader ends").success());
    answers
}

/// Why a reader will not do a case.
pub(crate) fn refusal(reader: &str, case: &Path) -> String {
    let output = start(reader, "", case).wait_with_output().expect("the reader ends");
    assert!(output.status.success());
    let answer: Value = serde_json::from_slice(&output.stdout).expect("a line of JSON");
    assert_eq!(answer["ready"], false);
    answer["reason"].as_str().expect("a reason").to_owned()
}

fn start(reader: &str, variant: &str, case: &Path) -> Child {
    let mut command = Command::new(reader);
    command.arg("--workload").arg(case).stdin(Stdio::piped()).stdout(Stdio::piped());
    if !variant.is_empty() {
        command.args(["--variant", variant]);
    }
    command.spawn().expect("the reader starts")
}
