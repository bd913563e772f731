//! What of a mapping is in the page cache, and bringing it into the page table.

use super::Mapping;
use crate::media::files::cachestat::cached_pages;
use crate::storage_len;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;

/// `madvise(2)`: populate page tables for reading, Linux 5.14. Not in every libc yet.
const MADV_POPULATE_READ: libc::c_int = 22;

/// Of x86-64, the one architecture that this is for.
const PAGE_BYTES: usize = 4096;

/// Pages that one `mincore` asks about.
const ASKED_PAGES_MAX: usize = 1024;

#[expect(unsafe_code, reason = "madvise")]
pub(super) fn populate(mapping: &Mapping, range: Range<u64>) -> io::Result<()> {
    let pages = pages(mapping, &range)?;
    if pages.is_empty() {
        return Ok(());
    }
    let start = mapping.start.as_ptr().wrapping_add(pages.start);
    // SAFETY: whole pages within the mapping; populating reads them and changes nothing.
    let status = unsafe { libc::madvise(start.cast(), pages.len(), MADV_POPULATE_READ) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

pub(super) fn resident_bytes(mapping: &Mapping, file: BorrowedFd<'_>, range: Range<u64>) -> io::Result<u64> {
    let pages = pages(mapping, &range)?;
    if pages.is_empty() {
        return Ok(0);
    }
    let cached = match cached_pages(file, range.start, range.end - range.start) {
        Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => resident_pages(mapping, pages.clone())?,
        answer => answer?,
    };
    let missing = storage_len(pages.len() / PAGE_BYTES).saturating_sub(cached);
    Ok((range.end - range.start).saturating_sub(missing.saturating_mul(storage_len(PAGE_BYTES))))
}

/// The whole pages around a range, as offsets into the mapping.
fn pages(mapping: &Mapping, range: &Range<u64>) -> io::Result<Range<usize>> {
    let start = usize::try_from(range.start).ok().filter(|start| *start <= mapping.len);
    let end = usize::try_from(range.end).ok().filter(|end| *end <= mapping.len);
    match (start, end) {
        (Some(start), Some(end)) if start < end => {
            Ok(start / PAGE_BYTES * PAGE_BYTES..end.next_multiple_of(PAGE_BYTES))
        }
        (Some(start), Some(end)) if start == end => Ok(0..0),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "a range beyond the mapping")),
    }
}

#[expect(unsafe_code, reason = "mincore")]
fn resident_pages(mapping: &Mapping, pages: Range<usize>) -> io::Result<u64> {
    let mut answer = [0u8; ASKED_PAGES_MAX];
    let mut found = 0;
    for start in pages.clone().step_by(ASKED_PAGES_MAX * PAGE_BYTES) {
        let len = (pages.end - start).min(ASKED_PAGES_MAX * PAGE_BYTES);
        let address = mapping.start.as_ptr().wrapping_add(start);
        // SAFETY: whole pages within the mapping, and the answer has room for a byte for each.
        let status = unsafe { libc::mincore(address.cast(), len, answer.as_mut_ptr()) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        found += answer[..len / PAGE_BYTES].iter().filter(|page| **page & 1 == 1).count();
    }
    Ok(storage_len(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn what_was_written_is_cached_and_both_ways_agree() {
        let file = tempfile::tempfile().unwrap();
        let len = storage_len(5000 * PAGE_BYTES) + 100;
        std::io::Write::write_all(&mut &file, &vec![1; usize::try_from(len).unwrap()]).unwrap();
        let mapping = Mapping::new(&file, len).unwrap();
        for range in [0..len, 0..1, 4000..4100, 4096..8192, len - 1..len, 7..7] {
            let wanted = range.end - range.start;
            match mapping.resident_bytes(&file, range.clone()) {
                Ok(resident) => assert_eq!(resident, wanted, "{range:?}"),
                Err(error) => println!("skipped: cachestat: {error}"),
            }
            mapping.populate(range.clone()).unwrap();
            let pages = pages(&mapping, &range).unwrap();
            let spanned = storage_len(pages.len() / PAGE_BYTES);
            assert_eq!(resident_pages(&mapping, pages).unwrap(), spanned, "{range:?}");
        }
    }

    #[test]
    fn a_page_that_is_not_cached_is_taken_off() {
        let file = tempfile::tempfile().unwrap();
        // A hole that nobody has read has no pages.
        file.set_len(3 * 4096).unwrap();
        let mapping = Mapping::new(&file, 3 * 4096).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[1; 4096], 4096).unwrap();
        if cached_pages(file.as_fd(), 0, 1).is_err() {
            return println!("skipped: no cachestat");
        }
        assert_eq!(mapping.resident_bytes(&file, 0..3 * 4096).unwrap(), 4096);
        assert_eq!(mapping.resident_bytes(&file, 4096..8192).unwrap(), 4096);
        assert_eq!(mapping.resident_bytes(&file, 4000..4100).unwrap(), 0);
    }

    #[test]
    fn ranges_beyond_the_mapping_or_the_file_are_errors() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(10_000).unwrap();
        let mapping = Mapping::new(&file, 10_000).unwrap();
        #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
        for range in [0..10_001, 10_001..10_001, 5..4, 0..u64::MAX] {
            let kind = io::ErrorKind::InvalidInput;
            assert_eq!(mapping.populate(range.clone()).unwrap_err().kind(), kind);
            assert_eq!(mapping.resident_bytes(&file, range).unwrap_err().kind(), kind);
        }
        file.set_len(4096).unwrap();
        assert_eq!(mapping.populate(0..10_000).unwrap_err().raw_os_error(), Some(libc::EFAULT));
    }
}
