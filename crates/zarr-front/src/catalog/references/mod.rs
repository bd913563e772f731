//! Reference sets, as kerchunk writes them: keys that are byte ranges of other files, or bytes of their own.
//!
//! Source: fsspec's "References specification", versions 0 and 1.

mod document;
mod expression;
mod generator;
mod keys;
mod targets;

pub use targets::ReferenceTargets;
pub(crate) use targets::Targets;

use crate::Error;
use crate::catalog::Located;
use crate::catalog::listing::{SortedKeys, list};
use document::Document;
use keys::Keys;
use std::fmt;
use std::sync::Arc;
use swath_ioengine::{Entry, MemoryMedium, ObjectRef, storage_len};

/// Where each key of a reference set is.
pub(crate) struct References {
    keys: Arc<Keys>,
    /// What keys hold themselves, one behind the other.
    inline: ObjectRef,
    targets: Targets,
}

/// What a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// So many bytes of what keys hold themselves, from an offset on.
    Inline { offset: u64, len: u64 },
    /// So many bytes of a target, from an offset on.
    Part { target: u32, offset: u64, len: u64 },
    /// All of a target.
    Whole { target: u32 },
}

/// The number that stands for what keys hold themselves, among those of targets.
const INLINE: u32 = u32::MAX;

impl References {
    /// Takes a document. Targets are opened when they are first read.
    ///
    /// # Errors
    ///
    /// `Invalid` for what are no references, `Unsupported` for templates that are more than the specification shows.
    pub(crate) fn parse(document: &[u8], base: ReferenceTargets) -> Result<References, Error> {
        let Document { keys, inline, targets } = Document::parse(document)?;
        let memory = MemoryMedium::new();
        memory.put("inline", inline);
        let targets = Targets::new(targets, base);
        Ok(References { keys: Arc::new(keys), inline: memory.object("inline"), targets })
    }

    /// Where a key is.
    pub(crate) fn find(&self, key: &str) -> Located {
        match self.keys.get(key) {
            None => Located::Nowhere,
            Some(Reference::Inline { offset, len }) => Located::Part { target: INLINE, offset, len },
            Some(Reference::Part { target, offset, len }) => Located::Part { target, offset, len },
            Some(Reference::Whole { target }) => Located::Whole { target },
        }
    }

    /// An object that keys are parts of.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened.
    pub(crate) fn target(&self, number: u32) -> Result<ObjectRef, Error> {
        match number {
            INLINE => Ok(self.inline.clone()),
            _ => self.targets.object(number),
        }
    }

    /// What keys hold themselves.
    pub(crate) fn inline(&self) -> &ObjectRef {
        &self.inline
    }

    /// What lies directly below a key that ends in `/`, or is empty; sorted by name. Keys that are whole objects count as
    /// of no bytes: how long those are is not known.
    pub(crate) fn list(&self, prefix: &str) -> Vec<Entry> {
        list(&*self.keys, prefix)
    }

    /// The same references, whose remote targets are kept in a cache as they are read.
    #[cfg(feature = "cache")]
    pub(crate) fn with_cache(&self, cache: &swath_ioengine::CacheTier) -> References {
        let targets = self.targets.with_cache(cache);
        References { keys: Arc::clone(&self.keys), inline: self.inline.clone(), targets }
    }
}

impl fmt::Debug for References {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "References({} keys)", self.keys.count())
    }
}

/// Bytes that keys hold themselves, at most of one reference set.
const INLINE_BYTES_MAX: u64 = 1 << 30;

/// Adds bytes that a key holds itself.
///
/// # Errors
///
/// `Unsupported` where they become too many.
pub(in crate::catalog) fn add_inline(inline: &mut Vec<u8>, bytes: &[u8]) -> Result<Reference, Error> {
    let (offset, len) = (storage_len(inline.len()), storage_len(bytes.len()));
    if INLINE_BYTES_MAX < offset.saturating_add(len) {
        return Err(Error::unsupported(format!(
            "references that hold more than {INLINE_BYTES_MAX} bytes themselves"
        )));
    }
    inline.extend_from_slice(bytes);
    Ok(Reference::Inline { offset, len })
}
