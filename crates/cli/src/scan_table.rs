//! The table that `swath convert scan --parquet` writes.

use anyhow::Context;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use swath::convert::{FieldTable, Found};

/// A table under way, beside the file that it becomes when it is whole.
pub(crate) struct TableFile {
    table: FieldTable<BufWriter<File>>,
    partial: PathBuf,
    path: PathBuf,
}

impl TableFile {
    /// Begins a table.
    pub(crate) fn create(path: &Path) -> anyhow::Result<TableFile> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let file = File::create(&partial).with_context(|| partial.display().to_string())?;
        Ok(TableFile { table: FieldTable::new(BufWriter::new(file))?, partial, path: path.to_owned() })
    }

    /// Adds what was found in a file.
    pub(crate) fn push(&mut self, file: &str, found: &[Found]) -> anyhow::Result<()> {
        for one in found {
            self.table.push(file, one)?;
        }
        Ok(())
    }

    /// Writes the rest, and gives the file its name.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let file = self.table.finish()?.into_inner().with_context(|| self.partial.display().to_string())?;
        drop(file);
        std::fs::rename(&self.partial, &self.path).with_context(|| self.path.display().to_string())
    }
}
