//! Byte ranges of an object, and the one place where storage lengths become memory lengths.

use crate::{Error, ErrorKind};
use std::fmt;

/// Which bytes of an object a logical read wants. Offsets and lengths are in bytes; ranges are half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteRange {
    /// The bytes `offset..offset + len`. Reaching past the object's end is an error. A length of 0 is delivered as
    /// no bytes, wherever it lies.
    Bounded {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
    },
    /// The last `len` bytes, or the whole object where it is shorter (as an HTTP suffix range, RFC 9110 section
    /// 14.1.2).
    Suffix {
        /// Number of bytes wanted from the end.
        len: u64,
    },
    /// All bytes. An object of more than `len_max` bytes is an error of kind
    /// [`LimitExceeded`](ErrorKind::LimitExceeded), so that what is allocated is bounded by what the caller knows.
    Whole {
        /// Most bytes that the caller accepts.
        len_max: u64,
    },
}

impl ByteRange {
    /// The same range as `(offset, length)` within an object of `size` bytes.
    ///
    /// # Errors
    ///
    /// [`UnexpectedEnd`](ErrorKind::UnexpectedEnd) where a bounded range reaches past `size` (or past `u64::MAX`),
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) where a whole object is larger than its bound.
    #[inline]
    pub fn resolve(self, size: u64) -> Result<(u64, u64), Error> {
        match self {
            ByteRange::Bounded { offset: _, len: 0 } => Ok((0, 0)),
            ByteRange::Bounded { offset, len } => match offset.checked_add(len) {
                Some(end) if end <= size => Ok((offset, len)),
                _ => Err(self.beyond(ErrorKind::UnexpectedEnd, size)),
            },
            ByteRange::Suffix { len } => {
                let len = len.min(size);
                Ok((size - len, len))
            }
            ByteRange::Whole { len_max } if size <= len_max => Ok((0, size)),
            ByteRange::Whole { .. } => Err(self.beyond(ErrorKind::LimitExceeded, size)),
        }
    }

    #[cold]
    fn beyond(self, kind: ErrorKind, size: u64) -> Error {
        Error::new(kind, format!("the object has {size} bytes")).with_range(self)
    }

    /// Most bytes that the range can yield.
    #[inline]
    pub fn len_max(self) -> u64 {
        match self {
            ByteRange::Bounded { len, .. } | ByteRange::Suffix { len } => len,
            ByteRange::Whole { len_max } => len_max,
        }
    }
}

impl fmt::Display for ByteRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ByteRange::Bounded { offset, len } => {
                write!(out, "bytes {offset}..{}", u128::from(offset) + u128::from(len))
            }
            ByteRange::Suffix { len } => write!(out, "last {len} bytes"),
            ByteRange::Whole { len_max } => write!(out, "whole object of at most {len_max} bytes"),
        }
    }
}

/// A storage length as a memory length: the one checked crossing between the two.
///
/// # Errors
///
/// [`LimitExceeded`](ErrorKind::LimitExceeded) where this machine's address space cannot hold it.
#[inline]
pub fn memory_len(len: u64) -> Result<usize, Error> {
    match usize::try_from(len) {
        Ok(len) if len <= isize::MAX.unsigned_abs() => Ok(len),
        Ok(_) | Err(_) => Err(too_long(len)),
    }
}

#[cold]
fn too_long(len: u64) -> Error {
    Error::new(ErrorKind::LimitExceeded, format!("{len} bytes do not fit this machine's memory"))
}

/// A memory length as a storage length, which always fits.
pub fn storage_len(len: usize) -> u64 {
    len as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(range: ByteRange, size: u64) -> Result<(u64, u64), ErrorKind> {
        range.resolve(size).map_err(|error| error.kind())
    }

    #[test]
    fn bounded_ranges_end_at_the_object() {
        assert_eq!(resolved(ByteRange::Bounded { offset: 2, len: 8 }, 10), Ok((2, 8)));
        assert_eq!(resolved(ByteRange::Bounded { offset: 3, len: 8 }, 10), Err(ErrorKind::UnexpectedEnd));
        assert_eq!(
            resolved(ByteRange::Bounded { offset: u64::MAX, len: 2 }, 10),
            Err(ErrorKind::UnexpectedEnd)
        );
        assert_eq!(resolved(ByteRange::Bounded { offset: 99, len: 0 }, 10), Ok((0, 0)));
    }

    #[test]
    fn suffixes_clamp_and_wholes_are_bounded() {
        assert_eq!(resolved(ByteRange::Suffix { len: 4 }, 10), Ok((6, 4)));
        assert_eq!(resolved(ByteRange::Suffix { len: 40 }, 10), Ok((0, 10)));
        assert_eq!(resolved(ByteRange::Whole { len_max: 10 }, 10), Ok((0, 10)));
        assert_eq!(resolved(ByteRange::Whole { len_max: 9 }, 10), Err(ErrorKind::LimitExceeded));
    }
}
