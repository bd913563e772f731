//! What the standard library tells of a file, as its identity.

use super::FileIdentity;
use std::fs::Metadata;

impl FileIdentity {
    /// The identity of a file by what its platform tells. Windows tells no number of a file in a way that is stable by now: there
    /// the time at which it was made takes the number's place, and the time of its last change that of the change of anything
    /// about it.
    pub fn of(metadata: &Metadata) -> FileIdentity {
        identity(metadata)
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> FileIdentity {
    use std::os::unix::fs::MetadataExt;
    let ns = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
    FileIdentity {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.len(),
        modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
    }
}

#[cfg(windows)]
fn identity(metadata: &Metadata) -> FileIdentity {
    use std::os::windows::fs::MetadataExt;
    /// Hundreds of nanoseconds from 1601, where Windows begins, to 1970.
    const BEFORE_1970: i128 = 116_444_736_000_000_000;
    let modified_ns = (i128::from(metadata.last_write_time()) - BEFORE_1970) * 100;
    FileIdentity {
        device: 0,
        inode: metadata.creation_time(),
        size: metadata.len(),
        modified_ns,
        changed_ns: modified_ns,
    }
}
