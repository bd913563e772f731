//! What tells one device, with its file system, from another.

#[cfg(target_os = "linux")]
use crate::Error;
use std::fmt;
#[cfg(target_os = "linux")]
use std::os::fd::BorrowedFd;

/// A device's number and the kind of its file system. Numbers of devices that are not disks (tmpfs, Btrfs subvolumes, network
/// file systems) may be another's after a restart; then the kind is what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceKey {
    /// The major number of `st_dev`.
    pub major: u32,
    /// The minor number of `st_dev`.
    pub minor: u32,
    /// The file system's number, as `statfs(2)` tells it.
    pub file_system: u32,
}

impl DeviceKey {
    /// Of an open file or directory.
    ///
    /// # Errors
    ///
    /// Those of `fstat(2)` and `fstatfs(2)`.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(descriptor: BorrowedFd<'_>) -> Result<DeviceKey, Error> {
        let from_errno = |errno: rustix::io::Errno| Error::from_io(errno.into());
        let stat = rustix::fs::fstat(descriptor).map_err(from_errno)?;
        let system = rustix::fs::fstatfs(descriptor).map_err(from_errno)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the numbers have 32 bits; how the field is declared differs between architectures"
        )]
        let file_system = system.f_type as u32;
        let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
        Ok(DeviceKey { major, minor, file_system })
    }

    /// The name of the file that keeps its calibration.
    pub(super) fn file_name(&self) -> String {
        format!("calibration-{}-{}-{:x}.json", self.major, self.minor, self.file_system)
    }
}

impl fmt::Display for DeviceKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{} (file system {:x})", self.major, self.minor, self.file_system)
    }
}
