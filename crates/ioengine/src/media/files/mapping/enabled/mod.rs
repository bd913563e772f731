//! Mappings on x86-64 Linux.

mod guard;
mod handler;
mod previous;
mod residency;
mod routine;
#[cfg(test)]
mod tests;
mod threads;

pub(crate) use guard::CopyGuard;

use super::{Fault, Rows};
use crate::{memory_len, storage_len};
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;

/// Bytes of one read that are asked for ahead of it.
const PREFETCHED_BYTES_MAX: usize = 1024;

const LINE_BYTES: usize = 64;

/// A read-only, shared mapping of a whole file, whose bytes are only ever read by the guarded copy.
///
/// It is unmapped on drop; a copy borrows it, so none can be under way then. It stays with the file that was mapped when
/// another one takes over its name. A forked child has it too, and may copy from it: the kernel shares such mappings
/// without copying page tables, so keeping children out by MADV_DONTFORK would save nothing and cost a SIGSEGV to who
/// forgets. No MADV_RANDOM either: since Linux 6.3 pages that are only touched through such a mapping count as unused
/// and are reclaimed first.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is memory of the process, not of a thread, and is only unmapped by its one owner.
#[expect(unsafe_code, reason = "owns a raw mapping")]
unsafe impl Send for Mapping {}
// SAFETY: through a shared reference it is only read, by instructions that allow for others changing the bytes.
#[expect(unsafe_code, reason = "owns a raw mapping")]
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `len` bytes of a file: its size when it was opened. With unmapping it costs about 2 us; the
    /// first copy from a page that is not populated costs a page fault more.
    ///
    /// # Errors
    ///
    /// InvalidInput where `len` is zero or beyond `isize::MAX`; what `mmap(2)` answers, such as ENODEV from file systems
    /// that cannot be mapped.
    #[expect(unsafe_code, reason = "mmap")]
    pub(crate) fn new(file: impl AsFd, len: u64) -> io::Result<Mapping> {
        let len = memory_len(len).ok().filter(|len| 0 < *len && *len <= isize::MAX.unsigned_abs());
        let Some(len) = len else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a file of this size cannot be mapped"));
        };
        let (protection, descriptor) = (libc::PROT_READ, file.as_fd().as_raw_fd());
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory that is in use; the descriptor
        // is borrowed, so open.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, descriptor, 0) };
        match NonNull::new(start.cast::<u8>()) {
            Some(mapped) if start != libc::MAP_FAILED => Ok(Mapping { start: mapped, len }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Bytes that are mapped: the file's size when it was opened, not the one that it has now.
    pub(crate) fn len(&self) -> u64 {
        storage_len(self.len)
    }

    /// Fills the page table for a range whose pages are in the page cache, at 2 to 90 ns a page, so that copies from
    /// it do not fault. Pages that are not cached are read from the device, and waited for.
    ///
    /// # Errors
    ///
    /// InvalidInput for a range beyond the mapping; EINVAL before Linux 5.14; EFAULT where the file has become shorter.
    pub(crate) fn populate(&self, range: Range<u64>) -> io::Result<()> {
        residency::populate(self, range)
    }

    /// How many bytes of the range are in the page cache, at least: of a page that is not, the whole page is taken off.
    /// `file` is the one that was mapped.
    ///
    /// Before Linux 6.5, of a file that the process neither owns nor may write to, all bytes seem to be cached.
    ///
    /// # Errors
    ///
    /// InvalidInput for a range beyond the mapping; EPERM where the kernel does not tell of such a file; EOPNOTSUPP on
    /// file systems that do not know.
    pub(crate) fn resident_bytes(&self, file: impl AsFd, range: Range<u64>) -> io::Result<u64> {
        residency::resident_bytes(self, file.as_fd(), range)
    }

    /// Asks the processor to bring bytes into its caches, as far as they lie within the mapping: the first
    /// [`PREFETCHED_BYTES_MAX`] of them, as it goes on by itself from there. Never faults, and may do nothing.
    #[inline]
    #[expect(unsafe_code, reason = "prefetches")]
    pub(crate) fn prefetch(&self, offset: u64, len: usize) {
        let Some(start) = self.source(offset, len) else { return };
        let (mut line, len) = (0, len.min(PREFETCHED_BYTES_MAX));
        while line < len {
            // SAFETY: a prefetch takes any address, and changes nothing that a program can see.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line).cast::<i8>()) };
            line += LINE_BYTES;
        }
    }

    /// Copies the bytes from `offset` on, as many as the target has.
    ///
    /// # Errors
    ///
    /// [`Fault`] where they lie beyond the mapping or the file has become shorter; the target is undefined then.
    #[inline]
    #[expect(unsafe_code, reason = "calls the copy routine")]
    pub(crate) fn copy(&self, guard: &CopyGuard, offset: u64, target: &mut [u8]) -> Result<(), Fault> {
        let row_bytes = target.len();
        if row_bytes == 0 {
            return Ok(());
        }
        let source = self.source(offset, row_bytes).ok_or(Fault)?;
        let row = Rows { rows: 1, row_bytes, source_stride: 0, target_stride: 0 };
        // SAFETY: `source` found as many bytes mapped, and the target is borrowed for writing; the mapping is this
        // module's alone, so they do not overlap.
        unsafe { routine::copy(guard.slot(), source, target.as_mut_ptr(), &row) }
    }

    /// Copies one row after the other, which start `source_stride` bytes apart in the file, out of `room` bytes from
    /// `offset` on: in one guarded region where they are of one length and equally far apart in memory, as the rows of an
    /// image are.
    ///
    /// # Errors
    ///
    /// [`Fault`] where some lie beyond those bytes or the mapping, or the file has become shorter; all rows are undefined
    /// then.
    #[inline]
    #[expect(unsafe_code, reason = "calls copy_rows")]
    pub(crate) fn scatter(
        &self,
        guard: &CopyGuard,
        (offset, room): (u64, usize),
        source_stride: usize,
        rows: &mut [&mut [u8]],
    ) -> Result<(), Fault> {
        if let Some((target, shape)) = spaced(rows, source_stride) {
            if shape.source_bytes().is_none_or(|bytes| room < bytes) {
                return Err(Fault);
            }
            // SAFETY: the target spans the rows, which are borrowed for writing; nothing between them is touched.
            return unsafe { self.copy_rows(guard, offset, &shape, target) };
        }
        let mut from = 0usize;
        for row in rows {
            if room.checked_sub(from).is_none_or(|left| left < row.len()) {
                return Err(Fault);
            }
            self.copy(guard, offset.checked_add(storage_len(from)).ok_or(Fault)?, row)?;
            from = from.saturating_add(source_stride);
        }
        Ok(())
    }

    /// Copies rows, the first of them from `offset` on and to the target's start, in one guarded region.
    ///
    /// # Errors
    ///
    /// [`Fault`] where some lie beyond the mapping or the file has become shorter; all rows in the target are undefined
    /// then. Bytes between the rows are never written.
    ///
    /// # Panics
    ///
    /// Where the rows do not fit into the target.
    ///
    /// # Safety
    ///
    /// The rows in `target` are valid for writes, and nobody else reads or writes them until this returns.
    #[inline]
    #[expect(unsafe_code, reason = "writes to an output that threads share")]
    unsafe fn copy_rows(
        &self,
        guard: &CopyGuard,
        offset: u64,
        rows: &Rows,
        target: *mut [u8],
    ) -> Result<(), Fault> {
        if rows.is_empty() {
            return Ok(());
        }
        assert!(
            rows.target_bytes().is_some_and(|bytes| bytes <= target.len()),
            "rows do not fit into their target"
        );
        let source = rows.source_bytes().and_then(|bytes| self.source(offset, bytes)).ok_or(Fault)?;
        // SAFETY: `source` found all rows mapped; they fit into the target, whose memory is as the caller promises; the
        // mapping is this module's alone, so they do not overlap.
        unsafe { routine::copy(guard.slot(), source, target.cast::<u8>(), rows) }
    }

    /// The address of `len` bytes at `offset`; `None` where they are not all mapped.
    #[inline]
    fn source(&self, offset: u64, len: usize) -> Option<*const u8> {
        let offset = usize::try_from(offset).ok()?;
        let room = self.len.checked_sub(offset)?;
        if len <= room { Some(self.start.as_ptr().wrapping_add(offset)) } else { None }
    }
}

/// The memory that rows span, and their shape, where they are of one length and equally far apart.
#[inline]
fn spaced(rows: &mut [&mut [u8]], source_stride: usize) -> Option<(*mut [u8], Rows)> {
    let count = rows.len();
    let (first, others) = rows.split_first_mut()?;
    // The routine goes from row to row by address, so that each row's memory must be known to be reached by one.
    let (start, row_bytes) = (first.as_mut_ptr().expose_provenance(), first.len());
    let target_stride = match others.first_mut() {
        Some(second) => second.as_mut_ptr().expose_provenance().checked_sub(start)?,
        None => row_bytes,
    };
    let (mut expected, mut is_spaced) = (start, true);
    for row in others {
        expected = expected.wrapping_add(target_stride);
        is_spaced &= row.as_mut_ptr().expose_provenance() == expected && row.len() == row_bytes;
    }
    if !is_spaced {
        return None;
    }
    let shape = Rows { rows: count, row_bytes, source_stride, target_stride };
    let target = std::ptr::with_exposed_provenance_mut::<u8>(start);
    Some((std::ptr::slice_from_raw_parts_mut(target, shape.target_bytes()?), shape))
}

impl Drop for Mapping {
    #[expect(unsafe_code, reason = "munmap")]
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this very length, and not unmapped before; copies borrow the mapping, so none is
        // under way.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
