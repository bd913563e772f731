//! The files of an Icechunk repository, where the feature `icechunk` is on: snapshots, manifests, and what says which snapshot
//! a branch or a tag is.

#[cfg(not(feature = "icechunk"))]
mod disabled;
#[cfg(feature = "icechunk")]
mod enabled;

#[cfg(not(feature = "icechunk"))]
pub(super) use disabled::{id_text, manifest, repository, snapshot};
#[cfg(feature = "icechunk")]
pub(super) use enabled::{id_text, manifest, repository, snapshot};

use super::Revision;
use super::containers::Container;
use super::manifest::Manifest;
use crate::Error;
use std::ops::Range;

/// The name of a snapshot, a manifest or a chunk, as it stands in files.
pub(super) type ObjectId = [u8; 12];

/// The name of an array, which stays the same while its path and its chunks change.
pub(super) type NodeId = [u8; 8];

/// What the file `repo` says, which repositories of format 2 have.
#[derive(Debug)]
pub(super) struct Repository {
    /// The snapshot of the revision that was asked for; `None` where there is no such branch or tag.
    pub(super) snapshot: Option<String>,
    /// `None` where what its configuration says of them is not understood.
    pub(super) containers: Option<Vec<Container>>,
}

/// A node of a snapshot.
#[derive(Debug)]
pub(super) struct SnapshotNode {
    /// Without a slash in front; empty for the root.
    pub(super) path: String,
    /// Its `zarr.json`.
    pub(super) document: Vec<u8>,
    /// Of an array, where its chunks are said.
    pub(super) chunks: Option<(NodeId, Vec<ManifestRef>)>,
}

/// A manifest that says where some chunks of an array are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ManifestRef {
    pub(super) id: ObjectId,
    /// Those that it can have, along each axis of the grid of chunks.
    pub(super) extents: Vec<Range<u32>>,
}

/// The functions that both have. The last number is how many bytes a file may have when it is decompressed.
const _: fn(&[u8], &Revision) -> Result<Repository, Error> = repository;
const _: fn(&[u8]) -> Result<Vec<SnapshotNode>, Error> = snapshot;
const _: fn(&[u8], usize) -> Result<Manifest, Error> = manifest;
const _: fn(&ObjectId) -> String = id_text;
