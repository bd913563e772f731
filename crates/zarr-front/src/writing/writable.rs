//! What can be written: checked ahead of any request.

use crate::{Array, DataType, Error, Store};

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
    /// `Unsupported` where the store, or what elements are, cannot be written.
    pub(super) fn require_writable(&self) -> Result<(), Error> {
        self.store().require_writable(self.path())?;
        require_elements(self.data_type()).map_err(|error| error.with_object(&self.name()))?;
        if !self.inner.compiled.foreign.is_empty() {
            let message =
                "writing structures of which fields are stored in the other byte order than this machine's";
            return Err(Error::unsupported(message).with_object(&self.name()));
        }
        Ok(())
    }
}

/// `Unsupported` where elements are none that are written: of any length, or missing.
pub(super) fn require_elements(data_type: &DataType) -> Result<(), Error> {
    match data_type {
        DataType::String | DataType::Bytes | DataType::Optional(_) => {
            Err(Error::unsupported(format!("writing arrays of data type `{data_type}`")))
        }
        _ => Ok(()),
    }
}
