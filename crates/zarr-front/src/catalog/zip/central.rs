//! The central directory: one record a member.

use crate::{Error, ErrorKind};

const SIGNATURE: [u8; 4] = *b"PK\x01\x02";
/// Bytes of a record without name, extra fields and comment.
pub(super) const RECORD_BYTES: u64 = 46;
/// The extra field that holds what 32 bits do not.
const ZIP_64: u16 = 1;

/// What a record says of its member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) name: &'a [u8],
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    /// Bytes in the archive.
    pub(super) stored_len: u64,
    /// Bytes once they are inflated.
    pub(super) len: u64,
    /// Where its local header begins, counted from where the archive begins.
    pub(super) header: u64,
}

impl<'a> Record<'a> {
    /// Takes one record from the front.
    ///
    /// # Errors
    ///
    /// `Corrupt` for anything else.
    pub(super) fn take(fields: &mut Fields<'a>) -> Result<Record<'a>, Error> {
        if fields.take(4)? != SIGNATURE {
            return Err(corrupt("the zip archive's directory is broken: wanted the record of a member"));
        }
        let _versions = fields.u32()?;
        let (flags, method) = (fields.u16()?, fields.u16()?);
        let _modified = fields.u32()?;
        let crc = fields.u32()?;
        let (stored_len, len) = (fields.u32()?, fields.u32()?);
        let (name_len, extra_len, comment_len) = (fields.u16()?, fields.u16()?, fields.u16()?);
        let disk = fields.u16()?;
        let _attributes = fields.take(6)?;
        let header = fields.u32()?;
        let name = fields.take(usize::from(name_len))?;
        let extra = fields.take(usize::from(extra_len))?;
        fields.take(usize::from(comment_len))?;
        let mut large = Fields::new(zip_64(extra));
        let mut widened = |field: u32| match field {
            u32::MAX => large.u64(),
            _ => Ok(u64::from(field)),
        };
        // In the order in which the extra field has them, and the uncompressed length comes first there.
        let len = widened(len)?;
        let (stored_len, header) = (widened(stored_len)?, widened(header)?);
        if disk != 0 && disk != u16::MAX {
            return Err(Error::unsupported("a zip archive in several files"));
        }
        Ok(Record { name, flags, method, crc, stored_len, len, header })
    }
}

/// The extra field of zip64; nothing where there is none.
fn zip_64(extra: &[u8]) -> &[u8] {
    let mut fields = Fields::new(extra);
    while let (Ok(id), Ok(len)) = (fields.u16(), fields.u16()) {
        match fields.take(usize::from(len)) {
            Ok(content) if id == ZIP_64 => return content,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    &[]
}

/// Little-endian fields, one behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(short)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(short)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }
}

#[cold]
fn short() -> Error {
    corrupt("the zip archive's directory is broken: a record ends too early")
}

#[cold]
pub(super) fn corrupt(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}
