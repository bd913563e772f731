//! Files on Linux: by io_uring where a probe shows that it works, else by a pool of threads; on a caller's thread by reads
//! that do not wait.
//!
//! Network file systems (`file_system.rs` knows them by their `statfs` number) are read by threads, one for each read in
//! flight: [`Limits::local_depth`](crate::Limits::local_depth) a lane,
//! [`Limits::waiting_threads_max`](crate::Limits::waiting_threads_max) in all. On FUSE without a page cache
//! io_uring has one read at a time under way, whatever its depth. Nor are their files mapped: a page fault waits for the
//! network, and cannot be cancelled. What was measured is in docs/decisions/0007-slow-file-systems.md.

mod cachestat;
mod close;
mod direct;
mod file_system;
mod folder_lock;
mod inline;
mod lock_file;
mod mapped;
mod mapping;
mod memory;
pub(crate) mod open_file;
mod pread_threads;
mod probe;
mod replace;
mod residency;
mod uring;

use crate::calibration::{Calibration, CalibrationUse};
use crate::driver::{DriverSite, LocalDriver};
use crate::media::file_access::FileAccess;
use crate::media::folder_entries::folder_entries;
use crate::medium::{Entry, LocalMedium, Medium, MediumId, ObjectRef, OpenObject, TryLock};
use crate::{CostModel, Error, ErrorKind, Identity, PutCondition};
use bytes::Bytes;
use direct::{DataSet, DirectUse};
use mapped::{MappedBytes, MappingUse};
pub(crate) use mapping::{CopyGuard, Mapping};
use open_file::OpenFile;
pub(crate) use open_file::open_directory;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory of files. Keys are paths relative to it.
#[derive(Clone)]
pub struct LocalFiles(Arc<Directory>);

struct Directory {
    id: MediumId,
    path: PathBuf,
    descriptor: OwnedFd,
    mechanism: probe::Mechanism,
    mapping: MappingUse,
    direct: DirectUse,
    costs: Costs,
}

/// What reads of a directory's files cost, and how many should be in flight.
#[derive(Clone, Debug)]
struct Costs {
    page_cache: CostModel,
    device: CostModel,
    /// For each lane, where it was measured.
    depth: Option<usize>,
    /// Where they came from; empty for the named defaults.
    origin: String,
}

impl Costs {
    fn of(calibration: Option<&Calibration>) -> Costs {
        let page_cache = calibration.and_then(|found| found.page_cache.clone().ok());
        Costs {
            page_cache: page_cache.unwrap_or(CostModel::PAGE_CACHE),
            device: calibration.and_then(Calibration::device_cost).unwrap_or(CostModel::DEVICE),
            depth: calibration.and_then(Calibration::depth),
            origin: calibration.map(Calibration::describe).unwrap_or_default(),
        }
    }
}

impl LocalFiles {
    /// Opens a directory, and probes how its files are best read. What reads cost is taken from the stored
    /// [`Calibration`] of its device, where there is one.
    ///
    /// # Errors
    ///
    /// [`NotFound`](ErrorKind::NotFound) where there is no such directory;
    /// [`Unsupported`](ErrorKind::Unsupported) where `access` asks for io_uring and it does not work here.
    pub fn open(path: impl AsRef<Path>, access: FileAccess) -> Result<LocalFiles, Error> {
        LocalFiles::open_calibrated(path, access, &CalibrationUse::Stored)
    }

    /// As [`open`](LocalFiles::open), with the calibration that the caller says.
    ///
    /// # Errors
    ///
    /// As [`open`](LocalFiles::open). A calibration that is missing or broken is none.
    pub fn open_calibrated(
        path: impl AsRef<Path>,
        access: FileAccess,
        calibration: &CalibrationUse,
    ) -> Result<LocalFiles, Error> {
        LocalFiles::open_with(path.as_ref(), access, |directory| {
            Costs::of(Calibration::find(calibration, directory.as_fd()).as_ref())
        })
    }

    /// With these costs of the page cache, whatever is stored.
    pub(crate) fn open_costed(
        path: &Path,
        access: FileAccess,
        page_cache: CostModel,
    ) -> Result<LocalFiles, Error> {
        LocalFiles::open_with(path, access, |_| Costs { page_cache, ..Costs::of(None) })
    }

    fn open_with(
        path: &Path,
        access: FileAccess,
        costs: impl FnOnce(&OwnedFd) -> Costs,
    ) -> Result<LocalFiles, Error> {
        let named = |error: Error| error.with_object(&Arc::from(path.to_string_lossy()));
        let (descriptor, id) = open_directory(path).map_err(|error| named(Error::from_io(error)))?;
        let costs = costs(&descriptor);
        // Two ways of reading one directory share no open files, which know their way.
        let id = id ^ (access as u128) << 120;
        let mechanism = probe::choose(access, &descriptor).map_err(named)?;
        let path = path.to_owned();
        let mapping = match access {
            FileAccess::Probe if mechanism.is_remote() => MappingUse::Never,
            FileAccess::Probe => MappingUse::WhereItPays(MappedBytes::new()),
            FileAccess::Mapped => MappingUse::Always,
            FileAccess::Buffered | FileAccess::Direct | FileAccess::IoUring | FileAccess::PreadThreads => {
                MappingUse::Never
            }
        };
        let direct = match access {
            FileAccess::Probe if mechanism.is_remote() => DirectUse::Never,
            FileAccess::Probe => DirectUse::WhereItPays(DataSet::new(costs.device)),
            FileAccess::Direct => DirectUse::Always(DataSet::new(costs.device)),
            FileAccess::Mapped | FileAccess::Buffered | FileAccess::IoUring | FileAccess::PreadThreads => {
                DirectUse::Never
            }
        };
        let id = MediumId(id);
        Ok(LocalFiles(Arc::new(Directory { id, path, descriptor, mechanism, mapping, direct, costs })))
    }

    /// The medium, as arrays and batches take it.
    pub fn medium(&self) -> Medium {
        Medium::Local(Arc::clone(&self.0) as Arc<dyn LocalMedium>)
    }

    /// A reference to the file at `key` below the directory, whether it exists or not.
    pub fn object(&self, key: &str) -> ObjectRef {
        ObjectRef { medium: self.medium(), key: Arc::from(key) }
    }

    /// Which mechanism lanes read these files by, and why, and whether their costs were measured here:
    /// `io_uring (a probe read completed), calibrated 2026-11-21`.
    pub fn mechanism(&self) -> String {
        format!("{}{}", self.0.mechanism.describe(), self.0.costs.origin)
    }

    /// Why a file was not read past the page cache, where that was wanted; `None` where none was refused.
    pub(crate) fn direct_refusal(&self) -> Option<String> {
        self.0.direct.refusal()
    }
}

impl LocalMedium for Directory {
    fn id(&self) -> MediumId {
        self.id
    }

    fn describe(&self) -> String {
        format!("files by {}{}{}", self.mechanism.describe(), self.costs.origin, self.direct.describe())
    }

    fn family(&self) -> &'static str {
        self.mechanism.name()
    }

    fn depth(&self) -> Option<usize> {
        self.costs.depth
    }

    fn cost(&self) -> CostModel {
        self.costs.page_cache
    }

    fn driver(&self, site: DriverSite<'_>) -> Result<Box<dyn LocalDriver>, Error> {
        match site {
            DriverSite::Inline => Ok(Box::new(inline::InlinePread::new())),
            DriverSite::Lane { limits, wake } => self.mechanism.driver(limits, wake),
        }
    }

    fn open(&self, key: &str) -> Result<Arc<dyn OpenObject>, Error> {
        Ok(Arc::new(
            OpenFile::open(&self.descriptor, key, &self.mapping, &self.direct).map_err(Error::from_io)?,
        ))
    }

    fn identify(&self, key: &str) -> Result<Identity, Error> {
        OpenFile::identify(&self.descriptor, key).map_err(Error::from_io)
    }

    fn verify(&self, object: &dyn OpenObject) -> Result<(), Error> {
        match object.as_any().downcast_ref::<OpenFile>() {
            Some(file) => file.verify(),
            None => Err(Error::new(ErrorKind::Internal, "not a local file")),
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        open_file::check_key(prefix).map_err(Error::from_io)?;
        folder_entries(&self.path.join(prefix))
    }

    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        let put = replace::put(&self.descriptor, key, &[bytes], condition, &DirectUse::Never);
        put.map(Some).map_err(|error| named(error, key))
    }

    fn put_past_cache(
        &self,
        key: &str,
        pieces: &[Bytes],
        condition: &PutCondition,
    ) -> Result<Option<Identity>, Error> {
        let put = replace::put(&self.descriptor, key, pieces, condition, &self.direct);
        put.map(Some).map_err(|error| named(error, key))
    }

    fn delete(&self, key: &str) -> Result<(), Error> {
        replace::delete(&self.descriptor, key).map_err(|error| named(error, key))
    }

    fn delete_version(&self, key: &str, version: &Identity) -> Result<(), Error> {
        replace::delete_version(&self.descriptor, key, version).map_err(|error| named(error, key))
    }

    fn try_lock(&self, key: &str) -> Result<TryLock, Error> {
        lock_file::try_lock(&self.descriptor, key).map_err(|error| named(error, key))
    }
}

fn named(error: Error, key: &str) -> Error {
    error.with_object(&Arc::from(key))
}
