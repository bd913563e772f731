//! Files that change under their mapping.

use super::{WIDTHS, copy_rows, in_child, mapped, numbered};
use crate::media::files::mapping::enabled::{CopyGuard, Mapping};
use crate::media::files::mapping::{Fault, Rows};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const PAGE: u64 = 4096;

#[test]
fn a_cut_file_is_a_fault_for_every_width() {
    in_child(module_path!(), "a_cut_file_is_a_fault_for_every_width", || {
        let (file, bytes) = numbered(20_000);
        let mapping = mapped(&file);
        file.set_len(PAGE).unwrap();
        let guard = CopyGuard::look().unwrap();
        for width in (1..=260).chain(WIDTHS) {
            let mut target = vec![0; width];
            for offset in [PAGE - 1 - u64::try_from(width).unwrap().min(PAGE) / 2, PAGE - 1, PAGE, 2 * PAGE] {
                let faults = PAGE < offset + u64::try_from(width).unwrap();
                let wanted = if faults { Err(Fault) } else { Ok(()) };
                assert_eq!(mapping.copy(&guard, offset, &mut target), wanted, "{width} at {offset}");
                assert!(!guard.slot().is_copying());
            }
            // What is still there is copied as ever.
            let left = width.min(4096);
            mapping.copy(&guard, 0, &mut target[..left]).unwrap();
            assert_eq!(target[..left], bytes[..left]);
        }
        let rows = Rows { rows: 8, row_bytes: 32, source_stride: 1000, target_stride: 32 };
        assert_eq!(copy_rows(&mapping, 0, &rows, &mut [0; 256]), Err(Fault));
        copy_rows(&mapping, 0, &Rows { rows: 4, ..rows }, &mut [0; 256]).unwrap();
    })
    .succeeds();
}

/// The reason why a file's identity is compared after the last copy.
#[test]
fn a_file_cut_inside_a_page_reads_as_zeros_there() {
    in_child(module_path!(), "a_file_cut_inside_a_page_reads_as_zeros_there", || {
        let (file, bytes) = numbered(20_000);
        let mapping = mapped(&file);
        let guard = CopyGuard::look().unwrap();
        let mut target = [7; 4096];
        file.set_len(PAGE + 100).unwrap();
        mapping.copy(&guard, PAGE, &mut target).unwrap();
        assert_eq!(target[..100], bytes[4096..4196]);
        assert!(target[100..].iter().all(|byte| *byte == 0));
        file.set_len(20_000).unwrap();
        mapping.copy(&guard, 2 * PAGE, &mut target).unwrap();
        assert!(target.iter().all(|byte| *byte == 0), "cut and grown again");
    })
    .succeeds();
}

#[test]
fn a_replaced_file_is_read_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("a"), folder.path().join("b"));
    std::fs::write(&path, vec![1; 10_000]).unwrap();
    std::fs::write(&other, vec![2; 100]).unwrap();
    let mapping = mapped(&File::open(&path).unwrap());
    std::fs::rename(&other, &path).unwrap();
    let mut target = [0; 1000];
    mapping.copy(&CopyGuard::look().unwrap(), 9000, &mut target).unwrap();
    assert_eq!(target, [1; 1000]);
    std::fs::remove_file(&path).unwrap();
    mapping.copy(&CopyGuard::look().unwrap(), 0, &mut target).unwrap();
}

const LOAD_BYTES: usize = 64 << 10;

#[test]
fn truncation_under_load_ends_in_errors_only() {
    in_child(module_path!(), "truncation_under_load_ends_in_errors_only", || {
        let (file, bytes) = numbered(LOAD_BYTES);
        let mapping = mapped(&file);
        // Several threads that find another handler in front refuse each other.
        CopyGuard::look().unwrap();
        let (stop, copies, faults) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for width in [16, 100, 700, 3000] {
                let (mapping, bytes, stop, copies, faults) = (&mapping, &bytes, &stop, &copies, &faults);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let (copied, faulted) = copy_all(mapping, width, bytes);
                        copies.fetch_add(copied, Ordering::Relaxed);
                        faults.fetch_add(faulted, Ordering::Relaxed);
                    }
                });
            }
            scope.spawn(|| map_and_rename(&stop));
            while faults.load(Ordering::Relaxed) < 20_000 || copies.load(Ordering::Relaxed) < 20_000 {
                for len in [5000, 0, 4096, 30_000] {
                    file.set_len(len).unwrap();
                    std::thread::yield_now();
                }
                file.write_all_at(&bytes, 0).unwrap();
                std::thread::yield_now();
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(copy_all(&mapping, 512, &bytes), (LOAD_BYTES / 512, 0));
    })
    .succeeds();
}

/// Copies the whole file once; each byte is right, or zero where it was cut. Returns copies and faults.
fn copy_all(mapping: &Mapping, width: usize, bytes: &[u8]) -> (usize, usize) {
    let guard = CopyGuard::look().unwrap();
    let (mut copies, mut faults) = (0, 0);
    for offset in (0..LOAD_BYTES - width + 1).step_by(width) {
        let mut target = vec![0; width];
        match mapping.copy(&guard, u64::try_from(offset).unwrap(), &mut target) {
            Ok(()) => copies += 1,
            Err(Fault) => {
                faults += 1;
                continue;
            }
        }
        let wanted = &bytes[offset..offset + width];
        assert!(target.iter().zip(wanted).all(|(found, wanted)| *found == *wanted || *found == 0));
    }
    (copies, faults)
}

/// Maps, copies, replaces and unmaps other files.
fn map_and_rename(stop: &AtomicBool) {
    let folder = tempfile::tempdir().unwrap();
    let (path, next) = (folder.path().join("a"), folder.path().join("b"));
    let mut round = 0u8;
    std::fs::write(&path, vec![round; 9000]).unwrap();
    while !stop.load(Ordering::Relaxed) {
        let mapping = mapped(&File::open(&path).unwrap());
        std::fs::write(&next, vec![round.wrapping_add(1); 9000]).unwrap();
        std::fs::rename(&next, &path).unwrap();
        let mut target = [0; 5000];
        mapping.copy(&CopyGuard::look().unwrap(), 3000, &mut target).unwrap();
        assert_eq!(target, [round; 5000]);
        round = round.wrapping_add(1);
    }
}

#[test]
#[expect(unsafe_code, reason = "fork, waitpid and _exit")]
fn a_forked_child_copies_and_faults_as_its_parent() {
    in_child(module_path!(), "a_forked_child_copies_and_faults_as_its_parent", || {
        let (file, bytes) = numbered(20_000);
        let mapping = mapped(&file);
        CopyGuard::look().unwrap();
        // SAFETY: the child calls only this program's own code, of which none allocates, and leaves by `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let guard = CopyGuard::look().unwrap();
            let mut target = [0; 1000];
            let copied = mapping.copy(&guard, 9000, &mut target) == Ok(()) && target == bytes[9000..10_000];
            let cut = file.set_len(PAGE).is_ok();
            let faulted = mapping.copy(&guard, 9000, &mut target) == Err(Fault);
            // SAFETY: takes no pointer.
            unsafe { libc::_exit(if copied && cut && faulted { 0 } else { 1 }) };
        }
        let mut status = -1;
        // SAFETY: a place for the status.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
        let guard = CopyGuard::look().unwrap();
        assert_eq!(mapping.copy(&guard, 9000, &mut [0; 10]), Err(Fault));
    })
    .succeeds();
}
