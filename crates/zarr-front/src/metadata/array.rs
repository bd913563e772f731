//! The checked metadata of an array, of either format.

use serde_json::{Map, Value};

use super::fields::element_count;
use super::{ArrayCodecs, ZarrFormat, json};
use crate::rectilinear::Rectilinear;
use crate::{ChunkKeyEncoding, DataType, Error, FillValue};

/// Everything a reader needs to know about an array, checked once, from either format.
///
/// Shapes are in elements, slowest-varying dimension first, and of equal length. The number of elements of the array
/// and the number of bytes of a chunk fit 64 bits; no chunk extent is 0.
///
/// ```
/// use swath_zarr_front::{ArrayMetadata, DataType};
///
/// let document = br#"{"zarr_format": 2, "shape": [100, 100], "chunks": [10, 10], "dtype": "<i4",
///                     "compressor": null, "filters": null, "fill_value": 0, "order": "C"}"#;
/// let metadata = ArrayMetadata::parse_v2(document, None, "t2m/.zarray")?;
/// assert_eq!((metadata.shape(), metadata.data_type()), (&[100, 100][..], &DataType::Int32));
/// # Ok::<(), swath_zarr_front::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ArrayMetadata {
    parts: Parts,
}

/// The fields of [`ArrayMetadata`] before its joint checks.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) zarr_format: ZarrFormat,
    pub(super) shape: Vec<u64>,
    pub(super) data_type: DataType,
    pub(super) chunk_shape: Vec<u64>,
    /// Where chunks have lengths of their own along some axis; `chunk_shape` has the longest then.
    pub(super) rectilinear: Option<Rectilinear>,
    pub(super) fill_value: FillValue,
    pub(super) codecs: ArrayCodecs,
    pub(super) chunk_key_encoding: ChunkKeyEncoding,
    pub(super) attributes: Map<String, Value>,
    pub(super) dimension_names: Option<Vec<Option<String>>>,
    pub(super) document: Value,
}

impl ArrayMetadata {
    /// Parses the `zarr.json` of a Zarr v3 array; `object` is its name in errors.
    ///
    /// The chunk grids `regular` and `rectilinear` are read. Fields that the specification does not know are ignored where they say
    /// `"must_understand": false`.
    ///
    /// # Errors
    ///
    /// `Invalid` where the document breaks the specification, `Unsupported` (naming the data type, codec, grid, field
    /// ...) where swath cannot read what it describes.
    ///
    /// Source: Zarr v3 core specification, "Array metadata".
    pub fn parse_v3(bytes: &[u8], object: &str) -> Result<Self, Error> {
        let document = json::parse_object(bytes).map_err(|error| error.with_object(object))?;
        Self::from_v3(document, object)
    }

    /// Parses the `.zarray` of a Zarr v2 array, and its `.zattrs` where there is one; `object` names the `.zarray` in
    /// errors.
    ///
    /// Order F becomes a transpose, the byte order of `dtype` a `bytes` codec. A `fill_value` of `null` means zeros, a
    /// missing `dimension_separator` a dot. Attributes that hold xarray's `_ARRAY_DIMENSIONS` give the dimension
    /// names. Unknown fields are ignored.
    ///
    /// # Errors
    ///
    /// `Invalid` where a document breaks the specification, `Unsupported` where swath cannot read what it describes.
    ///
    /// Source: Zarr v2 specification, "Arrays", "Attributes".
    pub fn parse_v2(bytes: &[u8], attributes: Option<&[u8]>, object: &str) -> Result<Self, Error> {
        let parse = || {
            let attributes = attributes.map(json::parse_object).transpose()?;
            Self::from_v2(json::parse_object(bytes)?, attributes.unwrap_or_default(), object)
        };
        parse().map_err(|error| error.with_object(object))
    }

    /// As [`parse_v3`](Self::parse_v3), for a document that is parsed already.
    ///
    /// # Errors
    ///
    /// As [`parse_v3`](Self::parse_v3).
    pub fn from_v3(document: Map<String, Value>, object: &str) -> Result<Self, Error> {
        super::array_v3::parse(document).and_then(Self::check).map_err(|error| error.with_object(object))
    }

    /// As [`parse_v2`](Self::parse_v2), for documents that are parsed already.
    ///
    /// # Errors
    ///
    /// As [`parse_v2`](Self::parse_v2).
    pub fn from_v2(
        document: Map<String, Value>,
        attributes: Map<String, Value>,
        object: &str,
    ) -> Result<Self, Error> {
        super::array_v2::parse(document, attributes)
            .and_then(Self::check)
            .map_err(|error| error.with_object(object))
    }

    /// The checks that need more than one field.
    fn check(parts: Parts) -> Result<Self, Error> {
        element_count(&parts.shape, "shape")?;
        let chunk_elements = element_count(&parts.chunk_shape, "chunk_shape")?;
        let size_bytes = u64::try_from(parts.data_type.size_bytes()).unwrap_or(u64::MAX);
        if chunk_elements.checked_mul(size_bytes).is_none() {
            let (shape, data_type) = (&parts.chunk_shape, &parts.data_type);
            return Err(Error::invalid(format!(
                "wanted chunks of less than 2^64 bytes, found {shape:?} elements of `{data_type}`"
            )));
        }
        Ok(Self { parts })
    }

    /// The format that the array is stored in.
    #[must_use]
    pub fn zarr_format(&self) -> ZarrFormat {
        self.parts.zarr_format
    }

    /// The array's shape, in elements; empty for an array of no dimensions, which has one element.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.parts.shape
    }

    /// The type of an element.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        &self.parts.data_type
    }

    /// The shape of what one stored object holds, in elements: a chunk, or a shard where
    /// [`codecs`](Self::codecs) says so. As many extents as [`shape`](Self::shape) has, none 0. Of a `rectilinear` grid, the
    /// longest extent along each axis: see [`chunk_extents`](Self::chunk_extents).
    #[must_use]
    pub fn chunk_shape(&self) -> &[u64] {
        &self.parts.chunk_shape
    }

    /// Whether all stored objects have one shape.
    #[must_use]
    pub fn has_regular_grid(&self) -> bool {
        self.parts.rectilinear.is_none()
    }

    /// Elements of an inner chunk of a shard along each axis of the array; `None` where there are no shards. Of shards in
    /// shards, the outermost inner chunk.
    #[must_use]
    pub fn inner_chunk_shape(&self) -> Option<Vec<u64>> {
        match &self.parts.codecs {
            ArrayCodecs::Sharding(sharding) => sharding.inner_extents().ok(),
            ArrayCodecs::Chain(_) => None,
        }
    }

    /// The extent along one axis of each stored object that holds elements of the array: how many of them it holds. None
    /// for an axis that the array does not have.
    pub fn chunk_extents(&self, axis: usize) -> impl Iterator<Item = u64> {
        let length = self.parts.shape.get(axis).copied().unwrap_or(0);
        let extent = self.parts.chunk_shape.get(axis).copied().unwrap_or(1).max(1);
        let edges = self.parts.rectilinear.as_ref().and_then(|grid| grid.edges(axis));
        let count = edges.map_or_else(|| length.div_ceil(extent), |edges| edges.count(length));
        (0..count).map(move |chunk| match edges {
            Some(edges) => {
                let elements = edges.elements(chunk);
                elements.end.min(length).saturating_sub(elements.start)
            }
            None => length.saturating_sub(chunk.saturating_mul(extent)).min(extent),
        })
    }

    /// The grid of chunks, where they have lengths of their own.
    pub(crate) fn rectilinear(&self) -> Option<&Rectilinear> {
        self.parts.rectilinear.as_ref()
    }

    /// The value of elements whose chunk is not stored.
    #[must_use]
    pub fn fill_value(&self) -> &FillValue {
        &self.parts.fill_value
    }

    /// How a stored object is decoded.
    #[must_use]
    pub fn codecs(&self) -> &ArrayCodecs {
        &self.parts.codecs
    }

    /// How the objects of chunks are named.
    #[must_use]
    pub fn chunk_key_encoding(&self) -> &ChunkKeyEncoding {
        &self.parts.chunk_key_encoding
    }

    /// The user's attributes; in Zarr v2 those of `.zattrs`.
    #[must_use]
    pub fn attributes(&self) -> &Map<String, Value> {
        &self.parts.attributes
    }

    /// A name or none for each dimension, where the metadata has any names.
    #[must_use]
    pub fn dimension_names(&self) -> Option<&[Option<String>]> {
        self.parts.dimension_names.as_deref()
    }

    /// The document as it is stored (`zarr.json` or `.zarray`), with every field it had.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.parts.document
    }
}
