//! array->array codecs that change elements, compiled for the elements that they are given.

mod as_type;
mod bitround;
mod block;
mod cast_value;
mod delta;
mod fixed_scale_offset;
mod quantize;
mod rounding;
mod scalar;
mod scale_offset;

use crate::codec::Codec;
use crate::error::Error;
use crate::layout::{ChunkLayout, Element};
use crate::number::NumberType;
use crate::pack_bits::{pack_truth, packed_layout, unpack_truth};
pub use as_type::AsTypeCodec;
use as_type::AsTypeFilter;
pub use bitround::BitRoundCodec;
use bitround::BitRoundFilter;
pub use cast_value::CastValueCodec;
use cast_value::CastValueFilter;
pub use delta::DeltaCodec;
use delta::DeltaFilter;
use fixed_scale_offset::FixedScaleOffsetFilter;
pub use fixed_scale_offset::{FixedScaleOffsetCodec, JsonNumber};
pub use quantize::QuantizeCodec;
use quantize::QuantizeFilter;
pub use rounding::{OutOfRange, RoundingMode};
pub use scale_offset::ScaleOffsetCodec;
use scale_offset::ScaleOffsetFilter;

/// A filter and the array that it makes.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    kernel: Kernel,
    encoded_layout: ChunkLayout,
    is_whole_codec: bool,
}

/// What a filter does to C-order elements in native byte order.
#[derive(Debug, Clone)]
enum Kernel {
    /// Nothing: only the axes change.
    Same,
    Delta(DeltaFilter),
    BitRound(BitRoundFilter),
    Quantize(QuantizeFilter),
    AsType(AsTypeFilter),
    FixedScaleOffset(FixedScaleOffsetFilter),
    PackTruth,
    CastValue(Box<CastValueFilter>),
    ScaleOffset(ScaleOffsetFilter),
}

impl Filter {
    /// Compiles a codec for arrays of `layout`; `None` for one that is no filter.
    ///
    /// A transpose comes to a filter that hands its elements on, to be compiled again behind it.
    ///
    /// # Errors
    ///
    /// `Invalid` or `Unsupported` when the codec does not fit such elements.
    pub(crate) fn compile(codec: &Codec, layout: &ChunkLayout) -> Result<Option<Self>, Error> {
        let (kernel, element) = match codec {
            Codec::Transpose(_) => (Kernel::Same, layout.element),
            Codec::Delta(delta) => {
                let filter = delta.compile(layout.element)?;
                (Kernel::Delta(filter), Element::number(filter.encoded))
            }
            Codec::BitRound(round) => (Kernel::BitRound(round.compile(layout.element)), layout.element),
            Codec::Quantize(quantize) => {
                let filter = quantize.compile(layout.element)?;
                (Kernel::Quantize(filter), Element::number(filter.encoded))
            }
            Codec::AsType(as_type) => {
                let filter = as_type.compile(layout.element)?;
                (Kernel::AsType(filter), Element::number(filter.encoded))
            }
            Codec::FixedScaleOffset(scale_offset) => {
                let filter = scale_offset.compile(layout.element)?;
                (Kernel::FixedScaleOffset(filter), Element::number(filter.encoded))
            }
            Codec::PackTruth => (Kernel::PackTruth, layout.element),
            Codec::CastValue(cast_value) => {
                let filter = cast_value.compile(layout.element)?;
                let element = Element::number(filter.encoded);
                (Kernel::CastValue(Box::new(filter)), element)
            }
            Codec::ScaleOffset(scale_offset) => {
                (Kernel::ScaleOffset(scale_offset.compile(layout.element)?), layout.element)
            }
            _ => return Ok(None),
        };
        let encoded_layout = match kernel {
            Kernel::PackTruth => packed_layout(layout)?,
            _ => ChunkLayout { shape: layout.shape.clone(), element },
        };
        let is_whole_codec = !matches!(codec, Codec::Transpose(_));
        Ok(Some(Self { kernel, encoded_layout, is_whole_codec }))
    }

    /// What it makes.
    pub(crate) fn encoded_layout(&self) -> &ChunkLayout {
        &self.encoded_layout
    }

    /// Whether it does all that its codec does.
    pub(crate) fn is_whole_codec(&self) -> bool {
        self.is_whole_codec
    }

    /// Whether decoding leaves the bytes as they are.
    pub(crate) fn decodes_to_itself(&self) -> bool {
        matches!(self.kernel, Kernel::Same | Kernel::BitRound(_))
    }

    /// Decodes the whole of `source` to the whole of `target`, whose lengths are those of the layouts.
    pub(crate) fn decode(&self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        match &self.kernel {
            Kernel::Same | Kernel::BitRound(_) => {
                target.copy_from_slice(source);
                Ok(())
            }
            Kernel::Delta(filter) => filter.decode(source, target),
            Kernel::Quantize(filter) => filter.decode(source, target),
            Kernel::AsType(filter) => filter.decode(source, target),
            Kernel::FixedScaleOffset(filter) => filter.decode(source, target),
            Kernel::CastValue(filter) => filter.decode(source, target),
            Kernel::ScaleOffset(filter) => filter.decode(source, target),
            Kernel::PackTruth => unpack_truth(source, target),
        }
    }

    /// Encodes the whole of `source` to the whole of `target`, whose lengths are those of the layouts.
    pub(crate) fn encode(&self, source: &[u8], target: &mut [u8]) -> Result<(), Error> {
        match &self.kernel {
            Kernel::Same => {
                target.copy_from_slice(source);
                Ok(())
            }
            Kernel::Delta(filter) => filter.encode(source, target),
            Kernel::BitRound(filter) => filter.encode(source, target),
            Kernel::Quantize(filter) => filter.encode(source, target),
            Kernel::AsType(filter) => filter.encode(source, target),
            Kernel::FixedScaleOffset(filter) => filter.encode(source, target),
            Kernel::CastValue(filter) => filter.encode(source, target),
            Kernel::ScaleOffset(filter) => filter.encode(source, target),
            Kernel::PackTruth => {
                pack_truth(source, target);
                Ok(())
            }
        }
    }
}

/// The number that an element of one number is, for a codec that numcodecs calls `dtype`'s: it sees elements as `stated`
/// where that is stated, and as what they are otherwise.
///
/// # Errors
///
/// `Invalid` when an element is not as long as what is stated; `Unsupported` when it is not one number.
fn number_of(codec: &'static str, element: Element, stated: Option<NumberType>) -> Result<NumberType, Error> {
    let found = match element.components() {
        Some((number, 1)) => number,
        _ => {
            return Err(Error::unsupported(
                codec,
                format!("wanted elements of one number, found {:?}", element.kind),
            ));
        }
    };
    match stated {
        Some(stated) if stated.size_bytes() != found.size_bytes() => Err(Error::invalid_field(
            codec,
            "dtype",
            &format!("a type of {} bytes, as the elements are", found.size_bytes()),
            stated.name(),
        )),
        stated => Ok(stated.unwrap_or(found)),
    }
}
