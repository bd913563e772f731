//! Floats of one or two bytes that IEEE 754 does not name.

use std::num::FpCategory;

use half::bf16;
use swath_codecs::NumberType;

/// A float format of machine learning: at most 8 bits, in one byte each, or `bfloat16`.
///
/// Source: the Zarr extensions registry, "Data types"; OCP Microscaling Formats specification, version 1.0; the
/// documentation of ml_dtypes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SmallFloat {
    /// 4 bits, 2 of them exponent, 1 mantissa; neither infinity nor NaN.
    Float4E2M1Fn,
    /// 6 bits, 2 of them exponent, 3 mantissa; neither infinity nor NaN.
    Float6E2M3Fn,
    /// 6 bits, 3 of them exponent, 2 mantissa; neither infinity nor NaN.
    Float6E3M2Fn,
    /// 8 bits, 3 of them exponent, 4 mantissa; special values as in IEEE 754.
    Float8E3M4,
    /// 8 bits, 4 of them exponent, 3 mantissa; special values as in IEEE 754.
    Float8E4M3,
    /// 8 bits, 4 of them exponent with a bias of 11, 3 mantissa; no infinity, and NaN in place of -0.
    Float8E4M3B11Fnuz,
    /// 8 bits, 4 of them exponent, 3 mantissa; no infinity.
    Float8E4M3Fn,
    /// 8 bits, 4 of them exponent with a bias of 8, 3 mantissa; no infinity, and NaN in place of -0.
    Float8E4M3Fnuz,
    /// 8 bits, 5 of them exponent, 2 mantissa; special values as in IEEE 754.
    Float8E5M2,
    /// 8 bits, 5 of them exponent with a bias of 16, 2 mantissa; no infinity, and NaN in place of -0.
    Float8E5M2Fnuz,
    /// 8 bits of exponent: a power of two, or NaN; no zero.
    Float8E8M0Fnu,
    /// 16 bits: the upper half of a `float32`.
    BFloat16,
}

/// What the codes of a format beyond its finite numbers mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Specials {
    /// The largest exponent is infinity and NaN.
    Ieee,
    /// All bits but the sign set is NaN.
    AllOnesIsNan,
    /// The code of -0 is NaN.
    NegativeZeroIsNan,
    /// There are none.
    None,
}

/// A format of at most 8 bits with a sign.
struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    specials: Specials,
}

impl SmallFloat {
    /// Every format.
    pub(super) const ALL: [Self; 12] = [
        Self::Float4E2M1Fn,
        Self::Float6E2M3Fn,
        Self::Float6E3M2Fn,
        Self::Float8E3M4,
        Self::Float8E4M3,
        Self::Float8E4M3B11Fnuz,
        Self::Float8E4M3Fn,
        Self::Float8E4M3Fnuz,
        Self::Float8E5M2,
        Self::Float8E5M2Fnuz,
        Self::Float8E8M0Fnu,
        Self::BFloat16,
    ];

    /// The name in Zarr v3 and in ml_dtypes, such as `float8_e4m3`.
    #[must_use]
    pub fn name(self) -> &'static str {
        // Complex types are these with a prefix.
        self.complex_name().trim_start_matches("complex_")
    }

    /// The Zarr v3 name of the complex type whose parts are of this one.
    #[must_use]
    pub fn complex_name(self) -> &'static str {
        match self {
            Self::Float4E2M1Fn => "complex_float4_e2m1fn",
            Self::Float6E2M3Fn => "complex_float6_e2m3fn",
            Self::Float6E3M2Fn => "complex_float6_e3m2fn",
            Self::Float8E3M4 => "complex_float8_e3m4",
            Self::Float8E4M3 => "complex_float8_e4m3",
            Self::Float8E4M3B11Fnuz => "complex_float8_e4m3b11fnuz",
            Self::Float8E4M3Fn => "complex_float8_e4m3fn",
            Self::Float8E4M3Fnuz => "complex_float8_e4m3fnuz",
            Self::Float8E5M2 => "complex_float8_e5m2",
            Self::Float8E5M2Fnuz => "complex_float8_e5m2fnuz",
            Self::Float8E8M0Fnu => "complex_float8_e8m0fnu",
            Self::BFloat16 => "complex_bfloat16",
        }
    }

    /// Bytes of a float: 2 of `bfloat16`, 1 of all others.
    #[must_use]
    pub fn size_bytes(self) -> usize {
        if self == Self::BFloat16 { 2 } else { 1 }
    }

    /// What codecs that calculate with numbers call it; `None` of one that they do not know.
    pub(super) fn number(self) -> Option<NumberType> {
        match self {
            Self::Float4E2M1Fn => Some(NumberType::Float4E2M1Fn),
            Self::Float6E2M3Fn => Some(NumberType::Float6E2M3Fn),
            Self::Float6E3M2Fn => Some(NumberType::Float6E3M2Fn),
            Self::Float8E3M4 => Some(NumberType::Float8E3M4),
            Self::Float8E4M3 => Some(NumberType::Float8E4M3),
            Self::Float8E4M3B11Fnuz => Some(NumberType::Float8E4M3B11Fnuz),
            Self::Float8E4M3Fn => None,
            Self::Float8E4M3Fnuz => Some(NumberType::Float8E4M3Fnuz),
            Self::Float8E5M2 => Some(NumberType::Float8E5M2),
            Self::Float8E5M2Fnuz => Some(NumberType::Float8E5M2Fnuz),
            Self::Float8E8M0Fnu => Some(NumberType::Float8E8M0Fnu),
            Self::BFloat16 => Some(NumberType::BFloat16),
        }
    }

    fn format(self) -> Option<Format> {
        let format = |exponent_bits, mantissa_bits, bias, specials| {
            Some(Format { exponent_bits, mantissa_bits, bias, specials })
        };
        match self {
            Self::Float4E2M1Fn => format(2, 1, 1, Specials::None),
            Self::Float6E2M3Fn => format(2, 3, 1, Specials::None),
            Self::Float6E3M2Fn => format(3, 2, 3, Specials::None),
            Self::Float8E3M4 => format(3, 4, 3, Specials::Ieee),
            Self::Float8E4M3 => format(4, 3, 7, Specials::Ieee),
            Self::Float8E4M3B11Fnuz => format(4, 3, 11, Specials::NegativeZeroIsNan),
            Self::Float8E4M3Fn => format(4, 3, 7, Specials::AllOnesIsNan),
            Self::Float8E4M3Fnuz => format(4, 3, 8, Specials::NegativeZeroIsNan),
            Self::Float8E5M2 => format(5, 2, 15, Specials::Ieee),
            Self::Float8E5M2Fnuz => format(5, 2, 16, Specials::NegativeZeroIsNan),
            Self::Float8E8M0Fnu | Self::BFloat16 => None,
        }
    }

    /// The number that `bytes`, of this machine's byte order, stand for; `None` for another number of bytes than a float
    /// has. Bits beyond the format's are ignored.
    pub(crate) fn decode(self, bytes: &[u8]) -> Option<f64> {
        match (self.format(), bytes) {
            (Some(format), [code]) => Some(format.decode(*code)),
            (None, [u8::MAX]) => Some(f64::NAN),
            (None, [code]) => Some(2_f64.powi(i32::from(*code) - 127)),
            (None, [first, second]) => Some(bf16::from_ne_bytes([*first, *second]).to_f64()),
            _ => None,
        }
    }

    /// The float nearest to `number`, ties to an even mantissa; `None` where the format has no such: no NaN, no infinity,
    /// no zero, or nothing so large.
    pub(crate) fn encode(self, number: f64) -> Option<Vec<u8>> {
        if self == Self::BFloat16 {
            let nearest = if number.is_nan() { bf16::NAN } else { bf16::from_f64(number) };
            let fits = nearest.is_finite() || !number.is_finite();
            return fits.then(|| nearest.to_ne_bytes().to_vec());
        }
        let code = match (self.format(), number.classify()) {
            (Some(format), FpCategory::Nan) => format.nan()?,
            (None, FpCategory::Nan) => u8::MAX,
            (Some(format), FpCategory::Zero) => {
                let has_sign = format.specials != Specials::NegativeZeroIsNan && number.is_sign_negative();
                if has_sign { format.sign() } else { 0 }
            }
            _ => self.nearest_code(number)?,
        };
        Some(vec![code])
    }

    /// The code of the finite number nearest to `number`, which is not 0; the one code of infinity for infinity.
    fn nearest_code(self, number: f64) -> Option<u8> {
        let bits = self.format().map_or(8, |format| 1 + format.exponent_bits + format.mantissa_bits);
        let codes = (0..=u8::MAX).take(1 << bits);
        let numbers = codes.filter_map(|code| Some((code, self.decode(&[code])?)));
        if number.is_infinite() {
            return numbers.into_iter().find(|(_, found)| *found == number).map(|(code, _)| code);
        }
        let finite: Vec<(u8, f64)> = numbers.filter(|(_, found)| found.is_finite()).collect();
        let largest = finite.iter().fold(f64::NEG_INFINITY, |largest, (_, found)| largest.max(*found));
        let least = finite.iter().fold(f64::INFINITY, |least, (_, found)| least.min(*found));
        if number < least || largest < number {
            return None;
        }
        let same_sign = finite.into_iter().filter(|(_, found)| found.is_sign_negative() == (number < 0.0));
        let distance = |found: f64| (found - number).abs();
        // Neighbours differ in their last bit: of two that are equally near one is even.
        let nearest = same_sign.min_by(|(left_code, left), (right_code, right)| {
            distance(*left).total_cmp(&distance(*right)).then((left_code & 1).cmp(&(right_code & 1)))
        });
        nearest.map(|(code, _)| code)
    }
}

impl Format {
    fn sign(&self) -> u8 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// The usual NaN: quiet and, where NaN has signs, positive.
    fn nan(&self) -> Option<u8> {
        let exponent = ((1 << self.exponent_bits) - 1) << self.mantissa_bits;
        match self.specials {
            Specials::Ieee => Some(exponent | 1 << (self.mantissa_bits - 1)),
            Specials::AllOnesIsNan => Some(self.sign() - 1),
            Specials::NegativeZeroIsNan => Some(self.sign()),
            Specials::None => None,
        }
    }

    fn decode(&self, code: u8) -> f64 {
        let magnitude = code & (self.sign() - 1);
        let sign = if code & self.sign() == 0 { 1.0 } else { -1.0 };
        let exponent_max = (1 << self.exponent_bits) - 1;
        let exponent = magnitude >> self.mantissa_bits;
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        match self.specials {
            Specials::Ieee if exponent == exponent_max && mantissa == 0 => return sign * f64::INFINITY,
            Specials::Ieee if exponent == exponent_max => return f64::NAN,
            Specials::AllOnesIsNan if magnitude == self.sign() - 1 => return f64::NAN,
            Specials::NegativeZeroIsNan if code == self.sign() => return f64::NAN,
            _ => {}
        }
        let one = f64::from(1_u8 << self.mantissa_bits);
        let (significand, exponent) = match exponent {
            0 => (f64::from(mantissa) / one, 1),
            exponent => (1.0 + f64::from(mantissa) / one, i32::from(exponent)),
        };
        sign * significand * 2_f64.powi(exponent - self.bias)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What ml_dtypes 0.6 makes of 1, NaN, infinity and its largest number, and of the codes 1 and 127.
    #[test]
    fn the_codes_are_those_of_ml_dtypes() {
        type Case = (SmallFloat, u8, Option<u8>, Option<u8>, f64);
        let cases: [Case; 11] = [
            (SmallFloat::Float4E2M1Fn, 2, None, None, 0.5),
            (SmallFloat::Float6E2M3Fn, 8, None, None, 0.125),
            (SmallFloat::Float6E3M2Fn, 12, None, None, 0.0625),
            (SmallFloat::Float8E3M4, 48, Some(120), Some(112), 0.015_625),
            (SmallFloat::Float8E4M3, 56, Some(124), Some(120), 0.001_953_125),
            (SmallFloat::Float8E4M3B11Fnuz, 88, Some(128), None, 0.000_122_070_312_5),
            (SmallFloat::Float8E4M3Fn, 56, Some(127), None, 0.001_953_125),
            (SmallFloat::Float8E4M3Fnuz, 64, Some(128), None, 0.000_976_562_5),
            (SmallFloat::Float8E5M2, 60, Some(126), Some(124), 0.000_015_258_789_062_5),
            (SmallFloat::Float8E5M2Fnuz, 64, Some(128), None, 0.000_007_629_394_531_25),
            (SmallFloat::Float8E8M0Fnu, 127, Some(255), None, 2_f64.powi(-126)),
        ];
        for (format, one, nan, infinity, least) in cases {
            let code = |number: f64| format.encode(number).map(|bytes| bytes[0]);
            let found = (code(1.0), code(f64::NAN), code(f64::INFINITY));
            assert_eq!(found, (Some(one), nan, infinity), "{format:?}");
            assert_eq!(format.decode(&[1]), Some(least), "{format:?}");
            assert_eq!(code(1e9), (format == SmallFloat::Float8E8M0Fnu).then_some(157), "{format:?}");
        }
    }

    #[test]
    fn every_code_leads_back_to_itself() {
        for format in SmallFloat::ALL.into_iter().filter(|format| format.size_bytes() == 1) {
            let bits = format.format().map_or(8, |format| 1 + format.exponent_bits + format.mantissa_bits);
            for code in (0..=u8::MAX).take(1 << bits) {
                let number = format.decode(&[code]).unwrap();
                let again = format.decode(&format.encode(number).unwrap()).unwrap();
                assert!(
                    again.to_bits() == number.to_bits() || number.is_nan() && again.is_nan(),
                    "{format:?} {code}"
                );
            }
        }
        assert_eq!(SmallFloat::Float8E8M0Fnu.encode(0.0), None);
        assert_eq!(SmallFloat::Float8E5M2.encode(-0.0), Some(vec![128]));
        assert_eq!(SmallFloat::Float8E5M2Fnuz.encode(-0.0), Some(vec![0]));
    }

    #[test]
    fn ties_go_to_even() {
        let code = |number| SmallFloat::Float8E4M3.encode(number);
        // 1 is 0x38, and neighbours are an eighth apart there.
        assert_eq!((code(1.0625), code(1.1875)), (Some(vec![0x38]), Some(vec![0x3a])));
        assert_eq!(SmallFloat::BFloat16.encode(1.0), Some(0x3f80_u16.to_ne_bytes().to_vec()));
        assert_eq!(SmallFloat::BFloat16.encode(3.4e38), None);
        assert_eq!(SmallFloat::BFloat16.decode(&0x7fc0_u16.to_ne_bytes()).map(f64::is_nan), Some(true));
    }
}
