//! The `delta` codec, as numcodecs' `delta`: the first element, then the difference of each from the one before.

use serde_json::{Map, Value};

use super::block::{Block, Wide, map_blocks, rounded};
use super::number_of;
use crate::configuration::Configuration;
use crate::error::Error;
use crate::layout::{ByteOrder, Element};
use crate::number::{NumberClass, NumberType};
use crate::numpy_type::NumpyType;

const NAME: &str = "delta";

/// Stores differences of neighbours in C order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaCodec {
    /// The type that elements are seen as; `None` is what they are.
    pub dtype: Option<NumpyType>,
    /// The type of what is stored; `None` is that of the elements.
    pub astype: Option<NumpyType>,
}

/// The codec for elements of known types.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeltaFilter {
    decoded: NumberType,
    pub(super) encoded: NumberType,
}

impl DeltaCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["id", "dtype", "astype"])?;
        let dtype = NumpyType::optional(&fields, "dtype")?;
        Ok(Self { dtype, astype: NumpyType::optional(&fields, "astype")? })
    }

    pub(crate) fn to_json(self) -> Value {
        let mut fields = Map::new();
        for (name, number) in [("dtype", self.dtype), ("astype", self.astype)] {
            if let Some(number) = number {
                fields.insert(name.to_owned(), number.to_json());
            }
        }
        Value::Object(fields)
    }

    pub(crate) fn describe(self) -> String {
        match self.astype.or(self.dtype) {
            Some(stored) => format!("delta({})", stored.number.name()),
            None => NAME.to_owned(),
        }
    }

    pub(crate) fn stored_order(self) -> Option<ByteOrder> {
        self.astype.or(self.dtype).map(|stored| stored.order)
    }

    pub(super) fn compile(self, element: Element) -> Result<DeltaFilter, Error> {
        let decoded = number_of(NAME, element, self.dtype.map(|dtype| dtype.number))?;
        let encoded = self.astype.map_or(decoded, |astype| astype.number);
        match (decoded.numpy(), encoded.numpy()) {
            (Some(_), Some(_)) => Ok(DeltaFilter { decoded, encoded }),
            _ => Err(Error::unsupported(
                NAME,
                format!("wanted numbers of a NumPy type, found {}", decoded.name()),
            )),
        }
    }
}

impl DeltaFilter {
    /// Sums up as `numpy.cumsum` does with an output of the decoded type: whole numbers wrap, floats are rounded to the
    /// precision of the type that both types fit, truth values are or'ed.
    pub(super) fn decode(self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        let numbers = ((source, self.encoded), (target, self.decoded));
        if self.decoded == NumberType::Bool && self.encoded == NumberType::Bool {
            let mut any = 0;
            return map_blocks(numbers.0, numbers.1, |block| {
                for bits in block.bits() {
                    any |= *bits;
                    *bits = any;
                }
                Ok(())
            });
        }
        let Some(sum_type) = sum_type(self.decoded, self.encoded) else {
            let mut sum = 0u64;
            return map_blocks(numbers.0, numbers.1, |block| {
                for bits in block.bits() {
                    sum = sum.wrapping_add(*bits);
                    *bits = sum;
                }
                Ok(())
            });
        };
        let (round, mut sum) = (rounded(sum_type), None);
        map_blocks(numbers.0, numbers.1, |block| {
            block.make_float();
            for bits in block.bits() {
                let value = f64::from_bits(*bits);
                let next = sum.map_or(value, |sum: f64| round(sum + value));
                sum = Some(next);
                *bits = next.to_bits();
            }
            Ok(())
        })
    }

    /// Takes differences as `numpy.diff` does in the decoded type: whole numbers wrap, truth values are xor'ed.
    pub(super) fn encode(self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        let mut before = None;
        let round = rounded(self.decoded);
        let width = 64 - 8 * u32::try_from(self.decoded.size_bytes()).unwrap_or(8);
        map_blocks((source, self.decoded), (target, self.encoded), |block: &mut Block| {
            let wide = block.wide();
            for bits in block.bits() {
                let value = *bits;
                *bits = match (before.replace(value), wide) {
                    (None, _) => value,
                    (Some(before), _) if self.decoded == NumberType::Bool => value ^ before,
                    (Some(before), Wide::Float) => {
                        round(f64::from_bits(value) - f64::from_bits(before)).to_bits()
                    }
                    // As wide as the type, so that what it is stored as sees the wrapped difference.
                    (Some(before), Wide::Unsigned) => value.wrapping_sub(before) << width >> width,
                    (Some(before), Wide::Signed) => {
                        ((value.wrapping_sub(before) << width).cast_signed() >> width).cast_unsigned()
                    }
                };
            }
            Ok(())
        })
    }
}

/// The floating-point type that NumPy adds in where one of two types is one; `None` where both are whole.
fn sum_type(left: NumberType, right: NumberType) -> Option<NumberType> {
    let float_for = |number: NumberType| match (number.class(), number.size_bytes()) {
        (NumberClass::Float, 8) | (NumberClass::Signed | NumberClass::Unsigned, 4 | 8) => NumberType::Float64,
        (NumberClass::Float, 4) | (NumberClass::Signed | NumberClass::Unsigned, 2) => NumberType::Float32,
        _ => NumberType::Float16,
    };
    let has_float = [left, right].iter().any(|number| number.class() == NumberClass::Float);
    let (left, right) = (float_for(left), float_for(right));
    has_float.then_some(if left.bits() < right.bits() { right } else { left })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn filter(dtype: &str, astype: &str) -> DeltaFilter {
        let codec = DeltaCodec::from_json(&json!({"dtype": dtype, "astype": astype})).unwrap();
        codec.compile(Element::number(codec.dtype.unwrap().number)).unwrap()
    }

    #[test]
    fn equals_numcodecs_example() {
        // numcodecs' own example: range(100, 120, 2) as i2 stored as i1.
        let source: Vec<u8> = (100..120i16).step_by(2).flat_map(i16::to_ne_bytes).collect();
        let mut stored = [0; 10];
        filter("i2", "i1").encode(&source, &mut stored).unwrap();
        assert_eq!(stored, [100, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
        let mut target = [0; 20];
        filter("i2", "i1").decode(&stored, &mut target).unwrap();
        assert_eq!(target[..], source);
    }

    #[test]
    fn whole_numbers_of_any_width_round_trip() {
        let bytes: Vec<u8> = (0..4096u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for dtype in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"] {
            let (mut stored, mut target) = (vec![0; bytes.len()], vec![0; bytes.len()]);
            filter(dtype, dtype).encode(&bytes, &mut stored).unwrap();
            filter(dtype, dtype).decode(&stored, &mut target).unwrap();
            assert_eq!(target, bytes, "{dtype}");
        }
    }

    #[test]
    fn truth_values_are_summed_as_numpy_does() {
        let mut stored = [0; 4];
        filter("b1", "b1").encode(&[1, 0, 0, 1], &mut stored).unwrap();
        assert_eq!(stored, [1, 1, 0, 1]);
        // numpy.cumsum over truth values, to truth values, is a logical or.
        let mut target = [0; 4];
        filter("b1", "b1").decode(&stored, &mut target).unwrap();
        assert_eq!(target, [1, 1, 1, 1]);
    }

    #[test]
    fn elements_of_other_sizes_are_refused() {
        let codec = DeltaCodec::from_json(&json!({"dtype": "<i2"})).unwrap();
        assert!(codec.compile(Element::number(NumberType::Int32)).is_err());
        assert!(codec.compile(Element::opaque(2, 1)).is_err());
        assert!(codec.compile(Element::number(NumberType::UInt16)).is_ok());
        assert!(DeltaCodec::from_json(&json!({"dtype": "|O"})).is_err());
    }
}
