//! Reads and writes of open files at places, which each platform calls otherwise.

use crate::{Error, ErrorKind, storage_len};
#[cfg(any(test, feature = "cache", not(target_os = "linux")))]
use std::fs::File;
#[cfg(any(test, feature = "cache", not(target_os = "linux")))]
use std::io;
#[cfg(all(unix, any(test, feature = "cache", not(target_os = "linux"))))]
use std::os::unix::fs::FileExt;
#[cfg(windows)]
use std::os::windows::fs::FileExt;

/// Reads into `target` from `offset` on, once: how many bytes came, 0 at the end of the file. May wait for the device.
#[cfg(any(test, feature = "cache", not(target_os = "linux")))]
pub(crate) fn read_at(file: &File, target: &mut [u8], offset: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return file.read_at(target, offset);
    #[cfg(windows)]
    return file.seek_read(target, offset);
}

/// Fills `target` from `offset` on.
#[cfg(feature = "cache")]
pub(crate) fn read_exact_at(file: &File, target: &mut [u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return file.read_exact_at(target, offset);
    #[cfg(windows)]
    return whole(target.len(), offset, |done, offset| file.seek_read(&mut target[done..], offset));
}

/// Writes all of `source` from `offset` on.
#[cfg(feature = "cache")]
pub(crate) fn write_all_at(file: &File, source: &[u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return file.write_all_at(source, offset);
    #[cfg(windows)]
    return whole(source.len(), offset, |done, offset| file.seek_write(&source[done..], offset));
}

/// Moves `len` bytes by as many calls as that takes: each is told how many are done, and the place of the next.
#[cfg(all(windows, feature = "cache"))]
fn whole(len: usize, offset: u64, mut part: impl FnMut(usize, u64) -> io::Result<usize>) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        match part(done, resume_offset(offset, done)) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(moved) => done += moved,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The part of a target that is still to be filled.
pub(super) fn unfilled(target: &mut [u8], filled: usize, len: usize) -> Result<&mut [u8], Error> {
    let found = target.len();
    target.get_mut(filled..len).ok_or_else(|| {
        Error::new(
            ErrorKind::Internal,
            format!("a read of {len} bytes, {filled} filled, has a target of {found}"),
        )
    })
}

/// The file offset at which a read goes on.
pub(super) fn resume_offset(offset: u64, filled: usize) -> u64 {
    offset.saturating_add(storage_len(filled))
}
