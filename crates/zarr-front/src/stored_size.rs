//! How much of an array is stored.

use crate::Error;
use crate::store::{Store, join};
use swath_ioengine::Entry;

/// Names that are metadata, not chunks.
pub(crate) const DOCUMENTS: [&str; 5] = ["zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata"];

/// Bytes and number of the objects below `path` that are not metadata.
pub(crate) fn stored_size(store: &Store, path: &str) -> Result<(u64, u64), Error> {
    let (mut bytes, mut objects) = (0, 0);
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop() {
        for entry in store.list(&path)? {
            match entry {
                Entry::Prefix { name } => pending.push(join(&path, &name)),
                Entry::Object { name, size } if !DOCUMENTS.contains(&name.as_str()) => {
                    bytes += size;
                    objects += 1;
                }
                Entry::Object { .. } => {}
            }
        }
    }
    Ok((bytes, objects))
}
