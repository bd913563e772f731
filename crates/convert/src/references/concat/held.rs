//! Values of files that are read where references are made: coordinates to be joined, and what has to be the same in all files.

use super::super::References;
use super::lengths_of;
use crate::{Error, ErrorKind, PlannedFile};
use serde_json::{Value, json};
use std::cmp::Ordering;
use swath_zarr_front::{Array, ReferenceTargets, Selection, Store};

/// An array of several files.
pub(super) struct FileValues<'a> {
    pub(super) path: &'a str,
    pub(super) targets: &'a ReferenceTargets,
}

impl FileValues<'_> {
    /// Looks whether all files hold the same values.
    ///
    /// # Errors
    ///
    /// `Invalid` where they do not; those of reading.
    pub(super) fn check_equal(&self, files: &[(String, References)]) -> Result<(), Error> {
        let Some(((first, references), others)) = files.split_first() else { return Ok(()) };
        let own = self.chunks_of(references);
        let mut values = None;
        for (name, other) in others {
            let theirs = self.chunks_of(other);
            // Held in the references of both, they need no reading.
            if own.parts.is_empty() && theirs.parts.is_empty() && own.inline == theirs.inline {
                continue;
            }
            let values = match &values {
                Some(values) => values,
                None => values.insert(self.read(first, &own)?),
            };
            if *values != self.read(name, &theirs)? {
                let message =
                    format!("wanted the same values in all files, found others in {name} than in {first}");
                return Err(Error::new(ErrorKind::Invalid, message).with_object(self.path));
            }
        }
        Ok(())
    }

    /// The values of all files, one behind the other along an axis: the document of the array, which is one chunk then, and its bytes.
    /// `None` where that are more than so many.
    ///
    /// # Errors
    ///
    /// `Unsupported` for values of other kinds than numbers, times and texts of one length; those of reading.
    pub(super) fn joined(
        &self,
        files: &[(String, References)],
        axis: usize,
        mut document: Value,
        bytes_max: u64,
    ) -> Result<Option<(Value, Vec<u8>)>, Error> {
        let shape = lengths_of(&document, "shape");
        let Some(dtype) = document["dtype"].as_str().filter(|dtype| *dtype != "|O").map(str::to_owned) else {
            let message = "joining what is no number, time or text of one length";
            return Err(Error::unsupported(message).with_object(self.path));
        };
        let size = dtype.get(2..).and_then(|size| size.split('[').next()?.parse::<u64>().ok());
        let bytes = shape.iter().try_fold(size.unwrap_or(u64::MAX), |all, length| all.checked_mul(*length));
        if bytes.is_none_or(|bytes| bytes_max < bytes) {
            return Ok(None);
        }
        let outer = shape.iter().take(axis).product::<u64>();
        let outer = swath_ioengine::memory_len(outer)?;
        let values = files.iter().map(|(name, file)| self.read(name, &self.chunks_of(file)));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let mut joined = Vec::new();
        for number in 0..outer {
            for values in &values {
                let len = values.len() / outer;
                joined.extend_from_slice(values.get(number * len..(number + 1) * len).unwrap_or_default());
            }
        }
        document["chunks"] = shape.iter().map(|length| (*length).max(1)).collect();
        document["filters"] = Value::Null;
        // Values that are read are in this machine's order.
        let native = if cfg!(target_endian = "big") { '>' } else { '<' };
        document["dtype"] = json!(dtype.replace(['<', '>'], &native.to_string()));
        Ok(Some((document, joined)))
    }

    /// The references of the array alone.
    fn chunks_of(&self, references: &References) -> References {
        let prefix = format!("{}/", self.path);
        let is_own = |key: &str| key.strip_prefix(&prefix).is_some_and(|chunk| !chunk.contains('/'));
        let of = |key: &String, value: &Value| (key.clone(), value.clone());
        References {
            documents: references
                .documents
                .iter()
                .filter(|(key, _)| is_own(key))
                .map(|(k, v)| of(k, v))
                .collect(),
            inline: references
                .inline
                .iter()
                .filter(|(key, _)| is_own(key))
                .map(|(key, bytes)| (key.clone(), bytes.clone()))
                .collect(),
            parts: references.parts.iter().filter(|part| is_own(&part.key)).cloned().collect(),
            ..References::default()
        }
    }

    /// All values, decoded.
    fn read(&self, name: &str, chunks: &References) -> Result<Vec<u8>, Error> {
        let document = chunks.to_json(&[PlannedFile::name_of(name)])?.to_string();
        let store = Store::references(document.as_bytes(), self.targets.clone(), name)?;
        Ok(Array::open_in(&store, self.path)?.read(&Selection::all())?.as_bytes().to_vec())
    }
}

/// Looks whether coordinates go on from file to file, in the direction that they have in each.
///
/// # Errors
///
/// The number of the file whose values do not follow the one before, and what is wrong.
pub(super) fn check_order(dtype: &str, bytes: &[u8], lengths: &[u64]) -> Result<(), (usize, String)> {
    let Some(values) = numbers(dtype, bytes) else { return Ok(()) };
    let (mut direction, mut first) = (None, 0usize);
    for (file, length) in lengths.iter().enumerate() {
        let end = first.saturating_add(usize::try_from(*length).unwrap_or(usize::MAX)).min(values.len());
        for at in first.max(1)..end {
            let found = values[at - 1].partial_cmp(&values[at]);
            let known = *direction.get_or_insert(found);
            if found != known || !matches!(found, Some(Ordering::Less | Ordering::Greater)) {
                let (before, next) = (&values[at - 1], &values[at]);
                let why =
                    format!("wanted coordinates that go on in one direction, found {next} behind {before}");
                return Err((file, why));
            }
        }
        first = end;
    }
    Ok(())
}

/// A number of a coordinate: all digits of integers count.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Number {
    Integer(i128),
    Float(f64),
}

impl std::fmt::Display for Number {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Integer(number) => number.fmt(out),
            Number::Float(number) => number.fmt(out),
        }
    }
}

/// The numbers of native elements; `None` of other types.
fn numbers(dtype: &str, bytes: &[u8]) -> Option<Vec<Number>> {
    macro_rules! of {
        ($type:ty, $kind:ident) => {
            bytes
                .chunks_exact(size_of::<$type>())
                .map(|bytes| Some(Number::$kind(<$type>::from_ne_bytes(bytes.try_into().ok()?).into())))
                .collect()
        };
    }
    match dtype.get(1..)? {
        "i1" => of!(i8, Integer),
        "i2" => of!(i16, Integer),
        "i4" => of!(i32, Integer),
        "i8" => of!(i64, Integer),
        "u1" => of!(u8, Integer),
        "u2" => of!(u16, Integer),
        "u4" => of!(u32, Integer),
        "u8" => of!(u64, Integer),
        "f4" => of!(f32, Float),
        "f8" => of!(f64, Float),
        _ => None,
    }
}
