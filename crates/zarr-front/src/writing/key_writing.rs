//! A store as keys and bytes: writing them.

use super::tree_removal::remove_below;
use crate::{Error, Store};
use bytes::Bytes;
use swath_ioengine::{ErrorKind, PutCondition};

/// What a key's bytes are written over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPut {
    /// Whatever is there.
    Replace,
    /// Nothing: where something is there already, it stays.
    IfAbsent,
}

impl Store {
    /// Writes what a key holds, in one step. False where something was there that stays.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the store cannot be written to, or not on that condition; and those of the storage.
    pub fn put(&self, key: &str, bytes: Bytes, put: KeyPut) -> Result<bool, Error> {
        self.require_writable(key)?;
        let condition = match put {
            KeyPut::Replace => PutCondition::Always,
            KeyPut::IfAbsent => PutCondition::Absent,
        };
        let object = self.object(key);
        match object.medium.put(&object.key, bytes, &condition) {
            Ok(_) => Ok(true),
            Err(error) if put == KeyPut::IfAbsent && error.kind() == ErrorKind::Changed => Ok(false),
            Err(error) => Err(Error::from(error).about(&self.describe(key))),
        }
    }

    /// Removes what a key holds; nothing happens where there is nothing.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the store cannot be written to; and those of the storage.
    pub fn delete(&self, key: &str) -> Result<(), Error> {
        self.require_writable(key)?;
        let object = self.object(key);
        object.medium.delete(&object.key).map_err(|error| Error::from(error).about(&self.describe(key)))
    }

    /// Removes all keys below a path (without slashes around it), and of a local directory the folders that are empty then.
    ///
    /// # Errors
    ///
    /// As [`delete`](Self::delete), and `Unsupported` where the storage cannot be listed.
    pub fn delete_below(&self, path: &str) -> Result<(), Error> {
        self.require_writable(path)?;
        remove_below(self, path)
    }
}
