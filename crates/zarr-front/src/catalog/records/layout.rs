//! What `.zmetadata` of a reference set in Parquet says: all documents, and so where the rows of each chunk are.

use super::RecordKey;
use crate::Error;
use crate::catalog::listing::{SortedKeys, list};
use crate::metadata::json::{brief, parse_object};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use swath_ioengine::{Entry, MemoryMedium, ObjectRef, storage_len};

/// Documents, arrays and their grids.
#[derive(Clone)]
pub(super) struct Layout {
    /// Keys of documents, sorted, and where each lies among the others.
    documents: Arc<Documents>,
    /// All documents, one behind the other.
    texts: ObjectRef,
    /// Numbers of arrays by name.
    numbers: Arc<HashMap<String, usize>>,
    arrays: Arc<[Grid]>,
    /// Rows of one file.
    rows: u64,
}

struct Documents(Vec<(String, u64, u64)>);

/// Chunks of an array along each axis.
struct Grid {
    name: String,
    chunks: Vec<u64>,
}

/// Rows of one file at most: kerchunk writes 10,000 unless it is told otherwise, and some hundred thousand are in use.
const ROWS_MAX: u64 = 1 << 22;

impl Layout {
    /// # Errors
    ///
    /// `Invalid` for what is no document of a reference set.
    pub(super) fn parse(bytes: &[u8]) -> Result<Layout, Error> {
        let mut fields = parse_object(bytes)?;
        let rows = fields.get("record_size").and_then(Value::as_u64);
        let rows = rows.filter(|rows| (1..=ROWS_MAX).contains(rows)).ok_or_else(|| {
            let found = fields.get("record_size").map_or("none".to_owned(), brief);
            Error::invalid(format!("wanted a `record_size` of 1 to {ROWS_MAX} in .zmetadata, found {found}"))
        })?;
        let Some(Value::Object(metadata)) = fields.remove("metadata") else {
            return Err(Error::invalid("wanted an object as `metadata` in .zmetadata, found none"));
        };
        let arrays = grids(&metadata)?;
        let mut texts = Vec::new();
        let mut documents = Vec::with_capacity(metadata.len() + 1);
        let mut add = |key: String, text: &str| {
            documents.push((key, storage_len(texts.len()), storage_len(text.len())));
            texts.extend_from_slice(text.as_bytes());
        };
        for (key, value) in &metadata {
            match value {
                Value::String(text) => add(key.clone(), text),
                value => add(key.clone(), &value.to_string()),
            }
        }
        // With the version that zarr asks for and kerchunk leaves out, all of it is read by one look.
        let consolidated: Map<String, Value> = [
            ("zarr_consolidated_format".to_owned(), Value::from(1)),
            ("metadata".to_owned(), Value::Object(metadata)),
        ]
        .into_iter()
        .collect();
        add(".zmetadata".to_owned(), &Value::Object(consolidated).to_string());
        documents.sort();
        let memory = MemoryMedium::new();
        memory.put("documents", texts);
        let numbers = arrays.iter().enumerate().map(|(number, grid)| (grid.name.clone(), number));
        Ok(Layout {
            documents: Arc::new(Documents(documents)),
            texts: memory.object("documents"),
            numbers: Arc::new(numbers.collect()),
            arrays: arrays.into(),
            rows,
        })
    }

    /// Rows of one file.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The name of an array.
    pub(super) fn array_name(&self, number: usize) -> &str {
        self.arrays.get(number).map_or("", |grid| &grid.name)
    }

    /// Whether there is an array of that name.
    pub(super) fn is_array(&self, name: &str) -> bool {
        self.numbers.contains_key(name)
    }

    /// What lies directly below a prefix, but for chunks.
    pub(super) fn list(&self, prefix: &str) -> Vec<Entry> {
        list(&*self.documents, prefix)
    }

    /// Where a document lies in what [`texts`](Self::texts) is.
    pub(super) fn document(&self, key: &str) -> Option<(u64, u64)> {
        let found = self.documents.0.binary_search_by(|(name, ..)| name.as_str().cmp(key)).ok()?;
        self.documents.0.get(found).map(|(_, offset, len)| (*offset, *len))
    }

    /// All documents.
    pub(super) fn texts(&self) -> &ObjectRef {
        &self.texts
    }

    /// The file and the row of a chunk, whatever separates its coordinates.
    pub(super) fn row(&self, key: &str) -> Option<(RecordKey, usize)> {
        let ends = key.rmatch_indices('/').map(|(at, _)| at);
        let (array, coordinates) =
            ends.filter_map(|end| Some((*self.numbers.get(&key[..end])?, &key[end + 1..]))).next()?;
        let chunks = &self.arrays.get(array)?.chunks;
        let mut number = 0u64;
        let mut axes = 0;
        for (coordinate, chunks) in coordinates.split(['.', '/']).zip(chunks) {
            let coordinate: u64 = coordinate.parse().ok()?;
            if *chunks <= coordinate {
                return None;
            }
            number = number.checked_mul(*chunks)?.checked_add(coordinate)?;
            axes += 1;
        }
        let is_whole = axes == chunks.len();
        let row = usize::try_from(number % self.rows).ok()?;
        is_whole.then_some(((array, number / self.rows), row))
    }
}

/// The arrays among documents.
fn grids(metadata: &Map<String, Value>) -> Result<Vec<Grid>, Error> {
    let mut arrays = Vec::new();
    for (key, document) in metadata {
        let Some(name) = key.strip_suffix("/.zarray") else { continue };
        let lengths = |field: &str| -> Option<Vec<u64>> {
            document.get(field)?.as_array()?.iter().map(Value::as_u64).collect()
        };
        let (shape, chunks) = lengths("shape").zip(lengths("chunks")).ok_or_else(|| {
            Error::invalid(format!("wanted `shape` and `chunks` in {key} of .zmetadata, found none"))
        })?;
        let count = |(length, chunk): (&u64, &u64)| length.div_ceil((*chunk).max(1));
        let mut counts: Vec<u64> = shape.iter().zip(&chunks).map(count).collect();
        if counts.is_empty() {
            counts.push(1);
        }
        arrays.push(Grid { name: name.to_owned(), chunks: counts });
    }
    Ok(arrays)
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
    fn chunks_have_rows() {
        let array = r#"{"shape": [5, 7], "chunks": [2, 3]}"#;
        let scalar = r#"{"shape": [], "chunks": []}"#;
        let text = format!(
            r#"{{"record_size": 4, "metadata": {{"a/b/.zarray": {array}, "s/.zarray": {scalar}, ".zgroup": {{}}}}}}"#
        );
        let layout = Layout::parse(text.as_bytes()).unwrap();
        let number = |name: &str| *layout.numbers.get(name).unwrap();
        assert_eq!(layout.row("a/b/0.0"), Some(((number("a/b"), 0), 0)));
        assert_eq!(layout.row("a/b/1.2"), Some(((number("a/b"), 1), 1)));
        assert_eq!(layout.row("a/b/2/2"), Some(((number("a/b"), 2), 0)));
        assert_eq!(layout.row("s/0"), Some(((number("s"), 0), 0)));
        for key in ["a/b/3.0", "a/b/0", "a/b/x.0", "a/b", "a/0.0", "b/0.0", "s/1", ""] {
            assert_eq!(layout.row(key), None, "{key}");
        }
        let names = |prefix: &str| -> Vec<String> {
            layout.list(prefix).iter().map(|entry| entry.name().to_owned()).collect()
        };
        assert_eq!(names(""), [".zgroup", ".zmetadata", "a", "s"]);
        assert!(layout.document("a/b/.zarray").is_some());
        for wrong in ["{}", r#"{"record_size": 0, "metadata": {}}"#, r#"{"record_size": 5}"#, "[]"] {
            assert!(Layout::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
