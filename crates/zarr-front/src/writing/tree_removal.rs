//! Removing all that is stored below a path.

use super::at_once::each_at_once;
use super::stored_object::delete;
use crate::store::{Store, join};
use crate::{Error, ErrorKind};
use swath_ioengine::Entry;

/// Nesting beyond this is a loop of links.
const DEPTH_MAX: usize = 1024;

/// Removes every object below `path`, and of local directories the folders that are then empty, `path` itself among them. Links
/// are removed, and nothing that they lead to.
pub(super) fn remove_below(store: &Store, path: &str) -> Result<(), Error> {
    remove_folder(store, path, 0)
}

/// Removes what is at `path` where that is a link to a folder: it goes, and what it leads to stays. Of a folder itself this
/// removes nothing.
pub(super) fn remove_link(store: &Store, path: &str) {
    if !store.is_remote() && !path.is_empty() {
        let _ = delete(&store.object(path));
    }
}

fn remove_folder(store: &Store, path: &str, depth: usize) -> Result<(), Error> {
    if DEPTH_MAX < depth {
        let error = Error::new(ErrorKind::Invalid, format!("folders nested more than {DEPTH_MAX} deep"));
        return Err(error.with_object(&store.describe(path)));
    }
    remove_link(store, path);
    let (mut objects, mut folders) = (Vec::new(), Vec::new());
    for entry in store.list(path)? {
        match entry {
            Entry::Object { name, .. } => objects.push(join(path, &name)),
            Entry::Prefix { name } => folders.push(join(path, &name)),
        }
    }
    each_at_once(store, &objects, |key| delete(&store.object(key)))?;
    for folder in &folders {
        remove_folder(store, folder, depth + 1)?;
    }
    if !store.is_remote() && !path.is_empty() {
        // A folder that is left, because somebody writes to it say, is no node.
        let _ = delete(&store.object(&format!("{path}/")));
    }
    Ok(())
}
