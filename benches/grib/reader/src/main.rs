//! swath as a contender of the race of GRIB readers: a line of JSON asks for a job, and a line of JSON answers how long it took.
//!
//! `{"do": "decode", "path": ..., "type": "float64", "times": 10, "out": ...}` decodes the file's only message so often, from its bytes
//! in memory, and writes the values to `out` where one is named. `{"do": "scan", "path": ..., "out": ...}` lists the fields of a file as
//! lines of JSON. The answer is `{"seconds": ...}` of one time, with `count` fields of a scan, or `{"reason": ...}`.
//!
//! `{"do": "floor", "path": ..., "out": ...}` does what a conversion cannot avoid: it reads, decodes, compresses and writes every field of
//! a file, and answers with `read_s`, `decode_s`, `encode_s` and `write_s`.

mod decode;
mod floor;
mod scan;

use serde_json::{Value, json};
use std::io::{BufRead, Write};

type Failure = Box<dyn std::error::Error>;

fn answer(line: &str) -> Result<Value, Failure> {
    let job: Value = serde_json::from_str(line)?;
    let text = |name: &str| job[name].as_str();
    let path = text("path").ok_or("no path")?;
    match (text("do"), text("type")) {
        (Some("decode"), kind) => {
            let times = job["times"].as_u64().unwrap_or(1).max(1);
            decode::decode(path, kind == Some("float32"), times, text("out"))
        }
        (Some("scan"), _) => scan::scan(path, text("out")),
        (Some("floor"), _) => floor::floor(path, text("out").ok_or("no place to write to")?),
        (other, _) => Err(format!("no job is called {other:?}").into()),
    }
}

fn main() -> Result<(), Failure> {
    for line in std::io::stdin().lock().lines() {
        let answer = answer(&line?).unwrap_or_else(|error| json!({ "reason": error.to_string() }));
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}
