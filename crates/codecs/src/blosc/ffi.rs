//! The only file that calls c-blosc: two functions over slices.
//!
//! Only the `_ctx` functions are used: they take no lock, start no thread when asked for one, and read no environment
//! variable but `BLOSC_WARN`. Guarded by the tests of `blosc`, `tests/it/corrupt.rs` and the fuzz target `blosc`.

#![expect(unsafe_code, reason = "c-blosc is a C library")]

use std::ffi::{CStr, c_int};

use super::header::{HEADER_BYTES, Header};

/// What to compress with, in c-blosc's terms.
pub(super) struct Settings {
    pub(super) level: c_int,
    pub(super) shuffle: c_int,
    pub(super) element_bytes: usize,
    pub(super) block_bytes: usize,
    pub(super) compressor: &'static CStr,
}

/// Decodes a whole buffer to the front of `target`: the bytes written, or `None` when it is malformed, or when the
/// header states more than the slices hold.
///
/// `header` must have been read from `source`.
pub(super) fn decompress(header: &Header, source: &[u8], target: &mut [u8]) -> Option<usize> {
    // c-blosc takes the stored length from the header alone, so it has to be right before the call.
    let sound = HEADER_BYTES <= header.stored_len
        && header.stored_len <= source.len()
        && header.decoded_len <= target.len();
    if !sound {
        return None;
    }
    // SAFETY: `source` holds at least the header and the stored length that it states, and `target` the decoded
    // length, as checked above; both are live and do not overlap (`&mut`); one thread means no pool.
    let written = unsafe {
        blosc_src::blosc_decompress_ctx(source.as_ptr().cast(), target.as_mut_ptr().cast(), target.len(), 1)
    };
    usize::try_from(written).ok().filter(|written| *written <= target.len())
}

/// Encodes `source`, and puts it behind what `target` holds; `None`, and nothing is put there, when c-blosc refuses the settings
/// or the lengths, or there is no memory.
pub(super) fn compress(settings: &Settings, source: &[u8], target: &mut Vec<u8>) -> Option<()> {
    target.try_reserve(source.len() + HEADER_BYTES).ok()?;
    let (before, room) = (target.len(), target.spare_capacity_mut());
    let room = &mut room[..source.len() + HEADER_BYTES];
    // SAFETY: both slices are live, do not overlap (`&mut`) and are passed with their own lengths, which c-blosc stays
    // within; what it reads of the room it has written before; the name is a C string; one thread means no pool.
    let written = unsafe {
        blosc_src::blosc_compress_ctx(
            settings.level,
            settings.shuffle,
            settings.element_bytes,
            source.len(),
            source.as_ptr().cast(),
            room.as_mut_ptr().cast(),
            room.len(),
            settings.compressor.as_ptr(),
            settings.block_bytes,
            1,
        )
    };
    let written = usize::try_from(written).ok().filter(|written| 0 < *written && *written <= room.len())?;
    // SAFETY: as many bytes of the room, which lies behind `before`, were written.
    unsafe { target.set_len(before + written) };
    Some(())
}
