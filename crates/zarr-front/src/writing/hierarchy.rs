//! Nodes of a hierarchy: made, with the groups above them, and removed with all that is below them.

use super::documents::{NamedDocument, document_bytes};
use super::stored_object::{Replaced, put, replace};
use super::tree_removal::{remove_below, remove_link};
use crate::group::Group;
use crate::metadata::{GroupMetadata, NodeMetadata, ZarrFormat};
use crate::node::node_path;
use crate::store::{Document, Store, join};
use crate::{Error, ErrorKind};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::path::Path;
use swath_ioengine::Engine;

/// What becomes of a node that is there where a new one is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Existing {
    /// It stays, and making another is an error.
    #[default]
    Refuse,
    /// It is removed, with all that is stored below it.
    Replace,
}

/// The documents that make a node.
const NODE_DOCUMENTS: [&str; 3] = ["zarr.json", ".zarray", ".zgroup"];

impl Store {
    /// A directory of the local file system, made where it is not there, with those above it.
    ///
    /// # Errors
    ///
    /// `Io` where it cannot be made; as [`Store::directory`].
    pub fn create_directory(path: impl AsRef<Path>) -> Result<Store, Error> {
        let path = path.as_ref();
        std::fs::create_dir_all(path).map_err(|error| {
            let message = format!("the directory cannot be made: {error}");
            Error::new(ErrorKind::Io, message).with_object(&path.to_string_lossy())
        })?;
        Store::directory(path)
    }

    /// Whether an array or a group is stored at a path, of either format, sound or not.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub fn contains_node(&self, path: &str) -> Result<bool, Error> {
        let path = node_path(path)?;
        let keys: Vec<String> = NODE_DOCUMENTS.iter().map(|name| join(&path, name)).collect();
        let engine = Engine::global();
        let found = match self.is_remote() {
            true => self.documents(&engine, &keys, LOOK_BYTES_MAX)?,
            false => keys.iter().map(|key| self.document(&engine, key)).collect::<Result<Vec<_>, Error>>()?,
        };
        for document in found {
            match document {
                Document::Here(_) => return Ok(true),
                Document::Failed(error) => return Err(error),
                // Stores that must not be listed deny what is not there; a write will tell.
                Document::Missing | Document::Denied(_) => {}
            }
        }
        Ok(false)
    }

    /// Removes the node at a path, with all that is stored below it: its documents first, so that readers find no node
    /// rather than a part of one. A writer that is killed leaves some of the rest. Nothing happens where nothing is stored.
    ///
    /// # Errors
    ///
    /// Those of the store; `Unsupported` where it cannot list or remove.
    pub fn remove_node(&self, path: &str) -> Result<(), Error> {
        let path = node_path(path)?;
        self.require_writable(&path)?;
        // Before the documents: a link to a node elsewhere is no reason to remove any of that.
        remove_link(self, &path);
        let removed = NODE_DOCUMENTS
            .iter()
            .try_for_each(|name| super::stored_object::delete(&self.object(&join(&path, name))));
        removed.and_then(|()| remove_below(self, &path)).map_err(|error| self.named(error))
    }
}

/// Bytes of a document that a look at it asks for at first.
const LOOK_BYTES_MAX: u64 = 256 << 10;

impl Group {
    /// Makes a group at a path of a store, and the groups above it that are not there yet.
    ///
    /// ```
    /// use swath_zarr_front::{Existing, Group, Store, ZarrFormat};
    /// use swath_ioengine::MemoryMedium;
    ///
    /// let store = Store::memory(&MemoryMedium::new());
    /// Group::create(&store, "a/b", ZarrFormat::V3, &serde_json::Map::new(), Existing::Refuse)?;
    /// assert_eq!(Group::open_in(&store, "")?.names()?, ["a"]);
    /// # Ok::<(), swath_zarr_front::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid` where a node is there already that is not to be replaced; those of the store.
    pub fn create(
        store: &Store,
        path: &str,
        zarr_format: ZarrFormat,
        attributes: &Map<String, Value>,
        existing: Existing,
    ) -> Result<Group, Error> {
        let path = node_path(path)?;
        let (documents, metadata) = group_documents(zarr_format, attributes, &store.describe(&path))?;
        create_node(store, &path, &documents, existing, &NodeMetadata::Group(metadata.clone()))?;
        Ok(Group::new(store.clone(), path, metadata))
    }
}

/// The documents of a new group, the one that makes it last.
fn group_documents(
    zarr_format: ZarrFormat,
    attributes: &Map<String, Value>,
    object: &str,
) -> Result<(Vec<NamedDocument>, GroupMetadata), Error> {
    let made = |value: Value| value.as_object().cloned().unwrap_or_default();
    match zarr_format {
        ZarrFormat::V3 => {
            let document = made(json!({"attributes": attributes, "zarr_format": 3, "node_type": "group"}));
            let documents = vec![("zarr.json", document_bytes(&document)?)];
            Ok((documents, GroupMetadata::from_v3(document, object)?))
        }
        ZarrFormat::V2 => {
            let document = made(json!({"zarr_format": 2}));
            let documents =
                vec![(".zattrs", document_bytes(attributes)?), (".zgroup", document_bytes(&document)?)];
            Ok((documents, GroupMetadata::from_v2(&document, attributes.clone(), object)?))
        }
    }
}

/// Writes the documents of a node, and those of the groups above it that are not there yet.
pub(super) fn create_node(
    store: &Store,
    path: &str,
    documents: &[NamedDocument],
    existing: Existing,
    node: &NodeMetadata,
) -> Result<(), Error> {
    let exists = || {
        let error = Error::invalid("wanted to make a node where none is, found an array or a group");
        Err(error.with_object(&store.describe(path)))
    };
    store.require_writable(path)?;
    match existing {
        Existing::Replace => store.remove_node(path)?,
        Existing::Refuse if store.contains_node(path)? => return exists(),
        Existing::Refuse => {}
    }
    let zarr_format = match node {
        NodeMetadata::Array(array) => array.zarr_format(),
        NodeMetadata::Group(group) => group.zarr_format(),
    };
    create_parents(store, path, zarr_format)?;
    let Some(((last, bytes), before)) = documents.split_last() else { return Ok(()) };
    let write = || {
        for (name, bytes) in before {
            put(&store.object(&join(path, name)), Bytes::from(bytes.clone()))?;
        }
        replace(&store.object(&join(path, last)), Bytes::from(bytes.clone()), Some(None), false)
    };
    match write().map_err(|error| store.named(error))? {
        Replaced::Done => Ok(()),
        // Somebody else was faster.
        Replaced::Changed => exists(),
    }
}

/// Makes the groups above a path that are not there yet, outermost first.
fn create_parents(store: &Store, path: &str, zarr_format: ZarrFormat) -> Result<(), Error> {
    let Some((above, _)) = path.rsplit_once('/').or_else(|| (!path.is_empty()).then_some(("", path))) else {
        return Ok(());
    };
    let ends = above.match_indices('/').map(|(end, _)| end);
    let first = (!above.is_empty()).then_some("");
    for parent in first.into_iter().chain(ends.map(|end| &above[..end])).chain([above]) {
        if store.contains_node(parent)? {
            continue;
        }
        let (documents, _) = group_documents(zarr_format, &Map::new(), &store.describe(parent))?;
        for (name, bytes) in documents {
            // Where somebody else made it meanwhile, that is as good.
            replace(&store.object(&join(parent, name)), Bytes::from(bytes), Some(None), false)
                .map_err(|error| store.named(error))?;
        }
    }
    Ok(())
}
