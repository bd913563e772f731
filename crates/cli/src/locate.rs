//! From a path on the command line to a node, wherever in a hierarchy it is.

use anyhow::{anyhow, bail};
use std::path::{Component, Path, PathBuf};
use swath::{Array, ErrorKind, Group, Node};

/// How many names of a group an error message lists.
const NAMES_MAX: usize = 8;

/// Opens the node at `path`: the directory itself, or a path below a group whose consolidated metadata knows it.
///
/// # Errors
///
/// Those of the library; where there is no node but a group above, the error lists what that group holds.
pub(crate) fn node(path: &Path) -> anyhow::Result<Node> {
    if path.is_file() {
        bail!("{}: is a file; wanted the directory of an array or a group", path.display());
    }
    let error = match Node::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => error,
        node => return Ok(node?),
    };
    let Some((group, rest)) = group_above(path) else {
        return Err(error.into());
    };
    match group.get(&rest) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(anyhow!("{}: not found; the group {}", path.display(), holdings(&group)))
        }
        node => Ok(node?),
    }
}

/// Opens the array at `path`.
///
/// # Errors
///
/// As [`node`]; for a group, the error lists what it holds.
pub(crate) fn array(path: &Path) -> anyhow::Result<Array> {
    match node(path)? {
        Node::Array(array) => Ok(array),
        Node::Group(group) => bail!("wanted an array; the group {}", holdings(&group)),
    }
}

/// The directory that holds an array's chunks.
pub(crate) fn directory(array: &Array) -> PathBuf {
    let root = PathBuf::from(array.store().name());
    if array.path().is_empty() { root } else { root.join(array.path()) }
}

/// The nearest group that is a directory above `path`, and the path from there.
fn group_above(path: &Path) -> Option<(Group, String)> {
    for above in path.ancestors().skip(1) {
        let rest = path.strip_prefix(above).ok()?;
        let names: Option<Vec<&str>> = rest
            .components()
            .map(|component| match component {
                Component::Normal(name) => name.to_str(),
                _ => None,
            })
            .collect();
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        if let Ok(Node::Group(group)) = Node::open(above) {
            return Some((group, names?.join("/")));
        }
    }
    None
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
