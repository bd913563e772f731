//! The `bitround` codec: numbers rounded to fewer bits, which compress better. What is stored is what is read.
//!
//! Zarr v3 codec extension "bitround"; for floats as numcodecs' `bitround`. Whole numbers are rounded from their highest
//! set bit on, negative ones as the unsigned numbers that their bits are, as the zarrs project does.

use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::error::Error;
use crate::float_format::FloatFormat;
use crate::layout::Element;
use crate::number::{NumberClass, NumberType};

const NAME: &str = "bitround";

/// Rounds numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitRoundCodec {
    /// Bits to keep: of a float's mantissa, or of a whole number from its highest set bit on. Where a number has no more,
    /// it stays as it is.
    pub keep_bits: u32,
}

/// The codec for elements of a known type; `None` for one that it cannot round, but can read.
#[derive(Debug, Clone, Copy)]
pub(super) struct BitRoundFilter {
    keep_bits: u32,
    number: Option<NumberType>,
}

impl BitRoundCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["id", "keepbits"])?;
        let keep_bits = fields.integer("keepbits", 0, 64)?.and_then(|bits| u32::try_from(bits).ok());
        let keep_bits = keep_bits.ok_or_else(|| fields.missing("keepbits", "a number of bits"))?;
        Ok(Self { keep_bits })
    }

    pub(crate) fn to_json(self) -> Value {
        json!({"keepbits": self.keep_bits})
    }

    pub(crate) fn describe(self) -> String {
        format!("bitround({} bits)", self.keep_bits)
    }

    pub(super) fn compile(self, element: Element) -> BitRoundFilter {
        let number = element.components().map(|(number, _)| number);
        let number = number.filter(|number| number.class() != NumberClass::Bool);
        BitRoundFilter { keep_bits: self.keep_bits, number }
    }
}

impl BitRoundFilter {
    pub(super) fn encode(self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        let Some(number) = self.number else {
            return Err(Error::unsupported(NAME, "wanted numbers to round, found elements of another kind"));
        };
        let mantissa_bits = FloatFormat::of(number).map(|format| format.mantissa_bits);
        match number.size_bytes() {
            1 => map(source, target, |bytes| self.rounded(u8::from_ne_bytes(bytes), mantissa_bits)),
            2 => map(source, target, |bytes| self.rounded(u16::from_ne_bytes(bytes), mantissa_bits)),
            4 => map(source, target, |bytes| self.rounded(u32::from_ne_bytes(bytes), mantissa_bits)),
            _ => map(source, target, |bytes| self.rounded(u64::from_ne_bytes(bytes), mantissa_bits)),
        }
        Ok(())
    }

    /// A number's bits, rounded to nearest, ties to even.
    fn rounded<const N: usize, U: Bits<N>>(self, bits: U, mantissa_bits: Option<u32>) -> [u8; N] {
        let value = bits.widened();
        let dropped = match mantissa_bits {
            Some(mantissa_bits) => mantissa_bits.saturating_sub(self.keep_bits),
            None => (64 - value.leading_zeros()).saturating_sub(self.keep_bits),
        };
        if dropped == 0 {
            return U::narrowed(value);
        }
        let round = (1u64 << (dropped - 1)) - 1 + (value.checked_shr(dropped).unwrap_or(0) & 1);
        let sum = match mantissa_bits {
            // numcodecs adds in whole numbers, which wrap.
            Some(_) => value.wrapping_add(round),
            None => value.saturating_add(round).min(U::MAX),
        };
        U::narrowed(sum & u64::MAX.checked_shl(dropped).unwrap_or(0))
    }
}

/// Unsigned numbers of `N` bytes.
trait Bits<const N: usize> {
    /// The largest.
    const MAX: u64;

    fn widened(self) -> u64;

    /// The low bits, in native byte order.
    fn narrowed(wide: u64) -> [u8; N];
}

macro_rules! bits {
    ($($number:ty, $bytes:literal);*) => {$(
        impl Bits<$bytes> for $number {
            const MAX: u64 = <$number>::MAX as u64;

            fn widened(self) -> u64 {
                self.into()
            }

            #[expect(clippy::allow_attributes, reason = "one of four has nothing to cut")]
            #[allow(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
            fn narrowed(wide: u64) -> [u8; $bytes] {
                (wide as $number).to_ne_bytes()
            }
        }
    )*};
}

bits!(u8, 1; u16, 2; u32, 4; u64, 8);

fn map<const N: usize>(source: &[u8], target: &mut [u8], step: impl Fn([u8; N]) -> [u8; N]) {
    for (target, source) in target.as_chunks_mut::<N>().0.iter_mut().zip(source.as_chunks::<N>().0) {
        *target = step(*source);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round<const N: usize>(number: NumberType, keep_bits: u32, source: [u8; N]) -> [u8; N] {
        let mut target = [0; N];
        let filter = BitRoundCodec { keep_bits }.compile(Element::number(number));
        filter.encode(&source, &mut target).unwrap();
        target
    }

    #[test]
    fn floats_are_rounded_as_numcodecs_does() {
        let round = |value: f32| f32::from_ne_bytes(round(NumberType::Float32, 3, value.to_ne_bytes()));
        // The values of zarrs' own test, which agree with numcodecs.
        for (value, wanted) in [(0.0, 0.0), (1.234_567_9, 1.25), (-8.358_719, -8.0), (98_765.43, 98_304.0)] {
            assert_eq!(round(value), wanted);
        }
        assert_eq!(round(f32::INFINITY), f32::INFINITY);
    }

    #[test]
    fn whole_numbers_are_rounded_from_their_highest_bit() {
        let values = [
            (0, 0),
            (1024, 1024),
            (1280, 1280),
            (1664, 1536),
            (1685, 1792),
            (123_145_182, 117_440_512),
            (u32::MAX, 3_758_096_384),
        ];
        for (value, wanted) in values {
            let rounded = round(NumberType::UInt32, 3, value.to_ne_bytes());
            assert_eq!(u32::from_ne_bytes(rounded), wanted, "{value}");
        }
    }

    #[test]
    fn more_bits_than_there_are_change_nothing() {
        for number in [NumberType::BFloat16, NumberType::Float16, NumberType::Int16] {
            assert_eq!(round(number, 16, [0xAB, 0xCD]), [0xAB, 0xCD]);
        }
        let filter = BitRoundCodec { keep_bits: 3 }.compile(Element::opaque(4, 1));
        assert!(filter.encode(&[0; 4], &mut [0; 4]).is_err());
    }
}
