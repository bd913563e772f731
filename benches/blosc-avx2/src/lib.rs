//! c-blosc's decoder and encoder, compiled for AVX2.
//!
//! A program that links `blosc-src` as well would take the C functions of one of the two: do not use both.

use std::ffi::{CStr, c_char, c_int, c_void};
// They hold the functions that the C code calls.
use lz4_sys as _;
use zstd_sys as _;

unsafe extern "C" {
    fn blosc_decompress_ctx(
        source: *const c_void,
        target: *mut c_void,
        target_bytes: usize,
        threads: c_int,
    ) -> c_int;

    fn blosc_compress_ctx(
        level: c_int,
        shuffle: c_int,
        element_bytes: usize,
        source_bytes: usize,
        source: *const c_void,
        target: *mut c_void,
        target_bytes: usize,
        compressor: *const c_char,
        block_bytes: usize,
        threads: c_int,
    ) -> c_int;
}

/// How to encode.
pub struct Settings<'a> {
    /// `lz4`, `zstd`, ...
    pub compressor: &'a CStr,
    /// 0 to 9.
    pub level: i32,
    /// 0 for none, 1 for bytes, 2 for bits.
    pub shuffle: i32,
}

/// Encodes elements of so many bytes on this thread, and tells how many bytes it wrote; `None` where `target` has no room or
/// the library does not know the compressor.
pub fn compress(
    settings: &Settings<'_>,
    element_bytes: usize,
    source: &[u8],
    target: &mut [u8],
) -> Option<usize> {
    // SAFETY: the library reads `source.len()` bytes, writes at most `target.len()`, and the name is a C string;
    // all three live through the call.
    let written = unsafe {
        blosc_compress_ctx(
            settings.level,
            settings.shuffle,
            element_bytes,
            source.len(),
            source.as_ptr().cast(),
            target.as_mut_ptr().cast(),
            target.len(),
            settings.compressor.as_ptr(),
            0,
            1,
        )
    };
    usize::try_from(written).ok().filter(|written| *written != 0)
}

/// Decodes a blosc buffer on this thread, and tells how many bytes it wrote.
///
/// Returns `None` where the library finds the buffer unsound. What it does not find, it does not survive: use it for
/// buffers that were written by blosc.
pub fn decompress(source: &[u8], target: &mut [u8]) -> Option<usize> {
    if header_length(source)? != source.len() {
        return None;
    }
    // SAFETY: the library writes at most `target.len()` bytes, and reads no more than the length in the header, which
    // was just compared with the slice's.
    let written =
        unsafe { blosc_decompress_ctx(source.as_ptr().cast(), target.as_mut_ptr().cast(), target.len(), 1) };
    usize::try_from(written).ok()
}

/// The length that the buffer's header tells.
fn header_length(source: &[u8]) -> Option<usize> {
    let length = source.get(12..16)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*length)).ok()
}
