//! The 16 bytes before every blosc 1 buffer (c-blosc, README_CHUNK_FORMAT.rst).

use super::NAME;
use crate::error::Error;

/// BLOSC_MIN_HEADER_LENGTH, and also BLOSC_MAX_OVERHEAD.
pub(super) const HEADER_BYTES: usize = 16;
/// BLOSC_MAX_BUFFERSIZE of blosc.h: INT_MAX - 16.
pub(crate) const DECODED_BYTES_MAX: usize = 0x7FFF_FFEF;
/// BLOSC_VERSION_FORMAT: the only one there is of blosc 1.
const FORMAT_VERSION: u8 = 2;

const FLAGS_AT: usize = 2;
const FLAG_SHUFFLE: u8 = 0x01;
const FLAG_STORED: u8 = 0x02;
const FLAG_BITSHUFFLE: u8 = 0x04;
const FLAG_FUTURE: u8 = 0x08;
const FLAG_UNSPLIT: u8 = 0x10;

/// What the blocks are compressed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockFormat {
    BloscLz,
    /// LZ4 and LZ4HC alike.
    Lz4,
    Snappy,
    Zlib,
    Zstd,
}

/// How the bytes of a block were arranged before they were compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrangement {
    Plain,
    Shuffled,
    BitShuffled,
}

/// A header whose lengths fit the bytes that it came with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) format: BlockFormat,
    pub(super) arrangement: Arrangement,
    /// The content follows as it is, neither arranged nor compressed.
    pub(super) is_stored: bool,
    /// A full block is one stream; otherwise it may be one a byte of the element.
    pub(super) is_unsplit: bool,
    /// 1 to 255.
    pub(super) element_bytes: usize,
    pub(super) decoded_len: usize,
    /// 1 to `decoded_len`, unless that is zero.
    pub(super) block_bytes: usize,
    /// Header included; at most the bytes that are there.
    pub(super) stored_len: usize,
}

impl Header {
    /// Reads the header at the front of `source`.
    ///
    /// # Errors
    ///
    /// `Corrupt` when it is no header of this format, or when it states more bytes than `source` has. Bytes after the
    /// stated length are allowed, as in numcodecs.
    pub(super) fn parse(source: &[u8]) -> Result<Self, Error> {
        let Some(bytes) = source.first_chunk::<HEADER_BYTES>() else {
            return Err(corrupt("at least 16 stored bytes", source.len()));
        };
        let [version, format_version, flags, element_bytes, lengths @ ..] = bytes;
        let length = |at: usize| {
            let bytes = lengths[at..at + 4].try_into().unwrap_or([0xFF; 4]);
            usize::try_from(u32::from_le_bytes(bytes)).unwrap_or(usize::MAX)
        };
        let (decoded_len, block_bytes, stored_len) = (length(0), length(4), length(8));
        if *version != FORMAT_VERSION {
            return Err(corrupt("format version 2", version));
        }
        if flags & FLAG_FUTURE != 0 {
            return Err(corrupt("no flag 0x08", format_args!("flags {flags:#04x}")));
        }
        if stored_len < HEADER_BYTES || source.len() < stored_len {
            return Err(corrupt(
                &format!("a stored length of 16 to {}", source.len()),
                format_args!("{stored_len} in the header"),
            ));
        }
        if DECODED_BYTES_MAX < decoded_len {
            return Err(corrupt("a decoded length of at most 2147483631", decoded_len));
        }
        if 0 < decoded_len && (block_bytes == 0 || decoded_len < block_bytes || *element_bytes == 0) {
            return Err(corrupt(
                &format!("blocks of 1 to {decoded_len} bytes and elements of at least 1"),
                format_args!("blocks of {block_bytes} and elements of {element_bytes}"),
            ));
        }
        let format = format_of(*flags, *format_version)?;
        let arrangement = arrangement_of(*flags, *element_bytes);
        Ok(Self {
            format,
            arrangement,
            is_stored: flags & FLAG_STORED != 0,
            is_unsplit: flags & FLAG_UNSPLIT != 0,
            element_bytes: usize::from(*element_bytes),
            decoded_len,
            block_bytes,
            stored_len,
        })
    }
}

/// The header of a buffer whose blocks zstd compressed, each to one stream: bytes decoded, of a block, and stored, each below 2^31.
pub(super) fn zstd_header(
    shuffle: i32,
    is_stored: bool,
    element_bytes: usize,
    lengths: [usize; 3],
) -> [u8; HEADER_BYTES] {
    let stored = if is_stored { FLAG_STORED } else { 0 };
    let element_bytes = u8::try_from(element_bytes).unwrap_or(1);
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&[FORMAT_VERSION, 1, stored | FLAG_UNSPLIT | 4 << 5, element_bytes]);
    for (place, length) in header[4..].chunks_exact_mut(4).zip(lengths) {
        place.copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    }
    if shuffle != 0 {
        mark_arranged(&mut header, shuffle);
    }
    header
}

/// Has the header at the front of `stored` tell that blocks were arranged: 1 for bytes, 2 for bits, as c-blosc numbers it.
pub(super) fn mark_arranged(stored: &mut [u8], shuffle: i32) {
    if let Some(flags) = stored.get_mut(FLAGS_AT) {
        *flags |= if shuffle == 1 { FLAG_SHUFFLE } else { FLAG_BITSHUFFLE };
    }
}

fn format_of(flags: u8, format_version: u8) -> Result<BlockFormat, Error> {
    let format = match flags >> 5 {
        0 => BlockFormat::BloscLz,
        1 => BlockFormat::Lz4,
        2 => BlockFormat::Snappy,
        3 => BlockFormat::Zlib,
        4 => BlockFormat::Zstd,
        other => return Err(corrupt("a compressor of number 0 to 4", other)),
    };
    if format_version == 1 { Ok(format) } else { Err(corrupt("compressor format version 1", format_version)) }
}

/// As c-blosc reads them: bytes of elements of one byte cannot be shuffled, and shuffle wins where both flags are set.
fn arrangement_of(flags: u8, element_bytes: u8) -> Arrangement {
    if flags & FLAG_SHUFFLE != 0 && 1 < element_bytes {
        Arrangement::Shuffled
    } else if flags & FLAG_BITSHUFFLE != 0 {
        Arrangement::BitShuffled
    } else {
        Arrangement::Plain
    }
}

fn corrupt(wanted: &str, found: impl std::fmt::Display) -> Error {
    Error::corrupt(NAME, format!("wanted {wanted}, found {found}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 decoded bytes in blocks of 50, LZ4, shuffled elements of 4, in 20 stored bytes.
    const SOUND: [u8; 20] = [2, 1, 0x21, 4, 100, 0, 0, 0, 50, 0, 0, 0, 20, 0, 0, 0, 9, 9, 9, 9];

    #[test]
    fn a_sound_header_is_read() {
        let header = Header::parse(&SOUND).unwrap();
        assert_eq!(header.format, BlockFormat::Lz4);
        assert_eq!(header.arrangement, Arrangement::Shuffled);
        assert_eq!((header.is_stored, header.is_unsplit), (false, false));
        assert_eq!((header.element_bytes, header.decoded_len, header.block_bytes), (4, 100, 50));
        assert_eq!(header.stored_len, 20);
    }

    #[test]
    fn trailing_bytes_are_allowed_and_missing_ones_are_not() {
        assert!(Header::parse(&[&SOUND[..], &[0]].concat()).is_ok());
        for length in 0..SOUND.len() {
            assert!(Header::parse(&SOUND[..length]).is_err());
        }
    }

    #[test]
    fn every_unsound_field_is_refused() {
        for (at, value) in
            [(0, 3), (1, 2), (2, 0xA1), (2, 0x29), (3, 0), (7, 0x80), (8, 101), (8, 0), (11, 1), (12, 15)]
        {
            let mut bytes = SOUND;
            bytes[at] = value;
            assert!(Header::parse(&bytes).is_err(), "byte {at} = {value}");
        }
    }
}
