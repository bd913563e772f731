//! The file `repo` of format 2: branches, tags and the configuration.

use super::super::Repository;
use super::{content, corrupt, id_text, root};
use crate::Error;
use crate::catalog::icechunk::Revision;
use crate::catalog::icechunk::configuration::containers_in_flexbuffer;
use icechunk_format::flatbuffers::generated;
use icechunk_format::format_constants::FileTypeBin;

/// Bytes of the file at most, decompressed: some million snapshots.
const REPOSITORY_BYTES_MAX: usize = 512 << 20;

/// What the file says of a revision.
///
/// # Errors
///
/// `Corrupt` for what is no such file, `Unsupported` for one of a newer format or of too many bytes.
pub(in crate::catalog::icechunk) fn repository(
    file: &[u8],
    revision: &Revision,
) -> Result<Repository, Error> {
    let bytes = content(file, FileTypeBin::RepoInfo, REPOSITORY_BYTES_MAX)?;
    let repo = root::<generated::Repo<'_>>(&bytes)?;
    let snapshot = match revision {
        Revision::Branch(name) => named(repo, repo.branches().iter(), name)?,
        Revision::Tag(name) => named(repo, repo.tags().iter(), name)?,
        Revision::Snapshot(id) => Some(id.clone()),
    };
    let containers = match repo.config() {
        Some(configuration) => containers_in_flexbuffer(configuration.bytes()),
        None => Some(Vec::new()),
    };
    Ok(Repository { snapshot, containers })
}

/// The snapshot that a branch or a tag names.
fn named<'a>(
    repo: generated::Repo<'a>,
    mut refs: impl Iterator<Item = generated::Ref<'a>>,
    name: &str,
) -> Result<Option<String>, Error> {
    let Some(found) = refs.find(|found| found.name() == name) else { return Ok(None) };
    let (number, snapshots) = (found.snapshot_index() as usize, repo.snapshots());
    match number < snapshots.len() {
        true => Ok(Some(id_text(&snapshots.get(number).id().0))),
        false => Err(corrupt(&format!("snapshot {number} of {}", snapshots.len()))),
    }
}
