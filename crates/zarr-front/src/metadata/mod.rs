//! Checked metadata: the documents of Zarr v3 and v2, from bytes to types, without any I/O.
//!
//! Everything here takes untrusted bytes and gives a checked type or an error that names the document and the field.
//! Storage, and which key a document is stored under, is not known here.

mod array;
mod array_v2;
mod array_v3;
pub(crate) mod base64;
mod codecs;
mod consolidated;
mod fields;
pub(crate) mod floats;
mod group;
pub(crate) mod json;
mod sharding;

use serde_json::{Map, Value};

pub use array::ArrayMetadata;
pub use codecs::ArrayCodecs;
pub(crate) use codecs::{is_transpose, transposed};
pub use consolidated::{Consolidated, ConsolidatedNode};
pub(crate) use fields::wrong;
pub use group::GroupMetadata;
pub use sharding::{IndexLocation, Sharding};

use crate::Error;

/// The version of the Zarr specification that a node is stored by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZarrFormat {
    /// Zarr v2: `.zarray`, `.zgroup`, `.zattrs`, `.zmetadata`.
    V2,
    /// Zarr v3: `zarr.json`.
    V3,
}

/// What a Zarr v3 `zarr.json` describes.
#[derive(Clone, Debug)]
pub enum NodeMetadata {
    /// `node_type` is `array`.
    Array(Box<ArrayMetadata>),
    /// `node_type` is `group`.
    Group(GroupMetadata),
}

impl NodeMetadata {
    /// Parses a `zarr.json` of either node type; `object` is its name in errors.
    ///
    /// # Errors
    ///
    /// `Invalid` where the document breaks the specification, `Unsupported` where swath cannot read what it describes.
    ///
    /// Source: Zarr v3 core specification, "Metadata".
    pub fn parse_v3(bytes: &[u8], object: &str) -> Result<Self, Error> {
        let document = json::parse_object(bytes).map_err(|error| error.with_object(object))?;
        Self::from_v3(document, object)
    }

    /// The same for a document that is parsed already, such as an entry of consolidated metadata.
    pub(crate) fn from_v3(document: Map<String, Value>, object: &str) -> Result<Self, Error> {
        match document.get("node_type").and_then(Value::as_str) {
            Some("array") => ArrayMetadata::from_v3(document, object).map(Box::new).map(Self::Array),
            Some("group") => GroupMetadata::from_v3(document, object).map(Self::Group),
            _ => {
                let found = document.get("node_type").map_or_else(|| "nothing".to_owned(), json::brief);
                let message = format!("wanted `node_type` \"array\" or \"group\", found {found}");
                Err(Error::invalid(message).with_object(object))
            }
        }
    }
}
