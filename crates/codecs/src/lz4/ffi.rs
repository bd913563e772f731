//! The only file that calls liblz4: two functions over slices.
//!
//! Guarded by the tests of `lz4` and `blosc`, `tests/it/corrupt.rs` and the fuzz target `lz4`.

#![expect(unsafe_code, reason = "liblz4 is a C library")]

use std::ffi::c_int;

/// Decodes one LZ4 block to the front of `target`: the bytes written, or `None` when the block is malformed, does not
/// fit, or either slice is longer than `i32::MAX`.
pub(crate) fn decompress(source: &[u8], target: &mut [u8]) -> Option<usize> {
    let source_len = c_int::try_from(source.len()).ok()?;
    let target_len = c_int::try_from(target.len()).ok()?;
    // SAFETY: both slices are live, do not overlap (`&mut`) and are passed with their own lengths;
    // LZ4_decompress_safe is documented to stay within both for any input.
    let written = unsafe {
        lz4_sys::LZ4_decompress_safe(
            source.as_ptr().cast(),
            target.as_mut_ptr().cast(),
            source_len,
            target_len,
        )
    };
    usize::try_from(written).ok().filter(|written| *written <= target.len())
}

/// The most bytes that one block of `source_len` bytes becomes, or `None` past the format's 2,113,929,216 bytes.
pub(crate) fn bound(source_len: usize) -> Option<usize> {
    let source_len = c_int::try_from(source_len).ok()?;
    // SAFETY: pure arithmetic on a number; zero for what is too large.
    let bound = unsafe { lz4_sys::LZ4_compressBound(source_len) };
    usize::try_from(bound).ok().filter(|bound| 0 < *bound)
}

/// Encodes `source` as one LZ4 block to the front of `target`; `None` when it does not fit.
pub(crate) fn compress(source: &[u8], target: &mut [u8], acceleration: i32) -> Option<usize> {
    let source_len = c_int::try_from(source.len()).ok()?;
    let target_len = c_int::try_from(target.len()).ok()?;
    // SAFETY: both slices are live, do not overlap (`&mut`) and are passed with their own lengths, which
    // LZ4_compress_fast stays within; any acceleration is taken.
    let written = unsafe {
        lz4_sys::LZ4_compress_fast(
            source.as_ptr().cast(),
            target.as_mut_ptr().cast(),
            source_len,
            target_len,
            acceleration,
        )
    };
    usize::try_from(written).ok().filter(|written| 0 < *written && *written <= target.len())
}
