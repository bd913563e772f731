//! A mapping of a file whose bytes are copied out under a guard: a file that is cut short under it fails the read, not
//! the process.
//!
//! Bytes under a mapping may change or vanish at any time. So nothing but one copy routine ever touches them, its
//! instructions are known, and a SIGBUS that one of them raises ends the copy with [`Fault`]. All other SIGBUS go to the
//! handlers that were there before. `docs/decisions/0005-guarded-mapping.md` has the rules, their costs and their limits.
//!
//! A fault is not the only way in which a file that is written to shows: bytes beyond a new end that lies within a page,
//! and all bytes of a file that was cut and has grown again, read as zeros *without* a fault. Who copies must compare the
//! file's identity after the last copy, as after the last read.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64")))]
mod disabled;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))]
mod enabled;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))]
mod rows;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64")))]
pub(crate) use disabled::{CopyGuard, Mapping};
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))]
pub(crate) use enabled::{CopyGuard, Mapping};
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))]
use rows::Rows;

use std::fmt;

/// The bytes are not there: the copy lies beyond the mapping, the file was cut short, or the device failed to give them.
///
/// Some of the target may have been written; all of it is to be treated as undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault;

/// Why copies from mappings are off, for the time being or for good. Reads then go by another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(dead_code, reason = "each platform refuses for reasons of its own")]
pub(crate) enum Refusal {
    /// There is no copy routine for this platform.
    Architecture,
    /// The thread blocks SIGBUS: a fault would end the process whatever handler is installed.
    Blocked,
    /// The handler cannot be looked at or installed, or other handlers came in front of it too many times.
    Handler,
    /// Another thread is putting the handler in front. The next window will find it there.
    Busy,
    /// As many threads copy as there may be, or this thread is about to end.
    Threads,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Refusal::Architecture => "no guarded copy on this platform",
            Refusal::Blocked => "the thread blocks SIGBUS",
            Refusal::Handler => "the SIGBUS handler cannot be kept in front",
            Refusal::Busy => "the SIGBUS handler is being installed",
            Refusal::Threads => "too many threads copy",
        })
    }
}
