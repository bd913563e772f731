//! What can be written: checked ahead of any request.

use super::elements::Elements;
use crate::{Array, Error, Store};

impl Store {
    /// `Unsupported` of archives and references: what is written there would lie beside their keys, where no reader looks.
    pub(super) fn require_writable(&self, path: &str) -> Result<(), Error> {
        match self.catalog() {
            None => Ok(()),
            Some(catalog) => {
                Err(Error::unsupported(catalog.why_read_only()).with_object(&self.describe(path)))
            }
        }
    }
}

impl Array {
    /// `Unsupported` where the store cannot be written to.
    pub(super) fn require_writable(&self) -> Result<(), Error> {
        self.store().require_writable(self.path())
    }

    /// `Unsupported` for bytes of elements of a fixed size in an array of elements of any length.
    pub(super) fn require_kind(&self, source: &Elements<'_>) -> Result<(), Error> {
        if source.is_variable() || !self.data_type().is_variable_length() {
            return Ok(());
        }
        let message = format!(
            "writing elements of data type `{}` as bytes of a fixed size: `write_variable` writes them",
            self.data_type()
        );
        Err(Error::unsupported(message).with_object(&self.name()))
    }
}
