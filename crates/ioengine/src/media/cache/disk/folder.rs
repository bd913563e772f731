//! The folder that processes share: who writes which files, and how many bytes there may be.
//!
//! A file of records is named `<made, ns since 1970>-<slot>.segment`. Each process that writes holds a lock (`flock(2)`, on Windows `LockFileEx`) on
//! `<slot>.lock`, and alone adds to files of its slot; all read all files. Files of a slot that nobody holds may be removed
//! by anybody. Who adds or removes files holds `folder.lock` meanwhile, so that the bound holds over all processes.

use crate::fork::{close_file_in_child, generation, keep_file_in_child};
use crate::{Error, ErrorKind};
use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Processes that may write at once.
const SLOTS_MAX: u32 = 1024;

/// Names the layout of folders; files of another one are left alone.
const LAYOUT: &str = "swath-cache-1";

/// What is made is for this user alone: it holds what the user's credentials gave.
#[cfg(unix)]
const FOLDER_MODE: u32 = 0o700;
#[cfg(unix)]
const FILE_MODE: u32 = 0o600;

/// Who changes the folder holds it for moments. Who had to wait longer does without.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(1);

/// How often a lock that is held is tried again.
const LOCK_INTERVAL: Duration = Duration::from_millis(2);

/// A folder of segments, and this process's slot in it.
pub(super) struct Folder {
    path: PathBuf,
    slot: u32,
    lock: Option<File>,
    bytes_max: u64,
    /// Of the process that claimed the slot.
    generation: u64,
}

/// A segment as the folder lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Listed {
    /// When it was made, in ns since 1970.
    pub(super) made_ns: u64,
    pub(super) slot: u32,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

impl Folder {
    /// Makes the folder where it is missing, and claims a slot.
    pub(super) fn claim(root: &Path, bytes_max: u64) -> Result<Folder, Error> {
        let path = root.join(LAYOUT);
        let refuse = |what: &str, error: io::Error| {
            let message = format!("wanted a cache in the folder {}, but {what}: {error}", root.display());
            Error::new(Error::from_io(error).kind(), message)
        };
        own_folder().recursive(true).create(&path).map_err(|error| refuse("it cannot be made", error))?;
        for slot in 0..SLOTS_MAX {
            let lock = open_lock(&path, &format!("{slot:04}"))
                .map_err(|error| refuse("it cannot be written to", error))?;
            // Before it is locked: a child in between would hold it as long as it lives.
            close_file_in_child(&lock);
            let locked = lock.try_lock();
            if locked.is_err() {
                keep_file_in_child(&lock);
            }
            match locked {
                Ok(()) => {
                    let (lock, generation) = (Some(lock), generation());
                    return Ok(Folder { path, slot, lock, bytes_max, generation });
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(refuse("files in it cannot be locked", error)),
            }
        }
        let message = format!("{} is used by {SLOTS_MAX} processes already", root.display());
        Err(Error::new(ErrorKind::LimitExceeded, message))
    }

    /// True for a file that only this process adds to.
    pub(super) fn is_own(&self, listed: &Listed) -> bool {
        listed.slot == self.slot
    }

    /// The segments that are there, oldest first.
    pub(super) fn list(&self) -> Vec<Listed> {
        let Ok(entries) = std::fs::read_dir(&self.path) else { return Vec::new() };
        let mut found: Vec<Listed> = entries.filter_map(|entry| listed(&entry.ok()?)).collect();
        found.sort_unstable();
        found
    }

    /// Makes a segment of `bytes`, having removed what must make room for it. `removed` is told of each file that goes.
    /// Returns its path, when it was made, and the file.
    ///
    /// # Errors
    ///
    /// `StorageFull` where the room is other processes', which use it, `WouldBlock` where another process does not let go of
    /// the folder; and what the file system says.
    pub(super) fn make_segment(
        &self,
        bytes: u64,
        removed: impl FnMut(&Path),
    ) -> io::Result<(PathBuf, u64, File)> {
        let _whole = self.lock_whole()?;
        self.make_room(bytes, removed)?;
        let made_ns = crate::media::cache::object::now_ns();
        let path = self.path.join(format!("{made_ns:020}-{:04}.segment", self.slot));
        let file = own_file().read(true).write(true).create_new(true).open(&path)?;
        file.set_len(bytes)?;
        Ok((path, made_ns, file))
    }

    /// Removes the oldest file that `may_go` allows, of this process's own and those of processes that are gone. Returns its
    /// path; `None` where there is none.
    ///
    /// # Errors
    ///
    /// `WouldBlock` where another process does not let go of the folder; and what the file system says.
    pub(super) fn remove_oldest(&self, may_go: impl Fn(&Path) -> bool) -> io::Result<Option<PathBuf>> {
        let _whole = self.lock_whole()?;
        let mut slots = Slots { folder: self, held: HashMap::new() };
        let mut files = self.list().into_iter().filter(|file| may_go(&file.path));
        let oldest = files.find(|file| self.is_own(file) || !slots.is_held(file.slot));
        oldest.map(|file| std::fs::remove_file(&file.path).map(|()| file.path)).transpose()
    }

    fn lock_whole(&self) -> io::Result<Locked> {
        Locked::wait(open_lock(&self.path, "folder")?)
    }

    /// Removes files, the oldest first, until so many bytes more fit: own ones where this process has more than its share, and
    /// those of processes that are gone.
    fn make_room(&self, bytes: u64, mut removed: impl FnMut(&Path)) -> io::Result<()> {
        let mut files = self.list();
        let mut slots = Slots { folder: self, held: HashMap::new() };
        loop {
            let total: u64 = files.iter().map(|file| file.bytes).sum();
            let own: u64 = files.iter().filter(|file| self.is_own(file)).map(|file| file.bytes).sum();
            let share = self.bytes_max / slots.writers(&files);
            let over = self.bytes_max < total + bytes;
            if !over && own + bytes <= share.max(bytes) {
                return Ok(());
            }
            let victim = files.iter().position(|file| self.is_own(file) || over && !slots.is_held(file.slot));
            let Some(victim) = victim else {
                return Err(io::Error::new(
                    io::ErrorKind::StorageFull,
                    "other processes use the cache's folder",
                ));
            };
            let file = files.remove(victim);
            std::fs::remove_file(&file.path)?;
            removed(&file.path);
        }
    }
}

impl Drop for Folder {
    /// Frees the slot, also where a child has the lock's file open. In a child it is the parent's, and closed.
    fn drop(&mut self) {
        let Some(lock) = self.lock.take() else { return };
        if self.generation == generation() {
            keep_file_in_child(&lock);
            unlock(&lock);
        } else {
            std::mem::forget(lock);
        }
    }
}

/// A lock that is let go of when dropped. Closing its file would not do: a child that was forked meanwhile has it open too.
struct Locked(File);

impl Locked {
    fn wait(file: File) -> io::Result<Locked> {
        let until = Instant::now() + LOCK_WAIT_MAX;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Locked(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(LOCK_INTERVAL);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        unlock(&self.0);
    }
}

fn unlock(file: &File) {
    if let Err(error) = file.unlock() {
        tracing::warn!(%error, "a lock in the cache's folder cannot be let go of");
    }
}

/// Which slots other processes hold, asked once each.
struct Slots<'a> {
    folder: &'a Folder,
    held: HashMap<u32, bool>,
}

impl Slots<'_> {
    fn is_held(&mut self, slot: u32) -> bool {
        let folder = self.folder;
        slot == folder.slot || *self.held.entry(slot).or_insert_with(|| is_locked(&folder.path, slot))
    }

    /// Processes that have files here, this one included.
    fn writers(&mut self, files: &[Listed]) -> u64 {
        let mut slots: Vec<u32> = files.iter().map(|file| file.slot).collect();
        slots.sort_unstable();
        slots.dedup();
        1 + slots
            .into_iter()
            .map(|slot| u64::from(slot != self.folder.slot && self.is_held(slot)))
            .sum::<u64>()
    }
}

fn is_locked(folder: &Path, slot: u32) -> bool {
    let Ok(lock) = open_lock(folder, &format!("{slot:04}")) else { return true };
    let held = lock.try_lock().is_err();
    if !held {
        unlock(&lock);
    }
    held
}

fn open_lock(folder: &Path, name: &str) -> io::Result<File> {
    let path = folder.join(format!("{name}.lock"));
    own_file().read(true).write(true).create(true).truncate(false).open(path)
}

/// Makes folders for this user alone; on Windows with the rights of the folder that they are in.
fn own_folder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut made = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut made, FOLDER_MODE);
    made
}

/// As [`own_folder`], files.
fn own_file() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut made = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut made, FILE_MODE);
    made
}

fn listed(entry: &std::fs::DirEntry) -> Option<Listed> {
    let name = entry.file_name();
    let (made_ns, slot) = name.to_str()?.strip_suffix(".segment")?.split_once('-')?;
    let (made_ns, slot) = (made_ns.parse().ok()?, slot.parse().ok()?);
    let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(Listed { made_ns, slot, path: entry.path(), bytes: metadata.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A clone of an open file has the same lock, as a forked child's has.
    #[test]
    fn locks_end_though_children_have_their_files_open() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::claim(root.path(), 16 << 20).unwrap();
        let whole = folder.lock_whole().unwrap();
        let child = whole.0.try_clone().unwrap();
        let refused = folder.make_segment(1 << 20, |_| ()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        drop(whole);
        folder.make_segment(1 << 20, |_| ()).unwrap();
        drop(child);
        let child = folder.lock.as_ref().unwrap().try_clone().unwrap();
        let slot = folder.slot;
        assert!(is_locked(&root.path().join(LAYOUT), slot));
        drop(folder);
        assert!(!is_locked(&root.path().join(LAYOUT), slot));
        drop(child);
    }

    #[test]
    fn what_is_made_is_for_this_user_alone() {
        let root = tempfile::tempdir().unwrap();
        let made = root.path().join("a/b");
        let folder = Folder::claim(&made, 16 << 20).unwrap();
        let (path, ..) = folder.make_segment(1 << 20, |_| ()).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let layout = made.join(LAYOUT);
        assert_eq!([&made, &layout].map(|path| mode(path)), [FOLDER_MODE; 2]);
        assert_eq!([&path, &layout.join("folder.lock")].map(|path| mode(path)), [FILE_MODE; 2]);
    }
}
