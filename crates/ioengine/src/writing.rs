//! Writing whole objects.

use crate::{Error, ErrorKind, Identity};
use bytes::Bytes;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes and removals through [`Medium`](crate::Medium) in this process so far.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Moves with every write of this process that has been done: what was cached before it may be of what is no more,
/// however long it was to be taken for fresh.
pub fn writes() -> u64 {
    WRITES.load(Ordering::Acquire)
}

/// Notes that something was written or removed, or may have been.
pub(crate) fn note_write() {
    WRITES.fetch_add(1, Ordering::Release);
}

/// Pieces one behind the other; one alone is not copied.
pub(crate) fn joined(pieces: &[Bytes]) -> Bytes {
    match pieces {
        [one] => one.clone(),
        pieces => pieces.concat().into(),
    }
}

/// When an object may be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PutCondition {
    /// Whatever is there is replaced.
    #[default]
    Always,
    /// Only where nothing is there (`If-None-Match: *`, `O_EXCL`).
    Absent,
    /// Only in place of this version (`If-Match`).
    Matches(Identity),
}

/// Checks a condition against the version that is there, for media that hold a lock on it meanwhile.
pub(crate) fn check_condition(condition: &PutCondition, found: Option<&Identity>) -> Result<(), Error> {
    match (condition, found) {
        (PutCondition::Always, _) | (PutCondition::Absent, None) => Ok(()),
        (PutCondition::Absent, Some(_)) => {
            Err(Error::new(ErrorKind::Changed, "wanted to write where nothing is, found an object"))
        }
        (PutCondition::Matches(wanted), Some(found)) if wanted == found => Ok(()),
        (PutCondition::Matches(wanted), found) => Err(Error::new(
            ErrorKind::Changed,
            format!("wanted to replace the version {wanted:?}, found {found:?}"),
        )),
    }
}
