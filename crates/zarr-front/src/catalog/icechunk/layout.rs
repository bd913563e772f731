//! What a snapshot says: all documents, and where the chunks of each array are said.

use super::extents::ManifestParts;
use super::format::{NodeId, SnapshotNode};
use crate::Error;
use crate::catalog::listing::{SortedKeys, list, position};
use std::collections::HashMap;
use std::sync::Arc;
use swath_ioengine::{Entry, MemoryMedium, ObjectRef, storage_len};

/// Documents and arrays of a snapshot.
#[derive(Clone)]
pub(super) struct Layout {
    /// Keys of documents, sorted, and where each lies among the others.
    documents: Arc<Documents>,
    /// All documents, one behind the other.
    texts: ObjectRef,
    /// Numbers of arrays by path.
    numbers: Arc<HashMap<String, usize>>,
    arrays: Arc<[ArrayNode]>,
}

/// An array of a snapshot.
pub(super) struct ArrayNode {
    pub(super) id: NodeId,
    pub(super) manifests: ManifestParts,
}

struct Documents(Vec<(String, u64, u64)>);

impl Layout {
    pub(super) fn new(nodes: Vec<SnapshotNode>) -> Layout {
        let mut texts = Vec::new();
        let mut documents = Vec::with_capacity(nodes.len());
        let (mut arrays, mut numbers) = (Vec::new(), HashMap::new());
        for SnapshotNode { path, document, chunks } in nodes {
            let key = if path.is_empty() { DOCUMENT.to_owned() } else { format!("{path}/{DOCUMENT}") };
            documents.push((key, storage_len(texts.len()), storage_len(document.len())));
            texts.extend_from_slice(&document);
            if let Some((id, manifests)) = chunks {
                numbers.insert(path, arrays.len());
                arrays.push(ArrayNode { id, manifests: ManifestParts::new(manifests) });
            }
        }
        documents.sort();
        let memory = MemoryMedium::new();
        memory.put("documents", texts);
        Layout {
            documents: Arc::new(Documents(documents)),
            texts: memory.object("documents"),
            numbers: Arc::new(numbers),
            arrays: arrays.into(),
        }
    }

    /// All documents, as one object in memory.
    pub(super) fn texts(&self) -> &ObjectRef {
        &self.texts
    }

    /// Where a document lies among the others.
    pub(super) fn document(&self, key: &str) -> Option<(u64, u64)> {
        let found = self.documents.0.get(position(&*self.documents, key)?);
        found.map(|(_, offset, len)| (*offset, *len))
    }

    /// What lies directly below a prefix that is empty or ends in `/`; sorted by name.
    ///
    /// # Errors
    ///
    /// `Unsupported` for the chunks of an array: which there are takes reading all its manifests.
    pub(super) fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        match self.numbers.contains_key(prefix.trim_end_matches('/')) {
            true => Err(Error::unsupported("listing the chunks of an Icechunk repository")),
            false => Ok(list(&*self.documents, prefix)),
        }
    }

    /// An array.
    pub(super) fn array(&self, number: usize) -> Option<&ArrayNode> {
        self.arrays.get(number)
    }

    /// The number of the array of a chunk; its coordinates are added to `coordinates`.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a key that is none of Zarr's default encoding, by which Icechunk names chunks.
    pub(super) fn chunk(&self, key: &str, coordinates: &mut Vec<u32>) -> Result<usize, Error> {
        let head = key.trim_end_matches(|character: char| character.is_ascii_digit() || character == '/');
        let parts = key.get(head.len()..).unwrap_or_default();
        let path = match head.strip_suffix('c') {
            Some("") => "",
            Some(path) if path.ends_with('/') => path.trim_end_matches('/'),
            _ => return Err(odd(key)),
        };
        // Nothing stands before the first slash.
        let (before, parts) = parts.split_at(parts.find('/').unwrap_or(parts.len()));
        if !before.is_empty() {
            return Err(odd(key));
        }
        for part in parts.split('/').skip(1) {
            coordinates.push(part.parse().map_err(|_| odd(key))?);
        }
        self.numbers.get(path).copied().ok_or_else(|| odd(key))
    }
}

/// The name of documents.
const DOCUMENT: &str = "zarr.json";

fn odd(key: &str) -> Error {
    let message = "chunks in an Icechunk repository whose keys are not of the encoding `default` with `/`";
    Error::unsupported(message).with_object(key)
}

impl SortedKeys for Documents {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn name(&self, number: usize) -> &str {
        self.0.get(number).map_or("", |(name, ..)| name)
    }

    fn size(&self, number: usize) -> u64 {
        self.0.get(number).map_or(0, |(.., len)| *len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_have_arrays_and_coordinates() {
        let array = |path: &str| SnapshotNode {
            path: path.to_owned(),
            document: path.as_bytes().to_vec(),
            chunks: Some(([0; 8], Vec::new())),
        };
        let group = |path: &str| SnapshotNode { chunks: None, ..array(path) };
        let layout = Layout::new(vec![group(""), group("a"), array("a/c"), array("a/b"), array("c")]);
        let number = |path: &str| *layout.numbers.get(path).unwrap();
        let chunk = |key: &str| {
            let mut coordinates = Vec::new();
            layout.chunk(key, &mut coordinates).ok().map(|number| (number, coordinates))
        };
        assert_eq!(chunk("a/b/c/0/17"), Some((number("a/b"), vec![0, 17])));
        assert_eq!(chunk("a/c/c/3"), Some((number("a/c"), vec![3])));
        assert_eq!(chunk("a/c/c"), Some((number("a/c"), vec![])));
        assert_eq!(chunk("c/c/1/2/3"), Some((number("c"), vec![1, 2, 3])));
        for wrong in ["a/b/0.1", "a/b/c0", "a/b/c/4294967296", "a/b/c//1", "a/b/c/1/", "c/0", "b/c/0", ""] {
            assert_eq!(chunk(wrong), None, "{wrong}");
        }
        let root = Layout::new(vec![array("")]);
        let mut coordinates = Vec::new();
        assert_eq!(root.chunk("c/5/6", &mut coordinates).unwrap(), 0);
        assert_eq!(coordinates, [5, 6]);
        let names = |prefix: &str| -> Vec<String> {
            layout.list(prefix).unwrap().iter().map(|entry| entry.name().to_owned()).collect()
        };
        assert_eq!(names(""), ["a", "c", "zarr.json"]);
        assert_eq!(names("a/"), ["b", "c", "zarr.json"]);
        assert!(layout.list("a/b/").is_err());
        let (offset, len) = layout.document("a/c/zarr.json").unwrap();
        assert_eq!((offset, len), (1, 3));
        assert_eq!(layout.document("a/d/zarr.json"), None);
    }
}
