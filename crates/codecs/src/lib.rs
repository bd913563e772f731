//! Decode and encode chunks into memory that the caller owns.
//!
//! This crate turns stored bytes into a C-order chunk in native byte order, and back. It starts from a chain of
//! [`Codec`]s, as Zarr metadata names them, compiled once per array into a [`Chain`]; each thread keeps a
//! [`Scratch`] with the libraries' contexts and the buffers between stages.
//!
//! It does not know: where bytes come from (no I/O), which thread it is on (no threads, no locks), what an array,
//! a group, a chunk grid or a shard is. It never allocates more than the chain promised, and bytes that do not
//! fit the promise are an [`Error`], never a panic.
//!
//! ```
//! use swath_codecs::{Chain, ChunkLayout, Codec, Element, NumberType, Scratch};
//!
//! let layout = ChunkLayout { shape: vec![2, 3], element: Element::number(NumberType::Float32) };
//! let codecs = [
//!     Codec::from_v3("bytes", &serde_json::json!({"endian": "big"}))?,
//!     Codec::from_v3("zstd", &serde_json::json!({"level": 3, "checksum": true}))?,
//! ];
//! let chain = Chain::compile(&codecs, &layout)?;
//! let mut scratch = Scratch::default();
//!
//! let chunk: Vec<u8> = (0..24).collect();
//! let mut stored = Vec::new();
//! chain.encode(&chunk, &mut stored, &mut scratch)?;
//! let mut decoded = vec![0; chain.decoded_len()];
//! chain.decode_into(&stored, &mut decoded, &mut scratch)?;
//! assert_eq!(decoded, chunk);
//! # Ok::<(), swath_codecs::Error>(())
//! ```

#![deny(unsafe_code)]

mod blosc;
mod byte_swap;
mod bytes;
mod bz2;
mod chain;
mod checksum;
mod codec;
mod configuration;
mod conversion;
mod deflate;
mod error;
mod filter;
mod float_format;
mod gdeflate;
mod gzip;
mod inflate;
mod layout;
mod limits;
mod lz4;
mod lzma;
mod number;
mod numpy_type;
mod optional;
mod pack_bits;
mod packed_words;
mod pcodec;
mod registered;
mod reorder;
mod reshape;
mod scratch;
mod shuffle;
mod stitch;
mod transpose;
mod variable;
mod zfp;
mod zlib;
mod zstd;

pub use blosc::{BloscCodec, BloscCompressor, BloscShuffle};
pub use bytes::BytesCodec;
pub use bz2::Bz2Codec;
pub use chain::{Chain, Checksums, DecodedChunk, VariableChain, VariableChunk};
pub use checksum::{ChecksumAlgorithm, ChecksumCodec, ChecksumLocation};
pub use codec::{Codec, CodecClass};
pub use conversion::{CompiledConversion, Conversion, NanMeans, Number};
pub use error::{Error, ErrorKind};
pub use filter::{
    AsTypeCodec, BitRoundCodec, CastValueCodec, DeltaCodec, FixedScaleOffsetCodec, JsonNumber, OutOfRange,
    QuantizeCodec, RoundingMode, ScaleOffsetCodec,
};
pub use gdeflate::GdeflateCodec;
pub use gzip::GzipCodec;
pub use inflate::{crc32, inflate};
pub use layout::{ByteOrder, ChunkLayout, Element, ElementKind, OptionalKind};
pub use lz4::{Lz4Codec, Lz4H5Codec};
pub use lzma::{LzmaCodec, LzmaFormat};
pub use number::{NumberClass, NumberType};
pub use numpy_type::NumpyType;
pub use optional::OptionalCodec;
pub use pack_bits::{PackBitsCodec, PackBitsPadding};
pub use pcodec::{PcodecCodec, PcodecDelta, PcodecMode};
pub use registered::{CodecCode, RegisteredCodec, register_codecs};
pub use reshape::{ReshapeAxis, ReshapeCodec};
pub use scratch::Scratch;
pub use shuffle::ShuffleCodec;
pub use stitch::{AxisTile, Cut, CutAxis, CutView, Output, OutputMemory, Picks, Tile};
pub use transpose::{TransposeCodec, TransposeOrder};
pub use variable::{IndexedCodec, OffsetsLocation, VariableCodec, VariableElements};
pub use zfp::{ZfpCodec, ZfpMode};
pub use zlib::ZlibCodec;
pub use zstd::ZstdCodec;
