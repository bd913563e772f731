//! How often it is checked that a cached thing still is what the object holds.

use std::time::Duration;

/// When the engine looks whether an object changed under what is cached of it (open handles, and whatever a batch
/// tied to the object's identity).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// Before each window, and once more after its last read: one `statx` and one `fstat` a window on local files.
    #[default]
    Checked,
    /// At most this long after the object was opened it is taken to be unchanged.
    Ttl(Duration),
    /// Objects never change: nothing is checked.
    Immutable,
}
