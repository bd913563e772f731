//! What scans find, by file.

use super::{ScanOptions, scan};
use crate::{Error, Found};
use std::sync::{Mutex, PoisonError};
use swath_ioengine::{Engine, ObjectRef, RunOptions};

/// What [`scan`] finds, in a list for each file, in the file's order. All of it is in memory: some hundred bytes a field.
///
/// # Errors
///
/// As [`scan`].
pub fn scan_all(
    engine: &Engine,
    files: &[ObjectRef],
    options: &ScanOptions,
    run: &RunOptions<'_>,
) -> Result<Vec<Vec<Found>>, Error> {
    let found: Vec<Mutex<Vec<Found>>> = files.iter().map(|_| Mutex::default()).collect();
    let keep = |file: usize, next: Found| {
        if let Some(slot) = found.get(file) {
            slot.lock().unwrap_or_else(PoisonError::into_inner).push(next);
        }
    };
    scan(engine, files, keep, options, run)?;
    Ok(found.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}
