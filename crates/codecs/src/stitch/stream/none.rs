//! Machines without stores past the cache, or whose memcpy needs none.
//!
//! Guarded by the tests of `stream`.

/// Copies `len` bytes.
///
/// # Safety
///
/// `len` bytes are readable from `source` and writable to `target`, by nobody else, and the two do not overlap.
#[expect(unsafe_code, reason = "copies between addresses")]
pub(in crate::stitch) unsafe fn copy(source: *const u8, target: *mut u8, len: usize) {
    // SAFETY: as the caller promises.
    unsafe { std::ptr::copy_nonoverlapping(source, target, len) }
}
