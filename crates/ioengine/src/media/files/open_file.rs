//! Open files and their identities.

use super::direct::{Direct, DirectUse};
use super::mapped::{Mapped, MappingUse};
use crate::blocks::Blocks;
use crate::driver::{Caching, Outcome};
use crate::medium::OpenObject;
use crate::resident::Resident;
use crate::{Error, ErrorKind, FileIdentity, Identity};
use rustix::fs::{AtFlags, Mode, OFlags, Statx, StatxFlags};
use rustix::io::{Errno, ReadWriteFlags};
use std::any::Any;
use std::ffi::CStr;
#[cfg(feature = "cache")]
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A file whose last change is younger than this is not kept open between batches: file systems stamp changes with the
/// kernel's tick, so a second change might not be told from the first.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

const STATX_WANTED: StatxFlags = StatxFlags::TYPE
    .union(StatxFlags::INO)
    .union(StatxFlags::SIZE)
    .union(StatxFlags::MTIME)
    .union(StatxFlags::CTIME);

/// A file opened for reading.
pub(super) struct OpenFile {
    descriptor: OwnedFd,
    identity: Identity,
    file: FileIdentity,
    settled: bool,
    mapped: Mapped,
    direct: Direct,
}

/// The descriptor that a read goes by.
pub(super) struct Way<'a> {
    pub(super) descriptor: BorrowedFd<'a>,
    /// Whether it goes past the page cache.
    pub(super) is_direct: bool,
}

impl OpenFile {
    /// Opens `key` below `directory`.
    pub(super) fn open(
        directory: &OwnedFd,
        key: &str,
        mapping: &MappingUse,
        direct: &DirectUse,
    ) -> io::Result<OpenFile> {
        check_key(key)?;
        // Opening a pipe that nobody writes to would wait for a writer, without NONBLOCK.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let descriptor = rustix::fs::openat(directory, key, flags, Mode::empty())?;
        let stat = statx(descriptor.as_fd(), c"", AtFlags::EMPTY_PATH)?;
        if !is_regular(&stat) {
            return Err(not_a_file());
        }
        // With NONBLOCK, io_uring answers EAGAIN on file systems that cannot look without waiting.
        rustix::fs::fcntl_setfl(&descriptor, OFlags::RDONLY)?;
        let file = identity(&stat);
        let newest_ns = file.modified_ns.max(file.changed_ns);
        Ok(OpenFile {
            descriptor,
            identity: Identity::File(file),
            file,
            settled: is_settled(newest_ns),
            mapped: Mapped::new(mapping.clone()),
            direct: Direct::new(direct.clone()),
        })
    }

    /// The identity that opening `key` would find.
    pub(super) fn identify(directory: &OwnedFd, key: &str) -> io::Result<Identity> {
        check_key(key)?;
        let stat = rustix::fs::statx(directory, key, AtFlags::empty(), STATX_WANTED)?;
        if is_regular(&stat) { Ok(Identity::File(identity(&stat))) } else { Err(not_a_file()) }
    }

    /// Checks that the bytes behind the descriptor are those of when it was opened.
    pub(super) fn verify(&self) -> Result<(), Error> {
        let stat = statx(self.descriptor.as_fd(), c"", AtFlags::EMPTY_PATH).map_err(Error::from_io)?;
        let now = identity(&stat);
        if now.same_bytes(&self.file) {
            return Ok(());
        }
        let message = format!(
            "the file was written to while it was read: it had {} bytes, modified at {} ns, and has {} bytes, modified at {} ns",
            self.file.size, self.file.modified_ns, now.size, now.modified_ns
        );
        Err(Error::new(ErrorKind::Changed, message))
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// The way for a read of `target` at `offset`: past the page cache where that was asked for and the read fits.
    pub(super) fn way(&self, caching: Caching, offset: u64, target: &[u8]) -> Way<'_> {
        let direct = match caching {
            Caching::Cached => None,
            Caching::Bypassed => self.direct.descriptor(offset, target),
        };
        match direct {
            Some(descriptor) => Way { descriptor, is_direct: true },
            None => Way { descriptor: self.descriptor(), is_direct: false },
        }
    }

    /// Reads into `target` at `offset`, once.
    pub(super) fn read(&self, caching: Caching, target: &mut [u8], offset: u64) -> Outcome {
        let way = self.way(caching, offset, target);
        match read_at(way.descriptor, target, offset, ReadWriteFlags::empty()) {
            Ok(read) => Outcome::Filled(read),
            Err(Errno::INVAL | Errno::OPNOTSUPP) if way.is_direct => Outcome::Refused,
            Err(Errno::INTR | Errno::AGAIN) => Outcome::Again,
            Err(error) => Outcome::Failed(Error::from_io(error.into())),
        }
    }

    /// As [`read`](OpenFile::read) through the page cache, where all or the first of it is there (`RWF_NOWAIT`, Linux 4.14);
    /// `None` where the read would wait, was interrupted, or the file system cannot tell.
    pub(super) fn read_at_once(&self, target: &mut [u8], offset: u64) -> Option<Outcome> {
        match read_at(self.descriptor(), target, offset, ReadWriteFlags::NOWAIT) {
            Ok(read) => Some(Outcome::Filled(read)),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INTR | Errno::AGAIN) => None,
            Err(error) => Some(Outcome::Failed(Error::from_io(error.into()))),
        }
    }

    pub(super) fn file_identity(&self) -> &FileIdentity {
        &self.file
    }
}

impl OpenObject for OpenFile {
    fn size(&self) -> u64 {
        self.file.size
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn is_settled(&self) -> bool {
        self.settled
    }

    fn resident(&self, bytes: u64) -> Option<Resident<'_>> {
        self.mapped.resident(self, bytes)
    }

    fn blocks(&self, bytes: u64) -> Option<Blocks> {
        self.direct.blocks(self, bytes)
    }

    fn refuse_blocks(&self) {
        self.direct.refuse();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Refuses keys that lead out of the medium's directory, other than by a symbolic link inside it.
pub(super) fn check_key(key: &str) -> io::Result<()> {
    if key.starts_with('/') || key.split('/').any(|name| name == "..") {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a key must stay below its directory"));
    }
    Ok(())
}

/// Opens a directory to look files up in; its device and inode tell it from others.
pub(crate) fn open_directory(path: &Path) -> io::Result<(OwnedFd, u128)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let descriptor = rustix::fs::open(path, flags, Mode::empty())?;
    let stat = statx(descriptor.as_fd(), c"", AtFlags::EMPTY_PATH)?;
    let found = identity(&stat);
    Ok((descriptor, u128::from(found.device) << 64 | u128::from(found.inode)))
}

/// The identity of an open file.
pub(super) fn identity_of(file: &impl AsFd) -> io::Result<Identity> {
    Ok(Identity::File(identity(&statx(file.as_fd(), c"", AtFlags::EMPTY_PATH)?)))
}

fn statx(descriptor: BorrowedFd<'_>, path: &CStr, flags: AtFlags) -> io::Result<Statx> {
    Ok(rustix::fs::statx(descriptor, path, flags, STATX_WANTED)?)
}

fn is_regular(stat: &Statx) -> bool {
    rustix::fs::FileType::from_raw_mode(stat.stx_mode.into()).is_file()
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "not a regular file")
}

fn identity(stat: &Statx) -> FileIdentity {
    FileIdentity {
        device: u64::from(stat.stx_dev_major) << 32 | u64::from(stat.stx_dev_minor),
        inode: stat.stx_ino,
        size: stat.stx_size,
        modified_ns: nanoseconds(stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec),
        changed_ns: nanoseconds(stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
    }
}

fn nanoseconds(seconds: i64, nanoseconds: u32) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
}

fn is_settled(changed_ns: i128) -> bool {
    let now_ns = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |now| i128::try_from(now.as_nanos()).unwrap_or(0));
    i128::try_from(SETTLED_AFTER.as_nanos()).is_ok_and(|age| age <= now_ns - changed_ns)
}

/// Reads into `target` at `offset`, once. What the kernel answers, as the driver contract wants it.
pub(super) fn read_at(
    file: BorrowedFd<'_>,
    target: &mut [u8],
    offset: u64,
    flags: ReadWriteFlags,
) -> rustix::io::Result<usize> {
    if flags.is_empty() {
        return rustix::io::pread(file, target, offset);
    }
    rustix::io::preadv2(file, &mut [io::IoSliceMut::new(target)], offset, flags)
}

/// As [`read_at`], of what is in the page cache; `None` where the read would wait, or might.
#[cfg(feature = "cache")]
pub(crate) fn read_cached_at(file: &File, target: &mut [u8], offset: u64) -> Option<io::Result<usize>> {
    match read_at(file.as_fd(), target, offset, ReadWriteFlags::NOWAIT) {
        Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS) => None,
        read => Some(read.map_err(io::Error::from)),
    }
}
