//! Behaviour of the Zarr front-end, one module a subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "all of it is tests"
)]

mod corpus;
mod hostile;
mod metadata;
