//! The swath command line: info, read, bench.
fn main() {}
