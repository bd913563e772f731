//! From a path or a URL on the command line to a node, wherever in a hierarchy it is.

use crate::hdf5;
use crate::place::Place;
use anyhow::{anyhow, bail};
use std::path::{Path, PathBuf};
use swath::{Array, ErrorKind, Group, Node};

/// How many names of a group an error message lists.
const NAMES_MAX: usize = 8;

/// Opens the node at a place: what is stored there itself, or below a group whose consolidated metadata knows it.
///
/// # Errors
///
/// Those of the library; where there is no node but a group above, the error lists what that group holds.
pub(crate) fn node(place: &Place) -> anyhow::Result<Node> {
    if let Some((file, within)) = hdf5::file_of(place) {
        return Ok(Node::open_in(&hdf5::store(&file, place)?, &within)?);
    }
    if let Place::Directory(path) = place
        && path.is_file()
        && !is_store(path)
    {
        let wanted = "the directory of an array or a group, a zip archive, references in a .json file, or an HDF5 file";
        bail!("{}: is a file; wanted {wanted}", path.display());
    }
    let error = match place.node() {
        Err(error) if error.kind() == ErrorKind::NotFound => error,
        node => return Ok(node?),
    };
    let Some((group, rest)) = place.group_above() else {
        return Err(error.into());
    };
    match group.get(&rest) {
        Err(below) if below.kind() == ErrorKind::NotFound => {
            Err(anyhow!("{}: not found; the group {}", place.name_in(&error), holdings(&group)))
        }
        node => Ok(node?),
    }
}

/// Whether a file is taken for a store by its name.
fn is_store(path: &Path) -> bool {
    let is = |known: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(known));
    is("zip") || is("json")
}

/// Opens the array at a place.
///
/// # Errors
///
/// As [`node`]; for a group, the error lists what it holds.
pub(crate) fn array(place: &Place) -> anyhow::Result<Array> {
    match node(place)? {
        Node::Array(array) => Ok(array),
        Node::Group(group) => bail!("wanted an array; the group {}", holdings(&group)),
    }
}

/// The directory that holds the chunks of an array of local files, or the archive that does.
pub(crate) fn directory(array: &Array) -> PathBuf {
    folder(array.store().name(), array.path())
}

/// The directory of a node at `path` of a local store, or the archive that it is in.
pub(crate) fn folder(store: &str, path: &str) -> PathBuf {
    let root = PathBuf::from(store);
    if path.is_empty() || root.is_file() { root } else { root.join(path) }
}

/// `<name> holds a, b, c`.
fn holdings(group: &Group) -> String {
    let names = group.names().unwrap_or_default();
    let name = group.name();
    match names.len() {
        0 => format!("{name} is empty"),
        count if count <= NAMES_MAX => format!("{name} holds {}", names.join(", ")),
        count => format!("{name} holds {} and {} more", names[..NAMES_MAX].join(", "), count - NAMES_MAX),
    }
}
