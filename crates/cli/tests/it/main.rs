//! The built `swath` binary, as a shell sees it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at the first surprise, and says its seed"
)]

mod bench;
mod calibrate;
mod convert;
mod convert_killed;
mod convert_nat;
mod copy;
mod diff;
mod info;
mod npy;
mod read;
mod references;
mod stats;
mod stored;
mod swath;
mod url;
mod usage;
mod validate;
mod web;
