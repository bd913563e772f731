//! Finding out what is stored at a path: an array or a group, v3 or v2.

use crate::array::Array;
use crate::decoded_cache::DecodedCache;
use crate::group::Group;
use crate::metadata::{ArrayMetadata, Consolidated, GroupMetadata, NodeMetadata};
use crate::store::{Store, join};
use crate::{Error, ErrorKind};
use std::path::Path;
use swath_ioengine::Engine;

/// What a path of a hierarchy is.
#[derive(Clone, Debug)]
pub enum Node {
    /// An array.
    Array(Array),
    /// A group.
    Group(Group),
}

impl Node {
    /// Opens whatever a local directory holds.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is neither an array nor a group, `Invalid` and `Unsupported` as for [`Array::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Node, Error> {
        open_node(&Store::directory(path)?, "")
    }

    /// Opens whatever is at `path` of a store.
    ///
    /// # Errors
    ///
    /// As [`Node::open`].
    pub fn open_in(store: &Store, path: &str) -> Result<Node, Error> {
        open_node(store, path)
    }

    /// The same node, with a cache of decoded chunks: [`Array::with_decoded_cache`], [`Group::with_decoded_cache`].
    #[must_use]
    pub fn with_decoded_cache(&self, cache: &DecodedCache) -> Node {
        match self {
            Node::Array(array) => Node::Array(array.with_decoded_cache(cache)),
            Node::Group(group) => Node::Group(group.with_decoded_cache(cache)),
        }
    }
}

/// A node's path in its normal form: names with one slash in between.
///
/// # Errors
///
/// `Invalid` for `.` and `..`, which no node may be called.
///
/// Source: Zarr v3 core specification, "Node names".
pub(crate) fn node_path(path: &str) -> Result<String, Error> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    match names.iter().find(|name| matches!(**name, "." | "..")) {
        Some(name) => Err(Error::invalid(format!("wanted names of nodes, found `{name}`")).with_object(path)),
        None => Ok(names.join("/")),
    }
}

/// Opens the node at `path`: `zarr.json` first, then `.zarray`, then `.zgroup`.
pub(crate) fn open_node(store: &Store, path: &str) -> Result<Node, Error> {
    let path = &*node_path(path)?;
    let engine = Engine::global();
    let key = |name: &str| join(path, name);
    if let Some(bytes) = store.document(&engine, &key("zarr.json"))? {
        let metadata = NodeMetadata::parse_v3(&bytes, &store.describe(&key("zarr.json")))?;
        return from_metadata(store, path, metadata);
    }
    if let Some(bytes) = store.document(&engine, &key(".zarray"))? {
        let attributes = store.document(&engine, &key(".zattrs"))?;
        let name = store.describe(&key(".zarray"));
        let metadata = ArrayMetadata::parse_v2(&bytes, attributes.as_deref(), &name)?;
        return from_metadata(store, path, NodeMetadata::Array(Box::new(metadata)));
    }
    let group = store.document(&engine, &key(".zgroup"))?;
    let consolidated = store.document(&engine, &key(".zmetadata"))?;
    let consolidated = consolidated
        .map(|bytes| Consolidated::parse_v2(&bytes, &store.describe(&key(".zmetadata"))))
        .transpose()?;
    if let Some(bytes) = group {
        let attributes = store.document(&engine, &key(".zattrs"))?;
        let metadata =
            GroupMetadata::parse_v2(&bytes, attributes.as_deref(), &store.describe(&key(".zgroup")))?;
        let metadata = match consolidated {
            Some(consolidated) => metadata.with_consolidated(consolidated),
            None => metadata,
        };
        return from_metadata(store, path, NodeMetadata::Group(metadata));
    }
    let message = "found neither zarr.json nor .zarray nor .zgroup";
    Err(Error::new(ErrorKind::NotFound, message).with_object(&store.describe(path)))
}

/// Makes the node that checked metadata describes.
pub(crate) fn from_metadata(store: &Store, path: &str, metadata: NodeMetadata) -> Result<Node, Error> {
    match metadata {
        NodeMetadata::Array(metadata) => {
            Ok(Node::Array(Array::new(store.clone(), path.to_owned(), *metadata)?))
        }
        NodeMetadata::Group(metadata) => {
            Ok(Node::Group(Group::new(store.clone(), path.to_owned(), metadata)))
        }
    }
}
