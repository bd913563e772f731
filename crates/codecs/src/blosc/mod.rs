//! The `blosc` codec: blocks, shuffled and compressed (c-blosc 1 format).
//!
//! Zarr v3 codec specification "blosc" 1.0, numcodecs' `blosc`, c-blosc's README_CHUNK_FORMAT.rst.

mod arrange;
pub(crate) use arrange::{shuffle, unshuffle};
mod configuration;
mod decode;
mod encode;
mod ffi;
mod header;
mod room_behind;
mod zstd_blocks;

use crate::error::{Error, Wanted};
use crate::scratch::Contexts;
pub use configuration::{BloscCodec, BloscCompressor, BloscShuffle};
pub(crate) use header::DECODED_BYTES_MAX;
use header::Header;

const NAME: &str = "blosc";

impl BloscCodec {
    pub(crate) fn decode(
        source: &[u8],
        target: &mut [u8],
        wanted: Wanted,
        contexts: &mut Contexts,
    ) -> Result<usize, Error> {
        let header = Header::parse(source)?;
        wanted.check(NAME, header.decoded_len)?;
        decode::decode(&header, source, &mut target[..header.decoded_len], contexts)?;
        Ok(header.decoded_len)
    }

    /// `element_bytes` is what the chain's elements have, for a codec that does not say.
    pub(crate) fn encode(
        self,
        element_bytes: usize,
        source: &[u8],
        target: &mut Vec<u8>,
        contexts: &mut Contexts,
    ) -> Result<(), Error> {
        target.clear();
        self.encode_behind(element_bytes, source, target, contexts)
    }

    /// [`encode`](Self::encode), with the bytes put behind what `target` holds.
    pub(crate) fn encode_behind(
        self,
        element_bytes: usize,
        source: &[u8],
        target: &mut Vec<u8>,
        contexts: &mut Contexts,
    ) -> Result<(), Error> {
        if DECODED_BYTES_MAX < source.len() {
            return Err(Error::invalid(
                NAME,
                format!("wanted at most {DECODED_BYTES_MAX} bytes to compress, found {}", source.len()),
            ));
        }
        encode::encode(&self.settings(element_bytes)?, source, target, contexts)
    }

    fn settings(self, element_bytes: usize) -> Result<ffi::Settings, Error> {
        let element_bytes = self.element_bytes.unwrap_or(element_bytes);
        Ok(ffi::Settings {
            level: self.level,
            shuffle: self.shuffle.number_for(element_bytes),
            element_bytes,
            block_bytes: self.block_bytes,
            compressor: self.compressor.library_name()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    const ENCODABLE: [BloscCompressor; 5] = [
        BloscCompressor::BloscLz,
        BloscCompressor::Lz4,
        BloscCompressor::Lz4Hc,
        BloscCompressor::Zlib,
        BloscCompressor::Zstd,
    ];
    const SHUFFLES: [BloscShuffle; 4] =
        [BloscShuffle::None, BloscShuffle::Byte, BloscShuffle::Bit, BloscShuffle::Auto];

    fn encoded(codec: BloscCodec, source: &[u8]) -> Vec<u8> {
        let mut target = Vec::new();
        codec.encode(4, source, &mut target, &mut Contexts::default()).unwrap();
        target
    }

    fn decoded(source: &[u8], length: usize) -> Result<Vec<u8>, Error> {
        let mut target = vec![0; length];
        BloscCodec::decode(source, &mut target, Wanted::Exactly(length), &mut Contexts::default())?;
        Ok(target)
    }

    #[test]
    fn round_trips_with_every_setting() {
        for compressor in ENCODABLE {
            for shuffle in SHUFFLES {
                for level in [0, 1, 5, 9] {
                    for (element_bytes, length) in [(1, 1000), (2, 8192), (4, 8192), (8, 70_001), (3, 999)] {
                        let source: Vec<u8> = (0..length).map(|i: u32| (i / 7 % 50) as u8).collect();
                        let codec = BloscCodec {
                            compressor,
                            shuffle,
                            level,
                            block_bytes: 0,
                            element_bytes: Some(element_bytes),
                        };
                        assert_eq!(decoded(&encoded(codec, &source), source.len()).unwrap(), source);
                    }
                }
            }
        }
    }

    #[test]
    fn empty_and_tiny_buffers_round_trip() {
        for length in 0..20 {
            let source = vec![7; length];
            assert_eq!(decoded(&encoded(BloscCodec::default(), &source), length).unwrap(), source);
        }
    }

    #[test]
    fn another_length_is_corrupt_and_named() {
        let stored = encoded(BloscCodec::default(), &[1; 400]);
        for length in [0, 399, 401] {
            let error = decoded(&stored, length).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            let wanted = format!("codec blosc: corrupt bytes: wanted {length} decoded bytes, found 400");
            assert_eq!(error.to_string(), wanted);
        }
    }
}
