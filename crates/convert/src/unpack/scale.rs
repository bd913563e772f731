//! From packed numbers to values.

use super::sample::Sample;
use crate::Packing;

/// `value = (reference + packed * binary) * decimal`, in the order and precision of ecCodes, so that values are equal to the last bit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    reference: f64,
    binary: f64,
    decimal: f64,
}

impl Scale {
    pub(super) fn of(packing: &Packing) -> Scale {
        Scale {
            reference: packing.reference,
            binary: power(2.0, packing.binary_scale),
            decimal: power(10.0, -packing.decimal_scale),
        }
    }

    /// The value of a packed number.
    #[inline(always)]
    pub(super) fn value(&self, packed: f64) -> f64 {
        (packed * self.binary + self.reference) * self.decimal
    }

    /// The value of packed numbers that have no bits: the reference itself. The manual's formula divides it by a power of ten, but who
    /// writes and reads constant fields does not.
    pub(super) fn constant(&self) -> f64 {
        self.reference
    }

    /// Values of packed numbers, one for one.
    #[inline(always)]
    pub(super) fn fill<T: Sample>(&self, packed: &[u32], target: &mut [T]) {
        for (value, packed) in target.iter_mut().zip(packed) {
            *value = T::from_f64(self.value(f64::from(*packed)));
        }
    }

    /// The same of numbers with a sign, which are exact up to 2^53, as in ecCodes.
    #[inline(always)]
    pub(super) fn fill_wide<T: Sample>(&self, numbers: &[i64], target: &mut [T]) {
        // Processors convert 32 bits by vectors, and 64 bits one by one.
        let is_narrow = |number: &i64| i64::from(narrow(*number)) == *number;
        if numbers.iter().fold(true, |all, number| all & is_narrow(number)) {
            for (value, number) in target.iter_mut().zip(numbers) {
                *value = T::from_f64(self.value(f64::from(narrow(*number))));
            }
        } else {
            for (value, number) in target.iter_mut().zip(numbers) {
                *value = T::from_f64(self.value(*number as f64));
            }
        }
    }
}

/// The low 32 bits.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the low bits are what is asked for")]
fn narrow(number: i64) -> i32 {
    number as i32
}

/// A power as ecCodes computes it: negative ones as one division by the positive one.
fn power(base: f64, exponent: i32) -> f64 {
    let size = (0..exponent.unsigned_abs().min(EXPONENT_MAX)).fold(1.0, |power, _| power * base);
    if exponent < 0 { 1.0 / size } else { size }
}

/// Beyond it all powers are infinite.
const EXPONENT_MAX: u32 = 1100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_exact_where_they_can_be() {
        assert_eq!((power(2.0, 10), power(2.0, -3), power(10.0, 22)), (1024.0, 0.125, 1e22));
        assert_eq!((power(10.0, -1), power(2.0, 32_767)), (0.1, f64::INFINITY));
    }
}
