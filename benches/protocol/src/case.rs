//! Case files: what to read.

use crate::Failure;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// One case: what to read, and how.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// The case's own name.
    pub name: String,
    /// What is read.
    #[serde(flatten)]
    pub kind: Kind,
}

/// The kinds of cases.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Kind {
    /// Selections of a Zarr array.
    Array(ArrayCase),
    /// Whole files.
    Files(FilesCase),
    /// Ranges of one file, all of one length.
    Ranges(RangesCase),
}

/// Selections of a Zarr array.
#[derive(Clone, Debug, Deserialize)]
pub struct ArrayCase {
    /// The array's folder.
    pub array: PathBuf,
    /// NumPy's name of the data type.
    pub dtype: String,
    /// Elements of every selection, along each axis.
    pub selection_shape: Vec<u64>,
    /// The first corner of each selection.
    pub selections: Vec<Vec<u64>>,
    /// Whether the selections are one call or many.
    pub mode: Mode,
}

/// How selections are read.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// All in one call.
    Batch,
    /// A call for each, and the latency of each is told.
    OneByOne,
}

/// Whole files.
#[derive(Clone, Debug, Deserialize)]
pub struct FilesCase {
    /// The folder.
    pub root: PathBuf,
    /// The files, as paths below the folder.
    pub keys: Vec<String>,
}

/// Ranges of one file, all of one length.
#[derive(Clone, Debug, Deserialize)]
pub struct RangesCase {
    /// The folder.
    pub root: PathBuf,
    /// The one file, as a path below the folder.
    pub keys: Vec<String>,
    /// A file of little-endian 64-bit offsets, one a range.
    pub offsets_file: PathBuf,
    /// Bytes of each range.
    pub range_len: u64,
}

impl Case {
    /// Loads a case file.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, or is no case.
    pub fn load(path: &Path) -> Result<Case, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?)
    }
}

impl ArrayCase {
    /// Elements of one selection.
    pub fn elements(&self) -> usize {
        self.selection_shape.iter().product::<u64>() as usize
    }
}

impl RangesCase {
    /// The file that the ranges are of.
    ///
    /// # Errors
    ///
    /// Where the case names no file, or several.
    pub fn key(&self) -> Result<&str, Failure> {
        match self.keys.as_slice() {
            [key] => Ok(key),
            _ => Err(format!("wanted ranges of one file, found {} files", self.keys.len()).into()),
        }
    }

    /// Where each range starts.
    ///
    /// # Errors
    ///
    /// Where the file of offsets cannot be read, or ends within a word.
    pub fn offsets(&self) -> Result<Vec<u64>, Failure> {
        let path = self.offsets_file.display();
        let bytes = std::fs::read(&self.offsets_file).map_err(|error| format!("{path}: {error}"))?;
        let (words, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(format!("{path}: wanted whole 64-bit words, found {} bytes", bytes.len()).into());
        }
        Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }
}
