//! Which file systems are not of this machine's own devices.

use rustix::fs::fstatfs;
use std::os::fd::OwnedFd;

/// The name of the file system that a directory is on, where its reads wait for a network or for another process.
pub(super) fn remote_name(directory: &OwnedFd) -> Option<&'static str> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the numbers have 32 bits; how the field is declared differs between architectures"
    )]
    let magic = fstatfs(directory).ok()?.f_type as u32;
    name_of(magic)
}

fn name_of(magic: u32) -> Option<&'static str> {
    REMOTE.iter().find(|(number, _)| *number == magic).map(|(_, name)| *name)
}

/// From `statfs(2)`, the kernel's `include/uapi/linux/magic.h` and, for those that are not in it, their own sources.
const REMOTE: [(u32, &str); 17] = [
    (0x6573_5546, "FUSE"),
    (0x6969, "NFS"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x517B, "SMB"),
    (0x0BD0_0BD0, "Lustre"),
    (0x0102_1997, "9p"),
    (0x00C3_6400, "Ceph"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x2003_0528, "OrangeFS"),
    (0xAAD7_AAEA, "PanFS"),
    (0x786F_4256, "VirtualBox shared folders"),
    (0xBACB_ACBC, "VMware shared folders"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_are_known_by_their_numbers() {
        assert_eq!(name_of(0x6573_5546), Some("FUSE"));
        assert_eq!(name_of(0xFE53_4D42), Some("SMB2"));
        for local in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x2FC1_2FC1, 0x794C_7630] {
            assert_eq!(
                name_of(local),
                None,
                "ext4, XFS, Btrfs, tmpfs, ZFS and overlayfs are of this machine"
            );
        }
    }

    #[test]
    fn no_number_is_listed_twice() {
        let mut numbers = REMOTE.map(|(number, _)| number).to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), REMOTE.len());
    }
}
