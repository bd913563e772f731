//! What `gzip` and `zlib` share: DEFLATE (RFC 1951) by libdeflate, over whole buffers.
//!
//! libdeflate checks the CRC-32 of gzip and the Adler-32 of zlib, but does not tell a wrong checksum from other bad
//! data: both are `Corrupt`.

mod ffi;

use crate::error::{Error, Wanted};
pub(crate) use ffi::{Compressor, Decompressor, Format, adler32};
use ffi::{Failure, Progress};

/// The level that zlib, and so -1 in metadata, stands for.
pub(crate) const DEFAULT_LEVEL: i32 = 6;

/// Decodes one gzip member or zlib stream to the front of `target`.
pub(crate) fn decode(
    codec: &'static str,
    format: Format,
    source: &[u8],
    target: &mut [u8],
    wanted: Wanted,
    decompressor: &mut Option<Decompressor>,
) -> Result<Progress, Error> {
    let decompressor = match decompressor {
        Some(decompressor) => decompressor,
        None => decompressor.insert(Decompressor::new().ok_or_else(|| no_memory(codec))?),
    };
    decompressor.decompress(format, source, target).map_err(|failure| match failure {
        Failure::NoRoom => Error::too_long(codec, wanted),
        Failure::BadData => {
            Error::corrupt(codec, "wanted a sound DEFLATE stream with a right checksum, found none")
        }
    })
}

/// Encodes `source` as one gzip member or zlib stream, replacing what `target` holds.
pub(crate) fn encode(
    codec: &'static str,
    format: Format,
    level: i32,
    source: &[u8],
    target: &mut Vec<u8>,
    compressor: &mut Option<Compressor>,
) -> Result<(), Error> {
    let compressor = match compressor {
        Some(compressor) if compressor.level() == level => compressor,
        _ => compressor.insert(Compressor::new(level).ok_or_else(|| no_memory(codec))?),
    };
    target.clear();
    target.resize(compressor.bound(format, source.len()), 0);
    match compressor.compress(format, source, target) {
        Some(written) => {
            target.truncate(written);
            Ok(())
        }
        None => Err(Error::internal(codec, "wanted room for libdeflate's own bound, found too little")),
    }
}

fn no_memory(codec: &'static str) -> Error {
    Error::internal(codec, "wanted memory for a libdeflate context, found none")
}
