//! The array between two stages of a copy: on a local disk, without codecs, removed in the end.

use super::plan::CopyStage;
use crate::{Array, ArrayBuilder, DataType, Error, ErrorKind, Store};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// An array in a folder of its own, which goes with it. A process that is killed leaves the folder, `swath-copy-PROCESS-NUMBER`.
pub(super) struct Intermediate {
    pub(super) array: Array,
    folder: PathBuf,
}

impl Intermediate {
    /// Makes an array for the first stage to write, in `scratch` or where the system keeps temporary files.
    ///
    /// # Errors
    ///
    /// Those of the file system, and of data types that cannot be written.
    pub(super) fn new(
        stage: &CopyStage,
        shape: &[u64],
        data_type: &DataType,
        scratch: Option<&Path>,
    ) -> Result<Intermediate, Error> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let scratch = scratch.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = scratch.join(format!("swath-copy-{}-{number}", std::process::id()));
        let failed = |error: std::io::Error| {
            let message = format!("no folder for an intermediate array: {error}");
            Error::new(ErrorKind::Io, message).with_object(&folder.to_string_lossy())
        };
        std::fs::create_dir_all(&scratch).map_err(failed)?;
        // Never a folder that is there: it is removed in the end.
        std::fs::create_dir(&folder).map_err(failed)?;
        let array =
            ArrayBuilder::new(shape, held_as(data_type)).chunk_shape(&stage.target_object).compressors([]);
        let array = Store::directory(&folder).and_then(|store| array.create(&store, ""));
        match array {
            Ok(array) => Ok(Intermediate { array, folder }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&folder);
                Err(error)
            }
        }
    }
}

/// The type whose elements are kept: a structure's are bytes, for v3 has no name for some of them.
fn held_as(data_type: &DataType) -> DataType {
    let size = match data_type {
        DataType::Struct(_) => u32::try_from(data_type.size_bytes()).ok().and_then(NonZeroU32::new),
        _ => None,
    };
    size.map_or_else(|| data_type.clone(), DataType::RawBytes)
}

impl Drop for Intermediate {
    fn drop(&mut self) {
        // What cannot be removed is left: its name says what it was.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
