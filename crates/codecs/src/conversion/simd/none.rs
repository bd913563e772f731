//! No choice to make: loops as they are.

use super::{Loop, Plain};

/// Runs a loop.
#[inline(always)]
pub(crate) fn run(work: impl Loop) {
    work.run::<Plain>();
}
