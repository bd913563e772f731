//! Floats of 16 bits, by calculations without branches, so that loops over them vectorise.

/// The value of an IEEE 754 binary16. NaN keeps its payload.
#[inline(always)]
pub(super) fn from_half(bits: u16) -> f32 {
    let bits = u32::from(bits);
    // With the exponent in its place the value is 2^-112 times what it should be; those without a leading bit as well.
    let magnitude = f32::from_bits((bits & 0x7fff) << 13) * f32::from_bits(0x7780_0000);
    let is_special = bits & 0x7c00 == 0x7c00;
    let special = if is_special { 0x7f80_0000 } else { 0 };
    f32::from_bits(magnitude.to_bits() | special | (bits & 0x8000) << 16)
}

/// The binary16 nearest to a value, ties to even; beyond the largest it is infinity. NaN keeps the upper bits of its payload,
/// and is quiet: as F16C has it.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the upper bits were shifted or masked off")]
pub(super) fn to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 16 & 0x8000) as u16, bits & 0x7fff_ffff);
    // Added to a value below 2^-14, 0.5 has its last bit at 2^-24, the last bit of such halves: the sum is rounded there.
    let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let is_odd = magnitude >> 13 & 1;
    let rebiased = magnitude.wrapping_sub(112 << 23);
    let normal = rebiased.wrapping_add(0xfff).wrapping_add(is_odd) >> 13;
    let special = if 0x7f80_0000 < magnitude { 0x7e00 | magnitude >> 13 & 0x3ff } else { 0x7c00 };
    let finite = if magnitude < 113 << 23 { small } else { normal };
    // From 65520 on, halfway to what would come next, it is infinite.
    let found = if magnitude < 0x477f_f000 { finite } else { special };
    found as u16 | sign
}

/// The value of a bfloat16.
#[inline(always)]
pub(super) fn from_bfloat(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The bfloat16 nearest to a value, ties to even.
#[inline(always)]
pub(super) fn to_bfloat(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff).wrapping_add(bits >> 16 & 1);
    let is_nan = 0x7f80_0000 < bits & 0x7fff_ffff;
    (if is_nan { bits | 0x0040_0000 } else { rounded } >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use proptest::prelude::*;

    fn check(value: f32) {
        let (half, bfloat) = (f16::from_f32(value), bf16::from_f32(value));
        if value.is_nan() {
            assert!(f16::from_bits(to_half(value)).is_nan() && bf16::from_bits(to_bfloat(value)).is_nan());
            return;
        }
        assert_eq!((to_half(value), to_bfloat(value)), (half.to_bits(), bfloat.to_bits()), "{value:e}");
    }

    #[test]
    fn every_half_equals_another_implementation() {
        for bits in 0..=u16::MAX {
            let (half, bfloat) = (f16::from_bits(bits).to_f32(), bf16::from_bits(bits).to_f32());
            let same =
                |left: f32, right: f32| left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan();
            assert!(same(from_half(bits), half) && same(from_bfloat(bits), bfloat), "{bits:#x}");
            // The values themselves, and those halfway to their neighbours, and next to these.
            for value in [half, bfloat] {
                check(value);
                for step in [0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001] {
                    check(f32::from_bits(value.to_bits().wrapping_add(step)));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_value_is_rounded_to_the_nearest(bits in any::<u32>()) {
            check(f32::from_bits(bits));
        }
    }
}
