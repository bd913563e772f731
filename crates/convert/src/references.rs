//! References to bytes of files that stay where they are: Zarr without a copy.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What the keys of a Zarr hierarchy are: metadata and short values here, chunks as byte ranges of one file.
///
/// Written out ([`to_json`](Self::to_json)), it is a reference set of version 1, as kerchunk writes them: swath, fsspec and with it
/// zarr-python and xarray open it. Source: fsspec's "References specification".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct References {
    /// Documents by their keys, such as `air/.zarray`.
    pub(crate) documents: BTreeMap<String, Value>,
    /// What keys hold themselves.
    pub(crate) inline: BTreeMap<String, Vec<u8>>,
    /// Byte ranges of the file.
    pub(crate) parts: Vec<Part>,
    /// What is not in it.
    pub left_out: Vec<LeftOut>,
}

/// A key that is a byte range of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) key: String,
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// Something in a file that references cannot say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it is: the path of a variable, or of one of its attributes behind `@`.
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

    /// How many chunks are byte ranges of the file.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.parts.len()
    }

    /// The reference set, its ranges those of the file at `url`: an absolute path, or a URL.
    #[must_use]
    pub fn to_json(&self, url: &str) -> Value {
        let mut keys = Map::new();
        for (key, document) in &self.documents {
            keys.insert(key.clone(), document.to_string().into());
        }
        for (key, bytes) in &self.inline {
            keys.insert(key.clone(), format!("base64:{}", BASE64.encode(bytes)).into());
        }
        for Part { key, offset, len } in &self.parts {
            keys.insert(key.clone(), json!([url, offset, len]));
        }
        json!({"version": 1, "refs": keys})
    }

    pub(crate) fn leave_out(&mut self, path: &str, reason: impl Into<String>) {
        self.left_out.push(LeftOut { path: path.to_owned(), reason: reason.into() });
    }
}
