//! References to several files as one set, their arrays joined along a dimension.
//!
//! An array with the dimension is joined chunk by chunk, where its chunks end where the files do. The dimension's coordinate, and small
//! arrays whose chunks do not, are read and held in the set. An array without it has to hold the same in all files. What attributes say
//! of values (units, scales, missing ones) has to be the same too: values of other units are never joined.

mod held;
#[cfg(test)]
mod tests;

use super::{Part, References};
use crate::{Error, ErrorKind, LeftOut};
use held::{FileValues, check_order};
use serde_json::{Map, Value, json};
use swath_zarr_front::ReferenceTargets;

/// Attributes that say what values mean: where they differ, values of the same number are not the same.
const MEANING: [&str; 12] = [
    "units",
    "calendar",
    "scale_factor",
    "add_offset",
    "_FillValue",
    "missing_value",
    "valid_min",
    "valid_max",
    "valid_range",
    "_Unsigned",
    "flag_values",
    "flag_masks",
];

/// Bytes of an array that is held in the set as its chunks do not end where files do, at most.
const HELD_BYTES_MAX: u64 = 1 << 20;

/// The dimensions of an array, as its attributes list them.
const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

impl References {
    /// One set of several files, called so, whose arrays are joined along a dimension in the order of the files. `targets` says how the
    /// files are reached: the dimension's coordinates, and arrays without the dimension, are read.
    ///
    /// Groups and arrays are those of the first file, and all others have to have them, of the same types, filters, dimensions and
    /// lengths but along the dimension. Chunks have to divide the lengths of all files but the last; arrays of at most 1 MiB, and the
    /// coordinate, are held in the set. Other attributes than those that say what values mean may differ: the first file's are kept, and
    /// that is told in [`References::differing`].
    ///
    /// # Errors
    ///
    /// `Invalid` where files have other arrays, other lengths, chunks that do not end where they do, other values without the dimension,
    /// attributes of another meaning, such as units of time since another day, or coordinates that do not go on from file to file, and
    /// where no array has the dimension. `Unsupported` for texts of any length along it. Those of reading.
    pub fn concatenated(
        files: &[(String, References)],
        dimension: &str,
        targets: &ReferenceTargets,
    ) -> Result<References, Error> {
        let Some((first, others)) = files.split_first() else {
            return Err(Error::new(ErrorKind::Invalid, "wanted at least one file, found none"));
        };
        let mut joining = Joining { files, dimension, targets, made: References::default() };
        for (name, references) in others {
            Joining::check_nodes(first, name, references)?;
        }
        let is_joined = |path: &&str| joining.axis(path, &first.1).is_some();
        if !first.1.array_paths().any(|path| is_joined(&path)) {
            return Err(joining.unknown_dimension());
        }
        joining.add_groups();
        for path in first.1.array_paths() {
            joining.add_array(path)?;
        }
        for (name, references) in files {
            let of_file = |left: &LeftOut| LeftOut {
                path: left.path.clone(),
                reason: format!("{} (in {name})", left.reason),
            };
            joining.made.left_out.extend(references.left_out.iter().map(of_file));
        }
        Ok(joining.made)
    }

    fn array_paths(&self) -> impl Iterator<Item = &str> {
        self.documents.keys().filter_map(|key| key.strip_suffix("/.zarray"))
    }

    fn array(&self, path: &str) -> Option<&Value> {
        self.documents.get(&format!("{path}/.zarray"))
    }

    fn lengths(&self, path: &str, field: &str) -> Vec<u64> {
        let found = self.array(path).and_then(|array| array.get(field)?.as_array());
        found.into_iter().flatten().filter_map(Value::as_u64).collect()
    }

    fn attribute(&self, document: &str, name: &str) -> Option<&Value> {
        self.documents.get(document)?.get(name)
    }
}

struct Joining<'a> {
    files: &'a [(String, References)],
    dimension: &'a str,
    targets: &'a ReferenceTargets,
    made: References,
}

impl<'a> Joining<'a> {
    /// Where an array has the dimension.
    fn axis(&self, path: &str, references: &References) -> Option<usize> {
        let names = references.attribute(&format!("{path}/.zattrs"), DIMENSIONS)?.as_array()?;
        names.iter().position(|name| name == self.dimension)
    }

    fn unknown_dimension(&self) -> Error {
        let documents = self.files.iter().take(1).flat_map(|(_, references)| references.documents.values());
        let lists = documents.filter_map(|document| document.get(DIMENSIONS)?.as_array());
        let mut names: Vec<&str> = lists.flatten().filter_map(Value::as_str).collect();
        names.sort_unstable();
        names.dedup();
        let message =
            format!("wanted one of the dimensions {}, found {:?}", names.join(", "), self.dimension);
        Error::new(ErrorKind::Invalid, message)
    }

    /// Looks whether a file has the groups and arrays of the first one.
    fn check_nodes(
        (first, wanted): &(String, References),
        name: &str,
        found: &References,
    ) -> Result<(), Error> {
        let only = |one: &References, other: &References| {
            one.documents.keys().find(|key| !other.documents.contains_key(*key)).cloned()
        };
        let Some(key) = only(wanted, found).or_else(|| only(found, wanted)) else { return Ok(()) };
        let path = key.rsplit_once('/').map_or("the root", |(path, _)| path);
        let message =
            format!("wanted the groups and arrays of {first}, found that one of the two alone has {path}");
        Err(Error::new(ErrorKind::Invalid, message).with_object(name))
    }

    fn add_groups(&mut self) {
        let files = self.files;
        let Some((_, first)) = files.first() else { return };
        for (key, document) in &first.documents {
            let Some(path) = key.strip_suffix(".zgroup") else { continue };
            self.made.documents.insert(key.clone(), document.clone());
            let attributes = format!("{path}.zattrs");
            if let Some(document) = first.documents.get(&attributes) {
                self.made.documents.insert(attributes.clone(), document.clone());
                self.tell_differing(&attributes);
            }
        }
    }

    /// Tells which attributes of a node are others in other files.
    fn tell_differing(&mut self, key: &str) {
        let files = self.files;
        let Some(((first, references), others)) = files.split_first() else { return };
        let path = key.trim_end_matches(".zattrs").trim_end_matches('/');
        let empty = Map::new();
        let attributes = |of: &'a References| of.documents.get(key).and_then(Value::as_object);
        let own = attributes(references).unwrap_or(&empty);
        let mut told = std::collections::BTreeSet::new();
        for (name, other) in others {
            let theirs = attributes(other).unwrap_or(&empty);
            for attribute in own.keys().chain(theirs.keys()) {
                if own.get(attribute) != theirs.get(attribute) && told.insert(attribute.clone()) {
                    let reason = format!("another value in {name}: what is kept is that of {first}");
                    self.made.differing.push(LeftOut { path: format!("{path}@{attribute}"), reason });
                }
            }
        }
    }

    fn add_array(&mut self, path: &str) -> Result<(), Error> {
        let files = self.files;
        let Some((_, first)) = files.first() else { return Ok(()) };
        self.check_array(path)?;
        let attributes = format!("{path}/.zattrs");
        self.made
            .documents
            .extend(first.documents.get_key_value(&attributes).map(|(k, v)| (k.clone(), v.clone())));
        self.tell_differing(&attributes);
        let document = first.array(path).cloned().unwrap_or_default();
        let Some(axis) = self.axis(path, first) else {
            FileValues { path, targets: self.targets }.check_equal(files)?;
            self.made.documents.insert(format!("{path}/.zarray"), document);
            return self.add_chunks(path, 0, first, None);
        };
        let lengths: Vec<u64> = files
            .iter()
            .map(|(_, file)| file.lengths(path, "shape").get(axis).copied().unwrap_or(0))
            .collect();
        let unaligned = self.unaligned(path, axis, &lengths);
        let is_coordinate = path.rsplit('/').next() == Some(self.dimension);
        if !is_coordinate && unaligned.is_none() {
            let chunk = first.lengths(path, "chunks").get(axis).copied().unwrap_or(1).max(1);
            self.made.documents.insert(format!("{path}/.zarray"), with_length(document, axis, &lengths));
            let mut before = 0;
            for (number, (_, file)) in files.iter().enumerate() {
                self.add_chunks(path, number, file, Some((axis, before)))?;
                before += lengths.get(number).copied().unwrap_or(0) / chunk;
            }
            return Ok(());
        }
        let values = FileValues { path, targets: self.targets };
        let bytes_max = if is_coordinate { u64::MAX } else { HELD_BYTES_MAX };
        let joined = with_length(document, axis, &lengths);
        let held = values.joined(files, axis, joined, bytes_max);
        let (document, bytes) = held?.ok_or_else(|| self.invalid(path, &unaligned.unwrap_or_default()))?;
        if is_coordinate {
            let dtype = document["dtype"].as_str().unwrap_or_default();
            check_order(dtype, &bytes, &lengths).map_err(|(file, why)| {
                let name = self.files.get(file).map_or("", |(name, _)| name);
                self.invalid(path, &format!("{why} in {name}"))
            })?;
        }
        let rank = lengths_of(&document, "shape").len();
        self.made.documents.insert(format!("{path}/.zarray"), document);
        self.made.inline.insert(format!("{path}/{}", vec!["0"; rank.max(1)].join(".")), bytes);
        Ok(())
    }

    fn invalid(&self, path: &str, message: &str) -> Error {
        Error::new(ErrorKind::Invalid, message).with_object(path)
    }

    /// Looks whether an array is of one type, shape and meaning in all files.
    fn check_array(&self, path: &str) -> Result<(), Error> {
        let Some(((first, references), others)) = self.files.split_first() else { return Ok(()) };
        let axis = self.axis(path, references);
        let key = format!("{path}/.zattrs");
        let own = references.array(path);
        for (name, other) in others {
            let differs = |what: &str, own: Option<&Value>, other: Option<&Value>| {
                let text = |value: Option<&Value>| value.map_or("none".to_owned(), Value::to_string);
                let (own, other) = (text(own), text(other));
                self.invalid(
                    path,
                    &format!("wanted the same {what}, found {own} in {first} and {other} in {name}"),
                )
            };
            for attribute in MEANING.iter().chain([&DIMENSIONS]) {
                let (own, other) = (references.attribute(&key, attribute), other.attribute(&key, attribute));
                if own != other {
                    return Err(differs(&format!("`{attribute}`"), own, other));
                }
            }
            let theirs = other.array(path);
            for field in ["dtype", "filters", "fill_value", "order"] {
                let field_of = |array: Option<&'a Value>| array.and_then(|array| array.get(field));
                if field_of(own) != field_of(theirs) {
                    return Err(differs(field, field_of(own), field_of(theirs)));
                }
            }
            let [wanted, found] = [references, other].map(|file| file.lengths(path, "shape"));
            let is_same = |(at, (one, other)): (usize, (&u64, &u64))| Some(at) == axis || one == other;
            if wanted.len() != found.len() || !wanted.iter().zip(&found).enumerate().all(is_same) {
                return Err(differs("shape", Some(&json!(wanted)), Some(&json!(found))));
            }
        }
        Ok(())
    }

    /// Why the chunks of files cannot stand one behind the other.
    fn unaligned(&self, path: &str, axis: usize, lengths: &[u64]) -> Option<String> {
        let chunks: Vec<Vec<u64>> = self.files.iter().map(|(_, file)| file.lengths(path, "chunks")).collect();
        let own = chunks.first()?;
        if let Some(other) = chunks.iter().position(|chunks| chunks != own) {
            let [one, name] =
                [0, other].map(|file| self.files.get(file).map_or("", |(name, _)| name.as_str()));
            let found = chunks.get(other)?;
            return Some(format!("wanted the same chunks, found {own:?} in {one} and {found:?} in {name}"));
        }
        let chunk = (*own.get(axis)?).max(1);
        let but_last = lengths.get(..lengths.len().saturating_sub(1))?;
        let uneven = but_last.iter().position(|length| !length.is_multiple_of(chunk))?;
        let (name, length) = (&self.files.get(uneven)?.0, lengths.get(uneven)?);
        let dimension = self.dimension;
        Some(format!("wanted chunks of {chunk} along {dimension} to divide the {length} elements of {name}"))
    }

    /// Adds the chunks of a file, so many behind where they are in it along an axis.
    fn add_chunks(
        &mut self,
        path: &str,
        file: usize,
        references: &References,
        behind: Option<(usize, u64)>,
    ) -> Result<(), Error> {
        let lost = || Error::new(ErrorKind::Internal, "a chunk of references without a place");
        let prefix = format!("{path}/");
        let moved = |chunk: &str| -> Option<String> {
            let Some((axis, before)) = behind else { return Some(format!("{prefix}{chunk}")) };
            let mut places: Vec<u64> =
                chunk.split('.').map(|place| place.parse().ok()).collect::<Option<_>>()?;
            *places.get_mut(axis)? += before;
            let places: Vec<String> = places.iter().map(u64::to_string).collect();
            Some(format!("{prefix}{}", places.join(".")))
        };
        for part in &references.parts {
            if let Some(chunk) = part.key.strip_prefix(&prefix).filter(|chunk| !chunk.contains('/')) {
                let key = moved(chunk).ok_or_else(lost)?;
                self.made.parts.push(Part { key, file, ..part.clone() });
            }
        }
        for (key, bytes) in &references.inline {
            if let Some(chunk) = key.strip_prefix(&prefix).filter(|chunk| !chunk.contains('/')) {
                self.made.inline.insert(moved(chunk).ok_or_else(lost)?, bytes.clone());
            }
        }
        Ok(())
    }
}

fn lengths_of(document: &Value, field: &str) -> Vec<u64> {
    document[field].as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
}

/// The document of an array that is as long as those of all files together.
fn with_length(mut document: Value, axis: usize, lengths: &[u64]) -> Value {
    if let Some(length) = document.get_mut("shape").and_then(|shape| shape.get_mut(axis)) {
        *length = lengths.iter().sum::<u64>().into();
    }
    document
}
