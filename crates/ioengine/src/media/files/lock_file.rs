//! Locks between processes: a file for each, which is there while somebody holds the lock.

use super::replace::{open_folder, place_of};
use crate::Error;
use crate::media::folder_entries::TEMPORARY;
use crate::medium::TryLock;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;

/// A lock that is held. Whoever is killed loses it, and leaves its file for the next one.
struct LockFile {
    folder: OwnedFd,
    name: String,
    file: OwnedFd,
}

/// Times that a file is opened whose holder removes it meanwhile.
const TRIES_MAX: usize = 16;

/// Tries to take the lock of `key`, by a file beside it. See [`Medium::try_lock`](crate::Medium::try_lock).
pub(super) fn try_lock(directory: &OwnedFd, key: &str) -> Result<TryLock, Error> {
    let lock = || {
        let (folder, name) = place_of(key)?;
        LockFile::try_new(open_folder(directory, folder)?, format!("{TEMPORARY}lock-{name}"))
    };
    lock().map_err(Error::from_io)
}

impl LockFile {
    fn try_new(folder: OwnedFd, name: String) -> io::Result<TryLock> {
        for _ in 0..TRIES_MAX {
            let file = open(&folder, &name)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => return Ok(TryLock::Taken),
                // This file system has no locks.
                Err(_) => {
                    let _ = rustix::fs::unlinkat(&folder, &*name, AtFlags::empty());
                    return Ok(TryLock::None);
                }
            }
            // The one before may have removed it between the two: then it is nobody's lock any more.
            if is_named(&folder, &name, &file)? {
                return Ok(TryLock::Held(Box::new(LockFile { folder, name, file })));
            }
        }
        Ok(TryLock::Taken)
    }
}

/// Opens the file, made where it is not there. Another user's may be one that can only be read.
fn open(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let open = |way| {
        let flags = way | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o666))
    };
    match open(OFlags::RDWR | OFlags::CREATE) {
        Err(Errno::ACCESS) => open(OFlags::RDONLY),
        opened => opened,
    }
}

fn is_named(folder: &OwnedFd, name: &str, file: &OwnedFd) -> Result<bool, Errno> {
    let own = rustix::fs::fstat(file)?;
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(named) => Ok((named.st_dev, named.st_ino) == (own.st_dev, own.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // While it is locked, so that it is nobody else's that is removed.
        let _ = rustix::fs::unlinkat(&self.folder, &*self.name, AtFlags::empty());
        // Said aloud: a child that was forked meanwhile keeps the file open.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
