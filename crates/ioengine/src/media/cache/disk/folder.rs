//! The folder that processes share: who writes which files, and how many bytes there may be.
//!
//! A file of records is named `<made, ns since 1970>-<slot>.segment`. Each process that writes holds a lock (`flock(2)`) on
//! `<slot>.lock`, and alone adds to files of its slot; all read all files. Files of a slot that nobody holds may be removed
//! by anybody. Who adds or removes files holds `folder.lock` meanwhile, so that the bound holds over all processes.

use crate::fork::{close_in_child, keep_in_child};
use crate::{Error, ErrorKind};
use rustix::fs::{FlockOperation, flock};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Processes that may write at once.
const SLOTS_MAX: u32 = 1024;

/// Names the layout of folders; files of another one are left alone.
const LAYOUT: &str = "swath-cache-1";

/// A folder of segments, and this process's slot in it.
pub(super) struct Folder {
    path: PathBuf,
    slot: u32,
    lock: File,
    bytes_max: u64,
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
        std::fs::create_dir_all(&path).map_err(|error| refuse("it cannot be made", error))?;
        for slot in 0..SLOTS_MAX {
            let lock = open_lock(&path, &format!("{slot:04}"))
                .map_err(|error| refuse("it cannot be written to", error))?;
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    close_in_child(lock.as_raw_fd());
                    return Ok(Folder { path, slot, lock, bytes_max });
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {}
                Err(error) => return Err(refuse("files in it cannot be locked", error.into())),
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
    /// `StorageFull` where the room is other processes', which use it; and what the file system says.
    pub(super) fn make_segment(
        &self,
        bytes: u64,
        removed: impl FnMut(&Path),
    ) -> io::Result<(PathBuf, u64, File)> {
        let whole = open_lock(&self.path, "folder")?;
        flock(&whole, FlockOperation::LockExclusive)?;
        self.make_room(bytes, removed)?;
        let made_ns = crate::media::cache::object::now_ns();
        let path = self.path.join(format!("{made_ns:020}-{:04}.segment", self.slot));
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        file.set_len(bytes)?;
        Ok((path, made_ns, file))
    }

    /// Removes the oldest of this process's own files but the last. Returns its path.
    pub(super) fn remove_oldest(&self) -> Option<PathBuf> {
        let own: Vec<Listed> = self.list().into_iter().filter(|file| self.is_own(file)).collect();
        let [oldest, _, ..] = own.as_slice() else { return None };
        std::fs::remove_file(&oldest.path).ok()?;
        Some(oldest.path.clone())
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
    fn drop(&mut self) {
        keep_in_child(self.lock.as_raw_fd());
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
    flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err()
}

fn open_lock(folder: &Path, name: &str) -> io::Result<File> {
    let path = folder.join(format!("{name}.lock"));
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

fn listed(entry: &std::fs::DirEntry) -> Option<Listed> {
    let name = entry.file_name();
    let (made_ns, slot) = name.to_str()?.strip_suffix(".segment")?.split_once('-')?;
    let (made_ns, slot) = (made_ns.parse().ok()?, slot.parse().ok()?);
    let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(Listed { made_ns, slot, path: entry.path(), bytes: metadata.len() })
}
