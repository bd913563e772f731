//! Where `read` writes: a file that appears only when it is complete, or standard output.

use anyhow::anyhow;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file under a temporary name beside its final one. Dropped without [`finish`](Self::finish), it is removed.
pub(crate) struct NpyFile {
    file: File,
    target: PathBuf,
    /// `None` where the target is written to directly, a device or a pipe.
    temporary: Option<PathBuf>,
}

impl NpyFile {
    /// Starts the file that will be at `target`, in place of what is there.
    ///
    /// # Errors
    ///
    /// Those of the file system, naming `target`.
    pub(crate) fn create(target: &Path) -> anyhow::Result<NpyFile> {
        let failed = |error: std::io::Error| anyhow!("{}: {error}", target.display());
        if target.is_dir() {
            return Err(anyhow!("{}: is a directory; wanted a file to write to", target.display()));
        }
        if target.exists() && !target.is_file() {
            let file = File::options().write(true).open(target).map_err(failed)?;
            return Ok(NpyFile { file, target: target.to_owned(), temporary: None });
        }
        let name = target.file_name().ok_or_else(|| anyhow!("{}: is not a file name", target.display()))?;
        let mut unfinished = name.to_owned();
        unfinished.push(format!(".{}.unfinished", std::process::id()));
        let temporary = target.with_file_name(unfinished);
        let file = File::options().write(true).create_new(true).open(&temporary).map_err(failed)?;
        Ok(NpyFile { file, target: target.to_owned(), temporary: Some(temporary) })
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    ///
    /// Those of the file system, naming the file.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(bytes).map_err(|error| anyhow!("{}: {error}", self.target.display()))
    }

    /// Gives the file its final name.
    ///
    /// # Errors
    ///
    /// Those of the file system, naming the file.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        if let Some(temporary) = self.temporary.take()
            && let Err(error) = std::fs::rename(&temporary, &self.target)
        {
            self.temporary = Some(temporary);
            return Err(anyhow!("{}: {error}", self.target.display()));
        }
        Ok(())
    }
}

impl Drop for NpyFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_finished_file_takes_the_place_of_the_old() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.npy");
        std::fs::write(&target, "old").unwrap();
        let mut file = NpyFile::create(&target).unwrap();
        file.write(b"half").unwrap();
        drop(file);
        assert_eq!(std::fs::read(&target).unwrap(), b"old");
        let mut file = NpyFile::create(&target).unwrap();
        file.write(b"new").unwrap();
        file.finish().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn targets_that_cannot_be_written_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for target in [folder.path().to_owned(), folder.path().join("missing/out.npy")] {
            let error = NpyFile::create(&target).err().unwrap().to_string();
            assert!(error.starts_with(&target.display().to_string()), "{error}");
        }
    }
}
