//! Metadata documents as they are stored: written, and changed where nobody else changed them.

use super::bare_numbers::BareNumbers;
use super::contention::{TRIES_MAX, pause};
use super::object_locks::ObjectLocks;
use super::stored_object::{Replaced, Stored, replace};
use crate::metadata::json;
use crate::store::Store;
use crate::{Error, ErrorKind};
use bytes::Bytes;
use serde_json::{Map, Value};
use swath_ioengine::Engine;

/// A document's name, and its bytes.
pub(super) type NamedDocument = (&'static str, Vec<u8>);

/// A document in JSON, indented as zarr-python does.
pub(super) fn document_bytes(document: &Map<String, Value>) -> Result<Vec<u8>, Error> {
    serde_json::to_vec_pretty(document).map_err(|error| {
        Error::new(ErrorKind::Internal, "a metadata document cannot be written").with_source(error)
    })
}

/// Largest metadata document that is changed, in bytes.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

/// Changes a document: reads it, has `change` change it, and writes it where nobody else wrote it meanwhile, else starts
/// over: nothing is lost of what others change, in one process and, where the store takes conditions or is a directory of
/// this machine, in several. A document that is not there is an empty one to `change`.
pub(super) fn change_document(
    store: &Store,
    key: &str,
    mut change: impl FnMut(&mut Map<String, Value>) -> Result<(), Error>,
) -> Result<Map<String, Value>, Error> {
    store.require_writable(key)?;
    let named = |error: Error| error.with_object(&store.describe(key));
    let object = store.object(key);
    let locks = ObjectLocks::of_process();
    let _alone = locks.lock_document(&object).map_err(named)?;
    for number in 0..TRIES_MAX {
        if number != 0 {
            pause(number);
        }
        let stored = Stored::read(&Engine::global(), &object, DOCUMENT_BYTES_MAX).map_err(named)?;
        let bytes = stored.as_ref().map(|stored| &*stored.bytes);
        let mut document = bytes.map(json::parse_object).transpose().map_err(named)?.unwrap_or_default();
        change(&mut document).map_err(named)?;
        let bare = bytes.and_then(|bytes| BareNumbers::find(bytes, &document));
        let bytes = match bare {
            Some(bare) => bare.document_bytes(&document),
            None => document_bytes(&document),
        };
        let bytes = Bytes::from(bytes.map_err(named)?);
        if replace(&object, bytes, Some(stored.as_ref()), false).map_err(named)? == Replaced::Done {
            return Ok(document);
        }
    }
    let message = format!("others changed the document {TRIES_MAX} times while it was changed");
    Err(named(Error::new(ErrorKind::Io, message).with_retryable(true)))
}
