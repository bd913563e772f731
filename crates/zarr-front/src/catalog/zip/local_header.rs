//! The header before a member's bytes.

use super::central::{Fields, corrupt};
use crate::Error;

const SIGNATURE: [u8; 4] = *b"PK\x03\x04";

/// Bytes of a local header without name and extra fields.
pub(super) const HEADER_BYTES: u64 = 30;

/// Bytes of a local header's extra fields, and of a name, at most.
pub(super) const FIELD_BYTES_MAX: u64 = 65_535;

/// Bytes from where a local header begins to where the member's bytes do.
///
/// # Errors
///
/// `Corrupt` for anything else than the local header of a member whose name has so many bytes.
pub(super) fn header_len(stored: &[u8], name_len: u64) -> Result<u32, Error> {
    let mut fields = Fields::new(stored);
    if fields.take(4)? != SIGNATURE {
        return Err(corrupt(
            "the zip archive has no header where its directory says: it is broken, or something stands before it that its directory does not count",
        ));
    }
    // Version, flags, method, time, date, checksum and lengths: the directory has them too, and surely.
    fields.take(22)?;
    let (found, extra_len) = (fields.u16()?, fields.u16()?);
    if u64::from(found) != name_len {
        return Err(corrupt(format!(
            "the zip archive's directory and a member's own header differ: a name of {name_len} bytes, and of {found}"
        )));
    }
    // Sums of 16 bits fit 32.
    Ok(HEADER_BYTES_32 + u32::from(found) + u32::from(extra_len))
}

/// [`HEADER_BYTES`] in 32 bits.
const HEADER_BYTES_32: u32 = 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn it_tells_where_the_bytes_begin() {
        let mut header = b"PK\x03\x04".to_vec();
        header.extend([0; 22]);
        header.extend([3, 0, 0, 1]);
        assert_eq!(header_len(&header, 3).unwrap(), 30 + 3 + 256);
        assert_eq!(header_len(&header, 4).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(header_len(&header[..29], 3).unwrap_err().kind(), ErrorKind::Corrupt);
        header[0] = 0;
        assert_eq!(header_len(&header, 3).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}
