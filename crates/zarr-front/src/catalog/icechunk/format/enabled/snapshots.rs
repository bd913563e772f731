//! Snapshots: all nodes of a repository at one moment.

use super::super::{ManifestRef, SnapshotNode};
use super::{content, corrupt, root};
use crate::Error;
use icechunk_format::flatbuffers::generated;
use icechunk_format::format_constants::FileTypeBin;

/// Bytes of a snapshot at most, decompressed: some hundred thousand arrays.
const SNAPSHOT_BYTES_MAX: usize = 512 << 20;

/// The nodes of a snapshot.
///
/// # Errors
///
/// `Corrupt` for what is none, `Unsupported` for one of a newer format or of too many bytes.
pub(in crate::catalog::icechunk) fn snapshot(file: &[u8]) -> Result<Vec<SnapshotNode>, Error> {
    let bytes = content(file, FileTypeBin::Snapshot, SNAPSHOT_BYTES_MAX)?;
    let snapshot = root::<generated::Snapshot<'_>>(&bytes)?;
    snapshot.nodes().iter().map(node).collect()
}

fn node(node: generated::NodeSnapshot<'_>) -> Result<SnapshotNode, Error> {
    let chunks = match (node.node_data_as_array(), node.node_data_as_group()) {
        (Some(array), _) => {
            let manifests = array.manifests().iter().map(manifest_ref).collect();
            Some((node.id().0, manifests))
        }
        (None, Some(_)) => None,
        (None, None) => {
            return Err(corrupt(&format!("a node of an unknown kind at {:?}", node.path())));
        }
    };
    let path = node.path().trim_start_matches('/').to_owned();
    Ok(SnapshotNode { path, document: node.user_data().bytes().to_vec(), chunks })
}

fn manifest_ref(manifest: generated::ManifestRef<'_>) -> ManifestRef {
    let extents = manifest.extents().iter().map(|range| range.from()..range.to()).collect();
    ManifestRef { id: manifest.object_id().0, extents }
}
