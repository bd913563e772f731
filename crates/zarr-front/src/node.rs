//! Finding out what is stored at a path: an array or a group, v3 or v2.

use crate::array::Array;
use crate::decoded_cache::DecodedCache;
use crate::group::{Group, NamedNode};
use crate::metadata::NodeMetadata;
use crate::node_documents::{Likely, ReadWithMembers, read_at_once, read_in_turn, read_with_members};
use crate::store::Store;
use crate::{Error, ErrorKind};
use std::path::Path;

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
        open_node(&Store::path(path)?, "")
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
    let path = node_path(path)?;
    if store.is_remote() {
        let mut opened = open_nodes(store, &[path], Likely::Anything);
        return opened.pop().unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "a node was not opened")));
    }
    let metadata = read_in_turn(store, &path)?;
    from_metadata(store, &path, metadata)
}

/// Opens a node and, where it turns out to be a v2 group, the nodes directly below it, by path, which `list` names: see
/// [`read_with_members`].
pub(crate) fn open_with_members(
    store: &Store,
    path: &str,
    list: impl FnOnce() -> Result<Vec<String>, Error>,
) -> Result<(Node, Option<Vec<NamedNode>>), Error> {
    let ReadWithMembers { node, members } = read_with_members(store, path, list)?;
    let node = from_metadata(store, path, node)?;
    let open = |(path, metadata): (String, Result<NodeMetadata, Error>)| {
        let node = metadata.and_then(|metadata| from_metadata(store, &path, metadata));
        (path, node)
    };
    Ok((node, members.map(|members| members.into_iter().map(open).collect())))
}

/// Opens the nodes at `paths`, which are in their normal form, in as few round trips as their store allows.
pub(crate) fn open_nodes(store: &Store, paths: &[String], likely: Likely) -> Vec<Result<Node, Error>> {
    if !store.is_remote() {
        return paths.iter().map(|path| open_node(store, path)).collect();
    }
    let metadata = read_at_once(store, paths, likely);
    let opened = paths.iter().zip(metadata).map(|(path, metadata)| from_metadata(store, path, metadata?));
    opened.collect()
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
