//! All fields of any number of files, by reads of their section heads alone.

mod batch;
mod gathered;
mod named;
mod parts;
mod record;
mod side_car;
mod sizes;
#[cfg(feature = "parquet")]
mod table;

use crate::{Error, Found};
use batch::ScanBatch;
pub use gathered::scan_all;
pub use named::{Opened, open_each, scan_each};
pub use record::record;
use sizes::sizes;
use swath_ioengine::{Engine, ObjectRef, RunOptions};
#[cfg(feature = "parquet")]
pub use table::FieldTable;

/// How files are scanned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanOptions {
    /// Bytes that are read where a message begins; by default what the medium's requests are worth, from 1 KiB of a local
    /// file to 64 KiB of a remote one. Messages with longer heads take a second read.
    pub head_bytes: Option<u64>,
    /// Bytes without a message after which a file is given up: 64 MiB where this is `None`.
    pub stray_bytes_max: Option<u64>,
    /// Whether side-cars of files are looked for.
    pub side_cars: SideCars,
}

/// Whether side-cars are looked for: `a.grib2.idx`, as NOAA has it, and `a.index`, as ECMWF has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SideCars {
    /// Of remote files of 8 MiB and more: two more requests each, and then the heads of many messages at once.
    #[default]
    Remote,
    /// Never.
    Ignored,
}

/// Names all fields of files, and what in them is no sound message, to `found`, with the number of the file.
///
/// Of each file that comes in the file's order; files are scanned at the same time, on the engine's lanes, which call `found`.
/// Where messages are long, each takes one read, of its heads and the end of the message before it; where they are short, one
/// read has many. Neither bitmaps nor values are read otherwise. What is in memory is a head for each file under way.
///
/// A side-car says where messages begin, and the file is walked through in many parts at once then. All else is read from the file:
/// where a part is damaged, begins with no message or does not end with one, the side-car counts for nothing, and the file is walked
/// through from its beginning. What is found in such a file is in memory until all its parts are done.
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
    let sizes = sizes(files);
    let starts = match options.side_cars {
        SideCars::Remote => side_car::starts(engine, files, &sizes, run)?,
        SideCars::Ignored => Vec::new(),
    };
    let batch = ScanBatch::new(files, sizes, &starts, found, options);
    Ok(engine.run(&batch, run)?)
}
