//! The servers and proxies of this crate by other clients, and swath against them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "all of it is a test")]

mod arrays;
mod client;
mod conformance;
mod connections;
mod faults;
mod gathered;
mod load;
mod proxies;
mod raw;
mod references;
mod scans;
mod servers;
mod signatures;
mod stand;
mod web;
