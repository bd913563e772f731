//! GRIB 1 and 2 to arrays: what fields a file has, found by ranged reads of its section headers, and the values of each.
//!
//! [`scan`] walks through any number of files at once and names every [`Field`]: its parameter, level, times, member, grid,
//! packing, and the bytes in which its values lie. [`unpack`] turns those bytes into numbers, in memory that the caller gives.
//! [`Plan`] puts fields together to hypercubes, and writes them to Zarr, or lists their messages as [`References`] that
//! [`GribCodec`] decodes in place. [`nat`] reads and writes images of SEVIRI,
//! `hdf5_references` lists what lies in HDF5 and NetCDF-4 files.
//!
//! ```
//! use swath_convert::{Found, ScanOptions, scan};
//! use swath_ioengine::{Engine, MemoryMedium, RunOptions};
//!
//! let memory = MemoryMedium::new();
//! memory.put("a.grib", b"no message at all".to_vec());
//! let found = std::sync::Mutex::new(Vec::new());
//! let keep = |file: usize, next: Found| found.lock().unwrap().push((file, next));
//! scan(&Engine::global(), &[memory.object("a.grib")], keep, &ScanOptions::default(), &RunOptions::default())?;
//! assert!(matches!(found.into_inner().unwrap()[..], [(0, Found::Damage(_))]));
//! # Ok::<(), swath_convert::Error>(())
//! ```
//!
//! What this crate does *not* know: how bytes are read (the engine's), how chunks and shards are laid out (the Zarr front-end's),
//! Python. All bytes are untrusted: what is wrong in them is an [`Error`] or a [`Damage`], never a panic, and never more memory than
//! the field's own number of points.

#![forbid(unsafe_code)]

mod assemble;
mod codec;
mod coordinates;
mod document;
mod error;
mod grib;
#[cfg(feature = "hdf5")]
mod hdf5;
mod journal;
pub mod nat;
mod nodes;
mod parameters;
mod piece;
pub mod quantity;
mod references;
mod scan;
mod unpack;

pub use assemble::{
    Access, Coordinate, Extents, Failure, FieldPlace, Finished, Hypercube, Joining, Journal, LayoutOptions,
    OnFailure, Plan, PlanOptions, Planned, PlannedFile, Source, Unplanned, Variable, WritePlanOptions,
    compressors,
};
pub use codec::{GRIB_CODECS, GribCodec, register_grib_codecs};
pub use coordinates::{Axes, GridLayout, Plane, Points, axes, layout, to_rows};
pub use error::{Error, ErrorKind};
pub use grib::{
    Area, Bitmap, Complex, Damage, DamageKind, DataPlace, DateTime, Duration, Earth, Ensemble, Entropy,
    Field, Found, Grid, GridKind, Level, Levels, MissingValues, Packing, PackingKind, Parameter, Place,
    Projected, Rotation, ScanningMode, SpaceView, Spacing, Span, Step, Surface, TimeUnit, Walk,
};
#[cfg(feature = "hdf5")]
pub use hdf5::{Interrupt, has_hdf5_signature, hdf5_file_in, hdf5_references, is_hdf5_name};
pub use journal::{Journal as JournalOf, Journaled, journal_document};
pub use piece::Piece;
pub use references::{LeftOut, RECORD_SIZE, References, is_parquet_name, names_below};
#[cfg(feature = "parquet")]
pub use scan::FieldTable;
pub use scan::{Opened, ScanOptions, SideCars, open_each, record, scan, scan_all, scan_each};
pub use unpack::{FieldBytes, Sample, read_field, unpack};

/// The name of threads that help.
const HELPER: &str = "swath-convert";
