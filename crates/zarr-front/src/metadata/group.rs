//! The checked metadata of a group, of either format.

use serde_json::{Map, Value};

use super::fields::{attributes, check_format, check_unknown, may_be_ignored, required, wrong};
use super::{Consolidated, ZarrFormat, json};
use crate::Error;

/// What a group's own documents say: its attributes and, where the writer consolidated it, its children's documents.
#[derive(Clone, Debug)]
pub struct GroupMetadata {
    zarr_format: ZarrFormat,
    attributes: Map<String, Value>,
    consolidated: Option<Consolidated>,
}

impl GroupMetadata {
    /// Parses the `zarr.json` of a Zarr v3 group; `object` is its name in errors.
    ///
    /// Inline `consolidated_metadata` is kept with its documents unparsed until they are asked for. Fields that the
    /// specification does not know are ignored where they say `"must_understand": false`.
    ///
    /// # Errors
    ///
    /// `Invalid` where the document breaks the specification, `Unsupported` (naming the field) for an extension that
    /// must be understood.
    ///
    /// Source: Zarr v3 core specification, "Group metadata".
    pub fn parse_v3(bytes: &[u8], object: &str) -> Result<Self, Error> {
        let document = json::parse_object(bytes).map_err(|error| error.with_object(object))?;
        Self::from_v3(document, object)
    }

    /// Parses the `.zgroup` of a Zarr v2 group, and its `.zattrs` where there is one; `object` names the `.zgroup` in
    /// errors. Its `.zmetadata` goes to [`Consolidated::parse_v2`].
    ///
    /// # Errors
    ///
    /// `Invalid` where a document breaks the specification.
    ///
    /// Source: Zarr v2 specification, "Hierarchies", "Attributes".
    pub fn parse_v2(bytes: &[u8], attributes: Option<&[u8]>, object: &str) -> Result<Self, Error> {
        let parse = || {
            let attributes = attributes.map(json::parse_object).transpose()?;
            Self::from_v2(&json::parse_object(bytes)?, attributes.unwrap_or_default(), object)
        };
        parse().map_err(|error| error.with_object(object))
    }

    /// As [`parse_v3`](Self::parse_v3), for a document that is parsed already.
    pub(crate) fn from_v3(mut document: Map<String, Value>, object: &str) -> Result<Self, Error> {
        let parse = |document: &mut Map<String, Value>| {
            check_format(document, ZarrFormat::V3)?;
            let node_type = required(document, "node_type")?;
            if node_type != "group" {
                return Err(wrong("node_type", "\"group\"", node_type));
            }
            check_unknown(document, &["zarr_format", "node_type", "attributes", "consolidated_metadata"])?;
            let attributes = attributes(document)?;
            let consolidated = match document.remove("consolidated_metadata") {
                None | Some(Value::Null) => None,
                Some(consolidated) => inline_consolidated(consolidated)?,
            };
            Ok(Self { zarr_format: ZarrFormat::V3, attributes, consolidated })
        };
        parse(&mut document).map_err(|error: Error| error.with_object(object))
    }

    /// As [`parse_v2`](Self::parse_v2), for documents that are parsed already.
    pub(crate) fn from_v2(
        document: &Map<String, Value>,
        attributes: Map<String, Value>,
        object: &str,
    ) -> Result<Self, Error> {
        check_format(document, ZarrFormat::V2).map_err(|error| error.with_object(object))?;
        Ok(Self { zarr_format: ZarrFormat::V2, attributes, consolidated: None })
    }

    /// The same group, with the documents of its children.
    #[must_use]
    pub fn with_consolidated(mut self, consolidated: Consolidated) -> Self {
        self.consolidated = Some(consolidated);
        self
    }

    /// The same group, without the documents of its children.
    #[must_use]
    pub fn without_consolidated(self) -> Self {
        Self { consolidated: None, ..self }
    }

    /// The same group with other attributes.
    pub(crate) fn with_attributes(self, attributes: Map<String, Value>) -> Self {
        Self { attributes, ..self }
    }

    /// The format that the group is stored in.
    #[must_use]
    pub fn zarr_format(&self) -> ZarrFormat {
        self.zarr_format
    }

    /// The user's attributes; in Zarr v2 those of `.zattrs`.
    #[must_use]
    pub fn attributes(&self) -> &Map<String, Value> {
        &self.attributes
    }

    /// The documents of everything below the group, where the writer consolidated them.
    #[must_use]
    pub fn consolidated(&self) -> Option<&Consolidated> {
        self.consolidated.as_ref()
    }
}

/// Source: zarr-python documentation, "Consolidated metadata" (no specification of Zarr v3 has it yet).
fn inline_consolidated(value: Value) -> Result<Option<Consolidated>, Error> {
    let field = "consolidated_metadata";
    let Value::Object(mut object) = value else {
        return Err(wrong(field, "an object", &value));
    };
    if object.get("kind") == Some(&Value::from("inline")) {
        return match object.remove("metadata") {
            Some(Value::Object(documents)) => Ok(Some(Consolidated::from_v3_documents(documents))),
            other => Err(wrong("consolidated_metadata.metadata", "an object", &other.unwrap_or(Value::Null))),
        };
    }
    let kind = object.get("kind").map_or_else(|| "none".to_owned(), json::brief);
    match may_be_ignored(&Value::Object(object)) {
        true => Ok(None),
        false => Err(Error::unsupported(format!("consolidated metadata of kind {kind}"))),
    }
}
