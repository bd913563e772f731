//! Stores whose keys are parts of other objects: members of a zip archive, byte ranges that references name.
//!
//! A catalog says of each key where its bytes are. Reads of chunks then are reads of what the catalog points to, which the
//! engine merges as those of any object: `contained_reads.rs`.

mod fetch;
mod listing;
pub(crate) mod zip;

use crate::{Error, ErrorKind};
use bytes::Bytes;
use std::sync::{Arc, Mutex, PoisonError};
use swath_codecs::Scratch;
#[cfg(feature = "cache")]
use swath_ioengine::Medium;
use swath_ioengine::{ByteRange, Engine, Entry, Identity, ObjectPart, ObjectRef, RangeRead, RunOptions};
use zip::{Directory, ZipArchive};

/// What a store knows its keys from. Shared by all who opened the store together.
#[derive(Debug)]
pub(crate) enum Catalog {
    Zip(ZipArchive),
}

/// What a catalog says at one moment. Cloning shares it.
#[derive(Clone, Debug)]
pub(crate) enum Contents {
    /// The members of an archive, and the archive.
    Zip(Arc<Directory>, ObjectRef),
}

/// Where the bytes of a key are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Located {
    /// There is no such key.
    Nowhere,
    /// So many bytes, from an offset on, of one of the catalog's objects.
    Part { target: u32, offset: u64, len: u64 },
    /// A member of an archive that is compressed, or of which it is not known yet where in the archive its bytes begin.
    Member(u32),
}

impl Catalog {
    /// What the catalog says now.
    ///
    /// # Errors
    ///
    /// Why an archive that changed could not be looked at again.
    pub(crate) fn contents(&self, engine: &Engine) -> Result<Contents, Error> {
        match self {
            Catalog::Zip(archive) => Ok(Contents::Zip(archive.directory(engine)?, archive.object().clone())),
        }
    }

    /// The same catalog, of objects of another medium.
    #[cfg(feature = "cache")]
    pub(crate) fn with_medium(&self, medium: &Medium) -> Catalog {
        match self {
            Catalog::Zip(archive) => {
                let object = ObjectRef { medium: medium.clone(), key: Arc::clone(&archive.object().key) };
                Catalog::Zip(archive.with_object(object))
            }
        }
    }

    /// What the catalog said turned out to be of an object that is another by now.
    pub(crate) fn note_change(&self) {
        match self {
            Catalog::Zip(archive) => archive.note_change(),
        }
    }

    /// Reads many keys whole, each of at most `len_max` bytes, all at once; `None` of those that are not there.
    ///
    /// # Errors
    ///
    /// What ended the read as a whole.
    pub(crate) fn read(
        &self,
        engine: &Engine,
        keys: &[String],
        len_max: u64,
    ) -> Result<Vec<Result<Option<Bytes>, Error>>, Error> {
        let contents = self.contents(engine)?;
        let mut found: Vec<Mutex<Result<Option<Bytes>, Error>>> = Vec::with_capacity(keys.len());
        let mut wanted: Vec<(usize, Located)> = Vec::new();
        let (mut objects, mut reads) = (Vec::new(), Vec::new());
        for (number, key) in keys.iter().enumerate() {
            let located = contents.find(key);
            let planned = contents.read_of(located, len_max);
            if let Ok(Some((object, range))) = &planned {
                reads.push(RangeRead { object: objects.len(), range: *range });
                objects.push(object.clone());
                wanted.push((number, located));
            }
            let lost = || Err(Error::new(ErrorKind::Internal, "never delivered"));
            found.push(Mutex::new(planned.and_then(|read| read.map_or(Ok(None), |_| lost()))));
        }
        let keep = |read: usize, result: Result<&[u8], swath_ioengine::Error>| {
            let Some((number, located)) = wanted.get(read) else { return };
            let mut memory = Vec::new();
            let bytes = result
                .map_err(|error| absent(Error::from(error)))
                .and_then(|stored| contents.unpack(*located, stored, &mut Scratch::default(), &mut memory));
            let bytes = bytes.map(|bytes| Some(Bytes::copy_from_slice(bytes)));
            *found[*number].lock().unwrap_or_else(PoisonError::into_inner) = bytes;
        };
        engine.read_ranges(&objects, &reads, keep, &RunOptions::default())?;
        Ok(found.into_iter().map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
    }
}

impl Contents {
    /// Where the bytes of a key are.
    pub(crate) fn find(&self, key: &str) -> Located {
        match self {
            Contents::Zip(directory, _) => match directory.find(key) {
                Some(member) => self.known_by_now(Located::Member(member)),
                None => Located::Nowhere,
            },
        }
    }

    /// The same place, told more exactly where that is known by now.
    pub(crate) fn known_by_now(&self, located: Located) -> Located {
        match (self, located) {
            (Contents::Zip(directory, _), Located::Member(member)) => match directory.extent(member) {
                Some((offset, len)) => Located::Part { target: 0, offset, len },
                None => located,
            },
            _ => located,
        }
    }

    /// One of the catalog's objects.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened.
    pub(crate) fn target(&self, _number: u32) -> Result<ObjectRef, Error> {
        match self {
            Contents::Zip(_, archive) => Ok(archive.clone()),
        }
    }

    /// The number of the object that a key is a part of, and where in it; what is nowhere counts to an archive as well, as
    /// it is the archive that does not have it.
    pub(crate) fn place(&self, located: Located) -> (Option<u32>, u64) {
        match (self, located) {
            (_, Located::Part { target, offset, .. }) => (Some(target), offset),
            (Contents::Zip(directory, _), Located::Member(member)) => {
                (Some(0), directory.header_offset(member))
            }
            (Contents::Zip(..), Located::Nowhere) => (Some(0), 0),
        }
    }

    /// The version of the one object that all of it was read from, if there is one.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        match self {
            Contents::Zip(directory, _) => directory.identity(),
        }
    }

    /// What lies directly below a key that ends in `/`, or is empty; sorted by name.
    pub(crate) fn list(&self, prefix: &str) -> Vec<Entry> {
        match self {
            Contents::Zip(directory, _) => directory.list(prefix),
        }
    }

    /// The archive's directory, and the archive.
    pub(crate) fn archive(&self) -> Option<(&Arc<Directory>, &ObjectRef)> {
        match self {
            Contents::Zip(directory, archive) => Some((directory, archive)),
        }
    }

    /// What to read for the whole of a key of at most `len_max` bytes; `None` where there is nothing.
    fn read_of(&self, located: Located, len_max: u64) -> Result<Option<(ObjectRef, ByteRange)>, Error> {
        match located {
            Located::Nowhere => Ok(None),
            Located::Part { target, offset, len } => {
                check_len(len, len_max)?;
                Ok(Some((self.target(target)?, ByteRange::Bounded { offset, len })))
            }
            Located::Member(member) => match self {
                Contents::Zip(directory, archive) => {
                    check_len(directory.len(member), len_max)?;
                    Ok(Some((archive.clone(), directory.span(member)?)))
                }
            },
        }
    }

    /// The bytes of a key, from what was read for it. `memory` is where they are put if they were compressed.
    ///
    /// # Errors
    ///
    /// `Corrupt` where an archive's member is not what the directory says.
    pub(crate) fn unpack<'a>(
        &self,
        located: Located,
        stored: &'a [u8],
        scratch: &mut Scratch,
        memory: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Error> {
        match (self, located) {
            (Contents::Zip(directory, _), Located::Member(member)) => {
                directory.unpack(member, stored, scratch, memory)
            }
            _ => Ok(stored),
        }
    }
}

/// A part of another object, as an object of its own.
pub(crate) fn part(of: ObjectRef, (offset, len): (u64, u64)) -> ObjectPart {
    ObjectPart { of, offset, len }
}

fn check_len(len: u64, len_max: u64) -> Result<(), Error> {
    if len_max < len {
        let message = format!("it has {len} bytes, where at most {len_max} are wanted");
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    Ok(())
}

/// The error of a read of what a catalog points to, which must be there: that it is not does not make the key one that is
/// not stored.
pub(crate) fn absent(error: Error) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return error;
    }
    let message = format!("what the store points to is not there: {}", error.message());
    Error::new(ErrorKind::Io, message).with_object(error.object().unwrap_or_default())
}
