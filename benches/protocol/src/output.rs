//! The memory that a batch is read into.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Output memory: reused by every pass, faulted in, and where a user's is, so that readers in Rust and in Python fill the same
/// kind of memory: in huge pages where the system gives them for the asking, as NumPy asks for its large arrays, and 16
/// bytes behind a page, as glibc's malloc places them, a `Vec`'s as well as NumPy's. From there, every other row of 32 bytes
/// straddles two cache lines: 13 % of the time on `tinyall_raw`.
pub struct Output {
    start: NonNull<u8>,
    layout: Layout,
    len: usize,
}

/// A huge page of x86-64 and of arm64 with small pages.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// What glibc's malloc keeps before a large allocation, which is on pages of its own.
const BYTES_BEFORE: usize = 16;

// SAFETY: the memory is owned by this value alone, and bytes belong to no thread.
unsafe impl Send for Output {}
// SAFETY: shared references only read.
unsafe impl Sync for Output {}

impl Output {
    /// `len` bytes, each written to.
    ///
    /// # Panics
    ///
    /// When `len` is more than any memory.
    pub fn new(len: usize) -> Output {
        let size = len.checked_add(BYTES_BEFORE).expect("a length that memory can have");
        let layout = Layout::from_size_align(size, HUGE_PAGE_BYTES).expect("a length that memory can have");
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        #[cfg(target_os = "linux")]
        // SAFETY: the range is this allocation; the advice changes no byte, and may be refused.
        unsafe {
            libc::madvise(start.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE)
        };
        // SAFETY: the range is this allocation.
        unsafe { start.write_bytes(0xA5, layout.size()) };
        Output { start, layout, len }
    }
}

impl Deref for Output {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `new` allocated `BYTES_BEFORE` bytes more than `len`.
        let bytes = unsafe { self.start.add(BYTES_BEFORE) };
        // SAFETY: `new` initialised these `len` bytes, which live as long as `self`.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr(), self.len) }
    }
}

impl DerefMut for Output {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`.
        let bytes = unsafe { self.start.add(BYTES_BEFORE) };
        // SAFETY: as in `deref`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(bytes.as_ptr(), self.len) }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
