//! Stores past the cache by SSE2, which every x86-64 machine has.
//!
//! Guarded by the tests of `stream`.

#![expect(unsafe_code, reason = "copies between addresses")]

use std::arch::x86_64::{__m128i, _mm_sfence, _mm_stream_si128};

/// Bytes that are written at a time: a whole cache line, which goes to memory as one.
const LINE_BYTES: usize = 64;

/// Hardware prefetching follows a stream within a page.
const PAGE_BYTES: usize = 4096;

/// Pages that are copied side by side, a line of each in turn, as glibc's memcpy does for its largest copies: 29 ms, where one
/// page after the other takes 37 (see `STREAM_MIN`); two take 30, eight take as long as four.
const PAGES: usize = 4;

/// Copies `len` bytes, those in the middle past the cache.
///
/// # Safety
///
/// `len` bytes are readable from `source` and writable to `target`, by nobody else, and the two do not overlap.
pub(in crate::stitch) unsafe fn copy(source: *const u8, target: *mut u8, len: usize) {
    const ROUND_BYTES: usize = PAGES * PAGE_BYTES;
    let start = target.align_offset(LINE_BYTES).min(len);
    // SAFETY: the first `start <= len` bytes.
    unsafe { std::ptr::copy_nonoverlapping(source, target, start) };
    let mut at = start;
    while ROUND_BYTES <= len - at {
        for line in (at..at + PAGE_BYTES).step_by(LINE_BYTES) {
            for page in 0..PAGES {
                // SAFETY: the line ends at or before `at + ROUND_BYTES <= len`; lines lie `LINE_BYTES` apart from the
                // first multiple of it in `target` on.
                unsafe { copy_line(source, target, line + page * PAGE_BYTES) };
            }
        }
        at += ROUND_BYTES;
    }
    // Such stores are in order with no others: before anybody is told of the copy, they must be done.
    // SAFETY: of every x86-64 machine's instructions.
    unsafe { _mm_sfence() };
    // SAFETY: within the `len` bytes, or at their end.
    let source = unsafe { source.add(at) };
    // SAFETY: as above.
    let target = unsafe { target.add(at) };
    // SAFETY: the bytes that are left.
    unsafe { std::ptr::copy_nonoverlapping(source, target, len - at) };
}

/// Copies the line that starts `at` bytes behind both addresses.
///
/// # Safety
///
/// `at + LINE_BYTES` bytes are readable and writable, as for [`copy`], and `target` is a multiple of 16 there.
#[inline(always)]
unsafe fn copy_line(source: *const u8, target: *mut u8, at: usize) {
    // SAFETY: within the caller's bytes.
    let source = unsafe { source.add(at) }.cast::<[__m128i; 4]>();
    // SAFETY: as above.
    let target = unsafe { target.add(at) }.cast::<[__m128i; 4]>();
    // SAFETY: 64 readable bytes, of any alignment.
    let parts: [__m128i; 4] = unsafe { source.read_unaligned() };
    for (number, part) in parts.into_iter().enumerate() {
        // SAFETY: one of the line's four parts.
        let place = unsafe { target.cast::<__m128i>().add(number) };
        // SAFETY: 16 writable bytes at a multiple of 16; the caller fences before anybody else may look.
        unsafe { _mm_stream_si128(place, part) };
    }
}
