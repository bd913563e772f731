//! Behaviour of the Zarr front-end, one module a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "all of it is tests"
)]

mod block_on;
mod checksums;
mod contained;
mod control;
mod converted;
mod copying;
mod copying_variable;
mod corpus;
mod damage;
mod decoded;
mod encoded_shards;
mod expected;
mod fields;
mod freshness;
mod gathered_writes;
mod hierarchy;
mod hierarchy_writing;
mod hostile;
#[cfg(feature = "icechunk")]
mod icechunk;
#[cfg(feature = "icechunk")]
mod icechunk_containers;
mod killed;
mod limits;
mod metadata;
mod oracle;
mod parquet_references;
mod picks;
mod rectilinear;
mod references;
mod round_trips;
mod stretches;
mod structures_writing;
mod validation;
mod variable;
mod variable_writing;
mod writing;
mod writing_picks;
mod writing_together;
mod writing_types;
mod written;
mod zips;
