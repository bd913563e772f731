//! The engine's behaviour, seen from outside.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "all of it is tests"
)]

mod batches;
mod calibration;
mod conformance;
mod direct;
mod faults;
mod files;
mod freshness;
mod hand_over;
mod lifetimes;
mod limits;
#[cfg(target_os = "linux")]
mod loop_device;
mod oracle;
mod parts;
mod remote;
mod resident;
mod slow_files;
mod slow_fs;
mod stand;
mod writes;
