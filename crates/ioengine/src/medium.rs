//! The two seams behind which bytes live: synchronous local media and asynchronous remote sources.

use crate::at_hand::AtHand;
use crate::blocks::Blocks;
use crate::driver::{DriverSite, LocalDriver};
use crate::remote::{FetchRequest, Reply};
use crate::resident::Resident;
use crate::writing::{joined, note_write};
use crate::{ByteRange, CostModel, Error, ErrorKind, Identity, PutCondition, RemoteStats};
use bytes::Bytes;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Names a medium across its instances: two handles on one directory have equal ids, so they share open files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MediumId(pub u128);

impl MediumId {
    /// An id that no other medium of this process has.
    pub fn unique() -> MediumId {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(1);
        MediumId(u128::from(NEXT.fetch_add(1, Ordering::Relaxed)) << 64 | u128::from(u64::MAX))
    }
}

/// Where objects live. Cloning shares the medium.
#[derive(Clone)]
pub enum Medium {
    /// Read by a driver that each lane owns.
    Local(Arc<dyn LocalMedium>),
    /// Read by a source that has a runtime of its own.
    Remote(Arc<dyn RemoteSource>),
}

impl Medium {
    /// The medium's id.
    pub fn id(&self) -> MediumId {
        match self {
            Medium::Local(medium) => medium.id(),
            Medium::Remote(source) => source.id(),
        }
    }

    /// What the medium is, for people: `file:///data`, `memory`.
    pub fn describe(&self) -> String {
        match self {
            Medium::Local(medium) => medium.describe(),
            Medium::Remote(source) => source.describe(),
        }
    }

    /// What lies directly under `prefix` (a key ending in `/`, or empty for the root), sorted by name.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) where a medium with directories has none of that name;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the medium cannot list.
    pub fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        match self {
            Medium::Local(medium) => medium.list(prefix),
            Medium::Remote(source) => source.list(prefix),
        }
    }

    /// How many bytes an object has. Blocks.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound) where there is no such object;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the medium cannot tell without reading it.
    pub fn size(&self, key: &str) -> Result<u64, Error> {
        match self {
            Medium::Local(medium) => Ok(medium.open(key)?.size()),
            Medium::Remote(source) => source.size(key),
        }
    }

    /// Writes an object whole: readers see what was there before or all of it, never a part. Returns the version written,
    /// where the medium knows it. What is open of it in this process is looked at again before it is next read, whatever
    /// [`Freshness`](crate::Freshness) says. Blocks.
    ///
    /// # Errors
    ///
    /// [`Changed`](crate::ErrorKind::Changed) where the condition does not hold;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the medium cannot write, or not on that condition.
    pub fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        let written = match self {
            Medium::Local(medium) => medium.put(key, bytes, condition),
            Medium::Remote(source) => source.put(key, bytes, condition),
        };
        // Also after an error, which may have come after the write.
        note_write();
        written
    }

    /// As [`put`](Medium::put), of pieces one behind the other, for much data that nobody reads soon: local files of a mebibyte and more
    /// are written past the page cache (O_DIRECT) where the file system can do that and the medium's
    /// [`FileAccess`](crate::FileAccess) is `Probe` or `Direct`. Where the first piece begins at a page (4096 bytes), the device
    /// takes a mebibyte and more of it from where it lies, and of later pieces what happens to suit it; all else is copied first. Other media
    /// are given the pieces joined, which takes as much memory again unless there is one alone.
    ///
    /// # Errors
    ///
    /// As [`put`](Medium::put).
    pub fn put_past_cache(
        &self,
        key: &str,
        pieces: &[Bytes],
        condition: &PutCondition,
    ) -> Result<Option<Identity>, Error> {
        let Medium::Local(medium) = self else { return self.put(key, joined(pieces), condition) };
        let written = medium.put_past_cache(key, pieces, condition);
        note_write();
        written
    }

    /// Removes an object; nothing happens where there is none. Blocks.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the medium cannot.
    pub fn delete(&self, key: &str) -> Result<(), Error> {
        let removed = match self {
            Medium::Local(medium) => medium.delete(key),
            Medium::Remote(source) => source.delete(key),
        };
        note_write();
        removed
    }

    /// Removes an object where it still is this version. Blocks.
    ///
    /// # Errors
    ///
    /// [`Changed`](crate::ErrorKind::Changed) where it is another one, or none;
    /// [`Unsupported`](crate::ErrorKind::Unsupported) where the medium cannot remove on that condition, as clouds.
    pub fn delete_version(&self, key: &str, version: &Identity) -> Result<(), Error> {
        let removed = match self {
            Medium::Local(medium) => medium.delete_version(key, version),
            Medium::Remote(source) => source.delete_version(key, version),
        };
        note_write();
        removed
    }

    /// Tries to take the lock of a name, which one holder has at a time in all processes. It locks nothing but itself:
    /// whoever changes what it stands for asks for it. Does not wait for its holder.
    ///
    /// # Errors
    ///
    /// Those of the medium, where it has locks.
    pub fn try_lock(&self, key: &str) -> Result<TryLock, Error> {
        match self {
            Medium::Local(medium) => medium.try_lock(key),
            Medium::Remote(_) => Ok(TryLock::None),
        }
    }

    /// Says that about so many reads follow soon: remote media make connections ready. Returns at once; local media do nothing.
    pub fn expect(&self, reads: u64) {
        if let Medium::Remote(source) = self {
            source.expect(reads);
        }
    }

    /// What requests to the medium came to; `None` for local media.
    pub fn remote_stats(&self) -> Option<RemoteStats> {
        match self {
            Medium::Local(_) => None,
            Medium::Remote(source) => Some(source.stats()),
        }
    }
}

impl fmt::Debug for Medium {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Medium({})", self.describe())
    }
}

/// What a try to take a lock between processes came to.
pub enum TryLock {
    /// The caller has it, until this is dropped.
    Held(Box<dyn Send>),
    /// Somebody else has it, in this process or another.
    Taken,
    /// The medium has no such locks.
    None,
}

/// One name in a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// An object, by its name below the prefix, and its size in bytes.
    Object {
        /// Name below the prefix, without a separator.
        name: String,
        /// Bytes.
        size: u64,
    },
    /// A name that other keys go on from.
    Prefix {
        /// Name below the prefix, without its trailing separator.
        name: String,
    },
}

impl Entry {
    /// The name below the listed prefix.
    pub fn name(&self) -> &str {
        match self {
            Entry::Object { name, .. } | Entry::Prefix { name } => name,
        }
    }
}

/// An object: a key on a medium. Keys are `/`-separated and relative to the medium's root.
#[derive(Clone, Debug)]
pub struct ObjectRef {
    /// Where the object lives.
    pub medium: Medium,
    /// Its key there.
    pub key: Arc<str>,
}

/// An object opened for reading. The engine keeps these between batches, bounded by
/// [`Limits::open_handles_max`](crate::Limits::open_handles_max).
pub trait OpenObject: Send + Sync + 'static {
    /// Length in bytes when it was opened.
    fn size(&self) -> u64;
    /// The version that reads through this handle see.
    fn identity(&self) -> &Identity;
    /// False when the object changed so recently that another change might leave its identity equal (a coarse clock);
    /// such a handle is not kept between batches.
    fn is_settled(&self) -> bool;
    /// The object's bytes, where they can be had without a read and without waiting: lanes then take them at once,
    /// and no driver sees the reads. Asked once a window, with the bytes of the pages that its reads touch.
    fn resident(&self, bytes: u64) -> Option<Resident<'_>>;
    /// How the object's reads go past the page cache, where that is the better way now; `None` for reads of any range at
    /// the medium's own costs. Asked once a window that [`resident`](OpenObject::resident) had nothing for, with the
    /// bytes that its reads would bring into the page cache.
    fn blocks(&self, bytes: u64) -> Option<Blocks>;
    /// Told when a driver answered [`Outcome::Refused`](crate::Outcome::Refused): `blocks` is `None` from then on.
    fn refuse_blocks(&self);
    /// For drivers, which know the handles of their own media.
    fn as_any(&self) -> &dyn Any;
}

/// A medium that lanes read themselves, each by a driver of its own.
///
/// `open`, `identify` and `verify` may block for as long as one metadata look-up takes.
pub trait LocalMedium: Send + Sync {
    /// Which medium this is.
    fn id(&self) -> MediumId;
    /// What the medium is, for people.
    fn describe(&self) -> String;
    /// Media of one family and depth share one driver a lane.
    fn family(&self) -> &'static str;
    /// Reads that a lane should keep in flight on the medium, where that was measured; never more than
    /// [`Limits::local_depth`](crate::Limits::local_depth), which counts where this is `None`. Zero is taken as one. Asked
    /// with every window, so it does not change.
    fn depth(&self) -> Option<usize>;
    /// Default costs, until measured.
    fn cost(&self) -> CostModel;
    /// Makes a driver for a lane or for the inline path.
    fn driver(&self, site: DriverSite<'_>) -> Result<Box<dyn LocalDriver>, Error>;
    /// Opens an object for reading.
    fn open(&self, key: &str) -> Result<Arc<dyn OpenObject>, Error>;
    /// The identity that `open` would find now.
    fn identify(&self, key: &str) -> Result<Identity, Error>;
    /// Checks, after the last read, that what was read through `object` is still what it was when it was opened.
    ///
    /// # Errors
    ///
    /// [`Changed`](crate::ErrorKind::Changed) when the bytes were written to in between.
    fn verify(&self, object: &dyn OpenObject) -> Result<(), Error>;
    /// See [`Medium::list`].
    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error>;
    /// See [`Medium::put`].
    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error>;
    /// See [`Medium::put_past_cache`]; as `put` where there is no cache to pass.
    fn put_past_cache(
        &self,
        key: &str,
        pieces: &[Bytes],
        condition: &PutCondition,
    ) -> Result<Option<Identity>, Error> {
        self.put(key, joined(pieces), condition)
    }
    /// See [`Medium::delete`].
    fn delete(&self, key: &str) -> Result<(), Error>;
    /// See [`Medium::delete_version`].
    fn delete_version(&self, key: &str, version: &Identity) -> Result<(), Error>;
    /// See [`Medium::try_lock`].
    fn try_lock(&self, key: &str) -> Result<TryLock, Error>;
}

/// A medium behind a network: it alone owns connections, retries and concurrency, and reports each fetch once.
///
/// It never decodes, and never runs a sink: bytes go to the lane that asked, through [`Reply`].
pub trait RemoteSource: Send + Sync {
    /// Which medium this is.
    fn id(&self) -> MediumId;
    /// What the medium is, for people, without secrets.
    fn describe(&self) -> String;
    /// What tells the medium from all others, in other processes and later too: equal only where equal keys are the same
    /// objects, asked for by the same. `None` where the medium cannot tell. Without secrets: it is stored. May block as long
    /// as it takes to read the files that name the service and its logins; makes no request.
    ///
    /// # Errors
    ///
    /// Why the medium cannot be connected to.
    fn lasting_name(&self) -> Result<Option<Arc<str>>, Error> {
        Ok(None)
    }
    /// Current costs; may move as the source learns.
    fn cost(&self) -> CostModel;
    /// Says that about so many fetches follow soon, so that connections can be made while their plan still waits for its
    /// first answers. A hint, which returns at once and reports nothing. Lanes say 0 before they become nicer than their
    /// process: threads that fetches need are started then, because threads inherit niceness.
    fn expect(&self, _fetches: u64) {}
    /// True where bytes that nobody wants cost nothing but their time, as those of a store on the same machine or in the same
    /// rack: [`RemoteSource::cost`] alone decides then what is read over to save requests. Elsewhere bytes may cost money,
    /// or fill a link that others share, and
    /// [`Limits::remote_bridged_percent`](crate::Limits::remote_bridged_percent) bounds them. Asked with every window.
    fn is_near(&self) -> bool {
        false
    }
    /// The bytes of all of these ranges, where they are here, of that version if one is named, and may be answered without a
    /// request: lanes then take them at once, and fetch nothing. Asked once a window, for all that the window wants. Makes no
    /// request and waits for no device.
    fn at_hand(
        &self,
        _key: &Arc<str>,
        _identity: Option<&Identity>,
        _ranges: &mut dyn Iterator<Item = ByteRange>,
    ) -> Option<Box<dyn AtHand + '_>> {
        None
    }
    /// Starts a fetch and returns at once. `reply` must be completed; dropping it reports an error.
    fn fetch(&self, request: FetchRequest, reply: Reply);
    /// See [`Medium::list`].
    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error>;
    /// See [`Medium::size`].
    fn size(&self, _key: &str) -> Result<u64, Error> {
        Err(Error::new(ErrorKind::Unsupported, "this store cannot tell the size of an object"))
    }
    /// See [`Medium::put`].
    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error>;
    /// See [`Medium::delete`].
    fn delete(&self, key: &str) -> Result<(), Error>;
    /// See [`Medium::delete_version`].
    fn delete_version(&self, _key: &str, _version: &Identity) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Unsupported, "this store cannot remove an object on a condition"))
    }
    /// What was counted so far.
    fn stats(&self) -> RemoteStats;
}
