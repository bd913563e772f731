//! The rows of one file.

use super::rows::{Rows, rows};
use super::table_bytes;
use crate::Error;
use crate::catalog::references::Reference;
use crate::metadata::base64;
use std::collections::HashMap;
use std::sync::Arc;
use swath_ioengine::{MemoryMedium, ObjectRef, storage_len};

/// What the rows of one file stand for.
pub(crate) struct Record {
    /// Targets are numbers of the file's own.
    references: Vec<Option<Reference>>,
    urls: Vec<Arc<str>>,
    /// What rows hold themselves, one behind the other.
    inline: ObjectRef,
    inline_len: u64,
}

impl Record {
    /// Takes a file of at most so many rows.
    ///
    /// # Errors
    ///
    /// `Corrupt` for what is no such file, `Unsupported` for a file of more rows or of another form.
    pub(super) fn parse(bytes: &[u8], rows_max: u64) -> Result<Record, Error> {
        let Rows { paths, offsets, lens, raws } = rows(bytes, rows_max)?;
        let mut numbers: HashMap<Arc<str>, u32> = HashMap::new();
        let mut urls = Vec::new();
        let mut number_of = |url: &str| match numbers.get(url) {
            Some(number) => *number,
            None => {
                let number = u32::try_from(urls.len()).unwrap_or(u32::MAX - 1);
                let url: Arc<str> = url.into();
                urls.push(Arc::clone(&url));
                numbers.insert(url, number);
                number
            }
        };
        let count = [paths.len(), offsets.len(), lens.len(), raws.len()].into_iter().max().unwrap_or(0);
        let mut inline = Vec::new();
        let mut references = Vec::with_capacity(count);
        for row in 0..count {
            let raw = raws.get(row).and_then(Option::as_deref);
            let path = paths.get(row).and_then(Option::as_deref);
            let place = (offsets.get(row).copied().flatten(), lens.get(row).copied().flatten());
            references.push(match (raw, path) {
                (Some(raw), _) => Some(add_raw(&mut inline, raw)?),
                (None, None) => None,
                (None, Some(path)) => {
                    let path = std::str::from_utf8(path)
                        .map_err(|_| Error::invalid("wanted paths of references in UTF-8"))?;
                    Some(reference(number_of(path), place)?)
                }
            });
        }
        let inline_len = storage_len(inline.len());
        let memory = MemoryMedium::new();
        memory.put("inline", inline);
        Ok(Record { references, urls, inline: memory.object("inline"), inline_len })
    }

    /// What a row stands for; `None` where it stands for nothing.
    pub(super) fn reference(&self, row: usize) -> Option<Reference> {
        self.references.get(row).copied().flatten()
    }

    /// The URL of a target, by the file's own number.
    pub(super) fn url(&self, target: u32) -> Arc<str> {
        self.urls.get(target as usize).cloned().unwrap_or_default()
    }

    /// What rows hold themselves.
    pub(super) fn inline(&self) -> &ObjectRef {
        &self.inline
    }

    /// Bytes of memory that it takes, roughly.
    pub(super) fn memory_bytes(&self) -> u64 {
        let urls: u64 = self.urls.iter().map(|url| storage_len(url.len()) + URL_OVERHEAD_BYTES).sum();
        table_bytes::<Option<Reference>>(self.references.len()) + urls + self.inline_len
    }
}

/// What a URL takes beside its bytes.
const URL_OVERHEAD_BYTES: u64 = 32;

/// A range of a target; of no bytes at its beginning it is all of it.
fn reference(target: u32, place: (Option<i64>, Option<i64>)) -> Result<Reference, Error> {
    let (offset, len) = (place.0.unwrap_or(0), place.1.unwrap_or(0));
    let (Ok(offset), Ok(len)) = (u64::try_from(offset), u64::try_from(len)) else {
        return Err(Error::invalid(format!("a reference of {len} bytes at {offset}")));
    };
    if offset.checked_add(len).is_none() {
        return Err(Error::invalid(format!("{len} bytes at {offset}, past the end of every file")));
    }
    Ok(match (offset, len) {
        (0, 0) => Reference::Whole { target },
        _ => Reference::Part { target, offset, len },
    })
}

fn add_raw(inline: &mut Vec<u8>, raw: &[u8]) -> Result<Reference, Error> {
    let start = storage_len(inline.len());
    match raw.strip_prefix(b"base64:") {
        None => inline.extend_from_slice(raw),
        Some(encoded) => {
            let decoded = std::str::from_utf8(encoded).ok().and_then(base64::decode);
            let decoded = decoded
                .ok_or_else(|| Error::invalid("wanted base64 after `base64:`, found something else"))?;
            inline.extend_from_slice(&decoded);
        }
    }
    Ok(Reference::Inline { offset: start, len: storage_len(inline.len()) - start })
}
