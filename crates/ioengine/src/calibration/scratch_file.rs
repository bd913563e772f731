//! The file that a calibration reads.

use crate::random::Random;
use crate::{Error, ErrorKind};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file of noise, removed when this is dropped.
pub(super) struct ScratchFile {
    path: PathBuf,
    pub(super) name: String,
    file: File,
    pub(super) bytes: u64,
}

const PIECE_BYTES: usize = 1 << 20;

impl ScratchFile {
    /// Writes `bytes` (rounded down to whole MiB, at least one) below `folder`, through to the device. `is_stopped` is
    /// asked after each MiB.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) where the file would take more than half of what is free;
    /// [`Cancelled`](ErrorKind::Cancelled) when it is stopped; those of the file system.
    pub(super) fn write(
        folder: &Path,
        bytes: u64,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<ScratchFile, Error> {
        let pieces = (bytes / crate::storage_len(PIECE_BYTES)).max(1);
        let bytes = pieces * crate::storage_len(PIECE_BYTES);
        check_room(folder, bytes)?;
        let name = format!(".swath-calibration-{}.tmp", std::process::id());
        let path = folder.join(&name);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|error| named(error, &path))?;
        let mut scratch = ScratchFile { path, name, file, bytes };
        let mut random = Random::new(bytes);
        let mut piece = vec![0u8; PIECE_BYTES];
        for _ in 0..pieces {
            // Noise, because a file system may compress what it is given, and devices may know zeros.
            for word in piece.as_chunks_mut::<8>().0 {
                *word = random.next().to_le_bytes();
            }
            scratch.file.write_all(&piece).map_err(|error| named(error, &scratch.path))?;
            if is_stopped() {
                return Err(Error::new(ErrorKind::Cancelled, "the calibration was stopped"));
            }
        }
        scratch.file.sync_all().map_err(|error| named(error, &scratch.path))?;
        Ok(scratch)
    }

    /// Has the kernel drop it from the page cache, as far as it will.
    pub(super) fn drop_cached(&self) {
        let dropped = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed);
        if let Err(error) = dropped {
            tracing::debug!(%error, "a scratch file stays in the page cache");
        }
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a scratch file was not removed");
        }
    }
}

fn check_room(folder: &Path, bytes: u64) -> Result<(), Error> {
    let system = rustix::fs::statvfs(folder).map_err(|errno| named(errno.into(), folder))?;
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    if free / 2 < bytes {
        let message =
            format!("a calibration needs {} free bytes, and there are {free}", bytes.saturating_mul(2));
        return Err(Error::new(ErrorKind::LimitExceeded, message).with_object(&object(folder)));
    }
    Ok(())
}

fn named(error: std::io::Error, path: &Path) -> Error {
    Error::from_io(error).with_object(&object(path))
}

fn object(path: &Path) -> std::sync::Arc<str> {
    std::sync::Arc::from(path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = ScratchFile::write(folder.path(), 0, &|| false).unwrap();
        assert_eq!((scratch.bytes, folder.path().join(&scratch.name).exists()), (1 << 20, true));
        drop(scratch);
        let stopped = ScratchFile::write(folder.path(), 5 << 20, &|| true).err().unwrap();
        assert_eq!(stopped.kind(), ErrorKind::Cancelled);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_calibration_refuses_where_there_is_no_room() {
        let folder = tempfile::tempdir().unwrap();
        let refused = ScratchFile::write(folder.path(), 1 << 62, &|| false).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::LimitExceeded);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
