//! Bytes of an open object that are there already, so that no read has to be issued for them.

use crate::media::files::{CopyGuard, Mapping};
use crate::{Error, ErrorKind, storage_len};
use std::fmt;

/// Bytes that a lane can take at once: see [`OpenObject::resident`](crate::OpenObject::resident).
pub struct Resident<'a>(Source<'a>);

enum Source<'a> {
    Lent(&'a [u8]),
    Mapped { mapping: &'a Mapping, guard: CopyGuard },
}

impl<'a> Resident<'a> {
    /// All bytes of an object in memory.
    pub fn lent(bytes: &'a [u8]) -> Resident<'a> {
        Resident(Source::Lent(bytes))
    }

    /// A whole file, mapped.
    pub(crate) fn mapped(mapping: &'a Mapping, guard: CopyGuard) -> Resident<'a> {
        Resident(Source::Mapped { mapping, guard })
    }

    /// Copies the bytes from `offset` on, as many as `target` has.
    ///
    /// # Errors
    ///
    /// [`Changed`](ErrorKind::Changed) where they are not there, or not any more; the target is undefined then.
    #[inline]
    pub fn copy(&self, offset: u64, target: &mut [u8]) -> Result<(), Error> {
        match &self.0 {
            Source::Lent(_) => {
                let bytes = self.bytes(offset, target.len()).ok_or_else(gone)?;
                target.copy_from_slice(bytes);
                Ok(())
            }
            Source::Mapped { mapping, guard } => mapping.copy(guard, offset, target).map_err(|_| gone()),
        }
    }

    /// Copies one row after the other, `stride` bytes apart in the object, out of `room` bytes from `offset` on.
    #[inline]
    fn scatter(
        &self,
        (offset, room): (u64, usize),
        stride: usize,
        rows: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        match &self.0 {
            Source::Lent(_) => {
                let bytes = self.bytes(offset, room).ok_or_else(gone)?;
                let mut from = 0usize;
                for row in rows {
                    let end = from.checked_add(row.len()).ok_or_else(gone)?;
                    row.copy_from_slice(bytes.get(from..end).ok_or_else(gone)?);
                    from = from.saturating_add(stride);
                }
                Ok(())
            }
            Source::Mapped { mapping, guard } => {
                mapping.scatter(guard, (offset, room), stride, rows).map_err(|_| gone())
            }
        }
    }

    /// Asks for bytes that will be copied soon.
    #[inline]
    pub(crate) fn prefetch(&self, offset: u64, len: usize) {
        match &self.0 {
            Source::Lent(_) => {}
            Source::Mapped { mapping, .. } => mapping.prefetch(offset, len),
        }
    }

    /// The bytes themselves, where they stay what they are.
    #[inline]
    pub(crate) fn bytes(&self, offset: u64, len: usize) -> Option<&'a [u8]> {
        match &self.0 {
            Source::Lent(bytes) => {
                let start = usize::try_from(offset).ok()?;
                bytes.get(start..start.checked_add(len)?)
            }
            Source::Mapped { .. } => None,
        }
    }

    /// Bytes of the object that can be copied.
    fn len(&self) -> u64 {
        match &self.0 {
            Source::Lent(bytes) => storage_len(bytes.len()),
            Source::Mapped { mapping, .. } => mapping.len(),
        }
    }
}

#[cold]
fn gone() -> Error {
    Error::new(ErrorKind::Changed, "the object became shorter while it was read")
}

/// The bytes of one read, in place: a sink copies out what it wants, to where it wants it.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    resident: &'a Resident<'a>,
    offset: u64,
    len: usize,
}

impl<'a> Piece<'a> {
    pub(crate) fn new(resident: &'a Resident<'a>, offset: u64, len: usize) -> Piece<'a> {
        Piece { resident, offset, len }
    }

    /// Bytes of the read.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "reads of no bytes are delivered as no bytes")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Copies the bytes from `start` within the read on, as many as `target` has.
    ///
    /// # Errors
    ///
    /// [`Changed`](ErrorKind::Changed) where the object became shorter while it was read, or where the read has fewer
    /// bytes; the target is undefined then.
    #[inline]
    pub fn copy(&self, start: usize, target: &mut [u8]) -> Result<(), Error> {
        if self.len < start || self.len - start < target.len() {
            return Err(gone());
        }
        self.resident.copy(self.offset.saturating_add(storage_len(start)), target)
    }
}

impl Piece<'_> {
    /// Fills rows one after the other from bytes that start `stride` apart, the first `start` bytes into the read. Rows of
    /// one length that are equally far apart in memory are filled faster than one by one.
    ///
    /// # Errors
    ///
    /// As [`copy`](Piece::copy); all rows are undefined then.
    #[inline]
    pub fn scatter(&self, start: usize, stride: usize, rows: &mut [&mut [u8]]) -> Result<(), Error> {
        let room = self.len.checked_sub(start).ok_or_else(gone)?;
        self.resident.scatter((self.offset.saturating_add(storage_len(start)), room), stride, rows)
    }
}

impl fmt::Debug for Piece<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Piece({} of {} bytes at {})", self.len, self.resident.len(), self.offset)
    }
}
