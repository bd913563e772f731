//! Locks between processes: a file for each, which is there while somebody holds the lock.

use super::replace::place_of;
use crate::media::folder_entries::TEMPORARY;
use crate::medium::TryLock;
use crate::{Error, FileIdentity};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// A lock that is held. Whoever is killed loses it, and leaves its file for the next one.
struct LockFile {
    path: PathBuf,
    file: File,
}

/// Times that a file is opened whose holder removes it meanwhile.
const TRIES_MAX: usize = 16;

/// Tries to take the lock of `key`, by a file beside it. See [`Medium::try_lock`](crate::Medium::try_lock).
pub(super) fn try_lock(directory: &Path, key: &str) -> Result<TryLock, Error> {
    let lock = || {
        let target = place_of(directory, key)?;
        let folder = target.parent().unwrap_or(directory);
        std::fs::create_dir_all(folder)?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        LockFile::try_new(folder.join(format!("{TEMPORARY}lock-{name}")))
    };
    lock().map_err(Error::from_io)
}

impl LockFile {
    fn try_new(path: PathBuf) -> io::Result<TryLock> {
        for _ in 0..TRIES_MAX {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(TryLock::Taken),
                // This file system has no locks.
                Err(TryLockError::Error(_)) => {
                    let _ = std::fs::remove_file(&path);
                    return Ok(TryLock::None);
                }
            }
            // The one before may have removed it between the two: then it is nobody's lock any more.
            let own = FileIdentity::of(&file.metadata()?);
            let named = std::fs::symlink_metadata(&path).map(|metadata| FileIdentity::of(&metadata));
            if named.is_ok_and(|named| (named.device, named.inode) == (own.device, own.inode)) {
                return Ok(TryLock::Held(Box::new(LockFile { path, file })));
            }
        }
        Ok(TryLock::Taken)
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // While it is locked, so that it is nobody else's that is removed.
        let _ = std::fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}
