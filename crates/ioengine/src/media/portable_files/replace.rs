//! Writing files whole: a temporary file beside the target, which then takes its name.
//!
//! Readers see what was there before or all of the new file; nothing is synced to the device. Whether a file still is the
//! version that its writer has read is looked at, and the file replaced, under a lock that all threads of the process take.
//! Between processes there is a moment between the look and the replacement: of two that put their changes into the same
//! version, one may be lost. A file that is wanted only where nothing is, is made by a link, which replaces nothing.
//!
//! Temporary files are named `.swath-part-PROCESS-NUMBER-TIME`, with the nanoseconds since 1970. Those of processes that were
//! killed stay, and can be removed by hand when nobody writes.

use super::open_file::{OpenFile, path_of};
use crate::media::folder_entries::{TEMPORARY, is_temporary};
use crate::writing::check_condition;
use crate::{Error, ErrorKind, FileIdentity, Identity, PutCondition};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Writes `key` below `directory`, where it still is what `condition` wants.
pub(super) fn put(
    directory: &Path,
    key: &str,
    bytes: &[u8],
    condition: &PutCondition,
) -> Result<Identity, Error> {
    let path = place_of(directory, key).map_err(Error::from_io)?;
    if let PutCondition::Matches(_) = condition {
        check_version(directory, key, condition)?;
    }
    let temporary = Temporary::write(&path, bytes).map_err(Error::from_io)?;
    let _alone = alone();
    match condition {
        PutCondition::Always => temporary.replace(&path),
        PutCondition::Matches(_) => {
            check_version(directory, key, condition)?;
            temporary.replace(&path)
        }
        PutCondition::Absent => temporary.take_free(&path),
    }
}

/// Removes the file `key` below `directory`. Folders are left, empty ones too, unless `key` ends in a slash: then the folder
/// of that name is removed, if it is empty.
pub(super) fn delete(directory: &Path, key: &str) -> Result<(), Error> {
    if let Some(folder) = key.strip_suffix('/') {
        let removed = place_of(directory, folder).and_then(std::fs::remove_dir);
        return allowed(removed, &[io::ErrorKind::DirectoryNotEmpty]);
    }
    let _alone = alone();
    allowed(place_of(directory, key).and_then(std::fs::remove_file), &[])
}

/// Removes the file `key` below `directory` where it still is this version.
pub(super) fn delete_version(directory: &Path, key: &str, version: &Identity) -> Result<(), Error> {
    let _alone = alone();
    check_version(directory, key, &PutCondition::Matches(version.clone()))?;
    allowed(place_of(directory, key).and_then(std::fs::remove_file), &[])
}

/// What is not there is removed already.
fn allowed(removed: io::Result<()>, also: &[io::ErrorKind]) -> Result<(), Error> {
    match removed {
        Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {
            Ok(())
        }
        Err(error) if also.contains(&error.kind()) => Ok(()),
        removed => removed.map_err(Error::from_io),
    }
}

/// Where a key is that may be written.
pub(super) fn place_of(directory: &Path, key: &str) -> io::Result<PathBuf> {
    let name = key.rsplit('/').next().unwrap_or_default();
    if name.is_empty() || name == "." || key.split('/').any(is_temporary) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no file can be written under this name"));
    }
    path_of(directory, key)
}

fn check_version(directory: &Path, key: &str, condition: &PutCondition) -> Result<(), Error> {
    match OpenFile::identify(directory, key) {
        Ok(found) => check_condition(condition, Some(&found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => check_condition(condition, None),
        Err(error) => Err(Error::from_io(error)),
    }
}

/// One thread of this process at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that has its bytes and not yet its name. Dropped, it is removed.
struct Temporary {
    path: PathBuf,
    is_named: bool,
}

impl Temporary {
    /// Beside `target`, whose folder is made where it is not there.
    fn write(target: &Path, bytes: &[u8]) -> io::Result<Temporary> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let folder = target.parent().unwrap_or(target);
        std::fs::create_dir_all(folder)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = format!("{TEMPORARY}{}-{number}-{time}", std::process::id());
        let temporary = Temporary { path: folder.join(name), is_named: false };
        let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary.path)?;
        file.write_all(bytes)?;
        Ok(temporary)
    }

    /// Takes the name, from whatever has it.
    fn replace(mut self, target: &Path) -> Result<Identity, Error> {
        std::fs::rename(&self.path, target).map_err(Error::from_io)?;
        self.is_named = true;
        identity_of(target)
    }

    /// Takes the name where nothing has it.
    fn take_free(self, target: &Path) -> Result<Identity, Error> {
        std::fs::hard_link(&self.path, target).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                Error::new(ErrorKind::Changed, "wanted to write where nothing is, found a file")
            }
            io::ErrorKind::Unsupported => {
                let message = "this file system cannot write a file only where nothing is";
                Error::new(ErrorKind::Unsupported, message)
            }
            _ => Error::from_io(error),
        })?;
        // The name that it had goes first: that changes the file once more.
        drop(self);
        identity_of(target)
    }
}

fn identity_of(path: &Path) -> Result<Identity, Error> {
    let metadata = std::fs::metadata(path).map_err(Error::from_io)?;
    Ok(Identity::File(FileIdentity::of(&metadata)))
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_named {
            // What cannot be removed is left: it has no name that anyone reads.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
