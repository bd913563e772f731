//! The fields of a file.

use crate::Failure;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use swath_convert::{Found, ScanOptions, record, scan as scan_files};
use swath_ioengine::{Engine, FileAccess, LocalFiles, RunOptions};

/// Lists a file's fields: a line of JSON each, in memory.
pub(crate) fn scan(path: &str, out: Option<&str>) -> Result<Value, Failure> {
    let path = Path::new(path);
    let (folder, name) = (path.parent().ok_or("no folder")?, path.file_name().ok_or("no name")?);
    let name = name.to_str().ok_or("a name that is no text")?;
    let begun = Instant::now();
    let files = LocalFiles::open(folder, FileAccess::default())?;
    let lines: Mutex<(u64, String)> = Mutex::default();
    let keep = |_: usize, found: Found| {
        let line = record(name, &found).to_string();
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.0 += 1;
        lines.1.push_str(&line);
        lines.1.push('\n');
    };
    let options = ScanOptions::default();
    scan_files(&Engine::global(), &[files.object(name)], keep, &options, &RunOptions::default())?;
    let seconds = begun.elapsed().as_secs_f64();
    let (count, lines) = lines.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(out) = out {
        std::fs::write(out, lines)?;
    }
    Ok(json!({ "seconds": seconds, "count": count }))
}
