//! Values rounded to fewer bits, which compress better.

/// Bits of the mantissa of a 32-bit float.
pub(super) const MANTISSA_BITS: u8 = 23;

/// Keeps so many bits of each value's mantissa: the nearest such value, the even one of two. The relative error is at most
/// `2^-(bits + 1)`. What is no number stays as it is.
pub(super) fn round(values: &mut [f32], bits: u8) {
    if MANTISSA_BITS <= bits {
        return;
    }
    let dropped = u32::from(MANTISSA_BITS - bits);
    let mask = u32::MAX << dropped;
    let half = (1u32 << (dropped - 1)) - 1;
    for value in values {
        if value.is_finite() {
            let stored = value.to_bits();
            let odd = stored >> dropped & 1;
            // A carry goes on to the exponent, as it has to; beyond the largest number it would make infinity.
            let rounded = f32::from_bits(stored.wrapping_add(half + odd) & mask);
            if rounded.is_finite() {
                *value = rounded;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_to_the_nearest() {
        let rounded = |value: f32, bits| {
            let mut values = [value];
            round(&mut values, bits);
            values[0]
        };
        assert_eq!(rounded(1.0 + 1.0 / 16.0, 3), 1.0);
        assert_eq!(rounded(1.0 + 3.0 / 16.0, 3), 1.25);
        assert_eq!(rounded(-1.99, 3), -2.0);
        assert_eq!((rounded(273.16, 23), rounded(f32::MAX, 1)), (273.16, f32::MAX));
        assert!(rounded(f32::NAN, 2).is_nan() && rounded(f32::INFINITY, 2).is_infinite());
        for value in [3.7f32, -1e-20, 1e30, 273.15] {
            assert!(((rounded(value, 7) - value) / value).abs() <= 1.0 / 256.0);
        }
    }
}
