//! A record of a file: its numbers, by the offsets that the format's description gives them.

use crate::{Error, Span};

/// The bytes of a record, or of a part of it, and where in the file they lie. All numbers have their highest octet first.
#[derive(Clone, Copy)]
pub(super) struct Record<'a> {
    bytes: &'a [u8],
    offset: u64,
    name: &'static str,
}

impl<'a> Record<'a> {
    /// `bytes` of the record called `name`, the first of which is at `offset` of the file.
    pub(super) fn new(bytes: &'a [u8], offset: u64, name: &'static str) -> Record<'a> {
        Record { bytes, offset, name }
    }

    /// `N` octets from `at` on.
    ///
    /// # Errors
    ///
    /// `Corrupt` where the record ends before the last of them.
    pub(super) fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], Error> {
        let rest = self.bytes.get(at..).unwrap_or_default();
        rest.first_chunk()
            .copied()
            .ok_or_else(|| self.corrupt(at, &format!("wanted {N} octets, found {}", rest.len())))
    }

    /// `len` octets from `at` on.
    ///
    /// # Errors
    ///
    /// As [`array`](Self::array).
    pub(super) fn octets(&self, at: usize, len: usize) -> Result<&'a [u8], Error> {
        let rest = self.bytes.get(at..).unwrap_or_default();
        rest.get(..len).ok_or_else(|| self.corrupt(at, &format!("wanted {len} octets, found {}", rest.len())))
    }

    /// The record from `at` on.
    pub(super) fn from(&self, at: usize) -> Record<'a> {
        let offset = self.offset.saturating_add(swath_ioengine::storage_len(at));
        Record { bytes: self.bytes.get(at..).unwrap_or_default(), offset, name: self.name }
    }

    /// An error about what is at `at`.
    #[cold]
    pub(super) fn corrupt(&self, at: usize, what: &str) -> Error {
        let place = self.offset.saturating_add(swath_ioengine::storage_len(at));
        Error::corrupt(format!("{} at byte {place}: {what}", self.name))
    }

    /// As [`corrupt`](Self::corrupt), of something that may be sound.
    #[cold]
    pub(super) fn unsupported(&self, at: usize, what: &str) -> Error {
        let place = self.offset.saturating_add(swath_ioengine::storage_len(at));
        Error::unsupported(format!("{} at byte {place}: {what}", self.name))
    }

    pub(super) fn u8(&self, at: usize) -> Result<u8, Error> {
        Ok(u8::from_be_bytes(self.array(at)?))
    }

    pub(super) fn u16(&self, at: usize) -> Result<u16, Error> {
        Ok(u16::from_be_bytes(self.array(at)?))
    }

    pub(super) fn u32(&self, at: usize) -> Result<u32, Error> {
        Ok(u32::from_be_bytes(self.array(at)?))
    }

    pub(super) fn i32(&self, at: usize) -> Result<i32, Error> {
        Ok(i32::from_be_bytes(self.array(at)?))
    }

    pub(super) fn f32(&self, at: usize) -> Result<f32, Error> {
        Ok(f32::from_be_bytes(self.array(at)?))
    }

    pub(super) fn f64(&self, at: usize) -> Result<f64, Error> {
        Ok(f64::from_be_bytes(self.array(at)?))
    }
}

/// What reads parts of a file: the bytes of each span.
pub(super) type ReadSpans<'a> = dyn FnMut(&[Span]) -> Result<Vec<Result<Vec<u8>, Error>>, Error> + 'a;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_highest_octet_first() -> Result<(), Error> {
        let record = Record::new(&[0, 1, 0xff, 0xfe, 0x3f, 0x80, 0, 0], 100, "test");
        assert_eq!((record.u8(1)?, record.u16(2)?, record.i32(0)?), (1, 0xfffe, 0x1_fffe));
        assert_eq!((record.f32(4)?, record.u32(4)?), (1.0, 0x3f80_0000));
        assert_eq!(record.octets(1, 2)?, [1, 0xff]);
        let error = record.u16(7).unwrap_err();
        assert_eq!(error.message(), "test at byte 107: wanted 2 octets, found 1");
        Ok(())
    }
}
