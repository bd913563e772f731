//! Consolidated metadata: the documents of a whole hierarchy in one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::fields::wrong;
use super::{ArrayMetadata, GroupMetadata, NodeMetadata, ZarrFormat, json};
use crate::Error;

/// The metadata documents of everything below one group, by path.
///
/// Documents are kept as parsed JSON and checked only when a node is opened, so a group of thousands opens in the time
/// of one JSON parse, and one broken array does not keep the others from being read. Clones share the documents.
///
/// ```
/// use swath_zarr_front::Consolidated;
///
/// let document = br#"{"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2},
///                     "a/b/.zgroup": {"zarr_format": 2}, "a/.zgroup": {"zarr_format": 2}}}"#;
/// let consolidated = Consolidated::parse_v2(document, ".zmetadata")?;
/// assert_eq!(consolidated.children().collect::<Vec<_>>(), ["a"]);
/// assert!(consolidated.get("a/b").is_some_and(|node| !node.is_array()));
/// # Ok::<(), swath_zarr_front::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Consolidated {
    nodes: Arc<BTreeMap<String, ConsolidatedNode>>,
    /// Empty, or a path that ends in `/`; every lookup is below it.
    prefix: String,
}

/// The documents of one node, not checked yet.
#[derive(Clone, Debug)]
pub struct ConsolidatedNode {
    documents: Documents,
}

#[derive(Clone, Debug)]
enum Documents {
    V2 { document: Option<(V2Kind, Value)>, attributes: Option<Value> },
    V3(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum V2Kind {
    Array,
    Group,
}

impl Consolidated {
    /// Parses a Zarr v2 `.zmetadata`; `object` is its name in errors.
    ///
    /// The root's own documents are under the path `""`. Keys that are no metadata documents are ignored.
    ///
    /// # Errors
    ///
    /// `Invalid` for a document that is not of this form; `Unsupported` for another `zarr_consolidated_format` than 1.
    ///
    /// Source: zarr-python 2 documentation, "Consolidating metadata".
    pub fn parse_v2(bytes: &[u8], object: &str) -> Result<Self, Error> {
        let parse = || {
            let mut document = json::parse_object(bytes)?;
            match document.get("zarr_consolidated_format") {
                Some(format) if format.as_u64() == Some(1) => {}
                Some(other) => {
                    let found = json::brief(other);
                    return Err(Error::unsupported(format!(
                        "`zarr_consolidated_format` {found}, only 1 is read"
                    )));
                }
                None => return Err(wrong("zarr_consolidated_format", "1", &Value::Null)),
            }
            match document.remove("metadata") {
                Some(Value::Object(documents)) => Ok(Self::from_v2_documents(documents)),
                other => Err(wrong("metadata", "an object", &other.unwrap_or(Value::Null))),
            }
        };
        parse().map_err(|error| error.with_object(object))
    }

    fn from_v2_documents(documents: Map<String, Value>) -> Self {
        let mut nodes = BTreeMap::new();
        for (key, value) in documents {
            let (path, name) = key.rsplit_once('/').unwrap_or(("", &key));
            let kind = match name {
                ".zarray" => Some(V2Kind::Array),
                ".zgroup" => Some(V2Kind::Group),
                ".zattrs" => None,
                _ => continue,
            };
            let node = match nodes.entry(path.to_owned()) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(ConsolidatedNode {
                    documents: Documents::V2 { document: None, attributes: None },
                }),
            };
            node.add_v2(kind, value);
        }
        Self { nodes: Arc::new(nodes), prefix: String::new() }
    }

    /// The `metadata` of inline `consolidated_metadata`: path to `zarr.json`.
    pub(super) fn from_v3_documents(documents: Map<String, Value>) -> Self {
        let node = |(path, document): (String, Value)| {
            let path = path.trim_matches('/').to_owned();
            (path, ConsolidatedNode { documents: Documents::V3(document) })
        };
        Self { nodes: Arc::new(documents.into_iter().map(node).collect()), prefix: String::new() }
    }

    /// The documents of the node at `path`, relative to this group, without slashes around it; `""` is the group
    /// itself, which only Zarr v2 lists.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&ConsolidatedNode> {
        if self.prefix.is_empty() {
            return self.nodes.get(path);
        }
        self.nodes.get(format!("{}{path}", self.prefix).trim_end_matches('/'))
    }

    /// The names of the nodes directly below this group, in lexical order.
    pub fn children(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(path, _)| path).filter(|path| !path.is_empty() && !path.contains('/'))
    }

    /// Every node below this group by its path relative to it, in lexical order; in Zarr v2 also the group itself, as
    /// `""`.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ConsolidatedNode)> {
        self.nodes
            .range::<str, _>((Bound::Included(self.prefix.as_str()), Bound::Unbounded))
            .map_while(|(path, node)| Some((path.strip_prefix(&self.prefix)?, node)))
    }

    /// The part below `path`, for a child group that is opened through this one; shares the documents.
    #[must_use]
    pub fn below(&self, path: &str) -> Self {
        let path = path.trim_matches('/');
        let end = if path.is_empty() { "" } else { "/" };
        Self { nodes: Arc::clone(&self.nodes), prefix: format!("{}{path}{end}", self.prefix) }
    }
}

impl ConsolidatedNode {
    fn add_v2(&mut self, kind: Option<V2Kind>, value: Value) {
        let Documents::V2 { document, attributes } = &mut self.documents else {
            return;
        };
        match kind {
            None => *attributes = Some(value),
            // A path that is both is an array: its group document is a left-over, as zarr-python reads it.
            Some(V2Kind::Group) if document.is_some() => {}
            Some(kind) => *document = Some((kind, value)),
        }
    }

    /// Whether the node is an array; otherwise it is a group, or broken.
    #[must_use]
    pub fn is_array(&self) -> bool {
        match &self.documents {
            Documents::V2 { document, .. } => matches!(document, Some((V2Kind::Array, _))),
            Documents::V3(document) => document.get("node_type") == Some(&Value::from("array")),
        }
    }

    /// The format of the node's documents.
    #[must_use]
    pub fn zarr_format(&self) -> ZarrFormat {
        match self.documents {
            Documents::V2 { .. } => ZarrFormat::V2,
            Documents::V3(_) => ZarrFormat::V3,
        }
    }

    /// Checks the node's documents; `object` is its name in errors.
    ///
    /// # Errors
    ///
    /// As [`ArrayMetadata::parse_v3`], [`ArrayMetadata::parse_v2`], [`GroupMetadata::parse_v3`]; `Invalid` for
    /// attributes without a node.
    pub fn parse(&self, object: &str) -> Result<NodeMetadata, Error> {
        self.parse_documents(object).map_err(|error| error.with_object(object))
    }

    fn parse_documents(&self, object: &str) -> Result<NodeMetadata, Error> {
        let map = |value: &Value, name| match value {
            Value::Object(map) => Ok(map.clone()),
            other => Err(wrong(name, "an object", other)),
        };
        match &self.documents {
            Documents::V3(document) => NodeMetadata::from_v3(map(document, "zarr.json")?, object),
            Documents::V2 { document, attributes } => {
                let attributes =
                    attributes.as_ref().map(|attributes| map(attributes, ".zattrs")).transpose()?;
                let attributes = attributes.unwrap_or_default();
                match document {
                    None => Err(Error::invalid("wanted a `.zarray` or `.zgroup`, found only `.zattrs`")),
                    Some((V2Kind::Array, document)) => {
                        let metadata = ArrayMetadata::from_v2(map(document, ".zarray")?, attributes, object)?;
                        Ok(NodeMetadata::Array(Box::new(metadata)))
                    }
                    Some((V2Kind::Group, document)) => {
                        GroupMetadata::from_v2(&map(document, ".zgroup")?, attributes, object)
                            .map(NodeMetadata::Group)
                    }
                }
            }
        }
    }
}
