//! Having the kernel forget the pages of an array's files, so that a run starts cold.

use std::fs::File;
use std::path::{Path, PathBuf};

/// What was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// Files that the kernel was asked to forget.
    pub(crate) files: u64,
    /// Their sizes together, in bytes.
    pub(crate) bytes: u64,
    /// Files for which the kernel refused.
    pub(crate) refused: u64,
}

/// Asks the kernel to drop the cached pages of every file below `directory`, or of the file that it is. Pages not yet written back are written
/// first, because the kernel keeps dirty ones. Pages that another process maps stay.
///
/// # Errors
///
/// Those of listing and opening; links are not followed.
pub(crate) fn drop_pages(directory: &Path) -> std::io::Result<Dropped> {
    let mut dropped = Dropped::default();
    if directory.is_file() {
        dropped.drop_file(directory)?;
        return Ok(dropped);
    }
    let mut pending: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                pending.push(entry.path());
            } else if kind.is_file() {
                dropped.drop_file(&entry.path())?;
            }
        }
    }
    Ok(dropped)
}

impl Dropped {
    fn drop_file(&mut self, path: &Path) -> std::io::Result<()> {
        let file = File::open(path)?;
        self.files += 1;
        self.bytes += file.metadata()?.len();
        self.refused += u64::from(forget(&file).is_err());
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn forget(file: &File) -> std::io::Result<()> {
    // A read-only file system refuses to sync, and has nothing to write back.
    let _ = file.sync_data();
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

#[cfg(not(target_os = "linux"))]
fn forget(_: &File) -> std::io::Result<()> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "pages can be dropped on Linux only"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_at_every_depth_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("c/0")).unwrap();
        std::fs::write(folder.path().join("c/0/0"), [1; 10]).unwrap();
        std::fs::write(folder.path().join("zarr.json"), "{}").unwrap();
        let dropped = drop_pages(folder.path()).unwrap();
        assert_eq!((dropped.files, dropped.bytes), (2, 12));
        let dropped = drop_pages(&folder.path().join("c/0/0")).unwrap();
        assert_eq!((dropped.files, dropped.bytes), (1, 10));
        assert!(drop_pages(&folder.path().join("missing")).is_err());
    }
}
