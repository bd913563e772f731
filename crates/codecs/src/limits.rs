//! How long encoded bytes can get.

/// Room for headers, trailers and block tables beyond the eighth: gzip alone may carry a file name and a comment.
const ENCODED_OVERHEAD_BYTES: u64 = 4096;

/// What of that a compressor leaves free in each of many chunks: sound ones have less than 256 bytes of headers on average.
pub(crate) const SPARE_BYTES: u64 = ENCODED_OVERHEAD_BYTES - 256;

/// The most bytes that a sound compressor makes of `decoded_bytes`.
///
/// Every bound library needs less: lz4 n / 255 + 16, zstd n / 256 + 64, deflate 5 bytes a stored block, blosc 16
/// bytes. Other encoders may store in smaller blocks, so an eighth more is allowed.
pub(crate) fn encoded_bytes_max(decoded_bytes: u64) -> u64 {
    decoded_bytes.saturating_add(decoded_bytes / 8).saturating_add(ENCODED_OVERHEAD_BYTES)
}
