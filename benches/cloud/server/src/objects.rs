//! What is served: folders, objects of a pattern, and stamps.

use crate::Failure;
use bytes::{Bytes, BytesMut};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// All buckets by name.
pub(crate) struct Objects(BTreeMap<String, Bucket>);

/// What is at `/NAME/`.
enum Bucket {
    /// Files by key, in memory.
    Files(BTreeMap<String, Bytes>),
    /// Objects `0`, `1`, ..., of which nothing is stored.
    Pattern(Pattern),
    /// Every key is an object of [`STAMPED_BYTES`], of which each answer starts with the time when it was made.
    Stamps,
}

/// Bytes of an object that tells when it was sent.
pub(crate) const STAMPED_BYTES: u64 = 1 << 30;

/// Objects of equal length whose bytes follow from their place.
pub(crate) struct Pattern {
    count: u64,
    len: u64,
    table: Bytes,
}

/// Bytes of the table that all objects are cut from. A prime, so that places that look alike are far apart.
const TABLE_BYTES: u64 = 8_388_593;

/// Where in the table each object starts, from the one before.
const OBJECT_STEP: u64 = 1_000_003;

/// An object of a bucket.
pub(crate) enum Object<'a> {
    /// Bytes that are there.
    Stored(&'a Bytes),
    /// Object so-and-so of a pattern.
    Cut(&'a Pattern, u64),
    /// The time.
    Stamp,
}

impl Objects {
    /// Reads and makes what the command line names.
    pub(crate) fn from_arguments(mut words: impl Iterator<Item = String>) -> Result<Objects, Failure> {
        let mut buckets = BTreeMap::new();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} wants a value"))?;
            let (name, rest) = value.split_once('=').unwrap_or((&value, ""));
            let bucket = match word.as_str() {
                "--folder" => Bucket::Files(files(Path::new(rest))?),
                "--pattern" => Bucket::Pattern(Pattern::parse(rest)?),
                "--stamps" => Bucket::Stamps,
                _ => return Err(format!("wanted --folder, --pattern or --stamps, found {word}").into()),
            };
            buckets.insert(name.to_owned(), bucket);
        }
        Ok(Objects(buckets))
    }

    /// The object at `BUCKET/KEY`.
    pub(crate) fn find(&self, path: &str) -> Option<Object<'_>> {
        let (name, key) = path.split_once('/')?;
        match self.0.get(name)? {
            Bucket::Files(files) => files.get(key).map(Object::Stored),
            Bucket::Pattern(pattern) => {
                let number = key.parse().ok().filter(|number| *number < pattern.count)?;
                Some(Object::Cut(pattern, number))
            }
            Bucket::Stamps => Some(Object::Stamp),
        }
    }

    /// Keys and lengths of a bucket that start with a prefix, sorted; nothing where keys are not listed.
    pub(crate) fn keys<'a>(
        &'a self,
        bucket: &str,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, usize)> {
        let files = match self.0.get(bucket) {
            Some(Bucket::Files(files)) => Some(files),
            _ => None,
        };
        let from = files.into_iter().flat_map(move |files| files.range(prefix.to_owned()..));
        from.take_while(move |(key, _)| key.starts_with(prefix))
            .map(|(key, bytes)| (key.as_str(), bytes.len()))
    }
}

impl Object<'_> {
    /// Bytes of the object.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Object::Stored(bytes) => bytes.len() as u64,
            Object::Cut(pattern, _) => pattern.len,
            Object::Stamp => STAMPED_BYTES,
        }
    }

    /// The bytes of a range that lies within the object, in pieces that need no copy.
    pub(crate) fn bytes(&self, range: Range<u64>) -> Vec<Bytes> {
        match self {
            Object::Stored(bytes) => vec![bytes.slice(range.start as usize..range.end as usize)],
            Object::Cut(pattern, number) => pattern.bytes(*number, range),
            Object::Stamp => vec![stamp((range.end - range.start) as usize)],
        }
    }
}

/// So many bytes, the first eight of which are the system's monotonic time in nanoseconds.
fn stamp(len: usize) -> Bytes {
    let now = clock_gettime(ClockId::Monotonic);
    let nanoseconds = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    let mut bytes = BytesMut::zeroed(len);
    let told = len.min(8);
    bytes[..told].copy_from_slice(&nanoseconds.to_le_bytes()[..told]);
    bytes.freeze()
}

impl Pattern {
    fn parse(text: &str) -> Result<Pattern, Failure> {
        let (count, len) = text.split_once('x').ok_or_else(|| format!("wanted COUNTxBYTES, found {text}"))?;
        Ok(Pattern { count: count.parse()?, len: len.parse()?, table: table() })
    }

    fn bytes(&self, number: u64, range: Range<u64>) -> Vec<Bytes> {
        let mut left = range.end - range.start;
        let mut place = (range.start + number * OBJECT_STEP) % TABLE_BYTES;
        let mut pieces = Vec::with_capacity(1);
        while left != 0 {
            let taken = left.min(TABLE_BYTES - place);
            pieces.push(self.table.slice(place as usize..(place + taken) as usize));
            left -= taken;
            place = 0;
        }
        pieces
    }
}

/// Words of splitmix64, of which benches/cloud/pattern.py makes the same.
fn table() -> Bytes {
    let words = (1..=TABLE_BYTES.div_ceil(8)).flat_map(|index: u64| {
        let mut word = index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ (word >> 31)).to_le_bytes()
    });
    let mut bytes: Vec<u8> = words.collect();
    bytes.truncate(TABLE_BYTES as usize);
    bytes.into()
}

/// Every file below a folder, by its key.
fn files(root: &Path) -> Result<BTreeMap<String, Bytes>, Failure> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let key = path.strip_prefix(root)?.to_string_lossy().into_owned();
            files.insert(key, std::fs::read(&path)?.into());
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::{OBJECT_STEP, Pattern, TABLE_BYTES, table};

    #[test]
    fn patterns_go_round_the_table() {
        let pattern = Pattern { count: 9, len: 64_000_000, table: table() };
        for (number, start, len) in [(0, 0, 10), (3, TABLE_BYTES - 5, 100), (8, 63_000_000, 1_000_000)] {
            let found = pattern.bytes(number, start..start + len).concat();
            let byte =
                |offset: u64| pattern.table[((start + offset + number * OBJECT_STEP) % TABLE_BYTES) as usize];
            assert_eq!(found.len() as u64, len);
            assert!((0..len).all(|offset| found[offset as usize] == byte(offset)), "object {number}");
        }
    }
}
