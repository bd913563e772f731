//! Owns libdeflate's contexts; the only file that calls libdeflate.
//!
//! Guarded by the tests of `gzip` and `zlib`, `tests/it/corrupt.rs` and the fuzz targets of the same names. Bound
//! directly because the `libdeflater` crate does not pass on how many bytes of input a stream took, which several
//! gzip members need.

#![expect(unsafe_code, reason = "libdeflate is a C library")]

use std::ptr::NonNull;

use libdeflate_sys as sys;

/// What wraps the DEFLATE stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// RFC 1952.
    Gzip,
    /// RFC 1950.
    Zlib,
    /// Nothing: RFC 1951.
    Bare,
}

/// How far one decompression came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) read: usize,
    pub(crate) written: usize,
}

/// Why one decompression failed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Failure {
    BadData,
    NoRoom,
}

/// The Adler-32 of `content` (RFC 1950, 8.2).
pub(crate) fn adler32(content: &[u8]) -> u32 {
    // SAFETY: the slice is live and passed with its own length; 1 is the checksum of nothing.
    unsafe { sys::libdeflate_adler32(1, content.as_ptr().cast(), content.len()) }
}

/// A decompression context, owned.
pub(crate) struct Decompressor(NonNull<sys::libdeflate_decompressor>);

// SAFETY: a libdeflate decompressor is plain memory without thread affinity, and `self` is its only owner.
unsafe impl Send for Decompressor {}

impl Decompressor {
    /// `None` when there is no memory for it.
    pub(crate) fn new() -> Option<Self> {
        // SAFETY: takes nothing; the result is checked for null below.
        NonNull::new(unsafe { sys::libdeflate_alloc_decompressor() }).map(Self)
    }

    /// Decodes one stream from the front of `source` to the front of `target`.
    pub(crate) fn decompress(
        &mut self,
        format: Format,
        source: &[u8],
        target: &mut [u8],
    ) -> Result<Progress, Failure> {
        let decompress = match format {
            Format::Gzip => sys::libdeflate_gzip_decompress_ex,
            Format::Zlib => sys::libdeflate_zlib_decompress_ex,
            Format::Bare => sys::libdeflate_deflate_decompress_ex,
        };
        let mut progress = Progress { read: 0, written: 0 };
        // SAFETY: the context is live and ours alone (`&mut self`); source and target are live slices passed with
        // their own lengths, which libdeflate stays within; both counters are live and written on success.
        let status = unsafe {
            decompress(
                self.0.as_ptr(),
                source.as_ptr().cast(),
                source.len(),
                target.as_mut_ptr().cast(),
                target.len(),
                &raw mut progress.read,
                &raw mut progress.written,
            )
        };
        match status {
            sys::libdeflate_result_LIBDEFLATE_SUCCESS => Ok(progress),
            sys::libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE => Err(Failure::NoRoom),
            _ => Err(Failure::BadData),
        }
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: came from libdeflate_alloc_decompressor, freed once, not used after.
        unsafe { sys::libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

/// A compression context of one level, owned.
pub(crate) struct Compressor {
    context: NonNull<sys::libdeflate_compressor>,
    level: i32,
}

// SAFETY: a libdeflate compressor is plain memory without thread affinity, and `self` is its only owner.
unsafe impl Send for Compressor {}

impl Compressor {
    /// `None` when there is no memory for it, or when `level` is not 0 to 12.
    pub(crate) fn new(level: i32) -> Option<Self> {
        // SAFETY: takes a number, any number; the result is checked for null below.
        let context = NonNull::new(unsafe { sys::libdeflate_alloc_compressor(level) })?;
        Some(Self { context, level })
    }

    pub(crate) fn level(&self) -> i32 {
        self.level
    }

    /// The most bytes that `source_len` bytes become.
    pub(crate) fn bound(&mut self, format: Format, source_len: usize) -> usize {
        let bound = match format {
            Format::Gzip => sys::libdeflate_gzip_compress_bound,
            Format::Zlib => sys::libdeflate_zlib_compress_bound,
            Format::Bare => sys::libdeflate_deflate_compress_bound,
        };
        // SAFETY: the context is live and ours alone (`&mut self`); the length is a number.
        unsafe { bound(self.context.as_ptr(), source_len) }
    }

    /// Encodes `source` to the front of `target`; `None` when it does not fit.
    pub(crate) fn compress(&mut self, format: Format, source: &[u8], target: &mut [u8]) -> Option<usize> {
        let compress = match format {
            Format::Gzip => sys::libdeflate_gzip_compress,
            Format::Zlib => sys::libdeflate_zlib_compress,
            Format::Bare => sys::libdeflate_deflate_compress,
        };
        // SAFETY: the context is live and ours alone (`&mut self`); source and target are live slices passed with
        // their own lengths, which libdeflate stays within.
        let written = unsafe {
            compress(
                self.context.as_ptr(),
                source.as_ptr().cast(),
                source.len(),
                target.as_mut_ptr().cast(),
                target.len(),
            )
        };
        (written != 0 && written <= target.len()).then_some(written)
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: came from libdeflate_alloc_compressor, freed once, not used after.
        unsafe { sys::libdeflate_free_compressor(self.context.as_ptr()) }
    }
}
