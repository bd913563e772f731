//! How much of a file is in the page cache.

use super::cachestat::cached_pages;
use crate::random::Random;
use std::io;
use std::os::fd::BorrowedFd;

/// Places that are looked at, and bytes of each: a small part of a large file tells as much as a rule needs, and costs
/// some 20 µs whatever the file's size (a `cachestat` of a few pages costs 0.25 µs). The whole of an 8 GiB file costs
/// 50 ms (docs/decisions/0011-choice-of-way.md).
const PLACES: u64 = 64;
const PLACE_BYTES: u64 = 64 << 10;

const PAGE_BYTES: u64 = 4096;

/// The share of the file's bytes that are cached, 0 to 1: exactly for small files, estimated for large ones, by other
/// places for another seed.
///
/// # Errors
///
/// `ENOSYS` before Linux 6.5.
pub(super) fn resident_share(file: BorrowedFd<'_>, size: u64, seed: u64) -> io::Result<f64> {
    let cached = |start, len| Ok(cached_pages(file, start, len)? * PAGE_BYTES);
    sampled_share(size, seed, cached)
}

/// The same by `cached_bytes`, which is given a first byte, a multiple of a page, and how many; a page that is cached may
/// count whole.
///
/// # Errors
///
/// Those of `cached_bytes`.
pub(super) fn sampled_share(
    size: u64,
    seed: u64,
    cached_bytes: impl Fn(u64, u64) -> io::Result<u64>,
) -> io::Result<f64> {
    if size <= PLACES * PLACE_BYTES {
        return Ok((cached_bytes(0, size)? as f64 / size.max(1) as f64).min(1.0));
    }
    let (stride, mut random) = (size / PLACES, Random::new(seed));
    let mut cached = 0;
    for place in 0..PLACES {
        // Not at equal distances, which the data might have too.
        let start = place * stride + random.below(stride - PLACE_BYTES + 1);
        cached += cached_bytes(start / PAGE_BYTES * PAGE_BYTES, PLACE_BYTES)?;
    }
    Ok(cached as f64 / (PLACES * PLACE_BYTES) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    #[test]
    fn written_pages_are_cached_and_holes_are_not() {
        for size in [8192, 3 << 20, 64 << 20] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(size).unwrap();
            let found = match resident_share(file.as_fd(), size, 1) {
                Ok(found) => found,
                Err(error) => return println!("skipped: cachestat: {error}"),
            };
            assert!(found < 0.01, "{found}");
            let half = vec![1; usize::try_from(size / 2).unwrap()];
            file.write_all_at(&half, 0).unwrap();
            let found = resident_share(file.as_fd(), size, 1).unwrap();
            assert!((0.4..=0.6).contains(&found), "{found} of {size}");
            file.write_all_at(&half, size / 2).unwrap();
            let found = resident_share(file.as_fd(), size, 1).unwrap();
            assert!(0.999 < found, "{found}");
        }
    }

    #[test]
    fn a_large_file_is_looked_at_in_few_places_that_differ_by_seed() {
        let looked = |size, seed| {
            let places = RefCell::new(Vec::new());
            let cached = |start: u64, len: u64| {
                assert!(start.is_multiple_of(PAGE_BYTES) && start + len <= size);
                places.borrow_mut().push(start);
                Ok(if start < size / 2 { len } else { 0 })
            };
            (sampled_share(size, seed, cached).unwrap(), places.into_inner())
        };
        for size in [(4 << 20) + 1, (8 << 30) + 777] {
            let (share, places) = looked(size, 1);
            assert!((0.45..=0.55).contains(&share) && places.len() == 64, "{share} {places:?}");
        }
        assert_eq!(looked(8 << 30, 1), looked(8 << 30, 1));
        assert_ne!(looked(8 << 30, 1).1, looked(8 << 30, 2).1);
        assert_eq!(looked(4 << 20, 1).1, [0]);
        assert_eq!(looked(0, 1).0, 0.0);
    }
}
