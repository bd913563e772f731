//! The `optional` codec of zarrs: which elements are there, and behind that those that are.
//!
//! Two lengths of 64 bits, little-endian, then as many bytes of each: the truth values of all elements, and the elements
//! that are there, an array of one axis; each encoded by codecs of its own.

use serde_json::{Value, json};

use crate::codec::Codec;
use crate::configuration::Configuration;
use crate::error::Error;

/// The codec's short name.
pub(crate) const NAME: &str = "optional";

/// Stores elements that may be missing: see [`Element::optional`](crate::Element::optional).
#[derive(Debug, Clone, PartialEq)]
pub struct OptionalCodec {
    /// How the truth values are stored, in encode order.
    pub mask: Vec<Codec>,
    /// How the elements that are there are stored, in encode order.
    pub data: Vec<Codec>,
}

impl OptionalCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let fields = Configuration::new(NAME, configuration, &["mask_codecs", "data_codecs"])?;
        let codecs = |field: &str| match fields.get(field) {
            Some(entries) => Codec::list_from_v3(NAME, field, entries),
            None => Err(fields.missing(field, "an array of codecs")),
        };
        Ok(Self { mask: codecs("mask_codecs")?, data: codecs("data_codecs")? })
    }

    pub(crate) fn to_json(&self) -> Value {
        let list = |codecs: &[Codec]| codecs.iter().map(Codec::to_v3).collect::<Vec<_>>();
        json!({"mask_codecs": list(&self.mask), "data_codecs": list(&self.data)})
    }

    pub(crate) fn describe(&self) -> String {
        let list = |codecs: &[Codec]| codecs.iter().map(Codec::describe).collect::<Vec<_>>().join(", ");
        format!("optional(mask [{}], data [{}])", list(&self.mask), list(&self.data))
    }
}
