//! The engine's behaviour, seen from outside.

mod batches;
mod conformance;
mod faults;
mod files;
mod freshness;
mod hand_over;
mod lifetimes;
mod limits;
mod oracle;
mod remote;
mod stand;
