//! Members of zip archives: bare DEFLATE streams, and the checksum of what they hold.

use crate::deflate::{self, Format};
use crate::error::{Error, Wanted};
use crate::scratch::Scratch;

const NAME: &str = "deflate";

/// Decodes one bare DEFLATE stream (RFC 1951), which must fill `target` to its last byte. What follows the stream in
/// `source` is not looked at. After an error `target` is undefined.
///
/// # Errors
///
/// `Corrupt` for a stream that is broken, or of another length.
///
/// ```
/// let mut target = [0; 5];
/// let stored = [0x01, 5, 0, 0xfa, 0xff, b'h', b'e', b'l', b'l', b'o']; // One block, not compressed.
/// swath_codecs::inflate(&stored, &mut target, &mut swath_codecs::Scratch::default())?;
/// assert_eq!(&target, b"hello");
/// # Ok::<(), swath_codecs::Error>(())
/// ```
pub fn inflate(source: &[u8], target: &mut [u8], scratch: &mut Scratch) -> Result<(), Error> {
    let wanted = Wanted::Exactly(target.len());
    let decompressor = &mut scratch.contexts.decompressor;
    let progress = deflate::decode(NAME, Format::Bare, source, target, wanted, decompressor)?;
    wanted.check(NAME, progress.written)
}

/// The CRC-32 of `content` as zip and gzip have it.
#[must_use]
pub fn crc32(content: &[u8]) -> u32 {
    crc_fast::crc32_iso_hdlc(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn streams_of_another_length_and_broken_ones_are_errors() {
        let mut stored = Vec::new();
        deflate::encode(NAME, Format::Bare, 6, &b"abc".repeat(50), &mut stored, &mut None).unwrap();
        let mut scratch = Scratch::default();
        let mut inflated = |len: usize, stored: &[u8]| {
            let mut target = vec![0; len];
            inflate(stored, &mut target, &mut scratch).map(|()| target).map_err(|error| error.kind())
        };
        assert_eq!(inflated(150, &stored), Ok(b"abc".repeat(50)));
        assert_eq!(inflated(149, &stored), Err(ErrorKind::Corrupt));
        assert_eq!(inflated(151, &stored), Err(ErrorKind::Corrupt));
        assert_eq!(inflated(150, &stored[..stored.len() - 1]), Err(ErrorKind::Corrupt));
        assert_eq!(inflated(1, &[]), Err(ErrorKind::Corrupt));
        let longer = [stored.as_slice(), b"descriptor"].concat();
        assert_eq!(inflated(150, &longer), Ok(b"abc".repeat(50)));
    }

    #[test]
    fn the_checksum_is_the_one_of_zip() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
