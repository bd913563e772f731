//! Zip archives: which members there are, and where each lies. Only reading.
//!
//! Members are read as ranges of the archive: stored ones as they are, deflated ones whole, and inflated. Where a member's
//! bytes begin only its local header tells, which stands before them; a member that is read whole is read from its header
//! on, so that this costs no request of its own.
//!
//! Source: APPNOTE.TXT of PKWARE, version 6.3.10, sections 4.3 to 4.5.

mod central;
mod directory;
mod end_record;
mod local_header;

pub(crate) use directory::Directory;

use crate::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use swath_ioengine::{Engine, ObjectRef};

/// A zip archive, and its directory: read when it is first asked for, and again once a read has shown that the archive is
/// another by now.
#[derive(Debug)]
pub(crate) struct ZipArchive {
    object: ObjectRef,
    /// The directory within the archive that is the store's root, without slashes around it, where the caller named one.
    root: Option<Arc<str>>,
    directory: Mutex<Option<Arc<Directory>>>,
    has_changed: AtomicBool,
}

impl ZipArchive {
    /// The archive that an object is; nothing is read yet.
    pub(crate) fn new(object: ObjectRef, root: Option<&str>) -> ZipArchive {
        let root = root.map(|root| Arc::from(root.trim_matches('/')));
        ZipArchive { object, root, directory: Mutex::default(), has_changed: AtomicBool::new(false) }
    }

    /// The same archive, whose object is read in another way.
    #[cfg(feature = "cache")]
    pub(crate) fn with_object(&self, object: ObjectRef) -> ZipArchive {
        ZipArchive::new(object, self.root.as_deref())
    }

    /// The directory within the archive that the caller named.
    pub(crate) fn root(&self) -> Option<&str> {
        self.root.as_deref()
    }

    /// What is read.
    pub(crate) fn object(&self) -> &ObjectRef {
        &self.object
    }

    /// The members. Threads that get here at the same time each read the directory: a lock held meanwhile could be
    /// inherited by a forked child.
    ///
    /// # Errors
    ///
    /// `Corrupt` for what is no zip archive, or a broken one; `Unsupported` for one in several files.
    pub(crate) fn directory(&self, engine: &Engine) -> Result<Arc<Directory>, Error> {
        let known = || self.directory.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.has_changed.swap(false, Ordering::AcqRel)
            && let Some(directory) = known().clone()
        {
            return Ok(directory);
        }
        let read = Directory::read(engine, &self.object, self.root.as_deref());
        let directory = Arc::new(read.inspect_err(|_| self.note_change())?);
        *known() = Some(Arc::clone(&directory));
        Ok(directory)
    }

    /// The archive turned out to be another than the one that the directory was read from.
    pub(crate) fn note_change(&self) {
        self.has_changed.store(true, Ordering::Release);
    }
}
