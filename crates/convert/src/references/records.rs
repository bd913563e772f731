//! Reference sets in Parquet, as fsspec and kerchunk lay them out: `.zmetadata` with all documents, and for each array files of so many
//! rows, one for each chunk in row-major order.
//!
//! Source: fsspec's `LazyReferenceMapper`.

use super::rows::{self, Rows};
use super::writing::unwritten;
use super::{Part, References, url_of};
use crate::{Error, ErrorKind};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Rows of a file of references, as fsspec and kerchunk have them unless they are told otherwise.
pub const RECORD_SIZE: u64 = 10_000;

/// Rows of a file at most: swath reads no larger ones.
const RECORD_SIZE_MAX: u64 = 1 << 22;

/// A chunk: its array, its row there, and where it is.
type Chunk<'a> = (usize, u64, Place<'a>);

#[derive(Clone, Copy)]
enum Place<'a> {
    Part(&'a Part),
    Inline(&'a [u8]),
}

/// An array: its name, and how many chunks it has along each axis.
struct Grid<'a> {
    name: &'a str,
    chunks: Vec<u64>,
}

impl References {
    /// Writes the set in Parquet to a folder, which is there once it is whole.
    ///
    /// # Errors
    ///
    /// As [`References::write`].
    pub(super) fn write_records<S: AsRef<str>>(
        &self,
        urls: &[S],
        folder: &Path,
        record_size: u64,
    ) -> Result<(), Error> {
        rows::is_there()?;
        if !(1..=RECORD_SIZE_MAX).contains(&record_size) {
            let message = format!("wanted a record size of 1 to {RECORD_SIZE_MAX} rows, found {record_size}");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if folder.exists() {
            return Err(Error::new(ErrorKind::Invalid, "there is something already"));
        }
        let partial = partial_of(folder);
        let written = self
            .write_folder(urls, &partial, record_size)
            .and_then(|()| fs::rename(&partial, folder).map_err(|error| unwritten(&error)));
        if written.is_err() {
            // What is left of it is of no use, and why it is not whole is what is told.
            drop(fs::remove_dir_all(&partial));
        }
        written
    }

    fn write_folder<S: AsRef<str>>(&self, urls: &[S], folder: &Path, record_size: u64) -> Result<(), Error> {
        fs::create_dir_all(folder).map_err(|error| unwritten(&error))?;
        let grids = self.grids()?;
        let chunks = self.chunks_in_rows(&grids)?;
        let file_of = |(array, row, _): &Chunk<'_>| (*array, row / record_size);
        for file in chunks.chunk_by(|one, next| file_of(one) == file_of(next)) {
            let Some((array, record)) = file.first().map(file_of) else { continue };
            let Grid { name, chunks } = grids.get(array).ok_or_else(lost)?;
            let first = record * record_size;
            let all = chunks.iter().try_fold(1u64, |all, along| all.checked_mul(*along)).ok_or_else(lost)?;
            let rows = rows_of(file, first, record_size.min(all - first), urls)?;
            let within = folder.join(name);
            fs::create_dir_all(&within).map_err(|error| unwritten(&error))?;
            let out = fs::File::create(within.join(format!("refs.{record}.parq")));
            rows::write(out.map_err(|error| unwritten(&error))?, &rows)?;
        }
        let documents: Map<String, Value> =
            self.documents.iter().map(|(key, document)| (key.clone(), document.clone())).collect();
        let document = json!({ "metadata": documents, "record_size": record_size }).to_string();
        fs::write(folder.join(".zmetadata"), document).map_err(|error| unwritten(&error))
    }

    /// The arrays, sorted by name.
    fn grids(&self) -> Result<Vec<Grid<'_>>, Error> {
        let arrays = self.documents.iter().filter(|(key, _)| *key == ".zarray" || key.ends_with("/.zarray"));
        arrays.map(|(key, document)| Grid::of(key, document)).collect()
    }

    /// All chunks, array by array and row by row. What lies behind the end of an array is none.
    fn chunks_in_rows<'a>(&'a self, grids: &[Grid<'_>]) -> Result<Vec<Chunk<'a>>, Error> {
        let numbers: HashMap<&str, usize> =
            grids.iter().enumerate().map(|(number, grid)| (grid.name, number)).collect();
        let parts = self.parts.iter().map(|part| (&part.key, Place::Part(part)));
        let inline = self.inline.iter().map(|(key, bytes)| (key, Place::Inline(bytes)));
        let mut chunks = Vec::with_capacity(self.parts.len() + self.inline.len());
        for (key, place) in parts.chain(inline) {
            let (name, place_of_chunk) = key.rsplit_once('/').ok_or_else(lost)?;
            let array = *numbers.get(name).ok_or_else(lost)?;
            let grid = grids.get(array).ok_or_else(lost)?;
            if let Some(row) = grid.row(place_of_chunk) {
                chunks.push((array, row, place));
            }
        }
        chunks.sort_unstable_by_key(|(array, row, _)| (*array, *row));
        Ok(chunks)
    }
}

impl<'a> Grid<'a> {
    fn of(key: &'a str, document: &Value) -> Result<Grid<'a>, Error> {
        let name = key.strip_suffix("/.zarray").unwrap_or_default();
        // Each part is a folder's name.
        if name.split('/').any(|part| ["", ".", ".."].contains(&part)) {
            let message = format!("an array called {name:?} in references in Parquet");
            return Err(Error::unsupported(message));
        }
        let lengths = |field: &str| -> Option<Vec<u64>> {
            document.get(field)?.as_array()?.iter().map(Value::as_u64).collect()
        };
        let (shape, extents) = lengths("shape").zip(lengths("chunks")).ok_or_else(lost)?;
        let along = |(length, extent): (&u64, &u64)| length.div_ceil((*extent).max(1));
        Ok(Grid { name, chunks: shape.iter().zip(&extents).map(along).collect() })
    }

    /// The row of a chunk by its key in the array; none of what the array does not have.
    fn row(&self, key: &str) -> Option<u64> {
        if self.chunks.is_empty() {
            return (key == "0").then_some(0);
        }
        let mut coordinates = key.split('.');
        let row = self.chunks.iter().try_fold(0u64, |row, along| {
            let coordinate: u64 = coordinates.next()?.parse().ok()?;
            if *along <= coordinate { None } else { row.checked_mul(*along)?.checked_add(coordinate) }
        })?;
        coordinates.next().is_none().then_some(row)
    }
}

/// The rows of one file, those of gaps too.
fn rows_of<'a, S: AsRef<str>>(
    chunks: &[Chunk<'a>],
    first: u64,
    count: u64,
    urls: &'a [S],
) -> Result<Rows<'a>, Error> {
    let count = swath_ioengine::memory_len(count)?;
    let mut rows = Rows {
        paths: vec![None; count],
        offsets: vec![0; count],
        lens: vec![0; count],
        raws: vec![None; count],
    };
    let number = |number: u64| {
        i64::try_from(number)
            .map_err(|_| Error::unsupported(format!("{number} bytes in references in Parquet")))
    };
    for (_, row, place) in chunks {
        let row = swath_ioengine::memory_len(row - first)?;
        match place {
            Place::Inline(bytes) => *rows.raws.get_mut(row).ok_or_else(lost)? = Some(bytes),
            Place::Part(part) => {
                *rows.paths.get_mut(row).ok_or_else(lost)? = Some(url_of(urls, part.file)?);
                *rows.offsets.get_mut(row).ok_or_else(lost)? = number(part.offset)?;
                *rows.lens.get_mut(row).ok_or_else(lost)? = number(part.len)?;
            }
        }
    }
    Ok(rows)
}

/// The folder that a set is written to before it has its name.
fn partial_of(folder: &Path) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(format!(".partial-{}", std::process::id()));
    PathBuf::from(name)
}

fn lost() -> Error {
    Error::new(ErrorKind::Internal, "a chunk of references has lost its array")
}
