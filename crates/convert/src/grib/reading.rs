//! A stretch of a file that is in memory, and what is still wanted of the rest.

use super::field::Span;
use crate::Error;

/// Bytes of a file.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    offset: u64,
    bytes: &'a [u8],
}

/// Why taking a message apart stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// These bytes are needed first.
    Wants(Span),
    /// The message is not sound.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

impl<'a> Reading<'a> {
    pub(crate) fn new(offset: u64, bytes: &'a [u8]) -> Reading<'a> {
        Reading { offset, bytes }
    }

    /// The bytes from `offset` on; none where it lies outside.
    pub(crate) fn from(&self, offset: u64) -> &'a [u8] {
        let start = offset.checked_sub(self.offset).and_then(|start| usize::try_from(start).ok());
        start.and_then(|start| self.bytes.get(start..)).unwrap_or_default()
    }

    /// `len` bytes from `offset` on.
    ///
    /// # Errors
    ///
    /// [`Stop::Wants`] where not all of them are here.
    pub(crate) fn get(&self, offset: u64, len: usize) -> Result<&'a [u8], Stop> {
        let wanted = Span { offset, len: swath_ioengine::storage_len(len) };
        self.from(offset).get(..len).ok_or(Stop::Wants(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_here_is_wanted() {
        let reading = Reading::new(10, b"GRIB");
        assert_eq!(reading.get(11, 2).ok(), Some(&b"RI"[..]));
        assert!(matches!(reading.get(12, 3), Err(Stop::Wants(Span { offset: 12, len: 3 }))));
        assert!(matches!(reading.get(9, 1), Err(Stop::Wants(_))));
        assert_eq!(reading.from(99), b"");
    }
}
