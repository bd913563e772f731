//! No choice to make: loops as they are.

use super::Loop;

/// Runs a loop.
#[inline(always)]
pub(crate) fn run(work: impl Loop) {
    work.run();
}
