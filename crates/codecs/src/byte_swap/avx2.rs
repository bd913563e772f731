//! The plain loops compiled for AVX2, whose byte shuffle makes one instruction of a register's units, where the machine
//! has it.
//!
//! Guarded by the tests of `byte_swap`.

#![expect(unsafe_code, reason = "calls of functions that need AVX2")]

use super::{copy_units, swap_units};

pub(super) fn swap_in_place<const N: usize>(bytes: &mut [u8]) {
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 is there, checked above.
        unsafe { swap_by_avx2::<N>(bytes) }
    } else {
        swap_units::<N>(bytes);
    }
}

pub(super) fn swap_into<const N: usize>(source: &[u8], target: &mut [u8]) {
    if is_x86_feature_detected!("avx2") {
        // SAFETY: AVX2 is there, checked above.
        unsafe { copy_by_avx2::<N>(source, target) }
    } else {
        copy_units::<N>(source, target);
    }
}

#[target_feature(enable = "avx2")]
fn swap_by_avx2<const N: usize>(bytes: &mut [u8]) {
    swap_units::<N>(bytes);
}

#[target_feature(enable = "avx2")]
fn copy_by_avx2<const N: usize>(source: &[u8], target: &mut [u8]) {
    copy_units::<N>(source, target);
}
