//! What the programs of the cloud benches share: where they read, and what a process takes.

mod location;
mod memory;

pub use location::Location;
pub use memory::{peak_bytes, resident_bytes};
