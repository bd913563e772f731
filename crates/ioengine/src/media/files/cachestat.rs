//! `cachestat(2)`: how many pages of a part of a file are cached, as the kernel tells.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Linux 6.5; the number is the same on every architecture. Not in every libc yet.
const SYS_CACHESTAT: libc::c_long = 451;

/// Pages of `len` bytes at `offset` that are cached, by `cachestat(2)`: about 250 ns for few pages, growing slowly, and no
/// work in proportion to what is not cached.
///
/// # Errors
///
/// `ENOSYS` before Linux 6.5; `EPERM` where the kernel does not tell of such a file; `EOPNOTSUPP` on file systems that do
/// not know.
#[expect(unsafe_code, reason = "cachestat")]
pub(super) fn cached_pages(file: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<u64> {
    let asked = [offset, len];
    // Pages cached, dirty, under write-back, evicted, recently evicted.
    let mut answer = [0u64; 5];
    // SAFETY: the two structures are of two and of five 64-bit numbers, in these two arrays.
    let status =
        unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), asked.as_ptr(), answer.as_mut_ptr(), 0u32) };
    if status == 0 { Ok(answer[0]) } else { Err(io::Error::last_os_error()) }
}
