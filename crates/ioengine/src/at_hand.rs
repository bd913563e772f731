//! Bytes that a remote source has here already, so that nobody has to be asked for them.

use crate::Identity;

/// Reads of one version of an object all of whose bytes a source has, in memory or where they are read without waiting: see
/// [`RemoteSource::at_hand`](crate::RemoteSource::at_hand).
///
/// A lane takes them one after the other while it holds this, in the order in which the source finds them fastest.
pub trait AtHand {
    /// The version that all of the bytes are of; `None` where the source names none.
    fn identity(&self) -> Option<&Identity>;

    /// Bytes of all the reads.
    fn bytes(&self) -> u64;

    /// The next read, by its number among the ranges asked for, and all of its bytes. `None` after the last, and as soon as
    /// bytes are gone or would have to be waited for: what was not given is then fetched.
    ///
    /// `memory` is for the source's use; it is the same one each time, and nobody else writes to it in between. It may grow
    /// by some MiB.
    fn next<'a>(&'a mut self, memory: &'a mut Vec<u8>) -> Option<(usize, &'a [u8])>;
}
