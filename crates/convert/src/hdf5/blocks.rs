//! The bytes of a file, for the crate that reads HDF5: in aligned blocks through the engine, kept while the file is listed.

use super::Interrupt;
use crate::Error;
use hdf5_reader::error::Error as ReaderError;
use hdf5_reader::{BlockCacheStorage, RangeRequestStorage, Storage};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use swath_ioengine::{
    ByteRange, Engine, Medium, Merging, ObjectRef, RangeRead, RunOptions, memory_len, storage_len,
};

/// Bytes of a block of a local file.
const LOCAL_BLOCK_BYTES: usize = 16 << 10;

/// Bytes of a block of a remote file: what a round trip costs is better spent on more of the metadata.
const REMOTE_BLOCK_BYTES: usize = 1 << 20;

/// Bytes of all blocks that are kept.
const KEPT_BYTES: usize = 64 << 20;

/// The first failure of the storage.
#[derive(Clone, Default)]
pub(super) struct Failure(Arc<Mutex<Option<Error>>>);

impl Failure {
    /// The failure, if there was one.
    pub(super) fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether there was one.
    pub(super) fn is_there(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn keep(&self, error: Error) -> ReaderError {
        let told = ReaderError::Io(io::Error::other(error.to_string()));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        told
    }
}

/// The storage of a file.
///
/// # Errors
///
/// Those of asking for its size.
pub(super) fn storage(
    engine: &Engine,
    file: &ObjectRef,
    interrupt: Option<Interrupt>,
) -> Result<(Arc<dyn Storage>, Failure), Error> {
    let size = file.medium.size(&file.key)?;
    let failure = Failure::default();
    let (engine, file, kept) = (engine.clone(), file.clone(), failure.clone());
    let is_remote = matches!(file.medium, Medium::Remote(_));
    let block = if is_remote { REMOTE_BLOCK_BYTES } else { LOCAL_BLOCK_BYTES };
    let ranges = RangeRequestStorage::new(size, move |offset, len| {
        read(&engine, &file, offset, len, interrupt.as_ref()).map_err(|error| kept.keep(error))
    });
    Ok((Arc::new(BlockCacheStorage::new(Arc::new(ranges), block, KEPT_BYTES / block)), failure))
}

fn read(
    engine: &Engine,
    file: &ObjectRef,
    offset: u64,
    len: usize,
    interrupt: Option<&Interrupt>,
) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; memory_len(storage_len(len))?];
    let poll = || interrupt.is_some_and(|interrupt| interrupt());
    let options = RunOptions { interrupt: Some(&poll), ..RunOptions::default() };
    let range = ByteRange::Bounded { offset, len: storage_len(len) };
    let reads = [RangeRead { object: 0, range }];
    let objects = std::slice::from_ref(file);
    let failed = engine.read_ranges_into(objects, &reads, &mut bytes, Merging::Never, &options)?;
    match failed.into_values().next() {
        Some(error) => Err(error.into()),
        None => Ok(bytes),
    }
}
