//! From codecs and a layout to a chain.

use super::stage::{Stage, StageCodec};
use super::{Chain, Checksums};
use crate::bytes::BytesCodec;
use crate::codec::Codec;
use crate::error::{Error, Wanted};
use crate::layout::ChunkLayout;
use crate::reorder::{Reorder, c_order_strides};

impl Chain {
    /// Compiles `codecs`, in encode order, for chunks of `layout`.
    ///
    /// # Errors
    ///
    /// `Invalid` when there is not exactly one array->bytes codec with the array->array codecs before it and the
    /// bytes->bytes codecs after (Zarr v3 core, "Chunk encoding"); when a codec does not fit the layout: a transpose of
    /// other rank, no byte order for elements that need one, more bytes than the codec's format has; or when the layout
    /// is not one that memory can hold.
    pub fn compile(codecs: &[Codec], layout: &ChunkLayout) -> Result<Self, Error> {
        let (shape, decoded_len) = layout.checked()?;
        let rank = shape.len();
        // Which logical axis each stored axis is.
        let mut stored_axes: Vec<usize> = (0..rank).collect();
        let mut bytes_codec: Option<BytesCodec> = None;
        let mut stages: Vec<Stage> = Vec::new();
        let mut length = Wanted::Exactly(decoded_len);
        for codec in codecs {
            match (codec, bytes_codec) {
                (Codec::Transpose(transpose), None) => {
                    stored_axes = transpose.axes(rank)?.into_iter().map(|axis| stored_axes[axis]).collect();
                }
                (Codec::Bytes(bytes), None) => bytes_codec = Some(*bytes),
                _ => {
                    let codec = stage_codec(codec).filter(|_| bytes_codec.is_some());
                    let stage = Stage { codec: codec.ok_or_else(|| misplaced(codecs))?, wanted: length };
                    length = stage.stored()?;
                    stages.push(stage);
                }
            }
        }
        let bytes_codec = bytes_codec.ok_or_else(|| misplaced(codecs))?;
        let swap_unit_bytes = bytes_codec.foreign_unit(layout.element.swap_unit_bytes)?;
        let element_bytes = layout.element.size_bytes;

        let stored_shape: Vec<usize> = stored_axes.iter().map(|&axis| shape[axis]).collect();
        let stored_strides = c_order_strides(&stored_shape, element_bytes);
        let native_strides = c_order_strides(&shape, element_bytes);
        let mut strides = vec![0; rank];
        for (&axis, &stride) in stored_axes.iter().zip(&stored_strides) {
            strides[axis] = stride;
        }
        let native_by_stored: Vec<usize> = stored_axes.iter().map(|&axis| native_strides[axis]).collect();
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

fn stage_codec(codec: &Codec) -> Option<StageCodec> {
    match codec {
        Codec::Bytes(_) | Codec::Transpose(_) => None,
        Codec::Gzip(codec) => Some(StageCodec::Gzip(*codec)),
        Codec::Zlib(codec) => Some(StageCodec::Zlib(*codec)),
        Codec::Zstd(codec) => Some(StageCodec::Zstd(*codec)),
        Codec::Blosc(codec) => Some(StageCodec::Blosc(*codec)),
        Codec::Lz4(codec) => Some(StageCodec::Lz4(*codec)),
        Codec::Bz2(codec) => Some(StageCodec::Bz2(*codec)),
        Codec::Lzma(codec) => Some(StageCodec::Lzma(codec.clone())),
        Codec::Shuffle(codec) => Some(StageCodec::Shuffle(*codec)),
        Codec::Checksum(codec) => Some(StageCodec::Checksum(*codec)),
    }
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
    use crate::{Element, ErrorKind};
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
        let layout =
            ChunkLayout { shape: shape.to_vec(), element: Element { size_bytes: 4, swap_unit_bytes: 4 } };
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
