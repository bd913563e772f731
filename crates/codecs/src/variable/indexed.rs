//! The `vlen` codec of zarrs: where elements end, and their bytes, each stored by codecs of its own.

use serde_json::{Value, json};

use crate::codec::Codec;
use crate::configuration::Configuration;
use crate::error::Error;
use crate::number::NumberType;

const NAME: &str = "vlen";

/// Stores elements of any length: their offsets, one more than there are elements, and their bytes, one behind the other.
///
/// The stored bytes of the offsets come first, with their number before them, or last, with it behind them: 64 bits,
/// little-endian.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedCodec {
    /// How the offsets are stored, in encode order.
    pub offsets: Vec<Codec>,
    /// How the elements' bytes are stored, in encode order.
    pub data: Vec<Codec>,
    /// What an offset is: `UInt32` or `UInt64`.
    pub offset: NumberType,
    /// Where the offsets lie.
    pub location: OffsetsLocation,
}

/// At which end of a chunk its offsets lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetsLocation {
    /// Before the elements.
    Start,
    /// Behind them.
    End,
}

impl IndexedCodec {
    pub(crate) fn from_json(configuration: &Value) -> Result<Self, Error> {
        let known = ["index_codecs", "data_codecs", "index_data_type", "index_location"];
        let fields = Configuration::new(NAME, configuration, &known)?;
        let codecs = |field: &str| match fields.get(field) {
            Some(entries) => Codec::list_from_v3(NAME, field, entries),
            None => Err(fields.missing(field, "an array of codecs")),
        };
        let wanted = "\"uint32\" or \"uint64\"";
        let offset = match fields.text("index_data_type", wanted)? {
            Some("uint32") => NumberType::UInt32,
            Some("uint64") => NumberType::UInt64,
            Some(other) => return Err(Error::invalid_field(NAME, "index_data_type", wanted, other)),
            None => return Err(fields.missing("index_data_type", wanted)),
        };
        let wanted = "\"start\" or \"end\"";
        let location = match fields.text("index_location", wanted)? {
            None | Some("start") => OffsetsLocation::Start,
            Some("end") => OffsetsLocation::End,
            Some(other) => return Err(Error::invalid_field(NAME, "index_location", wanted, other)),
        };
        Ok(Self { offsets: codecs("index_codecs")?, data: codecs("data_codecs")?, offset, location })
    }

    pub(crate) fn to_json(&self) -> Value {
        let list = |codecs: &[Codec]| codecs.iter().map(Codec::to_v3).collect::<Vec<_>>();
        let location = match self.location {
            OffsetsLocation::Start => "start",
            OffsetsLocation::End => "end",
        };
        json!({
            "index_codecs": list(&self.offsets), "data_codecs": list(&self.data),
            "index_data_type": self.offset.name(), "index_location": location,
        })
    }
}
