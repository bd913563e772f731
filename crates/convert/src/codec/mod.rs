//! A message as the chunk of an array: the codecs that references to GRIB messages name.

mod decoding;
mod entry;

use crate::{Error, Sample};
pub(crate) use entry::{KERCHUNK_ID, OWN_ID};
use serde_json::Value;
use std::sync::{Arc, Once};
use swath_codecs::{
    ChunkLayout, CodecClass, CodecCode, ElementKind, NumberType, RegisteredCodec, register_codecs,
};

/// The names of the codecs that [`register_grib_codecs`] makes known.
pub const GRIB_CODECS: [&str; 2] = [KERCHUNK_ID, OWN_ID];

/// A codec whose chunks are GRIB messages of edition 1 or 2, which it decodes to one field's values or to the places of its points.
///
/// | entry | what a chunk's bytes are | its elements |
/// | --- | --- | --- |
/// | `grib` | a message | those of its first field in the order of the file, as kerchunk's codec of this name decodes them by ecCodes |
/// | `swath_grib` | a message, or its beginning up to the end of a field | those of the last field in it, row by row where its grid has rows, as [`Plan::write`](crate::Plan::write) writes them |
///
/// Both have `var`, which is `latitude` or `longitude` where the places of the points are wanted, in degrees, and anything else for the
/// values; and `dtype`, `float32` or `float64`, which is that of the array (without it float32 for values, float64 for places).
/// Missing values are NaN. In Zarr v2 an entry is one of `filters`, with `id`; in v3 one of `codecs`, with `name` (also behind
/// `numcodecs.`) and `configuration`.
///
/// A chunk has one field: it has the grid's rows and columns, or its points where the grid has no rows, and one element along
/// other dimensions. Anything else is an error, before values are unpacked. Nothing is encoded.
///
/// ```
/// use swath_convert::GribCodec;
/// let entry = serde_json::json!({"id": "grib", "var": "t2m", "dtype": "float64"});
/// let codec = GribCodec::from_entry(&entry).expect("a name that is known")?;
/// assert!(codec.decode(b"no message", None, &mut [0.0f64; 6]).is_err());
/// # Ok::<(), swath_convert::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GribCodec {
    of: Quantity,
    order: Order,
    /// What the entry says of the elements.
    number: Option<NumberType>,
}

/// What of a field its elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Values,
    Latitudes,
    Longitudes,
}

/// In which order elements follow, and which field of a message they are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// That of the file, of the first field.
    File,
    /// Row by row, of the last field.
    Rows,
}

/// What the coded bytes of a chunk may be longer than its elements by. Sections that describe a field have no more, and most none of it.
const SPARE_BYTES: u64 = 1 << 20;

/// Fields of a message that may lie before the one that is wanted, each as long as its elements.
const FIELDS_MAX: u64 = 64;

/// The most bytes of a message, or of its beginning, that are read for so many bytes of elements.
pub(crate) fn message_bytes_max(decoded_bytes: u64) -> u64 {
    decoded_bytes.saturating_mul(FIELDS_MAX).saturating_add(SPARE_BYTES)
}

impl GribCodec {
    /// The codec of a metadata entry: of Zarr v2 with `id`, of v3 with `name`. `None` where it has another name.
    ///
    /// # Errors
    ///
    /// `Invalid` where the entry says what there is not.
    pub fn from_entry(entry: &Value) -> Option<Result<GribCodec, Error>> {
        entry::read(entry)
    }

    /// The type of the elements.
    #[must_use]
    pub fn number(&self) -> NumberType {
        let of_entry = match self.of {
            Quantity::Values => NumberType::Float32,
            Quantity::Latitudes | Quantity::Longitudes => NumberType::Float64,
        };
        self.number.unwrap_or(of_entry)
    }

    /// How many elements a chunk of these bytes has.
    ///
    /// # Errors
    ///
    /// `Corrupt` where they are no sound message, `Unsupported` for an edition that is neither 1 nor 2.
    pub fn elements(&self, message: &[u8]) -> Result<u64, Error> {
        Ok(self.field(message)?.grid.points)
    }

    /// Decodes a chunk: fills all of `target`, which has one element for each point. `shape` is that of the chunk, where it is known.
    ///
    /// # Errors
    ///
    /// `Corrupt` where the bytes are no sound message, or its field has another shape; `Unsupported` for what swath cannot unpack, and
    /// for places that a message does not tell; `Invalid` where `target` has not one element for each point. What `target` holds is
    /// then undefined.
    pub fn decode<T: Sample>(
        &self,
        message: &[u8],
        shape: Option<&[u64]>,
        target: &mut [T],
    ) -> Result<(), Error> {
        let field = self.field(message)?;
        if let Some(shape) = shape {
            decoding::check_shape(shape, &field.grid)?;
        }
        match self.of {
            Quantity::Values => decoding::values(&field, message, self.order, target),
            Quantity::Latitudes => decoding::places(&field.grid, |place| place.latitude, self.order, target),
            Quantity::Longitudes => {
                decoding::places(&field.grid, |place| place.longitude, self.order, target)
            }
        }
    }

    /// The field that a chunk is of.
    fn field(&self, message: &[u8]) -> Result<crate::Field, Error> {
        decoding::field(message, self.order)
    }
}

impl CodecCode for GribCodec {
    fn decode(
        &self,
        source: &[u8],
        content: Option<&ChunkLayout>,
        target: &mut [u8],
    ) -> Result<usize, String> {
        let content = content.ok_or("wanted to know the shape of the chunk, found none")?;
        let number = match content.element.kind {
            ElementKind::Number(number @ (NumberType::Float32 | NumberType::Float64)) => number,
            other => return Err(format!("wanted float32 or float64, found elements of {other:?}")),
        };
        if let Some(said) = self.number.filter(|said| *said != number) {
            let (said, number) = (said.name(), number.name());
            return Err(format!("wanted `dtype` to be the array's, found {said:?} for an array of {number}"));
        }
        let shape = Some(&content.shape[..]);
        let done = match number {
            NumberType::Float32 => self.decode_bytes::<f32>(source, shape, target),
            _ => self.decode_bytes::<f64>(source, shape, target),
        };
        done.map_err(|error| match error.kind() {
            // The front-end calls it so itself.
            crate::ErrorKind::Corrupt => error.message().to_owned(),
            _ => error.to_string(),
        })
    }

    fn encode(&self, _: &[u8], _: Option<&ChunkLayout>, _: &mut Vec<u8>) -> Result<(), String> {
        Err("wanted to write no GRIB messages: swath only reads them, found values to encode".to_owned())
    }

    fn encoded_bytes_max(&self, decoded_bytes: u64) -> u64 {
        message_bytes_max(decoded_bytes)
    }
}

impl GribCodec {
    /// Decodes straight into `target`, or by way of other memory where that does not lie as numbers must.
    fn decode_bytes<T: Sample + bytemuck::Pod>(
        &self,
        source: &[u8],
        shape: Option<&[u64]>,
        target: &mut [u8],
    ) -> Result<usize, Error> {
        if let Ok(numbers) = bytemuck::try_cast_slice_mut::<u8, T>(target) {
            self.decode(source, shape, numbers)?;
        } else {
            let mut numbers = vec![T::MISSING; target.len() / size_of::<T>()];
            self.decode(source, shape, &mut numbers)?;
            let bytes = bytemuck::cast_slice::<T, u8>(&numbers);
            let front = target.get_mut(..bytes.len()).unwrap_or_default();
            front.copy_from_slice(bytes);
        }
        Ok(target.len())
    }
}

/// Has every array of this process whose metadata name `grib` or `swath_grib` decoded by [`GribCodec`], from now on. Further calls do
/// nothing.
///
/// `swath`'s command line and its Python package have called it already.
pub fn register_grib_codecs() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register_codecs(|entry| {
            let codec = GribCodec::from_entry(entry)?;
            Some(match codec {
                Ok(codec) => Ok(RegisteredCodec::new(entry, CodecClass::ArrayToBytes, Arc::new(codec))),
                Err(error) => Err(error.message().to_owned()),
            })
        });
    });
}
