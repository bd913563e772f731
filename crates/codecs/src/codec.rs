//! One codec as metadata names it.

use serde_json::{Value, json};

use crate::blosc::BloscCodec;
use crate::bytes::BytesCodec;
use crate::bz2::Bz2Codec;
use crate::checksum::ChecksumCodec;
use crate::configuration::Configuration;
use crate::error::Error;
use crate::filter::{
    AsTypeCodec, BitRoundCodec, CastValueCodec, DeltaCodec, FixedScaleOffsetCodec, QuantizeCodec,
    ScaleOffsetCodec,
};
use crate::gdeflate::GdeflateCodec;
use crate::gzip::GzipCodec;
use crate::layout::ByteOrder;
use crate::lz4::{Lz4Codec, Lz4H5Codec};
use crate::lzma::LzmaCodec;
use crate::optional::OptionalCodec;
use crate::pack_bits::PackBitsCodec;
use crate::pcodec::PcodecCodec;
use crate::registered::{RegisteredCodec, find_registered};
use crate::reshape::ReshapeCodec;
use crate::shuffle::ShuffleCodec;
use crate::transpose::TransposeCodec;
use crate::variable::VariableCodec;
use crate::zfp::ZfpCodec;
use crate::zlib::ZlibCodec;
use crate::zstd::ZstdCodec;

/// One codec as metadata names it, its configuration checked.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Codec {
    /// Elements in a stated byte order: the usual array->bytes codec.
    Bytes(BytesCodec),
    /// Axes in another order.
    Transpose(TransposeCodec),
    /// Some bits of each number, packed.
    PackBits(PackBitsCodec),
    /// Numbers compressed by Pco.
    Pcodec(PcodecCodec),
    /// Numbers compressed by zfp, which are written only by codecs of the program's own.
    Zfp(Box<ZfpCodec>),
    /// Elements that may be missing: which are there, and those that are.
    Optional(Box<OptionalCodec>),
    /// Truth values packed to bytes, as numcodecs' `packbits`.
    PackTruth,
    /// Other axes over the same elements.
    Reshape(ReshapeCodec),
    /// Axes of one element left out.
    Squeeze,
    /// Differences of neighbours.
    Delta(DeltaCodec),
    /// Numbers rounded to fewer bits.
    BitRound(BitRoundCodec),
    /// Floats rounded to decimal digits.
    Quantize(QuantizeCodec),
    /// Numbers of another type.
    AsType(AsTypeCodec),
    /// Numbers scaled to whole ones.
    FixedScaleOffset(FixedScaleOffsetCodec),
    /// The same numbers of another type.
    CastValue(CastValueCodec),
    /// Numbers scaled within their type.
    ScaleOffset(ScaleOffsetCodec),
    /// DEFLATE with a CRC-32 (RFC 1952).
    Gzip(GzipCodec),
    /// DEFLATE with an Adler-32 (RFC 1950).
    Zlib(ZlibCodec),
    /// Zstandard (RFC 8878).
    Zstd(ZstdCodec),
    /// Blocks, shuffled and compressed (c-blosc 1).
    Blosc(BloscCodec),
    /// LZ4 with numcodecs' framing.
    Lz4(Lz4Codec),
    /// LZ4 with HDF5's framing.
    Lz4H5(Lz4H5Codec),
    /// bzip2.
    Bz2(Bz2Codec),
    /// LZMA, as Python has it.
    Lzma(LzmaCodec),
    /// GDEFLATE, which is only read.
    Gdeflate(GdeflateCodec),
    /// The bytes of elements grouped by their place.
    Shuffle(ShuffleCodec),
    /// A checksum of the content: `crc32c`, `crc32`, `adler32`, `fletcher32`, `jenkins_lookup3`.
    Checksum(ChecksumCodec),
    /// Elements of any length: the array->bytes codec of [`VariableChain`](crate::VariableChain).
    Variable(VariableCodec),
    /// One of the program's own: [`register_codecs`](crate::register_codecs).
    Registered(RegisteredCodec),
}

/// Between what a codec stands, in the order that a chain has them in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodecClass {
    /// Makes another array of an array.
    ArrayToArray,
    /// Makes bytes of an array: a chain has one.
    ArrayToBytes,
    /// Makes other bytes of bytes.
    BytesToBytes,
}

/// What a name that is not known is answered with.
const KNOWN: &str = "wanted bytes, transpose, reshape, squeeze, delta, bitround, quantize, astype, fixedscaleoffset, cast_value, scale_offset, \
                     packbits, pcodec, zfp, zfpy, optional, gzip, zlib, zstd, blosc, lz4, imagecodecs_lz4h5, bz2, lzma, gdeflate, shuffle, crc32c, crc32, adler32, fletcher32 or jenkins_lookup3";

impl Codec {
    /// Reads a v3 metadata entry: `name`, and `configuration`, an object or null.
    ///
    /// Takes the names of the v3 specifications and, for what numcodecs has, also with `numcodecs.` before them; then
    /// the configuration is numcodecs', whose fields differ little and are taken under either name. Fields that may be
    /// left out get numcodecs' defaults.
    ///
    /// # Errors
    ///
    /// `Unsupported`, naming the codec, for a name that neither this crate nor a registered finder knows. `Invalid`, naming codec, field, what
    /// was wanted and what was found, for a configuration that does not fit.
    pub fn from_v3(name: &str, configuration: &Value) -> Result<Self, Error> {
        match name {
            "bytes" | "endian" => BytesCodec::from_json(configuration).map(Self::Bytes),
            "transpose" => TransposeCodec::from_json(configuration).map(Self::Transpose),
            "cast_value" => CastValueCodec::from_json(configuration).map(Self::CastValue),
            "scale_offset" => ScaleOffsetCodec::from_json(configuration).map(Self::ScaleOffset),
            "packbits" => PackBitsCodec::from_json(configuration).map(Self::PackBits),
            "reshape" => ReshapeCodec::from_json(configuration).map(Self::Reshape),
            "optional" | "zarrs.optional" => {
                OptionalCodec::from_json(configuration).map(|codec| Self::Optional(Box::new(codec)))
            }
            "zfp" | "zarrs.zfp" => ZfpCodec::from_json(configuration).map(|codec| Self::Zfp(Box::new(codec))),
            "gdeflate" | "zarrs.gdeflate" => GdeflateCodec::from_json(configuration).map(Self::Gdeflate),
            "squeeze" | "zarrs.squeeze" => {
                Configuration::new("squeeze", configuration, &[]).map(|_| Self::Squeeze)
            }
            _ => {
                let bare = name.strip_prefix("numcodecs.").unwrap_or(name);
                Self::from_bare_name(
                    bare,
                    name,
                    configuration,
                    || json!({"name": name, "configuration": configuration}),
                )
            }
        }
    }

    /// Reads a v2 `compressor` entry, or one of `filters`: an object with `id` and the fields beside it.
    ///
    /// # Errors
    ///
    /// As for [`from_v3`](Self::from_v3); `Invalid` also when there is no `id`.
    pub fn from_v2(entry: &Value) -> Result<Self, Error> {
        match entry.get("id").and_then(Value::as_str) {
            Some(id) => Self::from_bare_name(id, id, entry, || entry.clone()),
            None => Err(Error::invalid(
                "chain",
                format!("wanted a codec: an object with a string `id`, found {entry}"),
            )),
        }
    }

    /// The codecs of a list within another codec's configuration: names, or objects as in an array's metadata.
    pub(crate) fn list_from_v3(
        codec: &'static str,
        field: &str,
        entries: &Value,
    ) -> Result<Vec<Self>, Error> {
        let wrong = || Error::invalid_field(codec, field, "an array of codecs", entries);
        let entry = |entry: &Value| match (entry, entry.get("name")) {
            (Value::String(name), _) => Self::from_v3(name, &Value::Null),
            (_, Some(Value::String(name))) => {
                Self::from_v3(name, entry.get("configuration").unwrap_or(&Value::Null))
            }
            _ => Err(wrong()),
        };
        entries.as_array().ok_or_else(wrong)?.iter().map(entry).collect()
    }

    /// The codec of this name, or what is registered for the metadata entry.
    fn from_bare_name(
        bare: &str,
        name: &str,
        configuration: &Value,
        entry: impl FnOnce() -> Value,
    ) -> Result<Self, Error> {
        match bare {
            "gzip" => GzipCodec::from_json(configuration).map(Self::Gzip),
            "zlib" => ZlibCodec::from_json(configuration).map(Self::Zlib),
            "zstd" => ZstdCodec::from_json(configuration).map(Self::Zstd),
            "blosc" => BloscCodec::from_json(configuration).map(Self::Blosc),
            "lz4" => Lz4Codec::from_json(configuration).map(Self::Lz4),
            "imagecodecs_lz4h5" => Lz4H5Codec::from_json(configuration).map(Self::Lz4H5),
            "bz2" => Bz2Codec::from_json(configuration).map(Self::Bz2),
            "lzma" => LzmaCodec::from_json(configuration).map(Self::Lzma),
            "shuffle" => ShuffleCodec::from_json(configuration).map(Self::Shuffle),
            "packbits" => Configuration::new("packbits", configuration, &["id"]).map(|_| Self::PackTruth),
            "pcodec" => PcodecCodec::from_json(configuration).map(Self::Pcodec),
            "zfpy" => {
                let encoder = find_registered(&entry()).transpose()?;
                ZfpCodec::from_zfpy_json(configuration, encoder).map(|codec| Self::Zfp(Box::new(codec)))
            }
            "delta" => DeltaCodec::from_json(configuration).map(Self::Delta),
            "bitround" => BitRoundCodec::from_json(configuration).map(Self::BitRound),
            "quantize" => QuantizeCodec::from_json(configuration).map(Self::Quantize),
            "astype" => AsTypeCodec::from_json(configuration).map(Self::AsType),
            "fixedscaleoffset" => FixedScaleOffsetCodec::from_json(configuration).map(Self::FixedScaleOffset),
            _ => match ChecksumCodec::from_json(bare, configuration)
                .map(|checksum| checksum.map(Self::Checksum))
                .or_else(|| Some(VariableCodec::from_json(bare, configuration)?.map(Self::Variable)))
            {
                Some(found) => found,
                None => match find_registered(&entry()) {
                    Some(codec) => codec.map(Self::Registered),
                    None => Err(Error::unsupported(name.to_owned(), KNOWN)),
                },
            },
        }
    }

    /// Between what the codec stands.
    #[must_use]
    pub fn class(&self) -> CodecClass {
        match self {
            Self::Transpose(_)
            | Self::Reshape(_)
            | Self::Squeeze
            | Self::Delta(_)
            | Self::BitRound(_)
            | Self::Quantize(_)
            | Self::AsType(_)
            | Self::FixedScaleOffset(_)
            | Self::CastValue(_)
            | Self::ScaleOffset(_)
            | Self::PackTruth => CodecClass::ArrayToArray,
            Self::Bytes(_)
            | Self::PackBits(_)
            | Self::Pcodec(_)
            | Self::Zfp(_)
            | Self::Optional(_)
            | Self::Variable(_) => CodecClass::ArrayToBytes,
            Self::Gzip(_)
            | Self::Zlib(_)
            | Self::Zstd(_)
            | Self::Blosc(_)
            | Self::Lz4(_)
            | Self::Lz4H5(_)
            | Self::Bz2(_)
            | Self::Lzma(_)
            | Self::Gdeflate(_)
            | Self::Shuffle(_)
            | Self::Checksum(_) => CodecClass::BytesToBytes,
            Self::Registered(codec) => codec.class(),
        }
    }

    /// The byte order of the elements that an array->array codec makes, where its metadata state one, as numcodecs' type
    /// strings do. In Zarr v2, whose chains have no `bytes`, it says how elements are stored.
    #[must_use]
    pub fn stored_order(&self) -> Option<ByteOrder> {
        match self {
            Self::Delta(codec) => codec.stored_order(),
            Self::Quantize(codec) => codec.stored_order(),
            Self::AsType(codec) => codec.stored_order(),
            Self::FixedScaleOffset(codec) => codec.stored_order(),
            _ => None,
        }
    }

    /// Whether the codec does the same to an element wherever it lies, so that a part of an array encodes to that part of
    /// the encoded array. Only array->array codecs that do can stand ahead of a `sharding_indexed`; transposes, which
    /// move elements, are not among them.
    #[must_use]
    pub fn is_elementwise(&self) -> bool {
        matches!(
            self,
            Self::BitRound(_)
                | Self::Quantize(_)
                | Self::AsType(_)
                | Self::FixedScaleOffset(_)
                | Self::CastValue(_)
                | Self::ScaleOffset(_)
        )
    }

    /// The codec's short name, without a prefix.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Bytes(_) => "bytes",
            Self::Transpose(_) => "transpose",
            Self::Reshape(_) => "reshape",
            Self::Squeeze => "squeeze",
            Self::PackBits(_) | Self::PackTruth => "packbits",
            Self::Pcodec(_) => "pcodec",
            Self::Optional(_) => "optional",
            Self::Zfp(codec) => codec.name(),
            Self::Delta(_) => "delta",
            Self::BitRound(_) => "bitround",
            Self::Quantize(_) => "quantize",
            Self::AsType(_) => "astype",
            Self::FixedScaleOffset(_) => "fixedscaleoffset",
            Self::CastValue(_) => "cast_value",
            Self::ScaleOffset(_) => "scale_offset",
            Self::Gzip(_) => "gzip",
            Self::Zlib(_) => "zlib",
            Self::Zstd(_) => "zstd",
            Self::Blosc(_) => "blosc",
            Self::Lz4(_) => "lz4",
            Self::Lz4H5(_) => "imagecodecs_lz4h5",
            Self::Bz2(_) => "bz2",
            Self::Lzma(_) => "lzma",
            Self::Gdeflate(_) => "gdeflate",
            Self::Shuffle(_) => "shuffle",
            Self::Checksum(codec) => codec.algorithm.name(),
            Self::Variable(codec) => codec.name(),
            Self::Registered(codec) => codec.name(),
        }
    }

    /// The v3 metadata entry: an object with `name` and, where the codec has any setting, `configuration`.
    ///
    /// What v3 has no specification for is written under numcodecs' name, which zarr-python reads.
    #[must_use]
    pub fn to_v3(&self) -> Value {
        let (name, configuration) = match self {
            Self::Bytes(codec) => ("bytes", codec.to_json()),
            Self::Transpose(codec) => ("transpose", codec.to_json()),
            Self::Reshape(codec) => ("reshape", codec.to_json()),
            Self::Squeeze => ("zarrs.squeeze", Value::Null),
            Self::PackBits(codec) => ("packbits", codec.to_json()),
            Self::PackTruth => ("numcodecs.packbits", Value::Null),
            Self::Pcodec(codec) => ("numcodecs.pcodec", codec.to_json()),
            Self::Optional(codec) => ("zarrs.optional", codec.to_json()),
            Self::Zfp(codec) => (codec.v3_name(), codec.to_json()),
            Self::Delta(codec) => ("numcodecs.delta", codec.to_json()),
            Self::BitRound(codec) => ("bitround", codec.to_json()),
            Self::Quantize(codec) => ("numcodecs.quantize", codec.to_json()),
            Self::AsType(codec) => ("numcodecs.astype", codec.to_json()),
            Self::FixedScaleOffset(codec) => ("numcodecs.fixedscaleoffset", codec.to_json()),
            Self::CastValue(codec) => ("cast_value", codec.to_json()),
            Self::ScaleOffset(codec) => ("scale_offset", codec.to_json()),
            Self::Gzip(codec) => ("gzip", codec.to_json()),
            Self::Zlib(codec) => ("numcodecs.zlib", codec.to_json()),
            Self::Zstd(codec) => ("zstd", codec.to_json()),
            Self::Blosc(codec) => ("blosc", codec.to_json()),
            Self::Lz4(codec) => ("numcodecs.lz4", codec.to_json()),
            Self::Lz4H5(codec) => ("numcodecs.imagecodecs_lz4h5", codec.to_json()),
            Self::Bz2(codec) => ("numcodecs.bz2", codec.to_json()),
            Self::Lzma(codec) => ("numcodecs.lzma", codec.to_json()),
            Self::Gdeflate(codec) => ("zarrs.gdeflate", codec.to_json()),
            Self::Shuffle(codec) => ("numcodecs.shuffle", codec.to_json()),
            Self::Checksum(codec) => (codec.v3_name(), codec.to_json()),
            Self::Variable(codec) => (codec.v3_name(), codec.to_json()),
            Self::Registered(codec) => return codec.to_v3(),
        };
        if configuration.is_null() {
            json!({"name": name})
        } else {
            json!({"name": name, "configuration": configuration})
        }
    }

    /// One short phrase for people: `blosc(lz4, bitshuffle, level 5)`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Bytes(codec) => codec.describe(),
            Self::Transpose(codec) => codec.describe(),
            Self::Reshape(codec) => codec.describe(),
            Self::PackBits(codec) => codec.describe(),
            Self::Pcodec(codec) => codec.describe(),
            Self::Optional(codec) => codec.describe(),
            Self::Zfp(codec) => codec.describe(),
            Self::Delta(codec) => codec.describe(),
            Self::BitRound(codec) => codec.describe(),
            Self::Quantize(codec) => codec.describe(),
            Self::AsType(codec) => codec.describe(),
            Self::FixedScaleOffset(codec) => codec.describe(),
            Self::CastValue(codec) => codec.describe(),
            Self::ScaleOffset(codec) => codec.describe(),
            Self::Gzip(codec) => codec.describe(),
            Self::Zlib(codec) => codec.describe(),
            Self::Zstd(codec) => codec.describe(),
            Self::Blosc(codec) => codec.describe(),
            Self::Lz4(codec) => codec.describe(),
            Self::Lz4H5(codec) => codec.describe(),
            Self::Bz2(codec) => codec.describe(),
            Self::Lzma(codec) => codec.describe(),
            Self::Gdeflate(codec) => codec.describe(),
            Self::Shuffle(codec) => codec.describe(),
            Self::Squeeze | Self::PackTruth | Self::Checksum(_) | Self::Variable(_) | Self::Registered(_) => {
                self.name().to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn v3_entries_round_trip() {
        for entry in [
            json!({"name": "bytes", "configuration": {"endian": "big"}}),
            json!({"name": "bytes"}),
            json!({"name": "transpose", "configuration": {"order": [1, 0]}}),
            json!({"name": "gzip", "configuration": {"level": 4}}),
            json!({"name": "numcodecs.zlib", "configuration": {"level": 4}}),
            json!({"name": "zstd", "configuration": {"level": -4, "checksum": true}}),
            json!({"name": "blosc", "configuration": {
                "cname": "lz4hc", "clevel": 9, "shuffle": "shuffle", "blocksize": 64, "typesize": 8}}),
            json!({"name": "numcodecs.lz4", "configuration": {"acceleration": 4}}),
            json!({"name": "numcodecs.imagecodecs_lz4h5", "configuration": {"level": 2, "blocksize": 512}}),
            json!({"name": "numcodecs.bz2", "configuration": {"level": 5}}),
            json!({"name": "numcodecs.lzma", "configuration": {
                "format": 1, "check": -1, "preset": 2, "filters": null}}),
            json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": 8}}),
            json!({"name": "numcodecs.crc32"}),
            json!({"name": "vlen-utf8"}),
            json!({"name": "vlen-bytes"}),
            json!({"name": "numcodecs.json2"}),
            json!({"name": "zarrs.vlen", "configuration": {
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                "data_codecs": [{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 1, "checksum": true}}],
                "index_data_type": "uint32", "index_location": "end"}}),
            json!({"name": "zarrs.optional", "configuration": {
                "mask_codecs": [{"name": "packbits"}], "data_codecs": [{"name": "bytes"}, {"name": "crc32c"}]}}),
            json!({"name": "zarrs.gdeflate", "configuration": {"level": 5}}),
            json!({"name": "zfp", "configuration": {"mode": "fixed_rate", "rate": 10.5}}),
            json!({"name": "numcodecs.zfpy", "configuration": {
                "mode": 4, "compression_kwargs": {"tolerance": 0.01}, "tolerance": 0.01, "rate": -1, "precision": -1}}),
            json!({"name": "reshape", "configuration": {"shape": [[0, 1], 3, -1]}}),
            json!({"name": "zarrs.squeeze"}),
            json!({"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": ">i2"}}),
            json!({"name": "bitround", "configuration": {"keepbits": 10}}),
            json!({"name": "numcodecs.quantize", "configuration": {"digits": -1, "dtype": "<f4"}}),
            json!({"name": "numcodecs.astype", "configuration": {
                "encode_dtype": "|i1", "decode_dtype": ">f8"}}),
            json!({"name": "numcodecs.fixedscaleoffset", "configuration": {
                "offset": -3, "scale": 0.5, "dtype": "<f4", "astype": "<i2"}}),
            json!({"name": "packbits"}),
            json!({"name": "packbits", "configuration": {
                "padding_encoding": "last_byte", "first_bit": 1, "last_bit": 5}}),
            json!({"name": "numcodecs.packbits"}),
            json!({"name": "scale_offset"}),
            json!({"name": "scale_offset", "configuration": {"offset": -10, "scale": 0.1}}),
            json!({"name": "cast_value", "configuration": {"data_type": "uint8"}}),
            json!({"name": "cast_value", "configuration": {
                "data_type": "int4", "rounding": "nearest-away", "out_of_range": "wrap",
                "scalar_map": {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}}}),
            json!({"name": "numcodecs.pcodec", "configuration": {
                "level": 3, "mode_spec": "classic", "delta_spec": "try_consecutive",
                "paging_spec": "equal_pages_up_to", "delta_encoding_order": 1, "equal_pages_up_to": 100}}),
            json!({"name": "numcodecs.jenkins_lookup3", "configuration": {"initval": 3}}),
            json!({"name": "crc32c"}),
            json!({"name": "numcodecs.crc32c", "configuration": {"location": "start"}}),
        ] {
            let configuration = entry.get("configuration").unwrap_or(&Value::Null);
            let codec = Codec::from_v3(entry["name"].as_str().unwrap(), configuration).unwrap();
            assert_eq!(codec.to_v3(), entry);
            assert!(codec.describe().starts_with(codec.name()));
        }
    }

    #[test]
    fn v2_entries_are_read() {
        let codec = Codec::from_v2(&json!({"id": "zlib", "level": 2})).unwrap();
        assert_eq!(codec, Codec::Zlib(ZlibCodec { level: 2 }));
        assert_eq!(codec, Codec::from_v3("numcodecs.zlib", &json!({"level": 2})).unwrap());
        for entry in [json!(null), json!({}), json!({"id": 3})] {
            assert_eq!(Codec::from_v2(&entry).unwrap_err().kind(), ErrorKind::Invalid);
        }
    }

    #[test]
    fn unknown_names_are_named() {
        let error = Codec::from_v3("numcodecs.msgpack2", &Value::Null).unwrap_err();
        assert_eq!((error.kind(), error.codec()), (ErrorKind::Unsupported, "numcodecs.msgpack2"));
        let error = Codec::from_v2(&json!({"id": "categorize", "dtype": "|O"})).unwrap_err();
        assert_eq!((error.kind(), error.codec()), (ErrorKind::Unsupported, "categorize"));
    }
}
