//! All fields of any number of files, by reads of their section heads alone.

mod batch;
mod record;
mod sizes;

use crate::{Error, Found};
use batch::ScanBatch;
pub use record::record;
use swath_ioengine::{Engine, ObjectRef, RunOptions};

/// How files are scanned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanOptions {
    /// Bytes that are read where a message begins; by default what the medium's requests are worth, from 1 KiB of a local
    /// file to 64 KiB of a remote one. Messages with longer heads take a second read.
    pub head_bytes: Option<u64>,
    /// Bytes without a message after which a file is given up: 64 MiB where this is `None`.
    pub stray_bytes_max: Option<u64>,
}

/// Names all fields of files, and what in them is no sound message, to `found`, with the number of the file.
///
/// Of each file that comes in the file's order; files are scanned at the same time, on the engine's lanes, which call `found`.
/// Where messages are long, each takes one read, of its heads and the end of the message before it; where they are short, one
/// read has many. Neither bitmaps nor values are read otherwise. What is in memory is a head for each file under way.
///
/// A file that is not there or cannot be read is a [`Damage`](crate::Damage) of kind [`Unread`](crate::DamageKind::Unread) at the place that could not be
/// read; others are not concerned.
///
/// # Errors
///
/// `Cancelled` where the caller ended the scan.
pub fn scan(
    engine: &Engine,
    files: &[ObjectRef],
    found: impl Fn(usize, Found) + Send + Sync,
    options: &ScanOptions,
    run: &RunOptions<'_>,
) -> Result<(), Error> {
    let batch = ScanBatch::new(files, found, options);
    Ok(engine.run(&batch, run)?)
}
