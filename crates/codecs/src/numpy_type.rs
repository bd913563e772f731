//! Data types as numcodecs' configurations state them.

use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::error::Error;
use crate::layout::ByteOrder;
use crate::number::NumberType;

/// A type of numbers and its byte order, as a NumPy type string such as `<i2` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NumpyType {
    /// The type.
    pub number: NumberType,
    /// The order that the string states; this machine's where it states none.
    pub order: ByteOrder,
}

const WANTED: &str = "a NumPy type of real numbers, such as \"<i2\"";

impl NumpyType {
    /// Reads a field that may be left out.
    pub(crate) fn optional(fields: &Configuration<'_>, field: &str) -> Result<Option<Self>, Error> {
        let Some(value) = fields.get(field) else { return Ok(None) };
        let found = value.as_str().and_then(NumberType::from_numpy);
        match found {
            Some((number, order)) if number.numpy().is_some() => Ok(Some(Self { number, order })),
            _ => Err(fields.wrong(field, WANTED, value)),
        }
    }

    /// Reads a field that must be there.
    pub(crate) fn required(fields: &Configuration<'_>, field: &str) -> Result<Self, Error> {
        Self::optional(fields, field)?.ok_or_else(|| fields.missing(field, WANTED))
    }

    /// The string, with the order stated.
    pub(crate) fn to_json(self) -> Value {
        let native = self.number.numpy().unwrap_or_default();
        let order = match (self.number.size_bytes(), self.order) {
            (1, _) => '|',
            (_, ByteOrder::Little) => '<',
            (_, ByteOrder::Big) => '>',
        };
        json!(format!("{order}{}", native.get(1..).unwrap_or_default()))
    }
}
