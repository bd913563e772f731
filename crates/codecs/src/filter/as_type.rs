//! The `astype` codec, as numcodecs' `astype`: elements stored as numbers of another type, by NumPy's rules of casting.

use serde_json::{Map, Value};

use super::block::map_blocks;
use super::number_of;
use crate::configuration::Configuration;
use crate::error::Error;
use crate::layout::{ByteOrder, Element};
use crate::number::NumberType;
use crate::numpy_type::NumpyType;

const NAME: &str = "astype";

/// Stores numbers of another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsTypeCodec {
    /// The type of what is stored.
    pub encode_dtype: NumpyType,
    /// The type that elements are seen as; `None` is what they are.
    pub decode_dtype: Option<NumpyType>,
}

/// The codec for elements of known types.
#[derive(Debug, Clone, Copy)]
pub(super) struct AsTypeFilter {
    decoded: NumberType,
    pub(super) encoded: NumberType,
}

impl AsTypeCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["id", "encode_dtype", "decode_dtype"])?;
        let encode_dtype = NumpyType::required(&fields, "encode_dtype")?;
        Ok(Self { encode_dtype, decode_dtype: NumpyType::optional(&fields, "decode_dtype")? })
    }

    pub(crate) fn to_json(self) -> Value {
        let mut fields = Map::from_iter([("encode_dtype".to_owned(), self.encode_dtype.to_json())]);
        if let Some(decode_dtype) = self.decode_dtype {
            fields.insert("decode_dtype".to_owned(), decode_dtype.to_json());
        }
        Value::Object(fields)
    }

    pub(crate) fn describe(self) -> String {
        format!("astype({})", self.encode_dtype.number.name())
    }

    pub(crate) fn stored_order(self) -> Option<ByteOrder> {
        Some(self.encode_dtype.order)
    }

    pub(super) fn compile(self, element: Element) -> Result<AsTypeFilter, Error> {
        let decoded = number_of(NAME, element, self.decode_dtype.map(|dtype| dtype.number))?;
        if decoded.numpy().is_none() {
            let found = decoded.name();
            return Err(Error::unsupported(NAME, format!("wanted numbers of a NumPy type, found {found}")));
        }
        Ok(AsTypeFilter { decoded, encoded: self.encode_dtype.number })
    }
}

impl AsTypeFilter {
    pub(super) fn decode(self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        map_blocks((source, self.encoded), (target, self.decoded), |_| Ok(()))
    }

    pub(super) fn encode(self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        map_blocks((source, self.decoded), (target, self.encoded), |_| Ok(()))
    }
}
