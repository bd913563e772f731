//! Reference sets in Parquet, as kerchunk and fsspec lay them out: `.zmetadata` with all documents, and for each array files
//! of so many rows, one for each chunk in row-major order. Files are read when a read wants something of them.
//!
//! Source: fsspec's `LazyReferenceMapper`.

mod layout;
mod record;
mod rows;
mod view;

pub(crate) use view::{Record, RecordView};

use super::references::{ReferenceTargets, Targets};
use crate::store::Store;
use crate::{Error, ErrorKind};
use layout::Layout;
use rows::RowsMax;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use swath_ioengine::{ByteRange, Engine, Entry, ObjectRef, RangeRead, RunOptions, storage_len};

/// A reference set in Parquet.
pub(crate) struct Records {
    /// Where its files are.
    root: Store,
    layout: Layout,
    targets: Targets,
    /// What was read last, the latest one at the end.
    kept: Mutex<VecDeque<(RecordKey, Arc<Record>)>>,
    /// Held while a large file is parsed.
    large: Mutex<()>,
}

/// The number of an array, and that of a file of its rows.
pub(crate) type RecordKey = (usize, u64);

/// Memory of records that are kept for the next read, roughly.
const KEPT_BYTES_MAX: u64 = 256 << 20;

/// Bytes of a file of rows at most.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// Bytes of the values of a file of rows at most, decompressed.
const VALUE_BYTES_MAX: usize = 256 << 20;

/// What files have at most that are parsed by as many threads as there are; of larger ones one is parsed at once. Files of some KB
/// can be large.
const SMALL: RowsMax = RowsMax { rows: 1 << 17, bytes: 16 << 20 };

/// Memory of the files of rows that are taken at once at most, roughly.
const TAKEN_BYTES_MAX: u64 = 2 << 30;

impl Records {
    /// The reference set in a folder, of which `.zmetadata` is read at once.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such document, `Invalid` where it is none of a reference set.
    pub(crate) fn open(root: Store, base: ReferenceTargets) -> Result<Records, Error> {
        let object = root.object(".zmetadata");
        let range = ByteRange::Whole { len_max: DOCUMENT_BYTES_MAX };
        let document = Engine::global().read_object(&object, range)?;
        let layout = Layout::parse(&document)?;
        let base = if root.is_remote() { base.taken_for_far() } else { base };
        Ok(Records {
            root,
            layout,
            targets: Targets::new(Vec::new(), base),
            kept: Mutex::default(),
            large: Mutex::default(),
        })
    }

    /// The same references, whose remote targets are kept in a cache as they are read.
    #[cfg(feature = "cache")]
    pub(crate) fn with_cache(&self, cache: &swath_ioengine::CacheTier) -> Records {
        let root = self.root.clone().with_cache(cache);
        Records {
            root,
            layout: self.layout.clone(),
            targets: self.targets.with_cache(cache),
            kept: Mutex::default(),
            large: Mutex::default(),
        }
    }

    /// All documents, as one object in memory.
    pub(crate) fn documents(&self) -> &ObjectRef {
        self.layout.texts()
    }

    /// What lies directly below a key that ends in `/`, or is empty; sorted by name.
    ///
    /// # Errors
    ///
    /// `Unsupported` for the chunks of an array: which there are takes reading all its rows.
    pub(crate) fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        match self.layout.is_array(prefix.trim_end_matches('/')) {
            true => Err(Error::unsupported("listing the chunks of references in Parquet")),
            false => Ok(self.layout.list(prefix)),
        }
    }

    /// The records of these numbers, in their order; `None` of those of which there is no file.
    fn load(&self, engine: &Engine, keys: &[RecordKey]) -> Result<Vec<Option<Arc<Record>>>, Error> {
        let mut found: Vec<Option<Arc<Record>>> = keys.iter().map(|key| self.known(*key)).collect();
        let wanted: Vec<usize> = (0..keys.len()).filter(|number| found[*number].is_none()).collect();
        let objects: Vec<ObjectRef> = wanted.iter().map(|number| self.object(keys[*number])).collect();
        let range = ByteRange::Whole { len_max: FILE_BYTES_MAX };
        let reads: Vec<RangeRead> = (0..objects.len()).map(|object| RangeRead { object, range }).collect();
        let lost = || Mutex::new(Err(Error::new(ErrorKind::Internal, "never delivered")));
        let slots: Vec<Mutex<Result<Option<Arc<Record>>, Error>>> = wanted.iter().map(|_| lost()).collect();
        let taken = AtomicU64::new(0);
        let take = |read: usize, result: Result<&[u8], swath_ioengine::Error>| {
            let Some(slot) = slots.get(read) else { return };
            let record = match result {
                Ok(bytes) => self.parse(bytes, &taken).map(|record| Some(Arc::new(record))),
                Err(error) if error.kind() == swath_ioengine::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(Error::from(error)),
            };
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = record;
        };
        engine.read_ranges(&objects, &reads, take, &RunOptions::default())?;
        for ((number, slot), object) in wanted.into_iter().zip(slots).zip(&objects) {
            let record = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
            let record = record.map_err(|error| self.root.named(error.with_object(&object.key)))?;
            if let Some(record) = &record {
                self.keep(keys[number], record);
            }
            found[number] = record;
        }
        Ok(found)
    }

    /// Takes a file of rows, beside others of so many bytes.
    fn parse(&self, bytes: &[u8], taken: &AtomicU64) -> Result<Record, Error> {
        let rows = self.layout.rows();
        let small = RowsMax { rows: rows.min(SMALL.rows), ..SMALL };
        let record = match Record::parse(bytes, small) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let _one_at_once = self.large.lock().unwrap_or_else(PoisonError::into_inner);
                Record::parse(bytes, RowsMax { rows, bytes: VALUE_BYTES_MAX })?
            }
            record => record?,
        };
        let len = record.memory_bytes();
        match taken.fetch_add(len, Ordering::Relaxed).saturating_add(len) <= TAKEN_BYTES_MAX {
            true => Ok(record),
            false => Err(Error::unsupported(format!(
                "files of references of more than {TAKEN_BYTES_MAX} bytes that are read together"
            ))),
        }
    }

    fn object(&self, (array, record): RecordKey) -> ObjectRef {
        self.root.object(&format!("{}/refs.{record}.parq", self.layout.array_name(array)))
    }

    fn known(&self, key: RecordKey) -> Option<Arc<Record>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().find(|(known, _)| *known == key).map(|(_, record)| Arc::clone(record))
    }

    fn keep(&self, key: RecordKey, record: &Arc<Record>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != key);
        kept.push_back((key, Arc::clone(record)));
        let mut bytes: u64 = kept.iter().map(|(_, record)| record.memory_bytes()).sum();
        while KEPT_BYTES_MAX < bytes
            && let Some((_, oldest)) = kept.pop_front()
        {
            bytes = bytes.saturating_sub(oldest.memory_bytes());
        }
    }
}

/// Bytes of `.zmetadata` at most.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

impl fmt::Debug for Records {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Records({})", self.root.name())
    }
}

/// Bytes of memory that a table takes.
fn table_bytes<T>(entries: usize) -> u64 {
    storage_len(entries.saturating_mul(size_of::<T>()))
}
