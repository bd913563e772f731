//! Behaviour of scans and unpacking, one module a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "all of it is tests"
)]

mod axes;
mod corpus;
mod damage;
mod golden;
#[cfg(feature = "hdf5")]
mod hdf5;
mod hypercube;
mod made;
mod nat;
mod nat_zarr;
mod pieces;
mod points;
mod references;
#[cfg(feature = "parquet")]
mod references_in_parquet;
mod samples;
mod scans;
#[cfg(feature = "parquet")]
mod tables;
mod values;
