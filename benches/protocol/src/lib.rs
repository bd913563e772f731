//! What a reader says to the runner: it loads a case file, says that it is ready, answers each `pass` with what it
//! took and a checksum of what it read. The contract is in benches/readers.md.
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

/// The version of `package` in the text of a lock file, which a reader includes: `include_str!("../Cargo.lock")`.
pub fn locked_version<'a>(lock: &'a str, package: &str) -> &'a str {
    let mut lines =
        lock.lines().skip_while(|line| line.strip_prefix("name = ") != Some(&format!("\"{package}\"")));
    let version = lines.nth(1).and_then(|line| line.strip_prefix("version = \""));
    version.map_or("unknown", |version| version.trim_end_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::locked_version;

    #[test]
    fn versions_are_those_of_the_lock() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"ab\"\nversion = \"2.1.0\"\n";
        assert_eq!(locked_version(lock, "ab"), "2.1.0");
        assert_eq!(locked_version(lock, "b"), "unknown");
    }
}
