//! How much of a file is in the page cache.

use crate::media::files::page_cache::cached_pages;
use std::io;
use std::os::fd::BorrowedFd;

/// Places that are looked at, and bytes of each: a small part of a large file tells as much as the rule needs, and costs
/// some 20 µs whatever the file's size (a `cachestat` of a few pages costs 0.25 µs).
const PLACES: u64 = 64;
const PLACE_BYTES: u64 = 64 << 10;

const PAGE_BYTES: u64 = 4096;

/// The share of the file's bytes that are cached, 0 to 1: exactly for small files, estimated for large ones.
///
/// # Errors
///
/// `ENOSYS` before Linux 6.5.
pub(super) fn resident_share(file: BorrowedFd<'_>, size: u64) -> io::Result<f64> {
    if size <= PLACES * PLACE_BYTES {
        return Ok(share(cached_pages(file, 0, size)?, size.div_ceil(PAGE_BYTES)));
    }
    let stride = size / PLACES;
    let mut cached = 0;
    for place in 0..PLACES {
        // Not at equal distances, which the data might have too.
        let jitter = place.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (stride - PLACE_BYTES + 1);
        let start = (place * stride + jitter) / PAGE_BYTES * PAGE_BYTES;
        cached += cached_pages(file, start, PLACE_BYTES)?;
    }
    Ok(share(cached, PLACES * PLACE_BYTES / PAGE_BYTES))
}

fn share(cached: u64, pages: u64) -> f64 {
    cached as f64 / pages.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    #[test]
    fn written_pages_are_cached_and_holes_are_not() {
        for size in [8192, 3 << 20, 64 << 20] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(size).unwrap();
            let found = match resident_share(file.as_fd(), size) {
                Ok(found) => found,
                Err(error) => return println!("skipped: cachestat: {error}"),
            };
            assert!(found < 0.01, "{found}");
            let half = vec![1; usize::try_from(size / 2).unwrap()];
            file.write_all_at(&half, 0).unwrap();
            let found = resident_share(file.as_fd(), size).unwrap();
            assert!((0.4..=0.6).contains(&found), "{found} of {size}");
            file.write_all_at(&half, size / 2).unwrap();
            let found = resident_share(file.as_fd(), size).unwrap();
            assert!(0.999 < found, "{found}");
        }
    }
}
