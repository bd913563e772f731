//! Copies, against slices. What faults, and what needs a handler of its own, runs in a process of its own.

mod child;
mod faults;
mod handlers;

pub(super) use child::{case_in_child, in_child};

use super::{CopyGuard, Mapping};
use crate::media::files::mapping::{Fault, Rows};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A file of bytes that tell where they are, and are never zero.
fn numbered(len: usize) -> (File, Vec<u8>) {
    let file = tempfile::tempfile().unwrap();
    let bytes: Vec<u8> = (0..len).map(|at| u8::try_from(at * 31 % 251 + 1).unwrap()).collect();
    file.write_all_at(&bytes, 0).unwrap();
    (file, bytes)
}

fn mapped(file: &File) -> Mapping {
    Mapping::new(file, file.metadata().unwrap().len()).unwrap()
}

/// Copies rows into a target of exactly their size.
#[expect(unsafe_code, reason = "calls copy_rows")]
fn copy_rows(mapping: &Mapping, offset: u64, rows: &Rows, target: &mut [u8]) -> Result<(), Fault> {
    let guard = CopyGuard::look().unwrap();
    // SAFETY: the target is borrowed for writing.
    unsafe { mapping.copy_rows(&guard, offset, rows, &raw mut *target) }
}

const WIDTHS: [usize; 12] = [300, 511, 512, 1000, 1024, 1025, 2047, 2048, 2049, 4096, 5000, 9000];

#[test]
fn copies_equal_slices() {
    let (file, bytes) = numbered(40_000);
    let mapping = mapped(&file);
    let guard = CopyGuard::look().unwrap();
    assert_eq!(mapping.len(), 40_000);
    for len in (0..=260).chain(WIDTHS) {
        for offset in [0, 1, 4095, 8191, 40_000 - len] {
            let mut target = vec![0; len + 2];
            mapping.copy(&guard, u64::try_from(offset).unwrap(), &mut target[1..=len]).unwrap();
            assert_eq!(target[1..=len], bytes[offset..offset + len], "{len} bytes at {offset}");
            assert_eq!((target[0], target[len + 1]), (0, 0), "around {len} bytes");
            assert!(!guard.slot().is_copying());
        }
    }
}

#[test]
fn rows_equal_slices_and_nothing_between_them_is_written() {
    let (file, bytes) = numbered(40_000);
    let mapping = mapped(&file);
    for row_bytes in (1..=140).chain(WIDTHS) {
        for (count, gap) in [(1, 0), (2, 0), (3, 7), (4, 100)] {
            let rows =
                Rows { rows: count, row_bytes, source_stride: row_bytes + gap, target_stride: row_bytes + 5 };
            let mut target = vec![0; rows.target_bytes().unwrap()];
            let mut wanted = target.clone();
            for row in 0..count {
                let (from, to) = (3 + row * rows.source_stride, row * rows.target_stride);
                wanted[to..to + row_bytes].copy_from_slice(&bytes[from..from + row_bytes]);
            }
            copy_rows(&mapping, 3, &rows, &mut target).unwrap();
            assert!(target == wanted, "{rows:?}");
        }
    }
    // Strides may be anything that fits.
    let rows = Rows { rows: 4, row_bytes: 16, source_stride: 0, target_stride: 4 };
    let mut target = [0; 28];
    copy_rows(&mapping, 0, &rows, &mut target).unwrap();
    assert_eq!(target[..12], [&bytes[..4], &bytes[..4], &bytes[..4]].concat());
    assert_eq!(target[12..], bytes[..16]);
}

#[test]
fn rows_of_any_memory_are_filled_in_order() {
    let (file, bytes) = numbered(40_000);
    let mapping = mapped(&file);
    let guard = CopyGuard::look().unwrap();
    // Equally far apart; of different lengths; the other way round; one; none.
    for pieces in [vec![10; 40], vec![1, 50, 3, 4000, 0, 9], vec![64; 2], vec![100], vec![]] {
        for (is_reversed, gap) in [(false, 0), (false, 6), (true, 6)] {
            let total: usize = pieces.iter().map(|len| len + gap).sum();
            let mut target = vec![0; total];
            let mut rest = target.as_mut_slice();
            let mut rows: Vec<&mut [u8]> = Vec::new();
            for len in &pieces {
                let (row, after) = rest.split_at_mut(*len);
                rows.push(row);
                rest = &mut after[gap..];
            }
            if is_reversed {
                rows.reverse();
            }
            mapping.scatter(&guard, (5, 39_995), 70, &mut rows).unwrap();
            for (number, row) in rows.iter().enumerate() {
                assert_eq!(**row, bytes[5 + number * 70..][..row.len()], "{pieces:?} {gap}");
            }
            drop(rows);
            let written = target.iter().filter(|byte| **byte != 0).count();
            assert!(written <= pieces.iter().sum(), "between the rows");
        }
    }
    let (mut first, mut last) = ([0; 8], [0; 8]);
    let rows = &mut [first.as_mut_slice(), last.as_mut_slice()];
    assert_eq!(mapping.scatter(&guard, (0, usize::MAX), 39_992, rows), Ok(()));
    assert_eq!(mapping.scatter(&guard, (0, usize::MAX), 39_993, rows), Err(Fault));
    assert_eq!(mapping.scatter(&guard, (0, usize::MAX), usize::MAX, rows), Err(Fault));
    assert_eq!(mapping.scatter(&guard, (0, 18), 10, rows), Ok(()));
    assert_eq!(mapping.scatter(&guard, (0, 17), 10, rows), Err(Fault));
    let uneven = &mut [first.as_mut_slice(), &mut last[..3]];
    assert_eq!(mapping.scatter(&guard, (0, 13), 10, uneven), Ok(()));
    assert_eq!(mapping.scatter(&guard, (0, 12), 10, uneven), Err(Fault));
    assert_eq!(mapping.scatter(&guard, (0, 9), 10, uneven), Err(Fault));
}

#[test]
fn what_lies_beyond_the_mapping_is_a_fault() {
    let (file, _) = numbered(10_000);
    let mapping = mapped(&file);
    let guard = CopyGuard::look().unwrap();
    let mut target = [0; 100];
    for offset in [9901, 10_000, 10_001, 1 << 40, u64::MAX] {
        assert_eq!(mapping.copy(&guard, offset, &mut target), Err(Fault), "at {offset}");
    }
    assert_eq!(mapping.copy(&guard, u64::MAX, &mut []), Ok(()));
    let rows = Rows { rows: 2, row_bytes: 50, source_stride: 100, target_stride: 50 };
    assert_eq!(copy_rows(&mapping, 9850, &rows, &mut target), Ok(()));
    assert_eq!(copy_rows(&mapping, 9851, &rows, &mut target), Err(Fault));
    let far = Rows { source_stride: usize::MAX, ..rows };
    assert_eq!(copy_rows(&mapping, 0, &far, &mut target), Err(Fault));
    assert_eq!(copy_rows(&mapping, u64::MAX, &Rows { rows: 0, ..rows }, &mut target), Ok(()));
}

#[test]
#[should_panic(expected = "do not fit into their target")]
fn rows_that_do_not_fit_into_their_target_panic() {
    let (file, _) = numbered(10_000);
    let rows = Rows { rows: 2, row_bytes: 50, source_stride: 100, target_stride: 50 };
    let _ = copy_rows(&mapped(&file), 0, &rows, &mut [0; 99]);
}

#[test]
fn files_of_no_size_or_too_large_are_not_mapped() {
    let (file, _) = numbered(10);
    for len in [0, 1 << 63, u64::MAX] {
        assert_eq!(Mapping::new(&file, len).err().unwrap().kind(), std::io::ErrorKind::InvalidInput);
    }
}
