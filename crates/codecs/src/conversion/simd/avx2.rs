//! Loops compiled for AVX2 as well, and run so where the machine has it.
//!
//! Guarded by the tests of conversions: `tests/it/conversions.rs`, and `tests.rs` beside this.

#![expect(unsafe_code, reason = "calls a function that needs AVX2")]

use super::{Loop, is_plain};

/// Runs a loop.
#[inline]
pub(crate) fn run(work: impl Loop) {
    if is_x86_feature_detected!("avx2") && !is_plain() {
        // SAFETY: AVX2 is there, checked above.
        unsafe { run_by_avx2(work) }
    } else {
        work.run();
    }
}

#[target_feature(enable = "avx2")]
fn run_by_avx2(work: impl Loop) {
    work.run();
}
