//! What makes an object the same object from one look to the next.

mod metadata;

use std::sync::Arc;

/// The version of an object that bytes were read from. Two reads under equal identities saw the same bytes, as far
/// as the medium can tell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Identity {
    /// A local file, by what `statx(2)` says of it.
    File(FileIdentity),
    /// A remote object, by its entity tag (RFC 9110 section 8.8.3) or generation.
    Tag(Arc<str>),
    /// An object in memory, by a counter that each write raises.
    Version(u64),
}

impl Identity {
    /// The entity tag of a remote object, as it was answered, with its quotes; `None` for what has none.
    pub fn entity_tag(&self) -> Option<&str> {
        let Identity::Tag(text) = self else { return None };
        let tag = text.split('\n').next().unwrap_or_default();
        (!tag.is_empty() && !tag.starts_with(MODIFIED)).then_some(tag)
    }

    /// When the object was last written to, ns since the epoch, where that is what tells its versions apart: of local files,
    /// and of remote objects without an entity tag and a generation.
    pub fn modified_ns(&self) -> Option<i128> {
        match self {
            Identity::File(file) => Some(file.modified_ns),
            Identity::Tag(text) => text.strip_prefix(MODIFIED)?.parse().ok(),
            Identity::Version(_) => None,
        }
    }
}

/// Before a date that stands for a version. Quoted tags begin otherwise.
pub(crate) const MODIFIED: &str = "modified ";

/// The fields of `statx(2)` that change when a file is replaced or written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// Device, major and minor number packed.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Last write, ns since the epoch.
    pub modified_ns: i128,
    /// Last change of the inode, ns since the epoch.
    pub changed_ns: i128,
}

impl FileIdentity {
    /// True when the bytes behind both are the same. The inode's change time is left out: it also moves when the
    /// file is renamed over or linked, which leaves the bytes of an open descriptor alone.
    pub fn same_bytes(&self, other: &FileIdentity) -> bool {
        self.device == other.device
            && self.inode == other.inode
            && self.size == other.size
            && self.modified_ns == other.modified_ns
    }
}
