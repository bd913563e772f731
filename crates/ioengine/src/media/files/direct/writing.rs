//! Writing a new file past the page cache.
//!
//! What goes through the page cache is copied into pages that the kernel has to find and later write out: of data that nobody reads soon, that
//! is processor time for nothing (docs/decisions/0026-bulk-writes.md). Past it, the device takes bytes from where they lie, if that suits
//! it; others are copied to one aligned buffer after the other.

use super::DirectUse;
use super::descriptor::Alignment;
use crate::buffer::AlignedBuffer;
use bytes::Bytes;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Files of fewer bytes are not worth a second descriptor, nor the wait for the device.
const BYTES_MIN: usize = 1 << 20;

/// Bytes that are copied, and written, at once.
const BUFFER_BYTES: usize = 4 << 20;

/// Writes the first bytes of a new, empty file, which is pieces one behind the other, past the page cache, and says how many: none where
/// it is not to be, or cannot be.
///
/// # Errors
///
/// Those of the device, no room among them. That a file system refuses such writes is none.
pub(in super::super) fn write_start(file: &File, pieces: &[Bytes], wanted: &DirectUse) -> io::Result<usize> {
    let len = pieces.iter().map(Bytes::len).sum::<usize>();
    if len < BYTES_MIN || matches!(wanted, DirectUse::Never) {
        return Ok(0);
    }
    let Ok(alignment) = Alignment::of(file.as_fd(), wanted) else { return Ok(0) };
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::DIRECT;
    let Ok(direct) = rustix::fs::open(path, flags, Mode::empty()) else { return Ok(0) };
    let mut start = Start { direct, alignment, written: 0 };
    // What is left behind the last whole block goes through the page cache.
    let mut left = start.whole(len);
    let (mut buffer, mut copied) = (None, 0);
    for piece in pieces {
        let mut rest = &piece[..piece.len().min(left)];
        left -= rest.len();
        while !rest.is_empty() {
            if copied == 0 && BYTES_MIN <= rest.len() && start.takes(rest) {
                let (whole, behind) = rest.split_at(start.whole(rest.len()));
                if !start.write(whole)? {
                    return Ok(start.written);
                }
                rest = behind;
                continue;
            }
            let room = match &mut buffer {
                Some(buffer) => buffer,
                none => {
                    let Ok(room) = AlignedBuffer::with_len(BUFFER_BYTES.min(len)) else {
                        return Ok(start.written);
                    };
                    none.insert(room)
                }
            };
            let room = room.as_mut_slice();
            let count = rest.len().min(room.len() - copied);
            let (now, behind) = rest.split_at(count);
            room[copied..copied + count].copy_from_slice(now);
            (rest, copied) = (behind, copied + count);
            if copied == room.len() {
                if !start.write(room)? {
                    return Ok(start.written);
                }
                copied = 0;
            }
        }
    }
    let copied = buffer.as_ref().and_then(|buffer| buffer.as_slice().get(..copied)).unwrap_or_default();
    start.write(copied)?;
    Ok(start.written)
}

/// The start of a file that is written past the page cache.
struct Start {
    direct: OwnedFd,
    alignment: Alignment,
    /// Its bytes so far: whole blocks.
    written: usize,
}

impl Start {
    /// Whether the device takes bytes from where these lie.
    fn takes(&self, bytes: &[u8]) -> bool {
        bytes.as_ptr().addr().is_multiple_of(self.alignment.memory_bytes())
    }

    /// The bytes of all blocks that are whole in so many.
    fn whole(&self, len: usize) -> usize {
        len - len % self.alignment.block_bytes()
    }

    /// Writes whole blocks behind those before; `false` where the file system refuses.
    fn write(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match rustix::io::pwrite(&self.direct, rest, crate::storage_len(self.written)) {
                Ok(0) | Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(false),
                Ok(count) => {
                    let whole = self.whole(count);
                    self.written += whole;
                    if whole != count {
                        return Ok(false);
                    }
                    rest = &rest[count..];
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::DataSet;
    use super::*;
    use crate::CostModel;
    use std::os::unix::fs::FileExt;

    /// Bytes that begin so many behind the start of a page.
    fn placed(bytes: &[u8], behind: usize) -> Bytes {
        let mut memory = vec![0; bytes.len() + 2 * 4096];
        let start = memory.as_ptr().align_offset(4096) + behind;
        memory[start..start + bytes.len()].copy_from_slice(bytes);
        Bytes::from(memory).slice(start..start + bytes.len())
    }

    #[test]
    fn files_are_whole_whatever_their_pieces() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let wanted = DirectUse::WhereItPays(DataSet::new(CostModel::DEVICE));
        let lens = [0, 5, BYTES_MIN - 1, BYTES_MIN, BYTES_MIN + 1, BUFFER_BYTES, 2 * BUFFER_BYTES + 4097];
        let cuts = [0, 1, 512, 4096, BYTES_MIN, BUFFER_BYTES, BUFFER_BYTES + 1];
        for (number, ((len, cut), behind)) in lens
            .iter()
            .flat_map(|len| cuts.map(|cut| (*len, cut)))
            .flat_map(|of| [(of, 0), (of, 16)])
            .enumerate()
        {
            let bytes: Vec<u8> = (0..=250).cycle().take(len).collect();
            let (first, second) = bytes.split_at(cut.min(len));
            let (middle, last) = second.split_at(second.len() / 2);
            let pieces = [placed(first, behind), placed(middle, 0), placed(last, behind)];
            let path = folder.path().join(number.to_string());
            let file = File::create_new(&path)?;
            let written = write_start(&file, &pieces, &wanted)?;
            file.write_all_at(&bytes[written..], crate::storage_len(written))?;
            let case = format!("{len} bytes, cut at {cut}, {behind} behind a page");
            assert!(std::fs::read(&path)? == bytes, "{case}: {written} past the page cache");
            let Ok(alignment) = Alignment::of(file.as_fd(), &wanted) else { continue };
            let most = if len < BYTES_MIN { 0 } else { len - len % alignment.block_bytes() };
            assert!(written == most, "{case}: {written} past the page cache, wanted {most}");
        }
        Ok(())
    }

    #[test]
    fn nothing_goes_past_a_cache_that_is_wanted() -> io::Result<()> {
        let file = tempfile::tempfile()?;
        assert_eq!(write_start(&file, &[vec![1; BYTES_MIN].into()], &DirectUse::Never)?, 0);
        assert_eq!(file.metadata()?.len(), 0);
        Ok(())
    }
}
