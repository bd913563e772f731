//! Writing a new file past the page cache.
//!
//! What goes through the page cache is copied into pages that the kernel has to find and later write out: of data that nobody reads soon, that
//! is processor time for nothing (docs/decisions/0026-bulk-writes.md). Past it, bytes are copied to one aligned buffer after the other,
//! which the device takes itself.

use super::DirectUse;
use super::descriptor::Alignment;
use crate::buffer::AlignedBuffer;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Files of fewer bytes are not worth a second descriptor, nor the wait for the device.
const BYTES_MIN: usize = 1 << 20;

/// Bytes that are written at once.
const BUFFER_BYTES: usize = 4 << 20;

/// Writes the first bytes of a new, empty file past the page cache, and says how many: none where it is not to be, or cannot be.
///
/// # Errors
///
/// Those of the device, no room among them. That a file system refuses such writes is none.
pub(in super::super) fn write_start(file: &File, bytes: &[u8], wanted: &DirectUse) -> io::Result<usize> {
    if bytes.len() < BYTES_MIN || matches!(wanted, DirectUse::Never) {
        return Ok(0);
    }
    let Ok(alignment) = Alignment::of(file.as_fd(), wanted) else { return Ok(0) };
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::DIRECT;
    let Ok(direct) = rustix::fs::open(path, flags, Mode::empty()) else { return Ok(0) };
    let Ok(mut buffer) = AlignedBuffer::with_len(BUFFER_BYTES.min(bytes.len())) else { return Ok(0) };
    let block = alignment.block_bytes();
    let mut done = 0;
    for piece in bytes.chunks(BUFFER_BYTES) {
        // What is left behind the last whole block goes through the page cache.
        let whole = piece.len() - piece.len() % block;
        let Some(room) = buffer.as_mut_slice().get_mut(..whole) else { break };
        room.copy_from_slice(&piece[..whole]);
        let mut at = 0;
        while at < whole {
            let offset = crate::storage_len(done + at);
            match rustix::io::pwrite(&direct, &room[at..], offset) {
                Ok(0) | Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(done + at),
                Ok(count) if count % block != 0 => return Ok(done + at + count - count % block),
                Ok(count) => at += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        done += whole;
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::super::DataSet;
    use super::*;
    use crate::CostModel;
    use std::os::unix::fs::FileExt;

    #[test]
    fn files_are_whole_whatever_their_length() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let wanted = DirectUse::WhereItPays(DataSet::new(CostModel::DEVICE));
        for len in [0, 5, BYTES_MIN - 1, BYTES_MIN, BYTES_MIN + 1, BUFFER_BYTES, 2 * BUFFER_BYTES + 4097] {
            let bytes: Vec<u8> = (0..=250).cycle().take(len).collect();
            let path = folder.path().join(len.to_string());
            let file = File::create_new(&path)?;
            let written = write_start(&file, &bytes, &wanted)?;
            file.write_all_at(&bytes[written..], crate::storage_len(written))?;
            assert!(std::fs::read(&path)? == bytes, "{len} bytes, of which {written} past the page cache");
            let Ok(alignment) = Alignment::of(file.as_fd(), &wanted) else { continue };
            let most = if len < BYTES_MIN { 0 } else { len - len % alignment.block_bytes() };
            assert!(written == most, "{written} of {len} bytes, wanted {most}");
        }
        Ok(())
    }

    #[test]
    fn nothing_goes_past_a_cache_that_is_wanted() -> io::Result<()> {
        let file = tempfile::tempfile()?;
        assert_eq!(write_start(&file, &vec![1; BYTES_MIN], &DirectUse::Never)?, 0);
        assert_eq!(file.metadata()?.len(), 0);
        Ok(())
    }
}
