//! A file's second descriptor, opened with O_DIRECT.

use super::DirectUse;
use crate::CostModel;
use crate::blocks::Blocks;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

pub(super) struct DirectDescriptor {
    descriptor: OwnedFd,
    alignment: Alignment,
}

/// What reads and writes of one file with O_DIRECT must be multiples of, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alignment {
    offset: u32,
    memory: u32,
}

/// Where the kernel does not say (before Linux 6.1, and network file systems): the page, which no known device is
/// stricter than.
const ALIGNMENT_UNTOLD: Alignment = Alignment { offset: 4096, memory: 4096 };

impl Alignment {
    /// By `statx(2)`. Files of which the kernel does not say are read so only when that was asked for.
    pub(super) fn of(file: BorrowedFd<'_>, wanted: &DirectUse) -> io::Result<Alignment> {
        let stat = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)?;
        if StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::DIOALIGN) {
            return Alignment::told(stat.stx_dio_offset_align, stat.stx_dio_mem_align);
        }
        match wanted {
            DirectUse::Always(_) => Ok(ALIGNMENT_UNTOLD),
            DirectUse::WhereItPays(_) | DirectUse::Never => {
                Err(unsupported("the file system does not tell its block size"))
            }
        }
    }

    fn told(offset: u32, memory: u32) -> io::Result<Alignment> {
        if offset == 0 || memory == 0 {
            return Err(unsupported("the file system has no O_DIRECT for it"));
        }
        let sound = |alignment: u32, max| alignment.is_power_of_two() && alignment <= max;
        if sound(offset, OFFSET_ALIGNMENT_MAX) && sound(memory, MEMORY_ALIGNMENT_MAX) {
            Ok(Alignment { offset, memory })
        } else {
            Err(unsupported("its blocks are too large"))
        }
    }

    /// What offsets and lengths are multiples of.
    pub(super) fn block_bytes(self) -> usize {
        usize::try_from(self.offset).unwrap_or(usize::MAX)
    }

    /// What addresses in memory are multiples of.
    pub(super) fn memory_bytes(self) -> usize {
        usize::try_from(self.memory).unwrap_or(usize::MAX)
    }

    pub(super) fn blocks(self, cost: CostModel) -> Blocks {
        Blocks { block_bytes: u64::from(self.offset), memory_alignment: self.memory_bytes(), cost }
    }
}

/// Beyond this, most of what a read brings is not what was asked for.
const OFFSET_ALIGNMENT_MAX: u32 = 64 << 10;

/// What buffers are aligned to.
const MEMORY_ALIGNMENT_MAX: u32 = 4096;

impl DirectDescriptor {
    /// Opens the very file that `file` is open of, whatever its name is by now.
    pub(super) fn open(file: BorrowedFd<'_>, alignment: Alignment) -> io::Result<DirectDescriptor> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::DIRECT;
        let descriptor = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(DirectDescriptor { descriptor, alignment })
    }

    pub(super) fn alignment(&self) -> Alignment {
        self.alignment
    }

    pub(super) fn borrow(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn unsupported(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_system_tells_is_checked() {
        assert_eq!(Alignment::told(512, 4).unwrap(), Alignment { offset: 512, memory: 4 });
        for (offset, memory) in [(0, 0), (512, 0), (0, 512), (500, 4), (1 << 20, 4), (512, 8192)] {
            assert_eq!(Alignment::told(offset, memory).unwrap_err().kind(), io::ErrorKind::Unsupported);
        }
    }
}
