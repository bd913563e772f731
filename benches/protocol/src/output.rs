//! The memory that a batch is read into.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Output memory: reused by every pass, faulted in, and in huge pages where the system gives them for the asking, as
/// NumPy asks for its large arrays.
pub struct Output {
    start: NonNull<u8>,
    layout: Layout,
    len: usize,
}

/// A huge page of x86-64 and of arm64 with small pages.
const HUGE_PAGE_BYTES: usize = 2 << 20;

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
        let layout =
            Layout::from_size_align(len.max(1), HUGE_PAGE_BYTES).expect("a length that memory can have");
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
        // SAFETY: `new` allocated and initialised `len` bytes, which live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Output {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
