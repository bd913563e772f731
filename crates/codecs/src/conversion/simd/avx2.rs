//! Loops compiled for AVX2 as well, and run so where the machine has it, with the F16C that came with it.
//!
//! Guarded by the tests of conversions: `tests/it/conversions.rs`, and `tests.rs` beside this.

#![expect(unsafe_code, reason = "calls functions that need AVX2 and F16C")]

use super::{LANES, Loop, Plain, Vectors, is_plain};
use std::arch::x86_64::{__m128i, __m256, _MM_FROUND_TO_NEAREST_INT, _mm256_cvtps_ph};

/// Runs a loop.
#[inline]
pub(crate) fn run(work: impl Loop) {
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") && !is_plain() {
        // SAFETY: AVX2 and F16C are there, checked above.
        unsafe { run_by_avx2(work) }
    } else {
        work.run::<Plain>();
    }
}

#[target_feature(enable = "avx2,f16c")]
fn run_by_avx2(work: impl Loop) {
    work.run::<Wide>();
}

/// AVX2 and F16C. [`run_by_avx2`] alone names it: what a loop does with it runs where they are.
struct Wide;

impl Vectors for Wide {
    #[inline(always)]
    fn halves(values: [f32; LANES]) -> [u16; LANES] {
        let registers: [__m256; 2] = bytemuck::cast(values);
        // SAFETY: F16C is there, as every loop of `Wide` is run by `run_by_avx2`.
        let low: __m128i = unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(registers[0]) };
        // SAFETY: as above.
        let high: __m128i = unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(registers[1]) };
        bytemuck::cast([low, high])
    }
}
