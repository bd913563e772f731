//! Files that killed writers left in a local directory: not yet named as what they were to become, so that nobody reads
//! them; and locks that nobody holds.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A file that a writer began and did not name.
#[derive(Debug)]
pub(crate) struct Leftover {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// Since it was last written to.
    age: Duration,
}

/// When nobody is writing such a file any more: a writer names it as soon as its bytes are there. The library removes
/// what it stumbles upon by the same rule.
const ABANDONED: Duration = Duration::from_hours(24);

/// Folders nested deeper are a loop.
const DEPTH_MAX: usize = 512;

impl Leftover {
    /// Whether nobody can be writing it any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        ABANDONED < self.age
    }

    /// Removes the file; nothing happens where it is gone already, or is a lock that somebody took meanwhile. Tells
    /// whether it is gone.
    ///
    /// # Errors
    ///
    /// Those of the operating system.
    pub(crate) fn remove(&self) -> io::Result<bool> {
        // While it is locked, so that it is nobody else's that is removed.
        let _lock = match Lock::of(&self.path) {
            Lock::Held => return Ok(false),
            Lock::Free(file) => Some(file),
            Lock::None => None,
        };
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(true),
        }
    }
}

/// What names of files begin with that are locked while somebody changes an array's shape. However old they are, they are
/// in use until their holder lets go or ends.
const LOCK: &str = ".swath-part-lock-";

/// Whether a file is a lock that somebody holds.
enum Lock {
    /// Or it cannot be asked for: its file cannot be opened, or its file system has no locks.
    Held,
    /// Ours now, as long as the file is open.
    Free(File),
    /// No lock, or one that is gone.
    None,
}

/// Times that a file is opened whose holder removes it meanwhile.
const TRIES_MAX: usize = 16;

impl Lock {
    fn of(path: &Path) -> Lock {
        let is_lock =
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(LOCK));
        if is_lock { Lock::by(path, || open(path)) } else { Lock::None }
    }

    /// The lock at a path, whose file `open` opens. Between the two its holder may remove it, and another one make a file of that name:
    /// then the one that was opened is nobody's lock any more, and that of the path another one.
    fn by(path: &Path, mut open: impl FnMut() -> io::Result<File>) -> Lock {
        for _ in 0..TRIES_MAX {
            let file = match open() {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Lock::None,
                Err(_) => return Lock::Held,
            };
            match file.try_lock() {
                Ok(()) if is_named(path, &file) => return Lock::Free(file),
                Ok(()) => {}
                Err(_) => return Lock::Held,
            }
        }
        Lock::Held
    }
}

/// Opens a file to be locked: for writing, without which network file systems lock nothing (flock(2), "NFS details").
fn open(path: &Path) -> io::Result<File> {
    match OpenOptions::new().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        opened => opened,
    }
}

/// Whether a file is the one at a path.
fn is_named(path: &Path, file: &File) -> bool {
    let (named, own) = (fs::symlink_metadata(path), file.metadata());
    named.is_ok_and(|named| own.is_ok_and(|own| device_and_inode(&named) == device_and_inode(&own)))
}

#[cfg(unix)]
fn device_and_inode(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

/// What is open cannot be replaced there.
#[cfg(not(unix))]
fn device_and_inode(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// Every such file below a folder, sorted by path, but for locks that are held. Links are not followed, and folders that cannot be listed passed over.
pub(crate) fn leftovers(folder: &Path) -> Vec<Leftover> {
    let mut found = Vec::new();
    collect(folder, 0, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<Leftover>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth < DEPTH_MAX {
            collect(&entry.path(), depth + 1, found);
        } else if kind.is_file()
            && entry.file_name().to_str().is_some_and(is_leftover)
            && let Ok(metadata) = entry.metadata()
            && !matches!(Lock::of(&entry.path()), Lock::Held)
        {
            found.push(Leftover { path: entry.path(), bytes: metadata.len(), age: age(&metadata) });
        }
    }
}

fn age(metadata: &Metadata) -> Duration {
    let written = metadata.modified().ok();
    written.and_then(|written| SystemTime::now().duration_since(written).ok()).unwrap_or_default()
}

/// True for the names that swath gives (`.swath-part-PROCESS-NUMBER`) and zarr-python does (`NAME.HEX.partial`).
fn is_leftover(name: &str) -> bool {
    let is_hex = |text: &str| text.len() == 32 && text.chars().all(|c| c.is_ascii_hexdigit());
    let of_zarr_python = || {
        let stem = name.strip_suffix(".partial")?;
        let (_, hex) = stem.rsplit_once('.')?;
        is_hex(hex).then_some(())
    };
    name.starts_with(".swath-part-") || of_zarr_python().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::TryLockError;

    #[test]
    fn only_what_writers_name_so_is_a_leftover() {
        let hex = "0123456789abcdef0123456789abcdef";
        for name in [".swath-part-17-3", &format!("0.{hex}.partial"), &format!("zarr.{hex}.partial")] {
            assert!(is_leftover(name), "{name}");
        }
        for name in ["0", "0.partial", "zarr.json", &format!("{hex}.partial.txt"), "swath-part-1-1"] {
            assert!(!is_leftover(name), "{name}");
        }
    }

    /// What another writer does between opening and locking is seen: its lock is not taken for the one that was opened.
    #[test]
    fn locks_that_are_made_anew_meanwhile_are_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".swath-part-lock-zarr.json");
        for is_held in [true, false] {
            File::create(&path).unwrap();
            let mut other = None;
            let mut opened = 0;
            let lock = Lock::by(&path, || {
                opened += 1;
                let file = File::open(&path);
                if other.is_none() {
                    fs::rename(&path, folder.path().join("the old one")).unwrap();
                    let new = other.insert(File::create_new(&path).unwrap());
                    if is_held {
                        new.lock().unwrap();
                    }
                }
                file
            });
            assert_eq!(opened, 2);
            match lock {
                Lock::Held => assert!(is_held),
                Lock::Free(file) => {
                    assert!(!is_held && is_named(&path, &file));
                    assert!(matches!(other.unwrap().try_lock(), Err(TryLockError::WouldBlock)));
                }
                Lock::None => panic!("no lock"),
            }
        }
        let mut removed = 0;
        let never = Lock::by(&path, || {
            removed += 1;
            File::create(&path).inspect(|_| fs::remove_file(&path).unwrap())
        });
        assert!(matches!(never, Lock::Held) && removed == TRIES_MAX, "{removed}");
        // One that is gone by then is nobody's; of one that cannot be opened nobody knows.
        assert!(matches!(Lock::of(&path), Lock::None));
        fs::create_dir(&path).unwrap();
        assert!(matches!(Lock::of(&path), Lock::Held));
    }

    /// A leftover lock that somebody takes before it is removed stays.
    #[test]
    fn locks_that_are_taken_meanwhile_are_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".swath-part-lock-zarr.json");
        let file = File::create(&path).unwrap();
        let found = leftovers(folder.path());
        assert_eq!(found.len(), 1);
        file.lock().unwrap();
        assert!(leftovers(folder.path()).is_empty());
        assert!(!found[0].remove().unwrap() && path.exists());
        file.unlock().unwrap();
        assert!(found[0].remove().unwrap() && !path.exists());
    }
}
