//! How the bits of a floating-point type are laid out.

use crate::number::NumberType;

/// A binary floating-point layout: sign, exponent, mantissa, from the highest bit down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FloatFormat {
    /// Bits of the exponent.
    pub(crate) exponent_bits: u32,
    /// Bits of the mantissa that are stored: one fewer than it has.
    pub(crate) mantissa_bits: u32,
    /// What is added to an exponent before it is stored.
    pub(crate) bias: i32,
    /// Which bits are no finite number.
    pub(crate) special: SpecialValues,
}

/// Which bits of a floating-point type are no finite number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpecialValues {
    /// The largest exponent: infinities and NaNs, as in IEEE 754.
    Ieee,
    /// None.
    None,
    /// What would be negative zero is the one NaN.
    NegativeZeroIsNan,
    /// No sign, no zero: all bits are the exponent, and all ones are the one NaN.
    PowersOfTwo,
}

impl FloatFormat {
    /// The layout of a floating-point type; `None` for other types.
    pub(crate) fn of(number: NumberType) -> Option<Self> {
        use SpecialValues::{Ieee, NegativeZeroIsNan, None as NoSpecial, PowersOfTwo};
        let (exponent_bits, mantissa_bits, bias, special) = match number {
            NumberType::Float4E2M1Fn => (2, 1, 1, NoSpecial),
            NumberType::Float6E2M3Fn => (2, 3, 1, NoSpecial),
            NumberType::Float6E3M2Fn => (3, 2, 3, NoSpecial),
            NumberType::Float8E3M4 => (3, 4, 3, Ieee),
            NumberType::Float8E4M3 => (4, 3, 7, Ieee),
            NumberType::Float8E4M3B11Fnuz => (4, 3, 11, NegativeZeroIsNan),
            NumberType::Float8E4M3Fnuz => (4, 3, 8, NegativeZeroIsNan),
            NumberType::Float8E5M2 => (5, 2, 15, Ieee),
            NumberType::Float8E5M2Fnuz => (5, 2, 16, NegativeZeroIsNan),
            NumberType::Float8E8M0Fnu => (8, 0, 127, PowersOfTwo),
            NumberType::BFloat16 => (8, 7, 127, Ieee),
            NumberType::Float16 => (5, 10, 15, Ieee),
            NumberType::Float32 => (8, 23, 127, Ieee),
            NumberType::Float64 => (11, 52, 1023, Ieee),
            _ => return None,
        };
        Some(Self { exponent_bits, mantissa_bits, bias, special })
    }

    /// The value that bits stand for. Exact: a `f64` holds every value of every layout here.
    pub(crate) fn value(self, bits: u64) -> f64 {
        let mantissa = bits & ((1 << self.mantissa_bits) - 1);
        let exponent = bits >> self.mantissa_bits & ((1 << self.exponent_bits) - 1);
        let largest = (1 << self.exponent_bits) - 1;
        if self.special == SpecialValues::PowersOfTwo {
            return if exponent == largest { f64::NAN } else { scaled(1, exponent, self.bias) };
        }
        let is_negative = bits >> (self.mantissa_bits + self.exponent_bits) & 1 == 1;
        let is_zero = exponent == 0 && mantissa == 0;
        let magnitude = match self.special {
            SpecialValues::Ieee if exponent == largest && mantissa == 0 => f64::INFINITY,
            SpecialValues::Ieee if exponent == largest => f64::NAN,
            SpecialValues::NegativeZeroIsNan if is_zero && is_negative => f64::NAN,
            _ => {
                let hidden = u64::from(exponent != 0) << self.mantissa_bits;
                let shift = i32::try_from(self.mantissa_bits).unwrap_or(0);
                scaled(mantissa | hidden, exponent.max(1), self.bias + shift)
            }
        };
        if is_negative { -magnitude } else { magnitude }
    }
}

/// `mantissa` times two to the power of `exponent - bias`.
fn scaled(mantissa: u64, exponent: u64, bias: i32) -> f64 {
    // Mantissas have 53 bits at most, so the product is exact, and so is a power of two that has to be taken in halves.
    let power = i32::try_from(exponent).unwrap_or(i32::MAX) - bias;
    let half = power / 2;
    mantissa as f64 * 2f64.powi(half) * 2f64.powi(power - half)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn every_half_equals_other_implementations() {
        let same =
            |left: f64, right: f64| left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan();
        let formats =
            (FloatFormat::of(NumberType::Float16).unwrap(), FloatFormat::of(NumberType::BFloat16).unwrap());
        for bits in 0..=u16::MAX {
            assert!(same(formats.0.value(bits.into()), f16::from_bits(bits).to_f64()), "{bits:#x}");
            assert!(same(formats.1.value(bits.into()), bf16::from_bits(bits).to_f64()), "{bits:#x}");
        }
        let format = FloatFormat::of(NumberType::Float64).unwrap();
        for value in [0.0, -0.0, 1.5, f64::MIN_POSITIVE, 5e-324, 1.234e-310, f64::MAX, f64::NEG_INFINITY] {
            assert!(same(format.value(value.to_bits()), value), "{value}");
        }
    }

    #[test]
    fn small_floats_have_their_limits() {
        // The largest finite value and the smallest above zero, from the data types' registered specifications.
        for (number, largest, smallest) in [
            (NumberType::Float4E2M1Fn, 6.0, 0.5),
            (NumberType::Float6E2M3Fn, 7.5, 0.125),
            (NumberType::Float6E3M2Fn, 28.0, 0.0625),
            (NumberType::Float8E3M4, 15.5, 0.015_625),
            (NumberType::Float8E4M3, 240.0, 0.001_953_125),
            (NumberType::Float8E4M3B11Fnuz, 30.0, 0.000_122_070_312_5),
            (NumberType::Float8E4M3Fnuz, 240.0, 0.000_976_562_5),
            (NumberType::Float8E5M2, 57344.0, 0.000_015_258_789_062_5),
            (NumberType::Float8E5M2Fnuz, 57344.0, 0.000_007_629_394_531_25),
        ] {
            let format = FloatFormat::of(number).unwrap();
            let values = || {
                (0..1u64 << number.bits()).map(|bits| format.value(bits)).filter(|value| value.is_finite())
            };
            assert_eq!(values().fold(0.0, f64::max), largest, "{number:?}");
            let above = values().filter(|value| 0.0 < *value);
            assert_eq!(above.fold(f64::INFINITY, f64::min), smallest, "{number:?}");
        }
    }
}
