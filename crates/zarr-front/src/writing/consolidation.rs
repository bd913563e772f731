//! Consolidated metadata: the documents of all nodes below a group, in one of its own.

use super::documents::{change_document, document_bytes};
use super::stored_object::put;
use crate::metadata::{ZarrFormat, json};
use crate::store::{Document, Store, join};
use crate::{Error, ErrorKind, Group};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use swath_ioengine::{Engine, Entry};

/// Nesting beyond this is a loop of links, or an attack.
const DEPTH_MAX: usize = 256;

/// More nodes than are consolidated.
const NODES_MAX: usize = 1 << 20;

/// Bytes of a document that are asked for at first.
const DOCUMENT_BYTES: u64 = 256 << 10;

impl Group {
    /// Writes the documents of all nodes below the group, as they are stored by now, into one that readers open at once: in
    /// v2 `.zmetadata`, in v3 the `consolidated_metadata` of `zarr.json`, as zarr-python has it. It stays as it is when
    /// nodes are made, changed or removed later: then it has to be written again. The group that is returned has it.
    ///
    /// Several may consolidate a v3 group at the same time, each behind what it has made: nodes are listed anew where another was
    /// faster, so that the last one has what all have made. That holds where the store takes conditions, or is a directory of this
    /// machine.
    ///
    /// # Errors
    ///
    /// `Invalid` for documents that are no JSON, and for hierarchies without an end; those of the store, and `Unsupported`
    /// where it cannot list.
    pub fn consolidate(&self) -> Result<Group, Error> {
        self.store().require_writable(self.path())?;
        let nodes = || {
            let mut found = Map::new();
            collect(self.store(), self.zarr_format(), self.path(), "", 0, &mut found).map(|()| found)
        };
        match self.zarr_format() {
            ZarrFormat::V3 => {
                let key = join(self.path(), "zarr.json");
                change_document(self.store(), &key, |document| {
                    // Behind the look at the document that this takes the place of: what others have consolidated by then is listed.
                    let inline = json!({"kind": "inline", "must_understand": false, "metadata": nodes()?});
                    document.insert("consolidated_metadata".to_owned(), inline);
                    Ok(())
                })?;
            }
            ZarrFormat::V2 => {
                let mut found = nodes()?;
                for name in V2_DOCUMENTS {
                    if let Some(document) = stored(self.store(), &join(self.path(), name))? {
                        found.insert(name.to_owned(), Value::Object(document));
                    }
                }
                let mut document = Map::new();
                document.insert("metadata".to_owned(), Value::Object(found));
                document.insert("zarr_consolidated_format".to_owned(), Value::from(1));
                let object = self.store().object(&join(self.path(), ".zmetadata"));
                put(&object, Bytes::from(document_bytes(&document)?))
                    .map_err(|error| self.store().named(error))?;
            }
        }
        Group::open_in(self.store(), self.path())
    }
}

/// Documents of a v2 node.
const V2_DOCUMENTS: [&str; 3] = [".zarray", ".zgroup", ".zattrs"];

/// Adds the documents of all nodes below `path`, which is `below` as the consolidating group calls it.
fn collect(
    store: &Store,
    zarr_format: ZarrFormat,
    path: &str,
    below: &str,
    depth: usize,
    found: &mut Map<String, Value>,
) -> Result<(), Error> {
    if DEPTH_MAX < depth || NODES_MAX < found.len() {
        let error = Error::invalid(format!("groups nested more than {DEPTH_MAX} deep, or {NODES_MAX} nodes"));
        return Err(error.with_object(&store.describe(path)));
    }
    let names: Vec<String> = store.list(path)?.into_iter().filter_map(folder_name).collect();
    for name in names {
        let (path, below) = (join(path, &name), join(below, &name));
        let is_group = match zarr_format {
            ZarrFormat::V3 => collect_v3(store, &path, &below, found)?,
            ZarrFormat::V2 => collect_v2(store, &path, &below, found)?,
        };
        if is_group {
            collect(store, zarr_format, &path, &below, depth + 1, found)?;
        }
    }
    Ok(())
}

fn folder_name(entry: Entry) -> Option<String> {
    match entry {
        Entry::Prefix { name } => Some(name),
        Entry::Object { .. } => None,
    }
}

/// Adds the document of one node, if it is one; true of a group.
fn collect_v3(store: &Store, path: &str, below: &str, found: &mut Map<String, Value>) -> Result<bool, Error> {
    let Some(mut document) = stored(store, &join(path, "zarr.json"))? else { return Ok(false) };
    let is_group = document.get("node_type") == Some(&Value::from("group"));
    if is_group {
        // What is below it is listed here; readers take an empty list for: look there.
        let none = json!({"kind": "inline", "must_understand": false, "metadata": {}});
        document.insert("consolidated_metadata".to_owned(), none);
    }
    found.insert(below.to_owned(), Value::Object(document));
    Ok(is_group)
}

fn collect_v2(store: &Store, path: &str, below: &str, found: &mut Map<String, Value>) -> Result<bool, Error> {
    let mut is_group = false;
    let mut documents = Vec::with_capacity(2);
    for name in V2_DOCUMENTS {
        // A path that is both is an array; attributes alone are no node.
        let is_wanted = name == ".zarray" || (name == ".zattrs") != documents.is_empty();
        if let Some(document) = stored(store, &join(path, name))?.filter(|_| is_wanted) {
            is_group |= name == ".zgroup";
            documents.push((join(below, name), Value::Object(document)));
        }
    }
    found.extend(documents);
    Ok(is_group)
}

/// A document, if it is there.
fn stored(store: &Store, key: &str) -> Result<Option<Map<String, Value>>, Error> {
    let found = store.documents(&Engine::global(), &[key.to_owned()], DOCUMENT_BYTES)?.pop();
    match found {
        Some(Document::Here(bytes)) => {
            json::parse_object(&bytes).map(Some).map_err(|error| error.with_object(&store.describe(key)))
        }
        Some(Document::Missing | Document::Denied(_)) => Ok(None),
        Some(Document::Failed(error)) => Err(error),
        None => Err(Error::new(ErrorKind::Internal, "a document was not read")),
    }
}
