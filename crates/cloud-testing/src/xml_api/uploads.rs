//! Uploads in parts.

use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Uploads that were begun and neither completed nor aborted. The oldest is forgotten beyond [`UPLOADS_MAX`].
#[derive(Default)]
pub(crate) struct Uploads(Mutex<Begun>);

#[derive(Default)]
struct Begun {
    count: u64,
    parts: HashMap<u64, BTreeMap<u32, Bytes>>,
}

const UPLOADS_MAX: u64 = 1000;

impl Uploads {
    pub(crate) fn begin(&self) -> u64 {
        let mut begun = self.begun();
        begun.count += 1;
        let id = begun.count;
        if let Some(oldest) = id.checked_sub(UPLOADS_MAX) {
            begun.parts.remove(&oldest);
        }
        begun.parts.insert(id, BTreeMap::new());
        id
    }

    /// Takes a part, and returns its entity tag.
    pub(crate) fn put(&self, id: &str, part: &str, bytes: Bytes) -> Option<String> {
        let (id, part): (u64, u32) = (id.parse().ok()?, part.parse().ok()?);
        let etag = format!("\"p{part}-{:x}\"", bytes.len());
        self.begun().parts.get_mut(&id)?.insert(part, bytes);
        Some(etag)
    }

    /// Ends an upload, and returns its parts as one.
    pub(crate) fn complete(&self, id: &str) -> Option<Bytes> {
        let parts = self.begun().parts.remove(&id.parse().ok()?)?;
        let pieces: Vec<&[u8]> = parts.values().map(Bytes::as_ref).collect();
        Some(pieces.concat().into())
    }

    fn begun(&self) -> MutexGuard<'_, Begun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
