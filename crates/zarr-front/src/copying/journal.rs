//! What an unfinished copy leaves beside its target: how far it is.

use crate::store::{Document, Store, join};
use crate::{Error, ErrorKind};
use bytes::Bytes;
use serde_json::{Value, json};
use swath_ioengine::{Engine, PutCondition};

/// The journal's name below the path of the array that is written.
pub(crate) const JOURNAL: &str = ".swath-copy.json";

/// The journal of one array's copy.
pub(super) struct Journal<'a> {
    store: &'a Store,
    key: String,
    /// What is copied and how: it must be the same where a copy goes on.
    subject: Value,
}

impl<'a> Journal<'a> {
    /// Of the copy to a path.
    pub(super) fn new(store: &'a Store, path: &str, subject: Value) -> Journal<'a> {
        Journal { store, key: join(path, JOURNAL), subject }
    }

    /// Boxes that are done, of a journal of the same copy; `None` where there is no journal.
    ///
    /// # Errors
    ///
    /// `Invalid` where the journal is that of another copy; those of the store.
    pub(super) fn done(&self) -> Result<Option<u64>, Error> {
        let bytes = match self.store.document(&Engine::global(), &self.key)? {
            Document::Here(bytes) => bytes,
            Document::Missing | Document::Denied(_) => return Ok(None),
            Document::Failed(error) => return Err(error),
        };
        let found: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        match found.get("boxes_done").and_then(Value::as_u64) {
            Some(done) if found.get("subject") == Some(&self.subject) => Ok(Some(done)),
            _ => Err(Error::invalid("wanted the journal of this copy, found that of another: from elsewhere, or with other options")
                .with_object(&self.store.describe(&self.key))),
        }
    }

    /// Says how many boxes are done.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub(super) fn write(&self, boxes_done: u64) -> Result<(), Error> {
        let journal = json!({"boxes_done": boxes_done, "subject": self.subject});
        let bytes = serde_json::to_vec(&journal).map_err(|error| {
            Error::new(ErrorKind::Internal, "a journal cannot be written").with_source(error)
        })?;
        let object = self.store.object(&self.key);
        let put = object.medium.put(&object.key, Bytes::from(bytes), &PutCondition::Always);
        put.map(|_| ()).map_err(|error| self.store.named(error.into()))
    }

    /// Removes the journal: all is done.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub(super) fn remove(&self) -> Result<(), Error> {
        let object = self.store.object(&self.key);
        object.medium.delete(&object.key).map_err(|error| self.store.named(error.into()))
    }
}
