//! A store as keys and bytes, for those who bring their own arrays.

use crate::store::{Store, join};
use crate::{Error, ErrorKind};
use bytes::Bytes;
use std::sync::{Mutex, PoisonError};
use swath_ioengine::{
    ByteRange, Engine, Entry, ErrorKind as EngineErrorKind, ObjectRef, RangeRead, RunOptions, memory_len,
    storage_len,
};

/// Which bytes of what a key holds. What lies behind its end is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRange {
    /// All of them.
    Whole,
    /// From one offset up to another.
    Between(u64, u64),
    /// From an offset on.
    From(u64),
    /// So many at the end.
    Last(u64),
}

/// Bytes for which whole objects are asked at first: what is under way counts as if it were of that length.
const LEN_LIKELY: u64 = 64 << 20;

/// Folders within each other, at most: more are a loop of links.
const DEPTH_MAX: usize = 1024;

impl Store {
    /// Reads what keys hold, or ranges of it, all at once; `None` where nothing is stored.
    ///
    /// ```
    /// use swath_ioengine::MemoryMedium;
    /// use swath_zarr_front::{KeyRange, Store};
    ///
    /// let memory = MemoryMedium::new();
    /// memory.put("a/b", &b"0123456789"[..]);
    /// let store = Store::memory(&memory);
    /// let found = store.get_many(&[("a/b", KeyRange::Last(3)), ("a/b", KeyRange::Between(8, 99)), ("c", KeyRange::Whole)]);
    /// let found: Vec<_> = found.into_iter().collect::<Result<_, _>>()?;
    /// assert_eq!(found, [Some("789".into()), Some("89".into()), None]);
    /// # Ok::<(), swath_zarr_front::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Of each key, those of the storage.
    pub fn get_many(&self, wanted: &[(&str, KeyRange)]) -> Vec<Result<Option<Bytes>, Error>> {
        if let Some(catalog) = self.catalog() {
            let keys: Vec<String> = wanted.iter().map(|(key, _)| (*key).to_owned()).collect();
            return match catalog.read(&Engine::global(), &keys, u64::MAX) {
                Ok(found) => {
                    let found = found.into_iter().zip(wanted);
                    found.map(|(found, (_, range))| Ok(found?.map(|bytes| part(&bytes, *range)))).collect()
                }
                Err(error) => wanted.iter().map(|_| Err(error.clone().about(self.name()))).collect(),
            };
        }
        let first: Vec<(&str, ByteRange)> =
            wanted.iter().map(|(key, range)| (*key, likely(*range))).collect();
        let mut found = self.read_keys(&first);
        // Longer ones, and those that end before what was asked of them, are read whole.
        let again: Vec<usize> = (0..wanted.len()).filter(|number| is_to_be_whole(&found[*number])).collect();
        let wholes: Vec<(&str, ByteRange)> =
            again.iter().map(|number| (wanted[*number].0, ByteRange::Whole { len_max: u64::MAX })).collect();
        for (number, whole) in again.into_iter().zip(self.read_keys(&wholes)) {
            found[number] = whole.map(|bytes| match wanted[number].1 {
                range @ KeyRange::Between(..) => part(&bytes, range),
                _ => bytes,
            });
        }
        let each = found.into_iter().zip(wanted);
        each.map(|(found, (key, range))| self.judged_key(key, *range, found)).collect()
    }

    /// Bytes that a key holds; `None` where nothing is stored.
    ///
    /// # Errors
    ///
    /// Those of the storage.
    pub fn size_of(&self, key: &str) -> Result<Option<u64>, Error> {
        if self.catalog().is_none() {
            let object = self.object(key);
            match object.medium.size(&object.key) {
                Ok(size) => return Ok(Some(size)),
                Err(error) if is_absent(error.kind()) => return Ok(None),
                // The listing of its folder may say.
                Err(error) if error.kind() == EngineErrorKind::Unsupported => {}
                Err(error) => return Err(Error::from(error).about(&self.describe(key))),
            }
        }
        let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
        match self.list(folder) {
            Ok(entries) => Ok(entries.into_iter().find_map(|entry| match entry {
                Entry::Object { name: found, size } if found == name => Some(size),
                _ => None,
            })),
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let found = self.get_many(&[(key, KeyRange::Whole)]).pop().unwrap_or(Ok(None))?;
                Ok(found.map(|bytes| storage_len(bytes.len())))
            }
            Err(error) => Err(error),
        }
    }

    /// What lies directly below a path (without slashes around it), sorted by name; nothing where there is no such folder.
    ///
    /// # Errors
    ///
    /// Those of the storage; `Unsupported` where it cannot be listed.
    pub fn entries(&self, path: &str) -> Result<Vec<Entry>, Error> {
        self.list(path)
    }

    /// All keys below a path (without slashes around it), in no order that is promised, each with how many bytes it holds.
    ///
    /// # Errors
    ///
    /// As [`entries`](Self::entries); `Invalid` for folders within each other without end.
    pub fn keys_below(&self, path: &str) -> Result<Vec<(String, u64)>, Error> {
        let mut found = Vec::new();
        let mut folders = vec![(path.to_owned(), 0)];
        while let Some((folder, depth)) = folders.pop() {
            if DEPTH_MAX < depth {
                let error = Error::invalid(format!("folders nested more than {DEPTH_MAX} deep"));
                return Err(error.with_object(&self.describe(path)));
            }
            for entry in self.list(&folder)? {
                match entry {
                    Entry::Object { name, size } => found.push((join(&folder, &name), size)),
                    Entry::Prefix { name } => folders.push((join(&folder, &name), depth + 1)),
                }
            }
        }
        Ok(found)
    }

    fn read_keys(&self, wanted: &[(&str, ByteRange)]) -> Vec<Result<Bytes, swath_ioengine::Error>> {
        let objects: Vec<ObjectRef> = wanted.iter().map(|(key, _)| self.object(key)).collect();
        let reads = wanted.iter().enumerate();
        let reads: Vec<RangeRead> =
            reads.map(|(object, (_, range))| RangeRead { object, range: *range }).collect();
        let undelivered =
            || swath_ioengine::Error::new(EngineErrorKind::Internal, "a read was never delivered");
        let found: Vec<_> = wanted.iter().map(|_| Mutex::new(Err(undelivered()))).collect();
        let keep = |number: usize, result: Result<&[u8], swath_ioengine::Error>| {
            if let Some(slot) = found.get(number) {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = result.map(Bytes::copy_from_slice);
            }
        };
        match Engine::global().read_ranges(&objects, &reads, keep, &RunOptions::default()) {
            Ok(()) => {
                let found = found.into_iter();
                found.map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
            }
            Err(error) => wanted.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    fn judged_key(
        &self,
        key: &str,
        range: KeyRange,
        found: Result<Bytes, swath_ioengine::Error>,
    ) -> Result<Option<Bytes>, Error> {
        // What is read of an object from an offset on is all of it: how long it is is not known before.
        let found = found.map(|bytes| match range {
            KeyRange::From(_) => part(&bytes, range),
            _ => bytes,
        });
        match found {
            // A range of no bytes is delivered without a look at what it is of.
            Ok(bytes) if bytes.is_empty() && range != KeyRange::Whole => {
                Ok(self.size_of(key)?.map(|_| bytes))
            }
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if is_absent(error.kind()) => Ok(None),
            Err(error) => Err(Error::from(error).about(&self.describe(key))),
        }
    }
}

/// What is read first of a range.
fn likely(range: KeyRange) -> ByteRange {
    match range {
        KeyRange::Whole | KeyRange::From(_) => ByteRange::Whole { len_max: LEN_LIKELY },
        KeyRange::Between(start, end) => ByteRange::Bounded { offset: start, len: end.saturating_sub(start) },
        KeyRange::Last(len) => ByteRange::Suffix { len },
    }
}

fn is_to_be_whole(found: &Result<Bytes, swath_ioengine::Error>) -> bool {
    let kinds = [EngineErrorKind::LimitExceeded, EngineErrorKind::UnexpectedEnd];
    found.as_ref().is_err_and(|error| kinds.contains(&error.kind()))
}

fn is_absent(kind: EngineErrorKind) -> bool {
    kind == EngineErrorKind::NotFound
}

/// A range of what a key holds.
fn part(bytes: &Bytes, range: KeyRange) -> Bytes {
    let len = bytes.len();
    let at = |offset: u64| memory_len(offset).unwrap_or(len).min(len);
    match range {
        KeyRange::Whole => bytes.clone(),
        KeyRange::Between(start, end) => bytes.slice(at(start)..at(end).max(at(start))),
        KeyRange::From(start) => bytes.slice(at(start)..),
        KeyRange::Last(count) => bytes.slice(len - at(count)..),
    }
}
