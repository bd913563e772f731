//! The Python wheel swath: conversion only, no logic.
//!
//! This is the native module `swath._swath`; `python/swath` re-exports it and holds what needs no Rust. What this crate
//! does *not* know: codecs, chunk grids, files. It turns Python's objects into the facade's and back, gives up the GIL
//! around every wait, and lets NumPy own all memory that arrays are read into.
//!
//! The wheel uses the stable ABI of CPython 3.12. That ABI has no free-threaded form, so a free-threaded interpreter
//! refuses the wheel when it is installed; on any other the module says that it relies on the GIL (`gil_used`).

mod array;
mod array_access;
mod array_iterator;
mod awaited;
mod cache;
mod chunk_batch;
mod chunk_codec;
mod chunk_sizes;
mod configuration;
mod conversion;
mod conversion_plan;
mod conversion_run;
mod create;
mod credentials;
mod deliveries;
mod described;
mod dtype;
mod errors;
mod fancy;
mod field_scan;
mod fields;
mod file_access;
mod given;
mod grib_codec;
mod group;
mod hdf5;
mod image_conversion;
mod index_list;
mod indexers;
mod info;
mod interpreter;
mod joint_read;
mod json;
mod key_store;
mod landing;
mod location;
mod logs;
mod open;
mod opened;
mod output;
mod plain_slice;
mod progress;
mod python_codec;
mod quick_reads;
mod raw_ranges;
mod read;
mod reference_set;
mod references;
mod remote;
mod selection;
mod stats;
mod turns;
mod variable;
mod variable_elements;
mod write;

use pyo3::prelude::*;

/// The native part of swath; import `swath` instead.
#[pymodule(name = "_swath", gil_used = true)]
mod module {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::array::Array;
    #[pymodule_export]
    use crate::array_iterator::ArrayIterator;
    #[pymodule_export]
    use crate::awaited::{Awaited, Request};
    #[pymodule_export]
    use crate::cache::{decoded_bytes, decoded_counts, drop_decoded, flush_caches, with_decoded_cache};
    #[pymodule_export]
    use crate::chunk_batch::ChunkGrid;
    #[pymodule_export]
    use crate::chunk_codec::ChunkCodec;
    #[pymodule_export]
    use crate::configuration::{bytes, set_limits};
    #[pymodule_export]
    use crate::conversion_plan::{ConversionPlan, append_conversion, resume_conversion};
    #[pymodule_export]
    use crate::create::{consolidate_metadata, create_array, create_group};
    #[pymodule_export]
    use crate::described::described;
    #[pymodule_export]
    use crate::field_scan::FieldScan;
    #[pymodule_export]
    use crate::file_access::{calibration, set_file_access};
    #[pymodule_export]
    use crate::grib_codec::decode_grib;
    #[pymodule_export]
    use crate::group::Group;
    #[pymodule_export]
    use crate::image_conversion::{ImagePlan, append_images, are_images, plan_of_json, refuse_images};
    #[pymodule_export]
    use crate::indexers::{BlockIndex, OIndex, VIndex};
    #[pymodule_export]
    use crate::info::Info;
    #[pymodule_export]
    use crate::interpreter::end;
    #[pymodule_export]
    use crate::joint_read::read_arrays;
    #[pymodule_export]
    use crate::key_store::KeyStore;
    #[pymodule_export]
    use crate::landing::Landing;
    #[pymodule_export]
    use crate::open::{open, open_array, open_group, reopen, reopen_url};
    #[pymodule_export]
    use crate::progress::set_progress;
    #[pymodule_export]
    use crate::quick_reads::QuickReads;
    #[pymodule_export]
    use crate::raw_ranges::RangeReader;
    #[pymodule_export]
    use crate::reference_set::{ReferenceSet, are_hdf5};
    #[pymodule_export]
    use crate::remote::{option_name, public_options};
    #[pymodule_export]
    use crate::stats::stats;
    #[pymodule_export]
    use crate::turns::Turns;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::logs::listen();
        // Before those of Python, which kerchunk may have registered for the same names.
        swath::convert::register_grib_codecs();
        crate::python_codec::register();
        Ok(())
    }
}
