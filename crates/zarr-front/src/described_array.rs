//! Arrays whose metadata the caller has: nothing is read to open them.

use crate::Error;
use crate::array::Array;
use crate::metadata::ArrayMetadata;
use crate::node::node_path;
use crate::store::Store;

impl Array {
    /// The array that `metadata` describes, at `path` of a store. The store is not looked at: whether such an array is
    /// stored there is the caller's to know.
    ///
    /// ```
    /// use swath_ioengine::MemoryMedium;
    /// use swath_zarr_front::{Array, ArrayMetadata, Store};
    ///
    /// let metadata = ArrayMetadata::parse_v3(br#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8",
    ///     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    ///     "chunk_key_encoding": {"name": "default"}, "fill_value": 7, "codecs": [{"name": "bytes"}]}"#, "t2m")?;
    /// let memory = MemoryMedium::new();
    /// memory.put("t2m/c/1", &[1, 2][..]);
    /// let array = Array::described(&Store::memory(&memory), "t2m", metadata)?;
    /// assert_eq!(array.read(&":".parse()?)?.as_slice::<u8>()?, [7, 7, 1, 2]);
    /// # Ok::<(), swath_zarr_front::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `Invalid` for a path that no node may have, `Unsupported` where the metadata asks for what swath cannot read.
    pub fn described(store: &Store, path: &str, metadata: ArrayMetadata) -> Result<Array, Error> {
        Array::new(store.clone(), node_path(path)?, metadata)
    }
}
