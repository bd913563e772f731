//! The `quantize` codec, as numcodecs' `quantize`: floats rounded to so many decimal digits. What is stored is what is
//! read.

use serde_json::{Map, Value, json};

use super::block::{map_blocks, rounded};
use super::number_of;
use crate::configuration::Configuration;
use crate::error::Error;
use crate::layout::{ByteOrder, Element};
use crate::number::{NumberClass, NumberType};
use crate::numpy_type::NumpyType;

const NAME: &str = "quantize";
/// More digits than any float has, of either sign.
const DIGITS_MAX: i64 = 400;

/// Rounds floats to decimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuantizeCodec {
    /// Digits behind the point to keep, ahead of it where negative.
    pub digits: i32,
    /// The type that elements are seen as; `None` is what they are.
    pub dtype: Option<NumpyType>,
    /// The type of what is stored; `None` is that of the elements.
    pub astype: Option<NumpyType>,
}

/// The codec for elements of known types.
#[derive(Debug, Clone, Copy)]
pub(super) struct QuantizeFilter {
    scale: f64,
    decoded: NumberType,
    pub(super) encoded: NumberType,
}

impl QuantizeCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["id", "digits", "dtype", "astype"])?;
        let digits = fields.integer("digits", -DIGITS_MAX, DIGITS_MAX)?.map(i32::try_from);
        let Some(Ok(digits)) = digits else { return Err(fields.missing("digits", "a number of digits")) };
        let (dtype, astype) =
            (NumpyType::optional(&fields, "dtype")?, NumpyType::optional(&fields, "astype")?);
        for (field, number) in [("dtype", dtype), ("astype", astype)] {
            if let Some(number) = number.filter(|number| number.number.class() != NumberClass::Float) {
                return Err(Error::invalid_field(NAME, field, "a floating-point type", number.number.name()));
            }
        }
        Ok(Self { digits, dtype, astype })
    }

    pub(crate) fn to_json(self) -> Value {
        let mut fields = Map::from_iter([("digits".to_owned(), json!(self.digits))]);
        for (name, number) in [("dtype", self.dtype), ("astype", self.astype)] {
            if let Some(number) = number {
                fields.insert(name.to_owned(), number.to_json());
            }
        }
        Value::Object(fields)
    }

    pub(crate) fn describe(self) -> String {
        format!("quantize({} digits)", self.digits)
    }

    pub(crate) fn stored_order(self) -> Option<ByteOrder> {
        self.astype.or(self.dtype).map(|stored| stored.order)
    }

    pub(super) fn compile(self, element: Element) -> Result<QuantizeFilter, Error> {
        let decoded = number_of(NAME, element, self.dtype.map(|dtype| dtype.number))?;
        if decoded.class() != NumberClass::Float || decoded.numpy().is_none() {
            return Err(Error::unsupported(
                NAME,
                format!("wanted elements of a NumPy floating-point type, found {}", decoded.name()),
            ));
        }
        let encoded = self.astype.map_or(decoded, |astype| astype.number);
        Ok(QuantizeFilter { scale: rounded(decoded)(scale(self.digits)), decoded, encoded })
    }
}

/// The power of two that keeps so many decimal digits, worked out as numcodecs does.
fn scale(digits: i32) -> f64 {
    let exponent = 10f64.powf(-f64::from(digits)).log10();
    let exponent = if exponent < 0.0 { exponent.floor() } else { exponent.ceil() };
    2f64.powf(10f64.powf(-exponent).log2().ceil())
}

impl QuantizeFilter {
    pub(super) fn decode(self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        map_blocks((source, self.encoded), (target, self.decoded), |_| Ok(()))
    }

    pub(super) fn encode(self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        let (scale, round) = (self.scale, rounded(self.decoded));
        map_blocks((source, self.decoded), (target, self.encoded), |block| {
            block.map_floats(|value| round(round(scale * value).round_ties_even() / scale));
            Ok(())
        })
    }
}
