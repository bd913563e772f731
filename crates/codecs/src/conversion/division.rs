//! Division of many values by one.
//!
//! Where a product and a sum are one instruction, three of them give the very quotient that a division rounds to, in less
//! time than a division: the product with the reciprocal, what is left of the value then, and that times the reciprocal on
//! top (Markstein; Brisebarre, Muller and Raina, "Accelerating correctly rounded floating-point division when the divisor
//! is known in advance", 2004). It takes a reciprocal that is rounded to the nearest, and numbers that are far from both ends
//! of the type.

use super::floats::Working;
use super::simd::Vectors;

/// What values are divided by.
#[derive(Clone, Copy)]
pub(super) struct Divisor<W> {
    value: W,
    /// `None` where only a division will do.
    reciprocal: Option<W>,
}

impl<W: Working> Divisor<W> {
    #[inline(always)]
    pub(super) fn new(value: W) -> Divisor<W> {
        Divisor { value, reciprocal: W::reciprocal(value) }
    }

    /// What values are divided by.
    #[inline(always)]
    pub(super) fn value(&self) -> W {
        self.value
    }

    /// What [`Working::quotient_by`] takes; `None` where loops are to divide.
    #[inline(always)]
    pub(super) fn reciprocal<V: Vectors>(&self) -> Option<W> {
        self.reciprocal.filter(|_| V::FUSES)
    }
}

/// The reciprocal to divide values of `f32` by; `None` of divisors too close to an end of the type.
#[inline(always)]
pub(super) fn reciprocal(divisor: f32) -> Option<f32> {
    let magnitude = divisor.abs();
    (DIVISOR_MIN..=DIVISOR_MAX).contains(&magnitude).then_some(1.0 / divisor)
}

/// The quotient, and whether it may be another one than a division's. NaN is NaN.
#[inline(always)]
#[expect(clippy::manual_range_contains, reason = "NaN lies in no range, and needs no division")]
pub(super) fn quotient(value: f32, divisor: f32, reciprocal: f32) -> (f32, bool) {
    let near = value * reciprocal;
    let left = near.mul_add(-divisor, value);
    let magnitude = near.abs();
    (left.mul_add(reciprocal, near), (magnitude < QUOTIENT_MIN) | (QUOTIENT_MAX < magnitude))
}

/// Of such divisors and quotients, what is left is a multiple of 2^-(40 + 60 + 2 * 23), which `f32` has exactly: it goes down
/// to 2^-149. Values are below 2^101.
const DIVISOR_MIN: f32 = 1.0 / DIVISOR_MAX;
const DIVISOR_MAX: f32 = (1u64 << 40) as f32;
const QUOTIENT_MIN: f32 = 1.0 / QUOTIENT_MAX;
const QUOTIENT_MAX: f32 = (1u64 << 60) as f32;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(value: f32, divisor: f32) {
        let Some(reciprocal) = reciprocal(divisor) else { return };
        let (found, is_outside) = quotient(value, divisor, reciprocal);
        let wanted = value / divisor;
        let is_equal = found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan();
        assert!(is_equal || is_outside, "{value:e} / {divisor:e}: {found:e}, not {wanted:e}");
    }

    /// Mantissas next to powers of two, and to each other, are the hard ones.
    #[test]
    fn quotients_of_hard_mantissas_are_exact() {
        let hard = |at: u32| f32::from_bits(0x3f80_0000 + (at.wrapping_mul(0x5851_F42D) >> 9));
        for divisor in (0..300).map(hard).chain((1..300).map(|less| f32::from_bits(0x4000_0000 - less))) {
            for step in 0..300 {
                for bits in [0x3f80_0000 + step, 0x4000_0000 - step, divisor.to_bits().wrapping_add(step)] {
                    check(f32::from_bits(bits), divisor);
                    check(divisor * f32::from_bits(bits), divisor);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_quotient_is_exact(value in any::<u32>(), divisor in any::<u32>()) {
            check(f32::from_bits(value), f32::from_bits(divisor));
        }

        #[test]
        fn quotients_of_all_mantissas_are_exact(value in 0u32..1 << 23, divisor in 0u32..1 << 23) {
            check(f32::from_bits(0x3f80_0000 | value), f32::from_bits(0x3f80_0000 | divisor));
        }
    }
}
