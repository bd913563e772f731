//! The `fixedscaleoffset` codec, as numcodecs' `fixedscaleoffset`: elements less an offset, times a scale, rounded to
//! whole numbers.

use serde_json::{Map, Value, json};

use super::block::{Block, Wide, map_blocks, rounded};
use super::number_of;
use crate::configuration::Configuration;
use crate::error::Error;
use crate::layout::{ByteOrder, Element};
use crate::number::{NumberClass, NumberType};
use crate::numpy_type::NumpyType;

const NAME: &str = "fixedscaleoffset";

/// A number as JSON has it. Whether it is whole decides the type that NumPy calculates in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum JsonNumber {
    /// Without a point or an exponent.
    Whole(i64),
    /// With one.
    Float(f64),
}

/// Scales numbers to whole ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedScaleOffsetCodec {
    /// What is taken from an element.
    pub offset: JsonNumber,
    /// By what the rest is multiplied.
    pub scale: JsonNumber,
    /// The type that elements are seen as; `None` is what they are.
    pub dtype: Option<NumpyType>,
    /// The type of what is stored; `None` is that of the elements.
    pub astype: Option<NumpyType>,
}

/// The codec for elements of known types.
#[derive(Debug, Clone, Copy)]
pub(super) struct FixedScaleOffsetFilter {
    offset: JsonNumber,
    scale: JsonNumber,
    decoded: NumberType,
    pub(super) encoded: NumberType,
}

impl JsonNumber {
    fn required(fields: &Configuration<'_>, field: &str) -> Result<Self, Error> {
        let value = fields.get(field).ok_or_else(|| fields.missing(field, "a number"))?;
        let found = value.as_i64().map(Self::Whole).or_else(|| value.as_f64().map(Self::Float));
        found.ok_or_else(|| fields.wrong(field, "a number", value))
    }

    fn to_json(self) -> Value {
        match self {
            Self::Whole(number) => json!(number),
            Self::Float(number) => json!(number),
        }
    }

    fn float(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

impl FixedScaleOffsetCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["id", "offset", "scale", "dtype", "astype"])?;
        let (offset, scale) =
            (JsonNumber::required(&fields, "offset")?, JsonNumber::required(&fields, "scale")?);
        let dtype = NumpyType::optional(&fields, "dtype")?;
        Ok(Self { offset, scale, dtype, astype: NumpyType::optional(&fields, "astype")? })
    }

    pub(crate) fn to_json(self) -> Value {
        let mut fields = Map::from_iter([
            ("offset".to_owned(), self.offset.to_json()),
            ("scale".to_owned(), self.scale.to_json()),
        ]);
        for (name, number) in [("dtype", self.dtype), ("astype", self.astype)] {
            if let Some(number) = number {
                fields.insert(name.to_owned(), number.to_json());
            }
        }
        Value::Object(fields)
    }

    pub(crate) fn describe(self) -> String {
        format!("fixedscaleoffset(scale {}, offset {})", self.scale.to_json(), self.offset.to_json())
    }

    pub(crate) fn stored_order(self) -> Option<ByteOrder> {
        self.astype.or(self.dtype).map(|stored| stored.order)
    }

    pub(super) fn compile(self, element: Element) -> Result<FixedScaleOffsetFilter, Error> {
        let decoded = number_of(NAME, element, self.dtype.map(|dtype| dtype.number))?;
        if decoded.numpy().is_none() {
            let found = decoded.name();
            return Err(Error::unsupported(NAME, format!("wanted numbers of a NumPy type, found {found}")));
        }
        let encoded = self.astype.map_or(decoded, |astype| astype.number);
        Ok(FixedScaleOffsetFilter { offset: self.offset, scale: self.scale, decoded, encoded })
    }
}

impl FixedScaleOffsetFilter {
    /// `stored / scale + offset`: whole numbers in double precision, floats in their own.
    pub(super) fn decode(self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        let round = rounded(self.encoded);
        let (scale, offset) = (round(self.scale.float()), round(self.offset.float()));
        map_blocks((source, self.encoded), (target, self.decoded), |block| {
            block.make_float();
            block.map_floats(|value| round(round(value / scale) + offset));
            Ok(())
        })
    }

    /// `(element - offset) * scale`, rounded to whole numbers: whole numbers with whole ones in their own type, where they
    /// wrap; with others in double precision; floats in their own.
    pub(super) fn encode(self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        let whole = self.wide_whole()?;
        map_blocks((source, self.decoded), (target, self.encoded), |block| {
            match whole {
                Some((offset, JsonNumber::Whole(scale))) => {
                    self.map_whole(block, |value| value.wrapping_sub(offset).wrapping_mul(scale));
                }
                Some((offset, JsonNumber::Float(scale))) => {
                    self.map_whole(block, |value| value.wrapping_sub(offset));
                    block.make_float();
                    block.map_floats(|value| (value * scale).round_ties_even());
                }
                None => {
                    block.make_float();
                    let round = rounded(self.decoded);
                    let (scale, offset) = (round(self.scale.float()), round(self.offset.float()));
                    block.map_floats(|value| round(round(value - offset) * scale).round_ties_even());
                }
            }
            Ok(())
        })
    }

    /// The offset and the scale, where the subtraction is one of whole numbers.
    fn wide_whole(self) -> Result<Option<(i64, JsonNumber)>, Error> {
        let JsonNumber::Whole(offset) = self.offset else { return Ok(None) };
        if self.decoded.class() == NumberClass::Float {
            return Ok(None);
        }
        let scale = match self.scale {
            JsonNumber::Whole(scale) => Some(scale),
            JsonNumber::Float(_) => None,
        };
        // NumPy refuses whole numbers that the elements' type does not hold.
        for (field, number) in [("offset", Some(offset)), ("scale", scale)] {
            if let Some(number) = number.filter(|number| !self.holds(*number)) {
                let wanted = format!("a number that {} holds", self.decoded.name());
                return Err(Error::invalid_field(NAME, field, &wanted, number));
            }
        }
        Ok(Some((offset, self.scale)))
    }

    /// Whether the elements' type, which is of whole numbers, holds a number.
    fn holds(self, number: i64) -> bool {
        let bits = self.decoded.size_bytes() * 8;
        match self.decoded.class() {
            NumberClass::Unsigned => 0 <= number && (bits == 64 || number >> bits == 0),
            NumberClass::Signed => bits == 64 || number >> (bits - 1) == 0 || number >> (bits - 1) == -1,
            // Truth values are taken as 64-bit numbers.
            NumberClass::Bool | NumberClass::Float => true,
        }
    }

    /// Replaces whole numbers, cut to the elements' width.
    fn map_whole(self, block: &mut Block, step: impl Fn(i64) -> i64) {
        let is_bool = self.decoded == NumberType::Bool;
        let width = if is_bool { 0 } else { 64 - 8 * u32::try_from(self.decoded.size_bytes()).unwrap_or(8) };
        if is_bool {
            block.set_wide(Wide::Signed);
        }
        let is_signed = block.wide() == Wide::Signed;
        for bits in block.bits() {
            let cut = step(bits.cast_signed()) << width;
            *bits = if is_signed { (cut >> width).cast_unsigned() } else { cut.cast_unsigned() >> width };
        }
    }
}
