//! Arrays of structures, seen through some of their fields.

use std::sync::Arc;

use swath_codecs::DecodedChunk;

use crate::array::Array;
use crate::data_type::ForeignUnits;
use crate::{DataType, Error, FillValue, StructField, StructType};

/// Some fields of an array's elements, one behind the other.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    pub(crate) data_type: DataType,
    pub(crate) fill_value: FillValue,
    /// The fill value in the byte order that chunks are decoded to.
    pub(crate) fill: Box<[u8]>,
    /// What of them is decoded to a foreign byte order.
    pub(crate) foreign: Vec<ForeignUnits>,
    /// Bytes of a whole element.
    whole_bytes: usize,
    /// Bytes of the fields together.
    bytes: usize,
    /// What to take of a whole element, in order.
    runs: Vec<Run>,
}

/// Bytes of an element that fields take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    start: usize,
    end: usize,
}

impl Fields {
    /// Gathers the bytes of the fields out of a whole element.
    fn taken(&self, element: &[u8]) -> Vec<u8> {
        let parts = self.runs.iter().map(|run| element.get(run.start..run.end).unwrap_or_default());
        parts.flatten().copied().collect()
    }

    /// The same chunk, or part of one, of the fields alone. Those that lie side by side are seen where they are; others are
    /// put together in `packed`.
    pub(crate) fn see<'c>(
        &self,
        chunk: &DecodedChunk<'c>,
        (packed, strides): (&'c mut Vec<u8>, &'c mut Vec<usize>),
    ) -> DecodedChunk<'c> {
        if let [run] = self.runs.as_slice() {
            let bytes = chunk.bytes.get(run.start..).unwrap_or_default();
            return DecodedChunk { bytes, ..*chunk };
        }
        packed.clear();
        packed.reserve_exact(chunk.bytes.len() / self.whole_bytes * self.bytes);
        for element in chunk.bytes.chunks_exact(self.whole_bytes) {
            for run in &self.runs {
                packed.extend_from_slice(&element[run.start..run.end]);
            }
        }
        let scaled = |bytes: usize| bytes / self.whole_bytes * self.bytes;
        strides.clear();
        strides.extend(chunk.strides.iter().map(|stride| scaled(*stride)));
        DecodedChunk { bytes: packed, start: scaled(chunk.start), strides, swap_unit_bytes: None }
    }
}

impl Array {
    /// The same array of structures, seen through one field: an array of what that holds. For reading only.
    ///
    /// # Errors
    ///
    /// `Invalid` where elements are no structures or have no such field; `Unsupported` for a field that is an array by
    /// itself, which [`with_fields`](Self::with_fields) reads.
    pub fn with_field(&self, name: &str) -> Result<Array, Error> {
        let found = self.found_fields(&[name])?;
        match found.as_slice() {
            [(field, _)] if field.shape.is_empty() => {
                let data_type = field.data_type.clone();
                self.seen(found, data_type)
            }
            _ => Err(self.named(Error::unsupported(format!("the field `{name}`, an array, by itself")))),
        }
    }

    /// The same array of structures, seen through some fields: an array of structures of those, in the order given, packed.
    /// For reading only.
    ///
    /// # Errors
    ///
    /// `Invalid` where elements are no structures, have no such field, or no field or one twice is asked for.
    pub fn with_fields(&self, names: &[&str]) -> Result<Array, Error> {
        let found = self.found_fields(names)?;
        let fields = found.iter().map(|(field, _)| field.clone()).collect();
        let structure = StructType::new(fields).map_err(|error| self.named(error))?;
        self.seen(found, DataType::Struct(Arc::new(structure)))
    }

    /// The fields of these names, each with the place of its first byte in an element.
    fn found_fields(&self, names: &[&str]) -> Result<Vec<(StructField, usize)>, Error> {
        let DataType::Struct(structure) = self.metadata().data_type() else {
            let data_type = self.metadata().data_type();
            return Err(
                self.named(Error::invalid(format!("wanted elements with fields, found `{data_type}`")))
            );
        };
        let mut start = 0;
        let mut places = Vec::new();
        for field in structure.fields() {
            places.push((field, start));
            start += field.size_bytes();
        }
        let find = |name: &&str| {
            let found = places.iter().find(|(field, _)| field.name == *name);
            found.map(|(field, start)| (StructField::clone(field), *start)).ok_or_else(|| {
                let known: Vec<&str> = structure.fields().iter().map(|field| field.name.as_str()).collect();
                self.named(Error::invalid(format!("wanted a field of {known:?}, found {name:?}")))
            })
        };
        names.iter().map(find).collect()
    }

    fn seen(&self, found: Vec<(StructField, usize)>, data_type: DataType) -> Result<Array, Error> {
        let compiled = &self.inner.compiled;
        let (mut runs, mut foreign, mut bytes) = (Vec::<Run>::new(), Vec::new(), 0);
        for (field, start) in found {
            let end = start + field.size_bytes();
            for units in compiled.foreign.iter().filter(|units| (start..end).contains(&units.offset_bytes)) {
                foreign.push(ForeignUnits { offset_bytes: units.offset_bytes - start + bytes, ..*units });
            }
            bytes += end - start;
            match runs.last_mut() {
                Some(run) if run.end == start => run.end = end,
                _ => runs.push(Run { start, end }),
            }
        }
        let whole_bytes = compiled.chain.layout().element.size_bytes;
        let fill_value = FillValue::zero(&data_type);
        let mut fields =
            Fields { data_type, fill_value, fill: Box::default(), foreign, whole_bytes, bytes, runs };
        fields.fill = fields.taken(&compiled.fill).into_boxed_slice();
        let native = fields.taken(self.metadata().fill_value().bytes());
        fields.fill_value = FillValue::of_bytes(native, fields.data_type.clone());
        Ok(self.through(Arc::new(fields)))
    }

    fn named(&self, error: Error) -> Error {
        error.with_object(&self.name())
    }
}
