//! References to bytes of files that stay where they are: Zarr without a copy.

mod concat;
mod naming;
mod records;
mod rows;
mod writing;

pub use naming::names_below;
pub use records::RECORD_SIZE;
pub use writing::is_parquet_name;

use crate::{Error, ErrorKind};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What the keys of a Zarr hierarchy are: metadata and short values here, chunks as byte ranges of files.
///
/// Written out ([`write`](Self::write)), it is a reference set in kerchunk's JSON (version 1) or Parquet: swath, fsspec and with it
/// zarr-python and xarray open it. Sources: fsspec's "References specification", and its `LazyReferenceMapper`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct References {
    /// Documents by their keys, such as `air/.zarray`.
    pub(crate) documents: BTreeMap<String, Value>,
    /// What keys hold themselves.
    pub(crate) inline: BTreeMap<String, Vec<u8>>,
    /// Byte ranges of the files.
    pub(crate) parts: Vec<Part>,
    /// What is not in it.
    pub left_out: Vec<LeftOut>,
    /// Attributes of which files that were joined have other values than the first one, whose is kept.
    pub differing: Vec<LeftOut>,
}

/// A key that is a byte range of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) key: String,
    /// The file, by its number.
    pub(crate) file: usize,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// Something in a file that references cannot say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it is: the path of a variable or a group, or of one of its attributes behind `@` (of all of them where no name follows), or the
    /// key of one of a variable's chunks.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl References {
    /// How many arrays there are.
    #[must_use]
    pub fn arrays(&self) -> usize {
        self.documents.keys().filter(|key| key.ends_with(".zarray")).count()
    }

    /// How many chunks are byte ranges of files.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.parts.len()
    }

    /// The reference set, its ranges those of the files at `urls`: paths, or URLs, in the order in which files were given.
    ///
    /// # Errors
    ///
    /// `Invalid` where it has ranges of more files.
    pub fn to_json<S: AsRef<str>>(&self, urls: &[S]) -> Result<Value, Error> {
        let mut keys = Map::new();
        for (key, document) in &self.documents {
            keys.insert(key.clone(), document.to_string().into());
        }
        for (key, bytes) in &self.inline {
            keys.insert(key.clone(), format!("base64:{}", BASE64.encode(bytes)).into());
        }
        for Part { key, file, offset, len } in &self.parts {
            keys.insert(key.clone(), json!([url_of(urls, *file)?, offset, len]));
        }
        Ok(json!({"version": 1, "refs": keys}))
    }

    pub(crate) fn leave_out(&mut self, path: &str, reason: impl Into<String>) {
        self.left_out.push(LeftOut { path: path.to_owned(), reason: reason.into() });
    }
}

/// What a file is called.
fn url_of<S: AsRef<str>>(urls: &[S], file: usize) -> Result<&str, Error> {
    urls.get(file).map(AsRef::as_ref).ok_or_else(|| {
        let message = format!("wanted the name of file {file}, found {} names", urls.len());
        Error::new(ErrorKind::Invalid, message)
    })
}
