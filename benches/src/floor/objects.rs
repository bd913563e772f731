//! Stored objects, and the indexes of those that are shards.

use crate::metadata::{Layout, Sharding};
use protocol::Failure;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Where an inner chunk is stored.
pub(crate) enum Stored {
    At {
        /// The object's number in C order of the grid.
        object: u64,
        offset: u64,
        len: u64,
    },
    Missing,
}

/// The stored objects that were asked for so far.
pub(crate) struct Objects<'a> {
    layout: &'a Layout,
    /// Objects along each axis.
    grid: Vec<u64>,
    known: HashMap<u64, Object>,
    numbers: HashMap<u64, u32>,
}

enum Object {
    Missing,
    Plain {
        len: u64,
    },
    /// The offset and length of each inner chunk.
    Shard {
        entries: Vec<[u64; 2]>,
    },
}

/// The offset and the length of an inner chunk that is not stored.
const EMPTY: [u64; 2] = [u64::MAX; 2];

impl<'a> Objects<'a> {
    pub(crate) fn new(layout: &'a Layout) -> Objects<'a> {
        let grid =
            layout.shape.iter().zip(&layout.outer).map(|(shape, extent)| shape.div_ceil(*extent)).collect();
        Objects { layout, grid, known: HashMap::new(), numbers: HashMap::new() }
    }

    /// Finds the inner chunk of the element at `first`.
    pub(crate) fn find(&mut self, first: &[u64]) -> Result<Stored, Failure> {
        let layout = self.layout;
        let coordinates: Vec<u64> =
            first.iter().zip(&layout.outer).map(|(first, extent)| first / extent).collect();
        let number = coordinates.iter().zip(&self.grid).fold(0, |sum, (at, count)| sum * count + at);
        let known = match self.known.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(load(layout, &coordinates)?),
        };
        Ok(match known {
            Object::Missing => Stored::Missing,
            Object::Plain { len } => Stored::At { object: number, offset: 0, len: *len },
            Object::Shard { entries } => {
                let axes = first.iter().zip(&layout.outer).zip(&layout.inner);
                let entry = axes
                    .fold(0, |sum, ((first, outer), inner)| sum * (outer / inner) + first % outer / inner);
                match entries[entry as usize] {
                    EMPTY => Stored::Missing,
                    [offset, len] => Stored::At { object: number, offset, len },
                }
            }
        })
    }

    /// The number of an object's file among those that are read; a new one for an object not seen before.
    pub(crate) fn file_number(&mut self, object: u64, files: &mut Vec<u64>) -> u32 {
        *self.numbers.entry(object).or_insert_with(|| {
            files.push(object);
            files.len() as u32 - 1
        })
    }

    /// The file of the object with this number.
    pub(crate) fn path(&self, mut object: u64) -> PathBuf {
        let mut coordinates = vec![0; self.grid.len()];
        for (at, count) in coordinates.iter_mut().zip(&self.grid).rev() {
            *at = object % count;
            object /= count;
        }
        self.layout.path(&coordinates)
    }
}

fn load(layout: &Layout, coordinates: &[u64]) -> Result<Object, Failure> {
    let path = layout.path(coordinates);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Object::Missing),
        Err(error) => return Err(format!("{}: {error}", path.display()).into()),
    };
    let len = file.metadata()?.len();
    match layout.sharding {
        None => Ok(Object::Plain { len }),
        Some(sharding) => Ok(Object::Shard { entries: index(layout, sharding, &file, len)? }),
    }
}

fn index(layout: &Layout, sharding: Sharding, file: &File, len: u64) -> Result<Vec<[u64; 2]>, Failure> {
    let count: u64 = layout.outer.iter().zip(&layout.inner).map(|(outer, inner)| outer / inner).product();
    let mut bytes = vec![0u8; count as usize * 16];
    let start =
        len.checked_sub(count * 16 + sharding.checksum_bytes).ok_or("a shard is shorter than its index")?;
    file.read_exact_at(&mut bytes, if sharding.at_end { start } else { 0 })?;
    let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    Ok(words.as_chunks::<2>().0.to_vec())
}
