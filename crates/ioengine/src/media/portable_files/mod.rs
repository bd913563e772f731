//! Files where there is no Linux: by a pool of threads, through what the standard library does on every platform.
//!
//! What is not here, and what becomes of it: io_uring, mappings and reads past the page cache (asked for, they are refused);
//! reads on a caller's thread that do not wait (small batches go to the lanes); calibrations (the named defaults count); and
//! telling network file systems from others. Where the files of Linux are replaced under a lock of their folder that all
//! processes take, here only the threads of one process take turns: see `replace.rs`.

mod inline;
mod lock_file;
pub(crate) mod open_file;
#[path = "../files/pread_threads.rs"]
mod pread_threads;
mod replace;

#[cfg(not(target_os = "linux"))]
#[path = "../files/mapping/mod.rs"]
mod mapping;
#[cfg(not(target_os = "linux"))]
pub(crate) use mapping::{CopyGuard, Mapping};

use crate::calibration::CalibrationUse;
use crate::driver::{DriverSite, LocalDriver, WaitsFor};
use crate::media::file_access::FileAccess;
use crate::media::folder_entries::folder_entries;
use crate::medium::{Entry, LocalMedium, Medium, MediumId, ObjectRef, OpenObject, TryLock};
use crate::{CostModel, Error, ErrorKind, FileIdentity, Identity, PutCondition};
use bytes::Bytes;
use open_file::OpenFile;
use pread_threads::PreadThreads;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory of files. Keys are paths relative to it, with slashes.
#[derive(Clone)]
pub struct LocalFiles(Arc<Directory>);

struct Directory {
    id: MediumId,
    path: PathBuf,
    page_cache: CostModel,
}

/// Threads of one lane's pool: enough to hide a disk's latency.
const DISK_THREADS_MAX: usize = 16;

/// What lanes read by.
const MECHANISM: &str = "pread threads";

impl LocalFiles {
    /// Opens a directory. Its files are read by threads on this platform.
    ///
    /// # Errors
    ///
    /// [`NotFound`](ErrorKind::NotFound) where there is no such directory;
    /// [`Unsupported`](ErrorKind::Unsupported) where `access` asks for what needs Linux.
    pub fn open(path: impl AsRef<Path>, access: FileAccess) -> Result<LocalFiles, Error> {
        LocalFiles::open_costed(path.as_ref(), access, CostModel::PAGE_CACHE)
    }

    /// As [`open`](LocalFiles::open): no calibration is used on this platform, whatever the caller says.
    ///
    /// # Errors
    ///
    /// As [`open`](LocalFiles::open).
    pub fn open_calibrated(
        path: impl AsRef<Path>,
        access: FileAccess,
        _calibration: &CalibrationUse,
    ) -> Result<LocalFiles, Error> {
        LocalFiles::open(path, access)
    }

    /// With these costs of the page cache.
    pub(crate) fn open_costed(
        path: &Path,
        access: FileAccess,
        page_cache: CostModel,
    ) -> Result<LocalFiles, Error> {
        let named = |error: Error| error.with_object(&Arc::from(path.to_string_lossy()));
        match access {
            FileAccess::Probe | FileAccess::Buffered | FileAccess::PreadThreads => {}
            FileAccess::Mapped | FileAccess::Direct | FileAccess::IoUring => {
                let message = format!("{access} needs Linux: files are read by threads here");
                return Err(named(Error::new(ErrorKind::Unsupported, message)));
            }
        }
        let path = path.canonicalize().map_err(|error| named(Error::from_io(error)))?;
        let metadata = path.metadata().map_err(|error| named(Error::from_io(error)))?;
        if !metadata.is_dir() {
            return Err(named(Error::new(ErrorKind::NotFound, "not a directory")));
        }
        let id = id_of(&path, &FileIdentity::of(&metadata));
        Ok(LocalFiles(Arc::new(Directory { id, path, page_cache })))
    }

    /// The medium, as arrays and batches take it.
    pub fn medium(&self) -> Medium {
        Medium::Local(Arc::clone(&self.0) as Arc<dyn LocalMedium>)
    }

    /// A reference to the file at `key` below the directory, whether it exists or not.
    pub fn object(&self, key: &str) -> ObjectRef {
        ObjectRef { medium: self.medium(), key: Arc::from(key) }
    }

    /// Which mechanism lanes read these files by, and why.
    pub fn mechanism(&self) -> String {
        format!("{MECHANISM} (io_uring needs Linux)")
    }
}

/// Tells a directory from others by its path without links; where the platform numbers its files, by that too, so that one
/// made in place of another is not taken for it.
fn id_of(path: &Path, identity: &FileIdentity) -> MediumId {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, path, identity.device, identity.inode).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    MediumId(half(0) << 64 | half(1))
}

impl LocalMedium for Directory {
    fn id(&self) -> MediumId {
        self.id
    }

    fn describe(&self) -> String {
        format!("files by {MECHANISM}")
    }

    fn family(&self) -> &'static str {
        MECHANISM
    }

    fn depth(&self) -> Option<usize> {
        None
    }

    fn cost(&self) -> CostModel {
        self.page_cache
    }

    fn driver(&self, site: DriverSite<'_>) -> Result<Box<dyn LocalDriver>, Error> {
        match site {
            DriverSite::Inline => Ok(Box::new(inline::LeftToLanes::default())),
            DriverSite::Lane { limits, wake } => {
                let threads_max = DISK_THREADS_MAX.min(limits.local_depth);
                Ok(Box::new(PreadThreads::new(wake, threads_max, WaitsFor::Device)))
            }
        }
    }

    fn open(&self, key: &str) -> Result<Arc<dyn OpenObject>, Error> {
        Ok(Arc::new(OpenFile::open(&self.path, key).map_err(Error::from_io)?))
    }

    fn identify(&self, key: &str) -> Result<Identity, Error> {
        OpenFile::identify(&self.path, key).map_err(Error::from_io)
    }

    fn verify(&self, object: &dyn OpenObject) -> Result<(), Error> {
        match object.as_any().downcast_ref::<OpenFile>() {
            Some(file) => file.verify(),
            None => Err(Error::new(ErrorKind::Internal, "not a local file")),
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        folder_entries(&open_file::path_of(&self.path, prefix).map_err(Error::from_io)?)
    }

    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        replace::put(&self.path, key, &bytes, condition).map(Some).map_err(|error| named(error, key))
    }

    fn delete(&self, key: &str) -> Result<(), Error> {
        replace::delete(&self.path, key).map_err(|error| named(error, key))
    }

    fn delete_version(&self, key: &str, version: &Identity) -> Result<(), Error> {
        replace::delete_version(&self.path, key, version).map_err(|error| named(error, key))
    }

    fn try_lock(&self, key: &str) -> Result<TryLock, Error> {
        lock_file::try_lock(&self.path, key).map_err(|error| named(error, key))
    }
}

fn named(error: Error, key: &str) -> Error {
    error.with_object(&Arc::from(key))
}

#[cfg(test)]
mod tests;
