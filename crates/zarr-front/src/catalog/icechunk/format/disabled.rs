//! No Icechunk.

use super::{ObjectId, Repository, SnapshotNode};
use crate::Error;
use crate::catalog::icechunk::Revision;
use crate::catalog::icechunk::manifest::Manifest;

fn missing() -> Error {
    Error::unsupported("Icechunk repositories without the feature `icechunk`")
}

/// Refuses the file.
///
/// # Errors
///
/// `Unsupported`.
pub(in crate::catalog::icechunk) fn repository(_: &[u8], _: &Revision) -> Result<Repository, Error> {
    Err(missing())
}

/// Refuses the file.
///
/// # Errors
///
/// `Unsupported`.
pub(in crate::catalog::icechunk) fn snapshot(_: &[u8]) -> Result<Vec<SnapshotNode>, Error> {
    Err(missing())
}

/// Refuses the file.
///
/// # Errors
///
/// `Unsupported`.
pub(in crate::catalog::icechunk) fn manifest(_: &[u8], _: usize) -> Result<Manifest, Error> {
    Err(missing())
}

/// No name: there are no ids.
pub(in crate::catalog::icechunk) fn id_text(_: &ObjectId) -> String {
    String::new()
}
