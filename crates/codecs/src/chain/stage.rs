//! One step of a chain, from bytes to bytes.

use super::Checksums;
use super::filtered::Filtered;
use super::optional::OptionalStage;
use crate::blosc::{self, BloscCodec};
use crate::bz2::Bz2Codec;
use crate::checksum::{CHECKSUM_BYTES, ChecksumCodec};
use crate::codec::{Codec, CodecClass};
use crate::error::{Error, Wanted};
use crate::gdeflate::GdeflateCodec;
use crate::gzip::GzipCodec;
use crate::layout::ChunkLayout;
use crate::limits::{SPARE_BYTES, encoded_bytes_max};
use crate::lz4::{self, Lz4Codec, Lz4H5Codec};
use crate::lzma::LzmaCodec;
use crate::pack_bits::PackBitsStage;
use crate::pcodec::PcodecStage;
use crate::registered::RegisteredCodec;
use crate::scratch::Contexts;
use crate::shuffle::ShuffleCodec;
use crate::zfp::ZfpStage;
use crate::zlib::ZlibCodec;
use crate::zstd::ZstdCodec;

/// A step and how many bytes it decodes to.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) codec: StageCodec,
    pub(super) wanted: Wanted,
}

#[derive(Debug, Clone)]
pub(super) enum StageCodec {
    Gzip(GzipCodec),
    Zlib(ZlibCodec),
    Zstd(ZstdCodec),
    Blosc(BloscCodec),
    Lz4(Lz4Codec),
    Lz4H5(Lz4H5Codec),
    Bz2(Bz2Codec),
    Lzma(LzmaCodec),
    Gdeflate(GdeflateCodec),
    Shuffle(ShuffleCodec),
    Checksum(ChecksumCodec),
    Filtered(Box<Filtered>),
    Optional(Box<OptionalStage>),
    PackBits(PackBitsStage),
    Pcodec(PcodecStage),
    Zfp(Box<ZfpStage>),
    Registered(Box<RegisteredStage>),
}

/// A codec of the program's own.
#[derive(Debug, Clone)]
pub(super) struct RegisteredStage {
    codec: RegisteredCodec,
    /// What it encodes, where that is elements in native order.
    content: Option<ChunkLayout>,
}

impl StageCodec {
    /// The stage of a bytes->bytes codec; `None` for others. `content` is what it encodes, where that is elements in native
    /// order.
    pub(super) fn bytes_to_bytes(codec: &Codec, content: Option<&ChunkLayout>) -> Option<Self> {
        match codec {
            Codec::Gzip(codec) => Some(Self::Gzip(*codec)),
            Codec::Zlib(codec) => Some(Self::Zlib(*codec)),
            Codec::Zstd(codec) => Some(Self::Zstd(*codec)),
            Codec::Blosc(codec) => Some(Self::Blosc(*codec)),
            Codec::Lz4(codec) => Some(Self::Lz4(*codec)),
            Codec::Lz4H5(codec) => Some(Self::Lz4H5(*codec)),
            Codec::Bz2(codec) => Some(Self::Bz2(*codec)),
            Codec::Lzma(codec) => Some(Self::Lzma(codec.clone())),
            Codec::Gdeflate(codec) => Some(Self::Gdeflate(*codec)),
            Codec::Shuffle(codec) => Some(Self::Shuffle(*codec)),
            Codec::Checksum(codec) => Some(Self::Checksum(*codec)),
            Codec::Registered(codec) if codec.class() == CodecClass::BytesToBytes => {
                Some(Self::registered(codec, content))
            }
            _ => None,
        }
    }

    /// The stage of an array->bytes codec over elements of `layout` in native order; `None` for `bytes`, which is none,
    /// and for other codecs.
    pub(super) fn array_to_bytes(codec: &Codec, layout: &ChunkLayout) -> Result<Option<Self>, Error> {
        match codec {
            Codec::PackBits(codec) => codec.compile(layout).map(|stage| Some(Self::PackBits(stage))),
            Codec::Pcodec(codec) => codec.compile(layout.element).map(|stage| Some(Self::Pcodec(stage))),
            Codec::Registered(codec) => Ok(Some(Self::registered(codec, Some(layout)))),
            Codec::Zfp(codec) => codec.compile(layout).map(|stage| Some(Self::Zfp(Box::new(stage)))),
            Codec::Optional(codec) => {
                OptionalStage::new(codec, layout).map(|stage| Some(Self::Optional(Box::new(stage))))
            }
            _ => Ok(None),
        }
    }

    fn registered(codec: &RegisteredCodec, content: Option<&ChunkLayout>) -> Self {
        Self::Registered(Box::new(RegisteredStage { codec: codec.clone(), content: content.cloned() }))
    }
}

impl Stage {
    /// Passes on what to do with checksums.
    pub(super) fn set_checksums(&mut self, checksums: Checksums) {
        match &mut self.codec {
            StageCodec::Filtered(filtered) => filtered.set_checksums(checksums),
            StageCodec::Optional(optional) => optional.set_checksums(checksums),
            _ => {}
        }
    }

    /// Whether its content is a part of its stored bytes, so that decoding makes no copy.
    pub(super) fn is_view(&self) -> bool {
        matches!(self.codec, StageCodec::Checksum(_))
    }

    /// How many stored bytes it has.
    pub(super) fn stored(&self) -> Result<Wanted, Error> {
        let stored = |wanted: Option<Wanted>| {
            wanted.ok_or_else(|| {
                Error::invalid(
                    "chain",
                    format!("wanted stages that fit memory, found one of {} bytes", self.wanted),
                )
            })
        };
        match (&self.codec, self.wanted) {
            (StageCodec::Checksum(_), Wanted::Exactly(bytes)) => {
                stored(bytes.checked_add(CHECKSUM_BYTES).map(Wanted::Exactly))
            }
            (StageCodec::Checksum(_), Wanted::AtMost(bytes)) => {
                stored(bytes.checked_add(CHECKSUM_BYTES).map(Wanted::AtMost))
            }
            (StageCodec::Shuffle(_), wanted) => Ok(wanted),
            (StageCodec::Filtered(filtered), _) => filtered.stored(),
            (StageCodec::PackBits(codec), _) => Ok(Wanted::Exactly(codec.stored_bytes())),
            (StageCodec::Pcodec(codec), wanted) => stored(at_most(codec.encoded_bytes_max(wanted.bytes()))),
            (StageCodec::Registered(stage), wanted) => {
                stored(at_most(stage.codec.encoded_bytes_max(wanted.bytes() as u64)))
            }
            (StageCodec::Zfp(stage), _) => stored(at_most(stage.stored_bytes_max())),
            (StageCodec::Optional(optional), _) => stored(optional.stored().map(Wanted::AtMost)),
            (StageCodec::Gdeflate(_), wanted) => {
                stored(at_most(GdeflateCodec::stored_bytes_max(wanted.bytes())))
            }
            (StageCodec::Lz4(_), Wanted::Exactly(bytes)) if lz4::DECODED_BYTES_MAX < bytes => {
                Err(too_long_for("lz4", lz4::DECODED_BYTES_MAX, bytes))
            }
            (StageCodec::Blosc(_), Wanted::Exactly(bytes)) if blosc::DECODED_BYTES_MAX < bytes => {
                Err(too_long_for("blosc", blosc::DECODED_BYTES_MAX, bytes))
            }
            (_, wanted) => stored(at_most(encoded_bytes_max(wanted.bytes() as u64))),
        }
    }

    /// What of those stored bytes chunks do not use that are small and many.
    pub(super) fn spare_bytes(&self) -> u64 {
        match &self.codec {
            StageCodec::Checksum(_)
            | StageCodec::Shuffle(_)
            | StageCodec::PackBits(_)
            | StageCodec::Zfp(_) => 0,
            StageCodec::Filtered(filtered) => filtered.spare_bytes(),
            StageCodec::Optional(optional) => optional.spare_bytes(),
            StageCodec::Registered(stage) => stage.codec.spare_bytes(self.wanted.bytes() as u64),
            _ => SPARE_BYTES,
        }
    }

    /// Decodes to the front of `target`, which has room for `self.wanted`; the bytes written are as wanted.
    pub(super) fn decode(
        &self,
        source: &[u8],
        target: &mut [u8],
        contexts: &mut Contexts,
    ) -> Result<usize, Error> {
        self.decode_wanted(self.wanted, source, target, contexts)
    }

    /// The same, with another number of bytes wanted.
    pub(super) fn decode_wanted(
        &self,
        wanted: Wanted,
        source: &[u8],
        target: &mut [u8],
        contexts: &mut Contexts,
    ) -> Result<usize, Error> {
        match &self.codec {
            StageCodec::Gzip(_) => GzipCodec::decode(source, target, wanted, &mut contexts.decompressor),
            StageCodec::Zlib(_) => ZlibCodec::decode(source, target, wanted, &mut contexts.decompressor),
            StageCodec::Zstd(_) => ZstdCodec::decode(source, target, wanted, &mut contexts.zstd_decompressor),
            StageCodec::Blosc(_) => BloscCodec::decode(source, target, wanted, contexts),
            StageCodec::Lz4(_) => Lz4Codec::decode(source, target, wanted),
            StageCodec::Lz4H5(_) => Lz4H5Codec::decode(source, target, wanted),
            StageCodec::Bz2(_) => Bz2Codec::decode(source, target, wanted),
            StageCodec::Lzma(codec) => codec.decode(source, target, wanted),
            StageCodec::Gdeflate(_) => GdeflateCodec::decode(source, target, wanted),
            StageCodec::Shuffle(codec) => codec.decode(source, target, wanted),
            StageCodec::Filtered(filtered) => filtered.decode(source, target, contexts),
            StageCodec::Optional(optional) => optional.decode(source, target, wanted, contexts),
            StageCodec::PackBits(codec) => codec.decode(source, target),
            StageCodec::Pcodec(codec) => codec.decode(source, target, wanted),
            StageCodec::Zfp(stage) => stage.decode(source, target, wanted),
            StageCodec::Registered(stage) => {
                let room = wanted.bytes().min(target.len());
                stage.codec.decode(source, stage.content.as_ref(), &mut target[..room], wanted)
            }
            StageCodec::Checksum(codec) => {
                let (content, checksum) = codec.split(source)?;
                wanted.check(codec.algorithm.name(), content.len())?;
                codec.verify(content, checksum)?;
                target[..content.len()].copy_from_slice(content);
                Ok(content.len())
            }
        }
    }

    /// Encodes `source`, putting it behind what `target` holds; `None` where the codec's library only writes from the start on.
    pub(super) fn encode_behind(
        &self,
        element_bytes: usize,
        source: &[u8],
        target: &mut Vec<u8>,
        contexts: &mut Contexts,
    ) -> Option<Result<(), Error>> {
        match &self.codec {
            StageCodec::Zstd(codec) => {
                Some(codec.encode_behind(source, target, &mut contexts.zstd_compressor))
            }
            StageCodec::Blosc(codec) => Some(codec.encode_behind(element_bytes, source, target, contexts)),
            _ => None,
        }
    }

    /// Encodes `source`, replacing what `target` holds.
    pub(super) fn encode(
        &self,
        element_bytes: usize,
        source: &[u8],
        target: &mut Vec<u8>,
        contexts: &mut Contexts,
    ) -> Result<(), Error> {
        match &self.codec {
            StageCodec::Gzip(codec) => codec.encode(source, target, &mut contexts.compressor),
            StageCodec::Zlib(codec) => codec.encode(source, target, &mut contexts.compressor),
            StageCodec::Zstd(codec) => codec.encode(source, target, &mut contexts.zstd_compressor),
            StageCodec::Blosc(codec) => codec.encode(element_bytes, source, target, contexts),
            StageCodec::Lz4(codec) => codec.encode(source, target),
            StageCodec::Lz4H5(codec) => codec.encode(source, target),
            StageCodec::Bz2(codec) => codec.encode(source, target),
            StageCodec::Lzma(codec) => codec.encode(source, target),
            StageCodec::Gdeflate(codec) => codec.encode(),
            StageCodec::Shuffle(codec) => codec.encode(source, target),
            StageCodec::Filtered(filtered) => filtered.encode(source, target, contexts),
            StageCodec::Optional(optional) => optional.encode(source, target, contexts),
            StageCodec::PackBits(codec) => {
                codec.encode(source, target);
                Ok(())
            }
            StageCodec::Pcodec(codec) => codec.encode(source, target),
            StageCodec::Zfp(stage) => stage.encode(source, target),
            StageCodec::Registered(stage) => stage.codec.encode(source, stage.content.as_ref(), target),
            StageCodec::Checksum(codec) => {
                codec.encode(source, target);
                Ok(())
            }
        }
    }
}

/// At most so many bytes, if memory holds them.
fn at_most(bytes: u64) -> Option<Wanted> {
    let bytes = usize::try_from(bytes).ok().filter(|bytes| isize::try_from(*bytes).is_ok());
    bytes.map(Wanted::AtMost)
}

fn too_long_for(codec: &'static str, most: usize, bytes: usize) -> Error {
    Error::invalid(codec, format!("wanted chunks of at most {most} bytes, found {bytes}"))
}
