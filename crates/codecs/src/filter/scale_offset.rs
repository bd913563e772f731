//! The `scale_offset` codec: numbers less an offset, times a scale, in their own type.
//!
//! Zarr v3 codec extension "scale_offset". Whole numbers must stay within their type and divide without a rest; floats may
//! become infinite, as zarr-python lets them.

use serde_json::{Map, Value};

use super::block::{Wide, map_blocks};
use super::rounding::{OutOfRange, RoundingMode};
use super::scalar::{scalar_bits, whole_range};
use crate::configuration::Configuration;
use crate::error::Error;
use crate::float_format::FloatFormat;
use crate::layout::Element;
use crate::number::{NumberClass, NumberType};

const NAME: &str = "scale_offset";

/// Scales numbers within their type.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaleOffsetCodec {
    /// What is taken from an element, as JSON has it; `None` is 0.
    pub offset: Option<Value>,
    /// By what the rest is multiplied, as JSON has it; `None` is 1.
    pub scale: Option<Value>,
}

/// The codec for elements of a known type.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScaleOffsetFilter {
    number: NumberType,
    arithmetic: Arithmetic,
}

#[derive(Debug, Clone, Copy)]
enum Arithmetic {
    Whole { offset: i128, scale: i128 },
    Float { offset: f64, scale: f64, format: FloatFormat },
}

impl ScaleOffsetCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["offset", "scale"])?;
        Ok(Self { offset: fields.get("offset").cloned(), scale: fields.get("scale").cloned() })
    }

    pub(crate) fn to_json(&self) -> Value {
        let fields = [("offset", &self.offset), ("scale", &self.scale)];
        let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
        let fields: Map<String, Value> = fields.collect();
        if fields.is_empty() { Value::Null } else { Value::Object(fields) }
    }

    pub(crate) fn describe(&self) -> String {
        let text = |value: &Option<Value>, unstated: &str| {
            value.as_ref().map_or(unstated.to_owned(), Value::to_string)
        };
        format!("scale_offset(scale {}, offset {})", text(&self.scale, "1"), text(&self.offset, "0"))
    }

    pub(super) fn compile(&self, element: Element) -> Result<ScaleOffsetFilter, Error> {
        let number = match element.components() {
            Some((number, 1)) if number.class() != NumberClass::Bool => number,
            _ => {
                let found = element.kind;
                return Err(Error::unsupported(
                    NAME,
                    format!("wanted whole numbers or floats, found {found:?}"),
                ));
            }
        };
        let bits = |field: &str, value: &Option<Value>, unstated: i64| {
            let value = value.clone().unwrap_or_else(|| unstated.into());
            scalar_bits(number, &value).ok_or_else(|| {
                Error::invalid_field(NAME, field, &format!("a number of {}", number.name()), &value)
            })
        };
        let (offset, scale) = (bits("offset", &self.offset, 0)?, bits("scale", &self.scale, 1)?);
        let arithmetic = match (FloatFormat::of(number), Wide::of(number)) {
            (Some(format), _) => {
                Arithmetic::Float { offset: f64::from_bits(offset), scale: f64::from_bits(scale), format }
            }
            (None, Wide::Signed) => {
                Arithmetic::Whole { offset: offset.cast_signed().into(), scale: scale.cast_signed().into() }
            }
            (None, _) => Arithmetic::Whole { offset: offset.into(), scale: scale.into() },
        };
        let is_zero = match arithmetic {
            Arithmetic::Whole { scale, .. } => scale == 0,
            Arithmetic::Float { scale, .. } => scale == 0.0,
        };
        if is_zero {
            return Err(Error::invalid_field(NAME, "scale", "a number other than zero", 0));
        }
        Ok(ScaleOffsetFilter { number, arithmetic })
    }
}

impl ScaleOffsetFilter {
    pub(super) fn decode(self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        let whole =
            |value: i128, offset: i128, scale: i128| (value % scale == 0).then(|| value / scale + offset);
        self.run(source, target, whole, |value, offset, scale, round| round(round(value / scale) + offset))
            .map_err(|number| {
                let wanted = format!("wanted stored numbers that come to {}", self.number.name());
                Error::corrupt(NAME, format!("{wanted}, found {number}"))
            })
    }

    pub(super) fn encode(self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        let whole = |value: i128, offset: i128, scale: i128| (value - offset).checked_mul(scale);
        self.run(source, target, whole, |value, offset, scale, round| round(round(value - offset) * scale))
            .map_err(|number| {
                let wanted = format!("wanted numbers that scale to {}", self.number.name());
                Error::invalid(NAME, format!("{wanted}, found {number}"))
            })
    }

    /// Takes every number through the arithmetic of its type; the first that does not fit is handed back.
    fn run(
        self,
        source: &[u8],
        target: &mut [u8],
        whole: impl Fn(i128, i128, i128) -> Option<i128>,
        float: impl Fn(f64, f64, f64, &dyn Fn(f64) -> f64) -> f64,
    ) -> Result<(), String> {
        let (min, max) = whole_range(self.number);
        let mut refused = None;
        let result = map_blocks((source, self.number), (target, self.number), |block| {
            match self.arithmetic {
                Arithmetic::Whole { offset, scale } => {
                    let is_signed = block.wide() == Wide::Signed;
                    for bits in block.bits() {
                        let value = if is_signed { bits.cast_signed().into() } else { i128::from(*bits) };
                        let scaled =
                            whole(value, offset, scale).filter(|whole| min <= *whole && *whole <= max);
                        let bytes = scaled.unwrap_or(0).to_le_bytes();
                        *bits = bytes.first_chunk().map_or(0, |low| u64::from_le_bytes(*low));
                        if scaled.is_none() {
                            refused.get_or_insert(value.to_string());
                        }
                    }
                }
                Arithmetic::Float { offset, scale, format } => {
                    let round = |value: f64| {
                        let rounded =
                            format.rounded(value.into(), RoundingMode::NearestEven, OutOfRange::Clamp);
                        rounded.unwrap_or(f64::NAN)
                    };
                    match self.number {
                        NumberType::Float64 => {
                            block.map_floats(|value| float(value, offset, scale, &|value| value))
                        }
                        NumberType::Float32 => {
                            let round = super::block::rounded(NumberType::Float32);
                            block.map_floats(|value| float(value, offset, scale, &round));
                        }
                        _ => block.map_floats(|value| float(value, offset, scale, &round)),
                    }
                }
            }
            Ok(())
        });
        match (result, refused) {
            (Ok(()), None) => Ok(()),
            (_, refused) => Err(refused.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use serde_json::json;

    fn filter(number: NumberType, configuration: &Value) -> Result<ScaleOffsetFilter, Error> {
        ScaleOffsetCodec::from_json(configuration)?.compile(Element::number(number))
    }

    #[test]
    fn whole_numbers_must_fit() {
        let codec = filter(NumberType::UInt8, &json!({"offset": 10, "scale": 3})).unwrap();
        let mut target = [0; 2];
        codec.encode(&[10, 95], &mut target).unwrap();
        assert_eq!(target, [0, 255]);
        codec.decode(&[0, 255], &mut target).unwrap();
        assert_eq!(target, [10, 95]);
        assert_eq!(codec.encode(&[9, 10], &mut target).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(codec.encode(&[96, 10], &mut target).unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(codec.decode(&[1, 0], &mut target).unwrap_err().kind(), ErrorKind::Corrupt);
        let wide = filter(NumberType::UInt64, &json!({"offset": u64::MAX})).unwrap();
        let mut target = [0; 8];
        wide.decode(&0u64.to_ne_bytes(), &mut target).unwrap();
        assert_eq!(u64::from_ne_bytes(target), u64::MAX);
    }

    #[test]
    fn floats_are_rounded_to_their_type_at_every_step() {
        let codec = filter(NumberType::Float32, &json!({"offset": 5, "scale": 0.1})).unwrap();
        let mut target = [0; 4];
        codec.encode(&7.3f32.to_ne_bytes(), &mut target).unwrap();
        assert_eq!(f32::from_ne_bytes(target), (7.3f32 - 5.0) * 0.1);
        codec.decode(&target.clone(), &mut target).unwrap();
        assert_eq!(f32::from_ne_bytes(target), (7.3f32 - 5.0) * 0.1 / 0.1 + 5.0);
    }

    #[test]
    fn configurations_are_checked() {
        for configuration in
            [json!({"scale": 0}), json!({"offset": 300}), json!({"offset": 0.5}), json!({"gain": 1})]
        {
            assert!(filter(NumberType::Int8, &configuration).is_err(), "{configuration}");
        }
        assert!(filter(NumberType::Float16, &json!({"offset": "NaN", "scale": "0x3c00"})).is_ok());
        assert!(filter(NumberType::Bool, &Value::Null).is_err());
    }
}
