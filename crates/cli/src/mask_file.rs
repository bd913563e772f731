//! The mask that `swath stats` writes: a Zarr array of booleans, true where an element is missing.

use std::path::Path;
use swath::{Array, ArrayBuilder, DataType, Error, Region, Store, ZarrFormat};

/// A mask that is being written.
pub(crate) struct MaskFile(Array);

impl MaskFile {
    /// Makes an array of booleans in the chunks and shards of `array`, with its names of dimensions. Chunks without a missing
    /// element are not stored.
    ///
    /// # Errors
    ///
    /// Those of the library, a node that is there already among them.
    pub(crate) fn create(path: &Path, array: &Array) -> Result<MaskFile, Error> {
        let store = Store::create_directory(path)?;
        let mut builder = ArrayBuilder::new(array.shape(), DataType::Bool)
            .zarr_format(ZarrFormat::V3)
            .chunk_shape(array.chunk_shape());
        if let Some(shards) = array.shard_shape() {
            builder = builder.shard_shape(shards);
        }
        if let Some(names) = array.metadata().dimension_names() {
            builder = builder.dimension_names(names.iter().cloned());
        }
        builder.create(&store, "").map(MaskFile)
    }

    /// Writes the flags of a box: 1 where an element is missing, 0 elsewhere.
    ///
    /// # Errors
    ///
    /// Those of the library.
    pub(crate) fn write(&self, region: &Region, flags: &[u8]) -> Result<(), Error> {
        self.0.write(&region.selection()?, flags)
    }
}
