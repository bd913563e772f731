//! Writing files whole: a temporary file beside the target, which then takes its name.
//!
//! Readers see what was there before or all of the new file. Nothing is synced to the device: what was written outlives
//! the process, but after a power failure a file may be missing, or empty on file systems that do not order a rename
//! behind the data. Whoever needs more syncs the file system once when all is written, which costs less than once a file.
//! A new file has the permissions of any new file, also in place of one that had others; in place of a symbolic link it
//! takes the link's name and leaves alone what that leads to.
//!
//! Whether a file still is the version that its writer has read is looked at, and the file replaced, under a lock of its
//! folder (`flock(2)`), which every replacement and removal takes, in all processes: of two that put their changes into the
//! same version, one is told to start over. Other programs do not ask for that lock; and file systems that lock no folders,
//! NFS and SMB among them, leave a moment between the look and the replacement.
//!
//! Temporary files are named `.swath-part-PROCESS-NUMBER`, or `.swath-part-PROCESS-NUMBER-TIME` where that is taken, with the
//! nanoseconds since 1970. Those of processes that were killed stay. Whoever finds one in the place of its own removes it
//! once it is a day old; all others can be removed by hand when nobody writes. So can those named `.swath-part-lock-KEY`,
//! which are there while somebody holds a lock of that name (`lock_file.rs`).

use super::close::close;
use super::direct::{DirectUse, write_start};
use super::folder_lock::FolderLock;
use super::open_file::{OpenFile, check_key, identity_of};
use crate::media::folder_entries::{TEMPORARY, is_temporary};
use crate::writing::check_condition;
use crate::{Error, ErrorKind, Identity, PutCondition, storage_len};
use bytes::Bytes;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Writes `key` below `directory`, pieces one behind the other, where it still is what `condition` wants; past the page cache where
/// that is wanted.
pub(super) fn put(
    directory: &OwnedFd,
    key: &str,
    pieces: &[Bytes],
    condition: &PutCondition,
    past_cache: &DirectUse,
) -> Result<Identity, Error> {
    let (folder, name) = place_of(key).map_err(Error::from_io)?;
    if let PutCondition::Matches(_) = condition {
        check_version(directory, key, condition)?;
    }
    let folder = open_folder(directory, folder).map_err(Error::from_io)?;
    let temporary = Temporary::write(&folder, pieces, past_cache).map_err(Error::from_io)?;
    let _alone = FolderLock::take(&folder).map_err(Error::from_io)?;
    match condition {
        PutCondition::Always => temporary.replace(name),
        PutCondition::Matches(_) => {
            check_version(directory, key, condition)?;
            temporary.replace(name)
        }
        PutCondition::Absent => temporary.take_free(name),
    }
}

/// Removes the file `key` below `directory`, or the link of that name. Folders are left, empty ones too, unless `key` ends in
/// a slash: then the folder of that name is removed, if it is empty.
pub(super) fn delete(directory: &OwnedFd, key: &str) -> Result<(), Error> {
    if let Some(folder) = key.strip_suffix('/') {
        return remove_folder(directory, folder);
    }
    remove(directory, key, &PutCondition::Always)
}

/// Removes the file `key` below `directory` where it still is this version.
pub(super) fn delete_version(directory: &OwnedFd, key: &str, version: &Identity) -> Result<(), Error> {
    let condition = PutCondition::Matches(version.clone());
    check_version(directory, key, &condition)?;
    remove(directory, key, &condition)
}

fn remove(directory: &OwnedFd, key: &str, condition: &PutCondition) -> Result<(), Error> {
    let (folder, name) = place_of(key).map_err(Error::from_io)?;
    let folder = match open_existing(directory, folder) {
        Ok(folder) => folder,
        Err(Errno::NOENT | Errno::NOTDIR) => return check_condition(condition, None),
        Err(error) => return Err(Error::from_io(error.into())),
    };
    let _alone = FolderLock::take(&folder).map_err(Error::from_io)?;
    if *condition != PutCondition::Always {
        check_version(directory, key, condition)?;
    }
    match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        Err(error) => Err(Error::from_io(error.into())),
    }
}

/// Removes a folder that is empty; any other is left.
fn remove_folder(directory: &OwnedFd, folder: &str) -> Result<(), Error> {
    place_of(folder).map_err(Error::from_io)?;
    match rustix::fs::unlinkat(directory, folder, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
        Err(error) => Err(Error::from_io(error.into())),
    }
}

/// The folder and the name of a key that may be written.
pub(super) fn place_of(key: &str) -> io::Result<(&str, &str)> {
    check_key(key)?;
    let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
    if name.is_empty() || name == "." || key.split('/').any(is_temporary) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no file can be written under this name"));
    }
    Ok((folder, name))
}

fn check_version(directory: &OwnedFd, key: &str, condition: &PutCondition) -> Result<(), Error> {
    match OpenFile::identify(directory, key) {
        Ok(found) => check_condition(condition, Some(&found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => check_condition(condition, None),
        Err(error) => Err(Error::from_io(error)),
    }
}

/// The folder of a key. One that may not be read is opened all the same, and then cannot be locked.
fn open_existing(directory: &OwnedFd, folder: &str) -> Result<OwnedFd, Errno> {
    let folder = if folder.is_empty() { "." } else { folder };
    let open = |way| {
        let flags = way | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(directory, folder, flags, Mode::empty())
    };
    match open(OFlags::RDONLY) {
        Err(Errno::ACCESS) => open(OFlags::PATH),
        opened => opened,
    }
}

/// The folder of a key, made where it is not there, with those above it.
pub(super) fn open_folder(directory: &OwnedFd, folder: &str) -> io::Result<OwnedFd> {
    match open_existing(directory, folder) {
        Err(Errno::NOENT) => {}
        opened => return Ok(opened?),
    }
    for (end, _) in folder.match_indices('/').chain([(folder.len(), "")]) {
        match rustix::fs::mkdirat(directory, &folder[..end], Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(open_existing(directory, folder)?)
}

/// A file that has its bytes and not yet its name. Dropped, it is removed.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
    is_named: bool,
}

impl<'a> Temporary<'a> {
    fn write(folder: &'a OwnedFd, pieces: &[Bytes], past_cache: &DirectUse) -> io::Result<Temporary<'a>> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut is_taken = false;
        for _ in 0..NAMES_TRIED_MAX {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = match is_taken {
                false => format!("{TEMPORARY}{}-{number}", std::process::id()),
                // Processes of containers and of other machines have the same numbers, but not at the same time.
                true => format!("{TEMPORARY}{}-{number}-{}", std::process::id(), since_epoch().as_nanos()),
            };
            match rustix::fs::openat(folder, &*name, flags, Mode::from_raw_mode(0o666)) {
                Err(Errno::EXIST) => {
                    remove_left(folder, &name);
                    is_taken = true;
                }
                opened => {
                    let mut temporary =
                        Temporary { folder, name, file: File::from(opened?), is_named: false };
                    let written = write_start(&temporary.file, pieces, past_cache)?;
                    write_rest(&temporary.file, pieces, written)?;
                    temporary.flush()?;
                    return Ok(temporary);
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "temporary files of all names are there"))
    }

    /// Hears whether the bytes arrived: network file systems may send them, and fail, when the file is closed.
    fn flush(&mut self) -> io::Result<()> {
        let twin = self.file.try_clone()?;
        match close(std::mem::replace(&mut self.file, twin)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.file.sync_data(),
            closed => closed,
        }
    }

    /// Takes the name, from whatever has it.
    fn replace(mut self, name: &str) -> Result<Identity, Error> {
        rustix::fs::renameat(self.folder, &*self.name, self.folder, name)
            .map_err(|error| Error::from_io(error.into()))?;
        self.is_named = true;
        self.identity()
    }

    /// Takes the name where nothing has it.
    fn take_free(mut self, name: &str) -> Result<Identity, Error> {
        let folder = self.folder;
        match rustix::fs::renameat_with(folder, &*self.name, folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => self.is_named = true,
            // File systems that do not know such a rename may know links, which also replace nothing.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                rustix::fs::linkat(folder, &*self.name, folder, name, AtFlags::empty()).map_err(taken)?;
            }
            Err(error) => return Err(taken(error)),
        }
        self.identity()
    }

    /// The file's identity under its name: taking it changed the inode. The descriptor is the file, whatever has the name
    /// by now.
    fn identity(self) -> Result<Identity, Error> {
        let named = self.file.try_clone();
        drop(self);
        named.and_then(|file| identity_of(&file)).map_err(Error::from_io)
    }
}

/// Writes what is left of pieces once so many bytes of them are written.
fn write_rest(file: &File, pieces: &[Bytes], written: usize) -> io::Result<()> {
    let mut start = 0;
    for piece in pieces {
        let rest = piece.get(written.saturating_sub(start)..).unwrap_or_default();
        file.write_all_at(rest, storage_len(start.max(written)))?;
        start += piece.len();
    }
    Ok(())
}

/// The second name has the time in it; so many others cannot have had all of them.
const NAMES_TRIED_MAX: usize = 100;

/// When nobody is writing a file any more.
const ABANDONED: Duration = Duration::from_hours(24);

/// Removes a temporary file that a process left which was killed. Its name is not taken: whoever still writes it, against
/// all odds, must not rename another's file.
fn remove_left(folder: &OwnedFd, name: &str) {
    let Ok(found) = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
    let written = Duration::from_secs(u64::try_from(found.st_mtime).unwrap_or_default());
    if written.saturating_add(ABANDONED) < since_epoch() {
        // What cannot be removed is left: it has no name that anyone reads.
        let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn taken(error: Errno) -> Error {
    match error {
        Errno::EXIST => Error::new(ErrorKind::Changed, "wanted to write where nothing is, found a file"),
        Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS => {
            Error::new(ErrorKind::Unsupported, "this file system cannot write a file only where nothing is")
        }
        error => Error::from_io(error.into()),
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_named {
            // What cannot be removed is left: it has no name that anyone reads.
            let _ = rustix::fs::unlinkat(self.folder, &*self.name, AtFlags::empty());
        }
    }
}
