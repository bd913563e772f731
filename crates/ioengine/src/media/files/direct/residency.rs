//! How much of a file is in the page cache.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Linux 6.5; the number is the same on every architecture. Not in every libc yet.
const SYS_CACHESTAT: libc::c_long = 451;

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

#[expect(unsafe_code, reason = "cachestat")]
fn cached_pages(file: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<u64> {
    let asked = [offset, len];
    // Pages cached, dirty, under write-back, evicted, recently evicted.
    let mut answer = [0u64; 5];
    // SAFETY: the two structures are of two and of five 64-bit numbers, in these two arrays.
    let status =
        unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), asked.as_ptr(), answer.as_mut_ptr(), 0u32) };
    if status == 0 { Ok(answer[0]) } else { Err(io::Error::last_os_error()) }
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
