//! From codecs and a layout to a chain.

use super::filtered::Filtered;
use super::stage::{Stage, StageCodec};
use super::{Chain, Checksums};
use crate::codec::{Codec, CodecClass};
use crate::error::{Error, Wanted};
use crate::filter::Filter;
use crate::layout::ChunkLayout;
use crate::reorder::{Reorder, c_order_strides};
use crate::reshape::squeezed;

/// Codecs in a chain at most: a few are usual, and each filter is run within the one before it.
const CODECS_MAX: usize = 32;

impl Chain {
    /// Compiles `codecs`, in encode order, for chunks of `layout`.
    ///
    /// # Errors
    ///
    /// `Invalid` when there is not exactly one array->bytes codec with the array->array codecs before it and the
    /// bytes->bytes codecs after (Zarr v3 core, "Chunk encoding"); when a codec does not fit the layout that the codecs
    /// before it leave: a transpose of other rank, another shape, elements of another type, no byte order for elements that
    /// need one, more bytes than the codec's format has; or when the layout is not one that memory can hold. `Unsupported`
    /// for more than 32 codecs, and for elements that a codec of this crate cannot calculate with.
    pub fn compile(codecs: &[Codec], layout: &ChunkLayout) -> Result<Self, Error> {
        if CODECS_MAX < codecs.len() {
            let found = codecs.len();
            return Err(Error::unsupported(
                "chain",
                format!("wanted {CODECS_MAX} codecs at most, found {found}"),
            ));
        }
        let classes = || codecs.iter().map(Codec::class);
        let array_to_bytes = classes().filter(|class| *class == CodecClass::ArrayToBytes).count();
        if array_to_bytes != 1 || !classes().is_sorted() {
            return Err(misplaced(codecs));
        }
        Self::compile_ordered(codecs, layout)
    }

    /// The same, for codecs whose order is sound.
    fn compile_ordered(codecs: &[Codec], layout: &ChunkLayout) -> Result<Self, Error> {
        let (shape, decoded_len) = layout.checked()?;
        let mut stored = StoredArray::new(&layout.shape);
        let at = stored.take_axes(codecs)?;
        let here = ChunkLayout { shape: stored.shape, element: layout.element };
        let (stages, swap_unit_bytes) = stages(&codecs[at..], &here, decoded_len)?;
        let length = match stages.last() {
            Some(last) => last.stored()?,
            None => Wanted::Exactly(decoded_len),
        };

        let element_bytes = layout.element.size_bytes;
        let stored_shape: Vec<usize> = stored.axes.iter().map(|&axis| shape[axis]).collect();
        let stored_strides = c_order_strides(&stored_shape, element_bytes);
        let native_strides = c_order_strides(&shape, element_bytes);
        let mut strides = vec![0; shape.len()];
        for (&axis, &stride) in stored.axes.iter().zip(&stored_strides) {
            strides[axis] = stride;
        }
        let native_by_stored: Vec<usize> = stored.axes.iter().map(|&axis| native_strides[axis]).collect();
        Ok(Self {
            to_native: Reorder::new(&shape, &strides, element_bytes, swap_unit_bytes),
            to_stored: Reorder::new(&stored_shape, &native_by_stored, element_bytes, swap_unit_bytes),
            layout: layout.clone(),
            decoded_len,
            strides,
            native_strides,
            swap_unit_bytes,
            stages,
            encoded_len_max: length.bytes() as u64,
            encoded_len_fixed: match length {
                Wanted::Exactly(bytes) => Some(bytes as u64),
                Wanted::AtMost(_) => None,
            },
            checksums: Checksums::Verify,
            phrases: codecs.iter().map(Codec::describe).collect(),
        })
    }
}

/// The array that codecs which only move or rename axes leave.
pub(super) struct StoredArray {
    /// Which logical axis each stored axis is.
    pub(super) axes: Vec<usize>,
    /// The shape that the next codec sees: that of the stored axes, or what a reshape made of it.
    pub(super) shape: Vec<u64>,
}

impl StoredArray {
    pub(super) fn new(shape: &[u64]) -> Self {
        Self { axes: (0..shape.len()).collect(), shape: shape.to_vec() }
    }

    /// Takes in the codecs that come to strides, and returns where the others start.
    ///
    /// A transpose of reshaped axes is left, with the reshape's shape: strides cannot tell it.
    pub(super) fn take_axes(&mut self, codecs: &[Codec]) -> Result<usize, Error> {
        let mut is_reshaped = false;
        for (at, codec) in codecs.iter().enumerate() {
            match codec {
                Codec::Transpose(transpose) => {
                    let order = transpose.axes(self.shape.len())?;
                    if is_reshaped && !order.is_sorted() {
                        return Ok(at);
                    }
                    if !is_reshaped {
                        self.shape = order.iter().map(|&axis| self.shape[axis]).collect();
                        self.axes = order.into_iter().map(|axis| self.axes[axis]).collect();
                    }
                }
                Codec::Reshape(reshape) => {
                    self.shape = reshape.output_shape(&self.shape)?;
                    is_reshaped = true;
                }
                Codec::Squeeze => {
                    self.shape = squeezed(&self.shape);
                    is_reshaped = true;
                }
                _ => return Ok(at),
            }
        }
        Ok(codecs.len())
    }
}

/// The stages of `codecs` over an array of `layout`, and the unit to swap ahead of them.
fn stages(
    codecs: &[Codec],
    layout: &ChunkLayout,
    decoded_len: usize,
) -> Result<(Vec<Stage>, Option<usize>), Error> {
    let wanted = Wanted::Exactly(decoded_len);
    let Some((first, rest)) = codecs.split_first() else { return Err(misplaced(codecs)) };
    if let Some(filter) = Filter::compile(first, layout)? {
        // A transpose that strides could not tell is compiled again, over the shape that it sees.
        let rest = if filter.is_whole_codec() { rest } else { codecs };
        let inner = Chain::compile_ordered(rest, filter.encoded_layout())?;
        let codec = StageCodec::Filtered(Box::new(Filtered::new(filter, inner)));
        return Ok((vec![Stage { codec, wanted }], None));
    }
    let mut stages = Vec::new();
    let mut length = wanted;
    let mut push = |codec: Option<StageCodec>| {
        let stage = Stage { codec: codec.ok_or_else(|| misplaced(codecs))?, wanted: length };
        length = stage.stored()?;
        stages.push(stage);
        Ok::<(), Error>(())
    };
    let swap_unit_bytes = match first {
        Codec::Bytes(_) if layout.element.present().is_some() => {
            let message = "wanted `optional` for elements that may be missing, found `bytes`";
            return Err(Error::invalid("bytes", message));
        }
        Codec::Bytes(bytes) => bytes.foreign_unit(layout.element.swap_unit_bytes)?,
        _ => {
            push(StageCodec::array_to_bytes(first, layout)?)?;
            None
        }
    };
    // What follows `bytes` encodes the elements themselves.
    let mut content = (matches!(first, Codec::Bytes(_)) && swap_unit_bytes.is_none()).then_some(layout);
    for codec in rest {
        push(StageCodec::bytes_to_bytes(codec, content.take()))?;
    }
    Ok((stages, swap_unit_bytes))
}

fn misplaced(codecs: &[Codec]) -> Error {
    let names: Vec<&str> = codecs.iter().map(Codec::name).collect();
    Error::invalid(
        "chain",
        format!(
            "wanted array->array codecs, then one array->bytes codec, then bytes->bytes codecs, found [{}]",
            names.join(", ")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Element, ErrorKind, NumberType};
    use serde_json::json;

    fn codec(name: &str) -> Codec {
        let configuration = match name {
            "bytes" => json!({"endian": "little"}),
            "transpose" => json!({"order": [1, 0]}),
            _ => json!(null),
        };
        Codec::from_v3(name, &configuration).unwrap()
    }

    fn compile(names: &[&str], shape: &[u64]) -> Result<Chain, Error> {
        let codecs: Vec<Codec> = names.iter().map(|name| codec(name)).collect();
        let layout = ChunkLayout { shape: shape.to_vec(), element: Element::number(NumberType::Float32) };
        Chain::compile(&codecs, &layout)
    }

    #[test]
    fn kinds_must_be_in_order() {
        for names in [
            &[][..],
            &["gzip"],
            &["gzip", "bytes"],
            &["bytes", "bytes"],
            &["bytes", "transpose"],
            &["transpose", "zstd", "bytes"],
            &["bytes", "zstd", "transpose"],
        ] {
            assert_eq!(compile(names, &[2, 3]).unwrap_err().kind(), ErrorKind::Invalid, "{names:?}");
        }
        assert_eq!(compile(&["transpose", "bytes"], &[2, 3, 4]).unwrap_err().kind(), ErrorKind::Invalid);
    }

    #[test]
    fn lengths_follow_from_the_chain() {
        let raw = compile(&["bytes"], &[2, 3]).unwrap();
        assert_eq!((raw.decoded_len(), raw.encoded_len_max(), raw.encoded_len_fixed()), (24, 24, Some(24)));
        let checked = compile(&["bytes", "crc32c", "crc32c"], &[2, 3]).unwrap();
        assert_eq!((checked.encoded_len_max(), checked.encoded_len_fixed()), (32, Some(32)));
        let packed = compile(&["bytes", "zstd", "crc32c"], &[2, 3]).unwrap();
        assert_eq!((packed.encoded_len_max(), packed.encoded_len_fixed()), (24 + 3 + 4096 + 4, None));
    }

    #[test]
    fn many_small_chunks_have_few_headers() {
        for (names, one, each) in [
            (&["bytes", "crc32c"][..], 28, 28),
            (&["bytes", "gzip"], 24 + 3 + 4096, 24 + 3 + 256),
            (&["transpose", "bytes", "gzip", "crc32c"], 24 + 3 + 4096 + 4, 24 + 3 + 256 + 4),
        ] {
            let chain = compile(names, &[2, 3]).unwrap();
            assert_eq!((chain.encoded_len_max(), chain.encoded_len_max_of(1)), (one, one), "{names:?}");
            assert_eq!(chain.encoded_len_max_of(1001), one + 1000 * each, "{names:?}");
            assert_eq!(chain.encoded_len_max_of(u64::MAX), u64::MAX, "{names:?}");
        }
    }

    #[test]
    fn lengths_past_a_format_are_refused() {
        for name in ["lz4", "blosc"] {
            let error = compile(&["bytes", name], &[1 << 30]).unwrap_err();
            assert_eq!((error.kind(), error.codec()), (ErrorKind::Invalid, name));
        }
        assert!(compile(&["bytes", "zstd"], &[1 << 40]).is_ok());
        assert!(compile(&["bytes", "zstd"], &[(1 << 61) - 1]).is_err());
    }

    #[test]
    fn shortcuts_are_seen() {
        let is = |names: &[&str], shape: &[u64]| {
            let chain = compile(names, shape).unwrap();
            (chain.is_identity(), chain.decodes_in_place())
        };
        assert_eq!(is(&["bytes"], &[2, 3]), (true, true));
        assert_eq!(is(&["transpose", "bytes"], &[2, 3]), (false, false));
        assert_eq!(is(&["transpose", "bytes"], &[1, 3]), (true, true));
        assert_eq!(is(&["transpose", "transpose", "bytes"], &[2, 3]), (true, true));
        assert_eq!(is(&["bytes", "crc32c"], &[2, 3]), (false, true));
        assert_eq!(is(&["bytes", "zstd", "crc32c"], &[2, 3]), (false, true));
        assert_eq!(is(&["bytes", "crc32c", "zstd"], &[2, 3]), (false, false));
    }

    #[test]
    fn phrases_are_in_encode_order() {
        let chain = compile(&["bytes", "blosc", "crc32c"], &[2, 3]).unwrap();
        assert_eq!(chain.describe(), ["bytes(little)", "blosc(lz4, shuffle, level 5)", "crc32c"]);
    }
}
