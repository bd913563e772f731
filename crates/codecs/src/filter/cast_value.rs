//! The `cast_value` codec: numbers stored as the same numbers of another type, with stated rounding.
//!
//! Zarr v3 codec extension "cast_value".

use serde_json::{Map, Value, json};

use super::block::{Block, Wide, map_blocks};
use super::rounding::{Exact, OutOfRange, RoundingMode};
use super::scalar::scalar_bits;
use crate::configuration::Configuration;
use crate::error::Error;
use crate::float_format::FloatFormat;
use crate::layout::Element;
use crate::number::{NumberClass, NumberType};

const NAME: &str = "cast_value";
const WANTED_TYPE: &str = "the name of a type of whole numbers or floats";
const WANTED_MAP: &str = "lists of pairs of numbers in `encode` and `decode`";
const ROUNDING: [(&str, RoundingMode); 5] = [
    ("nearest-even", RoundingMode::NearestEven),
    ("towards-zero", RoundingMode::TowardsZero),
    ("towards-positive", RoundingMode::TowardsPositive),
    ("towards-negative", RoundingMode::TowardsNegative),
    ("nearest-away", RoundingMode::NearestAway),
];

/// Stores numbers of another type.
#[derive(Debug, Clone, PartialEq)]
pub struct CastValueCodec {
    /// The type of what is stored.
    pub data_type: NumberType,
    /// How numbers are rounded that it does not hold.
    pub rounding: RoundingMode,
    /// What becomes of numbers that it does not reach to.
    pub out_of_range: OutOfRange,
    /// Numbers that become stated ones when they are stored, as JSON has them.
    pub encode_map: Vec<[Value; 2]>,
    /// And when they are read.
    pub decode_map: Vec<[Value; 2]>,
}

/// The codec for elements of a known type.
#[derive(Debug, Clone)]
pub(super) struct CastValueFilter {
    decoded: NumberType,
    pub(super) encoded: NumberType,
    decode: Cast,
    encode: Cast,
}

/// One direction.
#[derive(Debug, Clone)]
struct Cast {
    rounding: RoundingMode,
    out_of_range: OutOfRange,
    to: NumberType,
    format: Option<FloatFormat>,
    /// Bits of both types, widened.
    map: Vec<(u64, u64)>,
}

impl CastValueCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(
            NAME,
            configuration,
            &["data_type", "rounding", "out_of_range", "scalar_map"],
        )?;
        let value = fields.get("data_type").ok_or_else(|| fields.missing("data_type", WANTED_TYPE))?;
        let name = value.as_str().or_else(|| value.get("name").and_then(Value::as_str));
        let name = name.ok_or_else(|| fields.wrong("data_type", WANTED_TYPE, value))?;
        let data_type =
            NumberType::from_v3_name(name)
                .filter(|number| number.class() != NumberClass::Bool)
                .ok_or_else(|| Error::unsupported(NAME, format!("wanted {WANTED_TYPE}, found {value}")))?;
        let wanted = ROUNDING.map(|(name, _)| name).join(", ");
        let rounding = match fields.text("rounding", &wanted)? {
            None => RoundingMode::NearestEven,
            Some(text) => match ROUNDING.iter().find(|(name, _)| *name == text) {
                Some((_, rounding)) => *rounding,
                None => return Err(Error::invalid_field(NAME, "rounding", &wanted, text)),
            },
        };
        let wanted = "\"clamp\", or \"wrap\" for a type of whole numbers";
        let out_of_range = match fields.text("out_of_range", wanted)? {
            None => OutOfRange::Refuse,
            Some("clamp") => OutOfRange::Clamp,
            Some("wrap") if data_type.class() != NumberClass::Float => OutOfRange::Wrap,
            Some(other) => return Err(Error::invalid_field(NAME, "out_of_range", wanted, other)),
        };
        let wrong_map = |value: &Value| fields.wrong("scalar_map", WANTED_MAP, value);
        let map = |name: &str| match fields.get("scalar_map").map(|map| (map, map.get(name))) {
            None | Some((Value::Object(_), None | Some(Value::Null))) => Ok(Vec::new()),
            Some((_, Some(Value::Array(pairs)))) => pairs
                .iter()
                .map(|pair| match pair.as_array().map(Vec::as_slice) {
                    Some([key, value]) => Ok([key.clone(), value.clone()]),
                    _ => Err(wrong_map(pair)),
                })
                .collect(),
            Some((map, _)) => Err(wrong_map(map)),
        };
        Ok(Self { data_type, rounding, out_of_range, encode_map: map("encode")?, decode_map: map("decode")? })
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut fields = Map::from_iter([("data_type".to_owned(), json!(self.data_type.name()))]);
        if let Some((name, _)) = ROUNDING.iter().skip(1).find(|(_, rounding)| *rounding == self.rounding) {
            fields.insert("rounding".to_owned(), json!(name));
        }
        let out_of_range = match self.out_of_range {
            OutOfRange::Refuse => None,
            OutOfRange::Clamp => Some("clamp"),
            OutOfRange::Wrap => Some("wrap"),
        };
        fields.extend(out_of_range.map(|name| ("out_of_range".to_owned(), json!(name))));
        let maps = [("encode", &self.encode_map), ("decode", &self.decode_map)];
        let maps = maps.into_iter().filter(|(_, map)| !map.is_empty());
        let maps: Map<String, Value> = maps.map(|(name, map)| (name.to_owned(), json!(map))).collect();
        if !maps.is_empty() {
            fields.insert("scalar_map".to_owned(), Value::Object(maps));
        }
        Value::Object(fields)
    }

    pub(crate) fn describe(&self) -> String {
        format!("cast_value({})", self.data_type.name())
    }

    pub(super) fn compile(&self, element: Element) -> Result<CastValueFilter, Error> {
        let (decoded, encoded) = match element.components() {
            Some((number, 1)) if number.class() != NumberClass::Bool => (number, self.data_type),
            _ => {
                let found = element.kind;
                return Err(Error::unsupported(
                    NAME,
                    format!("wanted whole numbers or floats, found {found:?}"),
                ));
            }
        };
        let cast = |from: NumberType, to: NumberType, map: &[[Value; 2]]| {
            let pairs =
                map.iter().map(|[key, value]| Some((scalar_bits(from, key)?, scalar_bits(to, value)?)));
            let map = pairs.collect::<Option<Vec<(u64, u64)>>>().ok_or_else(|| {
                let wanted = format!("pairs of a number of {} and one of {}", from.name(), to.name());
                Error::invalid_field(NAME, "scalar_map", &wanted, json!(map))
            })?;
            // Only whole numbers wrap, and only the stored type need be one.
            let out_of_range = match (self.out_of_range, to.class()) {
                (OutOfRange::Wrap, NumberClass::Float) => OutOfRange::Refuse,
                (out_of_range, _) => out_of_range,
            };
            Ok(Cast { rounding: self.rounding, out_of_range, to, format: FloatFormat::of(to), map })
        };
        Ok(CastValueFilter {
            decoded,
            encoded,
            decode: cast(encoded, decoded, &self.decode_map)?,
            encode: cast(decoded, encoded, &self.encode_map)?,
        })
    }
}

impl CastValueFilter {
    pub(super) fn decode(&self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        let refused = |number: String| {
            Error::corrupt(
                NAME,
                format!("wanted stored numbers that {} holds, found {number}", self.decoded.name()),
            )
        };
        map_blocks((source, self.encoded), (target, self.decoded), |block| self.decode.run(block, refused))
    }

    pub(super) fn encode(&self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        let refused = |number: String| {
            Error::invalid(NAME, format!("wanted numbers that {} holds, found {number}", self.encoded.name()))
        };
        map_blocks((source, self.decoded), (target, self.encoded), |block| self.encode.run(block, refused))
    }
}

impl Cast {
    fn run(&self, block: &mut Block, refused: impl Fn(String) -> Error) -> Result<(), Error> {
        let wide = block.wide();
        for bits in block.bits() {
            let mapped = self.map.iter().find(|(key, _)| is_same(wide, *key, *bits));
            *bits = match mapped {
                Some((_, value)) => *value,
                None => self.number(wide, *bits).ok_or_else(|| {
                    refused(match exact(wide, *bits) {
                        Exact::Whole(whole) => whole.to_string(),
                        Exact::Float(value) => value.to_string(),
                    })
                })?,
            };
        }
        block.set_wide(Wide::of(self.to));
        Ok(())
    }

    /// The bits of the number that one becomes; `None` where it may not.
    fn number(&self, wide: Wide, bits: u64) -> Option<u64> {
        let exact = exact(wide, bits);
        let Some(format) = self.format else {
            let whole = exact.whole(self.to, self.rounding, self.out_of_range)?;
            return i64::try_from(whole).map(i64::cast_unsigned).or_else(|_| u64::try_from(whole)).ok();
        };
        format.rounded(exact, self.rounding, self.out_of_range).map(f64::to_bits)
    }
}

fn exact(wide: Wide, bits: u64) -> Exact {
    match wide {
        Wide::Signed => Exact::Whole(bits.cast_signed().into()),
        Wide::Unsigned => Exact::Whole(bits.into()),
        Wide::Float => Exact::Float(f64::from_bits(bits)),
    }
}

/// Whether two widened numbers are one; a NaN is any other.
fn is_same(wide: Wide, left: u64, right: u64) -> bool {
    match wide {
        Wide::Signed | Wide::Unsigned => left == right,
        Wide::Float => {
            let (left, right) = (f64::from_bits(left), f64::from_bits(right));
            left == right || (left.is_nan() && right.is_nan())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn filter(decoded: NumberType, configuration: &Value) -> CastValueFilter {
        CastValueCodec::from_json(configuration).unwrap().compile(Element::number(decoded)).unwrap()
    }

    fn to_i8(value: f64, configuration: &Value) -> Result<i8, ErrorKind> {
        let mut target = [0];
        let encoded = filter(NumberType::Float64, configuration).encode(&value.to_ne_bytes(), &mut target);
        encoded.map(|()| i8::from_ne_bytes(target)).map_err(|error| error.kind())
    }

    #[test]
    fn the_specifications_examples_hold() {
        // 128.0 to int8.
        assert_eq!(to_i8(128.0, &json!({"data_type": "int8"})), Err(ErrorKind::Invalid));
        assert_eq!(to_i8(128.0, &json!({"data_type": "int8", "out_of_range": "clamp"})), Ok(127));
        assert_eq!(to_i8(128.0, &json!({"data_type": "int8", "out_of_range": "wrap"})), Ok(-128));
        assert_eq!(
            to_i8(f64::NAN, &json!({"data_type": "int8", "out_of_range": "wrap"})),
            Err(ErrorKind::Invalid)
        );
        let wrap = filter(NumberType::Int32, &json!({"data_type": "int16", "out_of_range": "wrap"}));
        for (value, wanted) in [(32768, -32768i16), (32769, -32767), (-32769, 32767)] {
            let mut target = [0; 2];
            wrap.encode(&i32::to_ne_bytes(value), &mut target).unwrap();
            assert_eq!(i16::from_ne_bytes(target), wanted);
        }
        let nan = filter(
            NumberType::Float64,
            &json!({"data_type": "uint8", "scalar_map": {
            "encode": [["NaN", 0]], "decode": [[0, "NaN"]]}}),
        );
        let mut stored = [1; 2];
        let source: Vec<u8> = [f64::NAN, 7.0].into_iter().flat_map(f64::to_ne_bytes).collect();
        nan.encode(&source, &mut stored).unwrap();
        assert_eq!(stored, [0, 7]);
        let mut target = [0; 16];
        nan.decode(&stored, &mut target).unwrap();
        assert!(f64::from_ne_bytes(*target.first_chunk().unwrap()).is_nan());
    }

    #[test]
    fn every_rounding_is_there() {
        for (rounding, wanted) in [
            ("nearest-even", [2, 2, -2, -2]),
            ("towards-zero", [1, 2, -1, -2]),
            ("towards-positive", [2, 3, -1, -2]),
            ("towards-negative", [1, 2, -2, -3]),
            ("nearest-away", [2, 3, -2, -3]),
        ] {
            let found = [1.5, 2.5, -1.5, -2.5]
                .map(|value| to_i8(value, &json!({"data_type": "int8", "rounding": rounding})).unwrap());
            assert_eq!(found, wanted, "{rounding}");
        }
    }

    #[test]
    fn configurations_are_checked() {
        for configuration in [
            json!({}),
            json!({"data_type": "bool"}),
            json!({"data_type": "float32", "out_of_range": "wrap"}),
            json!({"data_type": "int8", "rounding": "up"}),
            json!({"data_type": "int8", "scalar_map": {"encode": [[1]]}}),
            json!({"data_type": "int8", "scalar_map": [1]}),
            json!({"data_type": "int8", "more": 1}),
        ] {
            assert!(CastValueCodec::from_json(&configuration).is_err(), "{configuration}");
        }
        let codec =
            CastValueCodec::from_json(&json!({"data_type": "int8", "scalar_map": {"encode": [[1, 300]]}}));
        assert!(codec.unwrap().compile(Element::number(NumberType::Int16)).is_err());
    }
}
