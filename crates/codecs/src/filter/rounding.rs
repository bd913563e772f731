//! Numbers of one type made of numbers of another, with every way of rounding.
//!
//! Zarr v3 codec extension "cast_value", "rounding" and "out_of_range".

use super::scalar::whole_range;
use crate::float_format::{FloatFormat, SpecialValues};
use crate::number::{NumberClass, NumberType};

/// What becomes of a number between two that a type holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundingMode {
    /// The nearer one; of two equally near, the one whose last digit is even.
    NearestEven,
    /// The one nearer to zero.
    TowardsZero,
    /// The larger one.
    TowardsPositive,
    /// The smaller one.
    TowardsNegative,
    /// The nearer one; of two equally near, the one farther from zero.
    NearestAway,
}

/// What becomes of a number that a type does not reach to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutOfRange {
    /// An error.
    Refuse,
    /// The nearest that the type has; an infinity where it has them.
    Clamp,
    /// What is left modulo the number of values of a type of whole numbers.
    Wrap,
}

/// A number before it is made one of another type.
#[derive(Debug, Clone, Copy)]
pub(super) enum Exact {
    Whole(i128),
    Float(f64),
}

impl From<f64> for Exact {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

/// A finite number: `mantissa` times two to the power of `exponent`.
struct Parts {
    is_negative: bool,
    mantissa: u64,
    exponent: i32,
}

impl Exact {
    /// The number of a type of whole numbers that this becomes; `None` where it may not become one.
    #[expect(clippy::cast_possible_truncation, reason = "what does not fit is told first")]
    pub(super) fn whole(self, number: NumberType, rounding: RoundingMode, out: OutOfRange) -> Option<i128> {
        /// Floats from here on are multiples of more than any type's number of values.
        const TWO_126: f64 = 85_070_591_730_234_615_865_843_651_857_942_052_864.0;
        let whole = match self {
            Self::Whole(whole) => whole,
            Self::Float(value) if !value.is_finite() => return None,
            Self::Float(value) => match rounding.whole(value) {
                value if value.abs() < TWO_126 => value as i128,
                _ if out == OutOfRange::Wrap => 0,
                value => {
                    if value < 0.0 {
                        i128::MIN
                    } else {
                        i128::MAX
                    }
                }
            },
        };
        let (min, max) = whole_range(number);
        match out {
            _ if min <= whole && whole <= max => Some(whole),
            OutOfRange::Refuse => None,
            OutOfRange::Clamp => Some(whole.clamp(min, max)),
            OutOfRange::Wrap if number.class() == NumberClass::Float => None,
            OutOfRange::Wrap => Some((whole - min).rem_euclid(max - min + 1) + min),
        }
    }

    /// Sign, mantissa and exponent of a finite number other than zero.
    fn parts(self) -> Parts {
        match self {
            Self::Whole(whole) => Parts {
                is_negative: whole < 0,
                // No type of whole numbers has more than 64 bits.
                mantissa: u64::try_from(whole.unsigned_abs()).unwrap_or(u64::MAX),
                exponent: 0,
            },
            Self::Float(value) => {
                let bits = value.to_bits();
                let field = i32::try_from(bits >> 52 & 0x7FF).unwrap_or(0);
                let hidden = u64::from(field != 0) << 52;
                Parts {
                    is_negative: value.is_sign_negative(),
                    mantissa: bits & ((1 << 52) - 1) | hidden,
                    exponent: field.max(1) - 1075,
                }
            }
        }
    }
}

impl RoundingMode {
    fn whole(self, value: f64) -> f64 {
        match self {
            Self::NearestEven => value.round_ties_even(),
            Self::TowardsZero => value.trunc(),
            Self::TowardsPositive => value.ceil(),
            Self::TowardsNegative => value.floor(),
            Self::NearestAway => value.round(),
        }
    }

    /// Whether a number is rounded away from zero: `rest` is how far it is from the one nearer to zero, in units of which
    /// the next one is `2 * half` away.
    fn is_up(self, is_negative: bool, is_odd: bool, rest: u128, half: u128) -> bool {
        match self {
            Self::NearestEven => half < rest || (rest == half && is_odd),
            Self::NearestAway => half <= rest,
            Self::TowardsZero => false,
            Self::TowardsPositive => rest != 0 && !is_negative,
            Self::TowardsNegative => rest != 0 && is_negative,
        }
    }
}

impl FloatFormat {
    /// The number of this layout that a number becomes; `None` where it may not become one.
    pub(super) fn rounded(self, exact: Exact, rounding: RoundingMode, out: OutOfRange) -> Option<f64> {
        match exact {
            Exact::Float(value) if value.is_nan() => {
                (self.special != SpecialValues::None).then_some(f64::NAN)
            }
            Exact::Float(value) if value.is_infinite() => {
                (self.special == SpecialValues::Ieee).then_some(value)
            }
            Exact::Whole(0) if self.special != SpecialValues::PowersOfTwo => Some(0.0),
            Exact::Float(0.0) if self.special != SpecialValues::PowersOfTwo => match exact {
                Exact::Float(value) if self.special != SpecialValues::NegativeZeroIsNan => Some(value),
                _ => Some(0.0),
            },
            exact => {
                let parts = exact.parts();
                match self.finite_bits(&parts, rounding) {
                    Some(bits) => Some(if parts.is_negative { -self.value(bits) } else { self.value(bits) }),
                    None if out == OutOfRange::Clamp => Some(self.clamped(&parts)),
                    None => None,
                }
            }
        }
    }

    /// The bits, of at most eight, of the number nearest to one; of NaN where the layout has it, else of zero, for what
    /// it does not reach to.
    pub(super) fn nearest_bits(self, value: f64) -> u8 {
        let sign = u64::from(value.is_sign_negative()) << (self.exponent_bits + self.mantissa_bits);
        let ones = (1 << (self.exponent_bits + self.mantissa_bits)) - 1;
        let bits = match (self.special, value.is_finite()) {
            (SpecialValues::Ieee, false) => {
                let infinity = self.largest_finite() + 1;
                sign | if value.is_nan() { ones } else { infinity }
            }
            (SpecialValues::NegativeZeroIsNan, false) => 1 << (self.exponent_bits + self.mantissa_bits),
            (SpecialValues::PowersOfTwo, false) => ones,
            (SpecialValues::None, false) => 0,
            (_, true) => match self.finite_bits(&Exact::Float(value).parts(), RoundingMode::NearestEven) {
                Some(0) if self.special == SpecialValues::NegativeZeroIsNan => 0,
                Some(bits) => sign | bits,
                None => sign | self.largest_finite(),
            },
        };
        bits.to_le_bytes()[0]
    }

    /// The bits of a number without its sign; `None` where this layout does not reach to it.
    fn finite_bits(self, parts: &Parts, rounding: RoundingMode) -> Option<u64> {
        let has_only_exponent = self.special == SpecialValues::PowersOfTwo;
        if has_only_exponent && (parts.is_negative || parts.mantissa == 0) {
            return None;
        }
        if parts.mantissa == 0 {
            return Some(0);
        }
        let mantissa_bits = i32::try_from(self.mantissa_bits).unwrap_or(0);
        let highest = 63 - i32::try_from(parts.mantissa.leading_zeros()).unwrap_or(0);
        // Of the least number whose mantissa is whole; those below it have its steps.
        let least = if has_only_exponent { -self.bias } else { 1 - self.bias };
        let exponent = (highest + parts.exponent).max(least);
        let shift = exponent - mantissa_bits - parts.exponent;
        let mantissa = u128::from(parts.mantissa);
        let steps = match u32::try_from(shift) {
            Err(_) => mantissa << shift.unsigned_abs(),
            // Farther than half a step from the next number.
            Ok(shift) if 65 < shift => u128::from(rounding.is_up(parts.is_negative, false, 1, 2)),
            Ok(shift) => {
                let (steps, rest) = (mantissa >> shift, mantissa & ((1 << shift) - 1));
                // Without a shift there is no rest, and half of it does not matter.
                let half = (1 << shift) >> 1;
                steps + u128::from(rest != 0 && rounding.is_up(parts.is_negative, steps & 1 == 1, rest, half))
            }
        };
        let steps = u64::try_from(steps).ok()?;
        let field = u64::try_from(exponent + self.bias - i32::from(!has_only_exponent)).ok()?;
        let bits = match (has_only_exponent, steps) {
            (true, 0) => return None,
            (true, steps) => field + (steps - 1),
            (false, steps) => (field << self.mantissa_bits) + steps,
        };
        (bits <= self.largest_finite()).then_some(bits)
    }

    /// The bits of the largest finite number.
    fn largest_finite(self) -> u64 {
        let bits = self.exponent_bits + self.mantissa_bits;
        match self.special {
            SpecialValues::Ieee => (((1 << self.exponent_bits) - 1) << self.mantissa_bits) - 1,
            SpecialValues::None | SpecialValues::NegativeZeroIsNan => (1 << bits) - 1,
            SpecialValues::PowersOfTwo => (1 << bits) - 2,
        }
    }

    /// What a number becomes that this layout does not reach to.
    fn clamped(self, parts: &Parts) -> f64 {
        let largest = self.value(self.largest_finite());
        match self.special {
            SpecialValues::Ieee if parts.is_negative => f64::NEG_INFINITY,
            SpecialValues::Ieee => f64::INFINITY,
            // No sign: what is not positive becomes the least, and so does what is below that.
            SpecialValues::PowersOfTwo if parts.is_negative || Self::is_small(parts) => self.value(0),
            SpecialValues::PowersOfTwo => largest,
            SpecialValues::None | SpecialValues::NegativeZeroIsNan if parts.is_negative => -largest,
            SpecialValues::None | SpecialValues::NegativeZeroIsNan => largest,
        }
    }

    fn is_small(parts: &Parts) -> bool {
        parts.exponent < 0
    }
}
