//! The user's attributes of arrays and groups.

use super::documents::change_document;
use crate::metadata::{ArrayMetadata, GroupMetadata, ZarrFormat};
use crate::store::join;
use crate::{Array, Error, Group, Store};
use serde_json::{Map, Value};

impl Array {
    /// Changes the user's attributes as they are stored by now, and writes them; the array that is returned has them.
    /// `change` is called again where others change the document meanwhile.
    ///
    /// # Errors
    ///
    /// What `change` answers; those of the store.
    pub fn change_attributes(
        &self,
        change: impl FnMut(&mut Map<String, Value>) -> Result<(), Error>,
    ) -> Result<Array, Error> {
        let changed = change_stored(self.store(), self.path(), self.zarr_format(), change)?;
        let metadata = match self.zarr_format() {
            ZarrFormat::V3 => self.metadata_of(changed)?,
            // Others may have given it another shape since it was opened.
            ZarrFormat::V2 => ArrayMetadata::from_v2(self.stored_document()?, changed, &self.name())?,
        };
        self.with_metadata(metadata)
    }
}

impl Group {
    /// As [`Array::change_attributes`].
    ///
    /// # Errors
    ///
    /// As [`Array::change_attributes`].
    pub fn change_attributes(
        &self,
        change: impl FnMut(&mut Map<String, Value>) -> Result<(), Error>,
    ) -> Result<Group, Error> {
        let changed = change_stored(self.store(), self.path(), self.zarr_format(), change)?;
        let metadata = match self.zarr_format() {
            ZarrFormat::V3 => GroupMetadata::from_v3(changed, &self.name())?,
            ZarrFormat::V2 => {
                let own = self.metadata().clone();
                own.with_attributes(changed)
            }
        };
        Ok(self.with_metadata(metadata))
    }
}

/// Changes the document that holds the attributes; returns it whole.
fn change_stored(
    store: &Store,
    path: &str,
    zarr_format: ZarrFormat,
    mut change: impl FnMut(&mut Map<String, Value>) -> Result<(), Error>,
) -> Result<Map<String, Value>, Error> {
    match zarr_format {
        ZarrFormat::V2 => change_document(store, &join(path, ".zattrs"), change),
        ZarrFormat::V3 => change_document(store, &join(path, "zarr.json"), |document| {
            if !document.contains_key("node_type") {
                return Err(Error::new(crate::ErrorKind::NotFound, "the node is gone"));
            }
            let mut attributes = match document.remove("attributes") {
                Some(Value::Object(attributes)) => attributes,
                _ => Map::new(),
            };
            change(&mut attributes)?;
            document.insert("attributes".to_owned(), Value::Object(attributes));
            Ok(())
        }),
    }
}
