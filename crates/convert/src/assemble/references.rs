//! A plan as references to the messages that are there: what [`Plan::write`] makes of it, without a copy.

use super::coordinate::{Coordinate, object};
use super::grid_arrays::{GridArrays, LATITUDE, LONGITUDE, MAPPING, degrees};
use super::plan::{FieldPlace, Hypercube, Plan, Variable};
use super::planning::{Source, place};
use super::slab::unraveled;
use crate::codec::{KERCHUNK_ID, OWN_ID, message_bytes_max};
use crate::coordinates::Points;
use crate::references::Part;
use crate::unpack::{check_known, is_by_rows};
use crate::{Error, ErrorKind, Field, References, Span};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Bytes of an element of a variable.
const VALUE_BYTES: u64 = 4;

impl Plan {
    /// The plan as a set of references in Zarr v2, for [`References::to_json`]: groups, arrays, coordinates and attributes are those
    /// that [`Plan::write`] writes, a field is a chunk, and each chunk is a byte range that [`GribCodec`](crate::GribCodec) decodes.
    /// Nothing is read. `sources` are those that the plan was made of.
    ///
    /// Where all fields of an array are the first of their messages and stored row by row, its codec is `grib`, so that readers with
    /// kerchunk's codec decode the same; else it is `swath_grib`, which is swath's alone. Latitudes and longitudes of single points
    /// are decoded from a message too; other coordinates are held in the set. Chunks of the plan's own layout, shards and compressors
    /// count for nothing here.
    ///
    /// A field that swath cannot unpack is a gap, and is in [`References::left_out`]; one that turns out to be damaged is an error of
    /// whoever reads it, where a conversion has a gap.
    ///
    /// # Errors
    ///
    /// `Invalid` where the plan rounds values, or has fields that are not among the sources.
    pub fn references(&self, sources: &[Source]) -> Result<References, Error> {
        if let Some(bits) = self.mantissa_bits {
            let message = format!("references to values of {bits} bits: messages stay as they are");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let fields = Fields::of(sources);
        let mut references = References::default();
        if !self.groups.iter().any(|group| group.path.is_empty()) {
            add_group("", object(json!({ "Conventions": "CF-1.11" })), &mut references);
        }
        for group in &self.groups {
            Listing { plan: self, group, fields: &fields, references: &mut references }.add()?;
        }
        Ok(references)
    }
}

/// The fields of a plan, by where they are.
struct Fields<'a> {
    by_place: HashMap<FieldPlace, &'a Field>,
    /// How many fields the message has that begins at an offset of a file.
    counts: HashMap<(usize, u64), usize>,
}

impl<'a> Fields<'a> {
    fn of(sources: &'a [Source]) -> Fields<'a> {
        let by_place = sources.iter().map(|source| (place(source), &source.field)).collect();
        let mut counts = HashMap::new();
        for Source { file, field } in sources {
            *counts.entry((*file, field.message.offset)).or_default() += 1;
        }
        Fields { by_place, counts }
    }

    fn get(&self, place: &FieldPlace) -> Result<&'a Field, Error> {
        let lost = || {
            let FieldPlace { file, offset, number, .. } = place;
            let message =
                format!("wanted a source for field {number} at {offset} of file {file}, found none");
            Error::new(ErrorKind::Invalid, message)
        };
        self.by_place.get(place).copied().ok_or_else(lost)
    }

    fn is_alone(&self, place: &FieldPlace) -> bool {
        self.counts.get(&(place.file, place.offset)) == Some(&1)
    }

    /// The bytes of a field that a codec decodes: its message, or as much of it as there is up to the end of the field.
    fn span(&self, id: &str, place: &FieldPlace, field: &Field) -> Span {
        let Span { offset, len } = field.message;
        let is_whole = id == KERCHUNK_ID || self.is_alone(place);
        let len = if is_whole { len } else { field.place.data.end().saturating_sub(offset) };
        Span { offset, len }
    }

    /// The codec of chunks of these fields.
    fn codec_of(&self, places: impl Iterator<Item = FieldPlace>) -> Result<&'static str, Error> {
        for place in places {
            if place.number != 0 || !is_by_rows(&self.get(&place)?.grid) {
                return Ok(OWN_ID);
            }
        }
        Ok(KERCHUNK_ID)
    }
}

/// What a hypercube adds to references.
struct Listing<'a> {
    plan: &'a Plan,
    group: &'a Hypercube,
    fields: &'a Fields<'a>,
    references: &'a mut References,
}

impl Listing<'_> {
    fn add(mut self) -> Result<(), Error> {
        let group = self.group;
        add_group(&group.path, group.attributes.clone(), self.references);
        group.coordinates.iter().for_each(|coordinate| self.add_coordinate(coordinate));
        self.add_grid()?;
        group.variables.iter().try_for_each(|variable| self.add_variable(variable))
    }

    fn add_grid(&mut self) -> Result<(), Error> {
        let GridArrays { axes, mapping, places } =
            GridArrays::of(&self.fields.get(&self.group.grid_of)?.grid);
        axes.iter().for_each(|coordinate| self.add_coordinate(coordinate));
        if let Some(attributes) = mapping {
            let path = self.add_array(MAPPING, &[], ArrayKind { dtype: "<i4", codec: None }, attributes);
            self.references.inline.insert(format!("{path}/0"), 0i32.to_le_bytes().to_vec());
        }
        if matches!(places, Points::Plane(_) | Points::Listed(_)) {
            for name in [LATITUDE, LONGITUDE] {
                self.add_places(name)?;
            }
        }
        Ok(())
    }

    /// Latitudes or longitudes of all points, by the codec from a message of the grid.
    fn add_places(&mut self, name: &str) -> Result<(), Error> {
        let (place, dimensions) = (self.group.grid_of, &self.group.grid_dimensions);
        let id = self.fields.codec_of(std::iter::once(place))?;
        let codec = json!({ "id": id, "var": name, "dtype": "float64" });
        let kind = ArrayKind { dtype: "<f8", codec: Some(codec) };
        let path = self.add_array(name, dimensions, kind, degrees(name));
        self.add_chunk(format!("{path}/{}", key(&[], dimensions.len())), id, &place)
    }

    fn add_coordinate(&mut self, coordinate: &Coordinate) {
        let dtype = if coordinate.is_integer() { "<i8" } else { "<f8" };
        let Coordinate { name, dimensions, attributes, .. } = coordinate;
        let path = self.add_array(name, dimensions, ArrayKind { dtype, codec: None }, attributes.clone());
        let bytes = coordinate.elements().flat_map(u64::to_le_bytes).collect();
        self.references.inline.insert(format!("{path}/{}", key(&[], dimensions.len())), bytes);
    }

    fn add_variable(&mut self, variable: &Variable) -> Result<(), Error> {
        let group = self.group;
        let id = self.fields.codec_of(variable.cells.iter().flatten().copied())?;
        // These two would be the places of points.
        let is_taken = [LATITUDE, LONGITUDE].contains(&variable.name.as_str());
        let var = if is_taken { "values" } else { &variable.name };
        let codec = json!({ "id": id, "var": var, "dtype": "float32" });
        let dimensions: Vec<(String, u64)> =
            group.dimension_names(variable).into_iter().zip(group.shape(variable)).collect();
        let kind = ArrayKind { dtype: "<f4", codec: Some(codec) };
        let path = self.add_array(&variable.name, &dimensions, kind, variable.attributes.clone());
        let header: Vec<u64> =
            dimensions.iter().take(variable.dimensions.len()).map(|(_, len)| *len).collect();
        for (cell, place) in (0u64..).zip(&variable.cells) {
            let Some(place) = place else { continue };
            let key = format!("{path}/{}", key(&unraveled(cell, &header), group.grid_dimensions.len()));
            match check_known(self.fields.get(place)?) {
                Ok(()) => self.add_chunk(key, id, place)?,
                Err(error) => self.leave_out(&key, place, &error.to_string()),
            }
        }
        Ok(())
    }

    /// Adds the chunk of a field, or says why there is none.
    fn add_chunk(&mut self, key: String, id: &str, place: &FieldPlace) -> Result<(), Error> {
        let field = self.fields.get(place)?;
        let Span { offset, len } = self.fields.span(id, place, field);
        let most = message_bytes_max(field.grid.points.saturating_mul(VALUE_BYTES));
        if len <= most {
            self.references.parts.push(Part { key, file: place.file, offset, len });
        } else {
            let reason = format!("{len} bytes of its message, and {most} are the most");
            self.leave_out(&key, place, &reason);
        }
        Ok(())
    }

    fn leave_out(&mut self, key: &str, place: &FieldPlace, reason: &str) {
        let file = self.plan.files.get(place.file).map_or("", |file| &file.name);
        let of = format!("field {} at {} of {file}: {reason}", place.number, place.offset);
        self.references.leave_out(key, of);
    }

    /// Adds the documents of an array of one chunk along the grid, or along all where it has no codec, and returns its path.
    fn add_array(
        &mut self,
        name: &str,
        dimensions: &[(String, u64)],
        kind: ArrayKind,
        mut attributes: Map<String, Value>,
    ) -> String {
        let group = self.group;
        let path = if group.path.is_empty() { name.to_owned() } else { format!("{}/{name}", group.path) };
        let (names, shape): (Vec<&String>, Vec<u64>) =
            dimensions.iter().map(|(name, len)| (name, *len)).unzip();
        // A field is a chunk, and so is a coordinate.
        let whole = if kind.codec.is_some() { group.grid_dimensions.len() } else { dimensions.len() };
        let of_field = |(at, len): (usize, &u64)| if at + whole < shape.len() { 1 } else { *len };
        let chunks: Vec<u64> = shape.iter().enumerate().map(of_field).collect();
        let document = json!({
            "zarr_format": 2,
            "shape": shape,
            "chunks": chunks,
            "dtype": kind.dtype,
            "compressor": null,
            // As NaN is what gaps are filled with. Coordinates have none, and a fill value would be taken for missing.
            "fill_value": if kind.is_values() { json!("NaN") } else { Value::Null },
            "filters": kind.codec.map(|codec| vec![codec]),
            "order": "C",
            "dimension_separator": ".",
        });
        attributes.insert("_ARRAY_DIMENSIONS".to_owned(), json!(names));
        self.references.documents.insert(format!("{path}/.zarray"), document);
        self.references.documents.insert(format!("{path}/.zattrs"), attributes.into());
        path
    }
}

/// The elements of an array, and the codec of its chunks; none where they are held in the references.
struct ArrayKind {
    dtype: &'static str,
    codec: Option<Value>,
}

impl ArrayKind {
    fn is_values(&self) -> bool {
        self.dtype == "<f4"
    }
}

fn add_group(path: &str, attributes: Map<String, Value>, references: &mut References) {
    let within = if path.is_empty() { String::new() } else { format!("{path}/") };
    references.documents.insert(format!("{within}.zgroup"), json!({ "zarr_format": 2 }));
    references.documents.insert(format!("{within}.zattrs"), attributes.into());
}

/// The key of a chunk: its place along the first dimensions, and 0 along `whole` others.
fn key(place: &[u64], whole: usize) -> String {
    let numbers = place.iter().copied().chain(std::iter::repeat_n(0, whole));
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    // Of no dimension there is one chunk.
    if numbers.is_empty() { "0".to_owned() } else { numbers.join(".") }
}
