//! Checking what is stored: that every index and every chunk can be read, and that nothing lies there that nobody reads.
//!
//! An array's objects are listed folder by folder, and checked some hundreds at once: the indexes of shards first, each entry
//! against the length of its object, and then every stored chunk of them, read and decoded by the engine as any read is, with
//! all checksums. Memory is bounded: chunks are decoded about 64 MiB at a time (one chunk at least), and a folder's listing
//! is held. Chunks that lie beyond the array's shape are read by nobody, and not looked into.

mod array_check;
mod chunk_boxes;
mod chunk_reads;
mod hierarchy_check;
mod shard_check;
mod stored_chunks;

pub use array_check::{ValidateOptions, Validated};
pub use hierarchy_check::ConsolidatedCheck;

use crate::Error;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// All that is stored can be read; something lies there that nobody reads, or lies oddly.
    Note,
    /// Something cannot be read, or contradicts what else is stored.
    Damage,
}

/// Something that is not as it should be.
#[derive(Clone, Debug)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The object: a name in the store.
    pub object: String,
    /// The chunk, by its coordinates in the grid of chunks (of inner chunks where the array is sharded), where it is about one.
    pub chunk: Option<Vec<u64>>,
    /// What was wanted and what was found.
    pub message: String,
}

impl Finding {
    /// A finding about an object as a whole.
    pub(crate) fn of_object(severity: Severity, object: String, message: impl Into<String>) -> Finding {
        Finding { severity, object, chunk: None, message: message.into() }
    }

    /// What an error says, about the object that it names, or else this one.
    pub(crate) fn of_error(error: &Error, object: &str, chunk: Option<Vec<u64>>) -> Finding {
        let named = error.object().unwrap_or(object).to_owned();
        let text = error.to_string();
        let message = text.strip_prefix(&format!("{named}: ")).unwrap_or(&text).to_owned();
        Finding { severity: Severity::Damage, object: named, chunk, message }
    }
}
