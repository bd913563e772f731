//! The end of an archive, which tells where its directory is.

use super::central::{Fields, corrupt};
use crate::Error;

/// Bytes of the end record without its comment.
const END_BYTES: usize = 22;
/// Bytes of the record before it that tells where the end record of zip64 is.
const LOCATOR_BYTES: usize = 20;
/// Bytes of the end record of zip64, without what later versions may add.
const END_64_BYTES: usize = 56;

const END_SIGNATURE: [u8; 4] = *b"PK\x05\x06";
const LOCATOR_SIGNATURE: [u8; 4] = *b"PK\x06\x07";
const END_64_SIGNATURE: [u8; 4] = *b"PK\x06\x06";

/// Bytes that the records at an archive's end, with the longest comment, take at most.
pub(super) const TAIL_BYTES_MIN: u64 = 22 + 65_535 + 20 + 56;

/// Where the central directory is, as the end of the archive has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndRecord {
    /// Members, as they were counted: only the lowest 16 bits where `is_64` is false.
    pub(super) count: u64,
    /// Bytes of the central directory.
    pub(super) bytes: u64,
    /// Where it begins, counted from where the archive begins, which is not where the file does if something stands
    /// before it.
    pub(super) offset: u64,
    /// Bytes from the directory's end to the file's end.
    pub(super) from_end: u64,
    pub(super) is_64: bool,
}

impl EndRecord {
    /// Finds the record in the last bytes of a file.
    ///
    /// # Errors
    ///
    /// `Corrupt` where there is none, `Unsupported` for an archive in several files.
    pub(super) fn find(tail: &[u8]) -> Result<EndRecord, Error> {
        let found = (0..(tail.len() + 1).saturating_sub(END_BYTES)).rev().find(|start| ends_at(tail, *start));
        let start = found.ok_or_else(|| corrupt("wanted a zip archive, found none: it has no end record"))?;
        let mut fields = Fields::new(&tail[start + 4..]);
        let (disk, first_disk) = (fields.u16()?, fields.u16()?);
        let (_, count) = (fields.u16()?, fields.u16()?);
        let (bytes, offset) = (fields.u32()?, fields.u32()?);
        if let Some(end) = EndRecord::find_64(tail, start)? {
            return Ok(end);
        }
        if disk != 0 || first_disk != 0 {
            return Err(Error::unsupported("a zip archive in several files"));
        }
        Ok(EndRecord {
            count: u64::from(count),
            bytes: u64::from(bytes),
            offset: u64::from(offset),
            from_end: swath_ioengine::storage_len(tail.len() - start),
            is_64: false,
        })
    }

    /// The record of zip64, where the end record at `start` has one before it.
    fn find_64(tail: &[u8], start: usize) -> Result<Option<EndRecord>, Error> {
        let Some(locator) = start.checked_sub(LOCATOR_BYTES) else { return Ok(None) };
        if !tail[locator..].starts_with(&LOCATOR_SIGNATURE) {
            return Ok(None);
        }
        let start = locator.checked_sub(END_64_BYTES);
        let start = start.filter(|start| tail[*start..].starts_with(&END_64_SIGNATURE)).ok_or_else(|| {
            Error::unsupported("a zip archive whose zip64 end record does not stand right before its locator")
        })?;
        let mut fields = Fields::new(&tail[start + 4..]);
        // The record's own length, and the versions that made it and that it needs.
        let _ = (fields.u64()?, fields.u16()?, fields.u16()?);
        let (disk, first_disk) = (fields.u32()?, fields.u32()?);
        if disk != 0 || first_disk != 0 {
            return Err(Error::unsupported("a zip archive in several files"));
        }
        let (_, count) = (fields.u64()?, fields.u64()?);
        let (bytes, offset) = (fields.u64()?, fields.u64()?);
        let from_end = swath_ioengine::storage_len(tail.len() - start);
        Ok(Some(EndRecord { count, bytes, offset, from_end, is_64: true }))
    }
}

/// Whether an end record stands at `start`, whose comment is all that follows.
fn ends_at(tail: &[u8], start: usize) -> bool {
    let Some(record) = tail.get(start..) else { return false };
    let comment = record.get(END_BYTES - 2..END_BYTES).and_then(|len| <[u8; 2]>::try_from(len).ok());
    record.starts_with(&END_SIGNATURE)
        && comment.is_some_and(|len| END_BYTES + usize::from(u16::from_le_bytes(len)) == record.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn end(count: u16, bytes: u32, offset: u32, comment: &[u8]) -> Vec<u8> {
        let len = u16::try_from(comment.len()).unwrap().to_le_bytes();
        [&b"PK\x05\x06\0\0\0\0"[..], &count.to_le_bytes(), &count.to_le_bytes(), &bytes.to_le_bytes()]
            .concat()
            .into_iter()
            .chain(offset.to_le_bytes())
            .chain(len)
            .chain(comment.iter().copied())
            .collect()
    }

    #[test]
    fn it_is_found_before_its_comment() {
        let found = EndRecord { count: 3, bytes: 150, offset: 9, from_end: 22, is_64: false };
        assert_eq!(EndRecord::find(&end(3, 150, 9, b"")).unwrap(), found);
        let comment = end(7, 7, 7, b"");
        let tail = [&b"before"[..], &end(3, 150, 9, &[comment.as_slice(), b"!"].concat())].concat();
        assert_eq!(EndRecord::find(&tail).unwrap(), EndRecord { from_end: 22 + 23, ..found });
    }

    #[test]
    fn what_has_none_is_no_archive() {
        for tail in [
            &b""[..],
            b"PK\x05\x06",
            &[0; 100],
            &end(1, 2, 3, b"")[1..],
            &[end(1, 2, 3, b""), vec![0]].concat(),
        ] {
            assert_eq!(EndRecord::find(tail).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        let mut several = end(1, 2, 3, b"");
        several[4] = 1;
        assert_eq!(EndRecord::find(&several).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn large_archives_have_a_larger_one() {
        let mut tail = b"PK\x06\x06".to_vec();
        tail.extend(44u64.to_le_bytes());
        tail.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for field in [70_000u64, 70_000, 1 << 33, 1 << 34] {
            tail.extend(field.to_le_bytes());
        }
        tail.extend(b"PK\x06\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0");
        tail.extend(end(u16::MAX, u32::MAX, u32::MAX, b"c"));
        let wanted = EndRecord { count: 70_000, bytes: 1 << 33, offset: 1 << 34, from_end: 99, is_64: true };
        assert_eq!(EndRecord::find(&tail).unwrap(), wanted);
        let apart = [&tail[..56], &[0], &tail[56..]].concat();
        assert_eq!(EndRecord::find(&apart).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
