//! A cache of ranges in front of any remote source, in memory and in files.

mod answer;
mod assembly;
mod at_hand;
mod catalog;
mod config;
mod disk;
mod extents;
mod flights;
mod forecast;
mod memory;
mod object;
mod shared;
mod source;
mod stats;
mod table;
#[cfg(test)]
mod tests;
mod tier;

pub use config::{CacheConfig, cache_bytes};
pub use stats::CacheStats;
pub use tier::CacheTier;
