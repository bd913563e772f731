//! What a reader says to the runner: it loads a case file, says that it is ready, answers each `pass` with what it
//! took and a checksum of what it read. The contract is in benches/README.md.
//!
//! This crate knows no array and no reader; it depends on none, so that peers with their own lock files can share it.

mod case;
mod checksum;
mod output;
mod serve;
mod usage;

pub use case::{ArrayCase, Case, FilesCase, Kind, Mode, RangesCase};
pub use checksum::{ItemSum, ItemSums, array_checksum, item_sum, weighted};
pub use output::Output;
pub use serve::{Failure, Reader, Ready, Refused, serve};

/// Threads that a reader uses: the processors that this process may run on.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
