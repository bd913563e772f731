//! Loops compiled for AVX2 as well, and run so where the machine has it, with the F16C that came with it.
//!
//! Guarded by the tests of conversions: `tests/it/conversions.rs`, and `tests.rs` beside this.

#![expect(unsafe_code, reason = "calls functions that need AVX2 and F16C")]

use super::{Eight, LANES, Loop, Plain, Vectors, is_plain};
use std::arch::x86_64::{
    __m128i, __m256, __m256i, _CMP_EQ_OQ, _CMP_UNORD_Q, _MM_FROUND_TO_NEAREST_INT, _mm256_add_ps,
    _mm256_blendv_ps, _mm256_cmp_ps, _mm256_cvtepi16_epi32, _mm256_cvtepi32_ps, _mm256_cvtepu8_epi32,
    _mm256_cvtepu16_epi32, _mm256_cvtps_ph, _mm256_div_ps, _mm256_mul_ps, _mm256_sub_ps,
};

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
    type Eight = Register;

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

/// A register of AVX2, used by loops of [`Wide`] alone.
#[derive(Clone, Copy)]
struct Register(__m256);

impl Register {
    #[inline(always)]
    fn of_integers(values: __m256i) -> Register {
        // SAFETY: AVX2 is there, as every loop of `Wide` is run by `run_by_avx2`.
        Register(unsafe { _mm256_cvtepi32_ps(values) })
    }
}

impl Eight for Register {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        Register(bytemuck::cast([value; 8]))
    }

    #[inline(always)]
    fn of_u8(bytes: [u8; 8]) -> Self {
        let bytes: __m128i = bytemuck::cast([u64::from_ne_bytes(bytes), 0]);
        // SAFETY: as above.
        Register::of_integers(unsafe { _mm256_cvtepu8_epi32(bytes) })
    }

    #[inline(always)]
    fn of_i16(values: [i16; 8]) -> Self {
        // SAFETY: as above.
        Register::of_integers(unsafe { _mm256_cvtepi16_epi32(bytemuck::cast(values)) })
    }

    #[inline(always)]
    fn of_u16(values: [u16; 8]) -> Self {
        // SAFETY: as above.
        Register::of_integers(unsafe { _mm256_cvtepu16_epi32(bytemuck::cast(values)) })
    }

    #[inline(always)]
    fn of_f32(values: [f32; 8]) -> Self {
        Register(bytemuck::cast(values))
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        // SAFETY: as above.
        Register(unsafe { _mm256_add_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        // SAFETY: as above.
        Register(unsafe { _mm256_sub_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        // SAFETY: as above.
        Register(unsafe { _mm256_mul_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn over(self, other: Self) -> Self {
        // SAFETY: as above.
        Register(unsafe { _mm256_div_ps(self.0, other.0) })
    }

    #[inline(always)]
    fn where_equal(self, value: Self, others: Self, own: Self) -> Self {
        // SAFETY: as above.
        let places = unsafe { _mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, value.0) };
        // SAFETY: as above.
        Register(unsafe { _mm256_blendv_ps(own.0, others.0, places) })
    }

    #[inline(always)]
    fn where_nan(self, others: Self) -> Self {
        // SAFETY: as above.
        let places = unsafe { _mm256_cmp_ps::<_CMP_UNORD_Q>(self.0, self.0) };
        // SAFETY: as above.
        Register(unsafe { _mm256_blendv_ps(self.0, others.0, places) })
    }

    #[inline(always)]
    fn singles(self) -> [f32; 8] {
        bytemuck::cast(self.0)
    }

    #[inline(always)]
    fn halves(self) -> [u16; 8] {
        // SAFETY: F16C is there, as every loop of `Wide` is run by `run_by_avx2`.
        bytemuck::cast(unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self.0) })
    }
}
