//! Stores whose keys are parts of other objects: members of a zip archive, byte ranges that references name, chunks of an Icechunk
//! repository.
//!
//! A catalog says of each key where its bytes are. Reads of chunks then are reads of what the catalog points to, which the
//! engine merges as those of any object: `contained_reads.rs`.

mod fetch;
#[cfg_attr(
    not(feature = "icechunk"),
    expect(dead_code, reason = "without the feature, repositories are only named and refused")
)]
pub(crate) mod icechunk;
mod key_reads;
mod listing;
pub(crate) mod records;
pub(crate) mod references;
pub(crate) mod zip;

use crate::{Error, ErrorKind};
use bytes::Bytes;
use icechunk::{Icechunk, IcechunkView};
use key_reads::{KeysRead, read_keys};
use records::{RecordView, Records};
use references::References;
use std::sync::Arc;
use swath_codecs::Scratch;
#[cfg(feature = "cache")]
use swath_ioengine::CacheTier;
use swath_ioengine::{ByteRange, Engine, Entry, Identity, ObjectPart, ObjectRef};
use zip::{Directory, ZipArchive};

/// What a store knows its keys from. Shared by all who opened the store together.
#[derive(Debug)]
pub(crate) enum Catalog {
    Zip(ZipArchive),
    References(Arc<References>),
    Records(Arc<Records>),
    Icechunk(Arc<Icechunk>),
}

/// What a catalog says at one moment. Cloning shares it.
#[derive(Clone, Debug)]
pub(crate) enum Contents {
    /// The members of an archive, and the archive.
    Zip(Arc<Directory>, ObjectRef),
    /// Ranges of other files.
    References(Arc<References>),
    /// The same, in files of rows.
    Records(RecordView),
    /// A snapshot of a repository.
    Icechunk(IcechunkView),
}

/// Where the bytes of a key are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Located {
    /// There is no such key.
    Nowhere,
    /// So many bytes, from an offset on, of one of the catalog's objects.
    Part { target: u32, offset: u64, len: u64 },
    /// All of one of the catalog's objects, however long it is.
    Whole { target: u32 },
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
            Catalog::References(references) => Ok(Contents::References(Arc::clone(references))),
            Catalog::Records(records) => Ok(Contents::Records(RecordView::new(records))),
            Catalog::Icechunk(snapshot) => Ok(Contents::Icechunk(IcechunkView::new(snapshot))),
        }
    }

    /// The same catalog, whose remote objects are kept in a cache as they are read.
    #[cfg(feature = "cache")]
    pub(crate) fn with_cache(&self, cache: &CacheTier) -> Catalog {
        match self {
            Catalog::Zip(archive) => {
                let ObjectRef { medium, key } = archive.object().clone();
                Catalog::Zip(archive.with_object(ObjectRef { medium: cache.wrap_named(&medium), key }))
            }
            Catalog::References(references) => Catalog::References(Arc::new(references.with_cache(cache))),
            Catalog::Records(records) => Catalog::Records(Arc::new(records.with_cache(cache))),
            Catalog::Icechunk(snapshot) => Catalog::Icechunk(Arc::new(snapshot.with_cache(cache))),
        }
    }

    /// What the catalog said turned out to be of an object that is another by now.
    pub(crate) fn note_change(&self) {
        match self {
            Catalog::Zip(archive) => archive.note_change(),
            // Of their targets no version is known but the one that a read sees.
            Catalog::References(_) | Catalog::Records(_) => {}
            Catalog::Icechunk(snapshot) => snapshot.note_change(),
        }
    }

    /// Why nothing is written to it.
    pub(crate) fn why_read_only(&self) -> &'static str {
        match self {
            Catalog::Zip(_) => "writing into an archive: it can be read only",
            Catalog::References(_) | Catalog::Records(_) => "writing into references: they can be read only",
            Catalog::Icechunk(_) => "writing into an Icechunk repository: it can be read only",
        }
    }

    /// The part of it that is the store, where the caller named one.
    pub(crate) fn root(&self) -> Option<&str> {
        match self {
            Catalog::Zip(archive) => archive.root(),
            Catalog::References(_) | Catalog::Records(_) | Catalog::Icechunk(_) => None,
        }
    }

    /// Reads many keys whole, each of at most `len_max` bytes, all at once; `None` of those that are not there. Where what the
    /// catalog said is of another version of its object by now, it is asked once more.
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
        let KeysRead { found, is_stale } = read_keys(&self.contents(engine)?, engine, keys, len_max)?;
        if !is_stale {
            return Ok(found);
        }
        self.note_change();
        Ok(read_keys(&self.contents(engine)?, engine, keys, len_max)?.found)
    }
}

impl Contents {
    /// Where the bytes of so many chunks are, whose keys are written by number.
    ///
    /// # Errors
    ///
    /// Why what says so could not be read.
    pub(crate) fn locate(
        &self,
        engine: &Engine,
        count: usize,
        mut write_key: impl FnMut(usize, &mut String),
    ) -> Result<Vec<Located>, Error> {
        match self {
            Contents::Records(view) => return view.locate(engine, count, write_key),
            Contents::Icechunk(view) => return view.locate(engine, count, write_key),
            Contents::Zip(..) | Contents::References(_) => {}
        }
        let mut key = String::new();
        let locate = |number| {
            write_key(number, &mut key);
            self.find(&key)
        };
        Ok((0..count).map(locate).collect())
    }

    /// Where the bytes of a key are; of a document only, where chunks are in files of rows.
    pub(crate) fn find(&self, key: &str) -> Located {
        match self {
            Contents::Zip(directory, _) => match directory.find(key) {
                Some(member) => self.known_by_now(Located::Member(member)),
                None => Located::Nowhere,
            },
            Contents::References(references) => references.find(key),
            Contents::Records(view) => view.find(key),
            Contents::Icechunk(view) => view.find(key),
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
    pub(crate) fn target(&self, number: u32) -> Result<ObjectRef, Error> {
        match self {
            Contents::Zip(_, archive) => Ok(archive.clone()),
            Contents::References(references) => references.target(number),
            Contents::Records(view) => view.target(number),
            Contents::Icechunk(view) => view.target(number),
        }
    }

    /// The number of the object that a key is a part of, and where in it; what is nowhere counts to an archive as well, as
    /// it is the archive that does not have it.
    pub(crate) fn place(&self, located: Located) -> (Option<u32>, u64) {
        match (self, located) {
            (_, Located::Part { target, offset, .. }) => (Some(target), offset),
            (_, Located::Whole { target }) => (Some(target), 0),
            (Contents::Zip(directory, _), Located::Member(member)) => {
                (Some(0), directory.header_offset(member))
            }
            (Contents::Zip(..), Located::Nowhere) => (Some(0), 0),
            (_, Located::Nowhere | Located::Member(_)) => (None, 0),
        }
    }

    /// The version of the one object that all of it was read from, if there is one.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        match self {
            Contents::Zip(directory, _) => directory.identity(),
            Contents::References(_) | Contents::Records(_) | Contents::Icechunk(_) => None,
        }
    }

    /// The version that one of the catalog's objects must be of, if any is known.
    pub(crate) fn identity_of(&self, target: u32) -> Option<&Identity> {
        match self {
            Contents::Icechunk(view) => view.identity_of(target),
            _ => self.identity(),
        }
    }

    /// What lies directly below a key that ends in `/`, or is empty; sorted by name.
    ///
    /// # Errors
    ///
    /// `Unsupported` where that is not known.
    pub(crate) fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        match self {
            Contents::Zip(directory, _) => Ok(directory.list(prefix)),
            Contents::References(references) => Ok(references.list(prefix)),
            Contents::Records(view) => view.list(prefix),
            Contents::Icechunk(view) => view.list(prefix),
        }
    }

    /// The archive's directory, and the archive.
    pub(crate) fn archive(&self) -> Option<(&Arc<Directory>, &ObjectRef)> {
        match self {
            Contents::Zip(directory, archive) => Some((directory, archive)),
            _ => None,
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
            Located::Whole { target } => Ok(Some((self.target(target)?, ByteRange::Whole { len_max }))),
            Located::Member(member) => match self.archive() {
                Some((directory, archive)) => {
                    check_len(directory.len(member), len_max)?;
                    Ok(Some((archive.clone(), directory.span(member)?)))
                }
                None => Ok(None),
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
    let message = format!("what is pointed to is not there: {}", error.message());
    Error::new(ErrorKind::Io, message).with_object(error.object().unwrap_or_default())
}
