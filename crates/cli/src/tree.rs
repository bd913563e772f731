//! What a hierarchy holds, gathered before it is shown.

use crate::progress::{Progress, Unit};
use swath::{Array, Error, Group, Node};

/// Groups nested deeper than this are shown as an error: most likely a loop of links.
const DEPTH_MAX: usize = 64;

/// Whether the chunks of arrays are listed to find their stored size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// List them.
    Listed,
    /// Leave them: arrays may have millions.
    Unknown,
}

/// A node of the tree.
pub(crate) struct Entry {
    /// The name below the parent; at the root what the user called it.
    pub(crate) name: String,
    /// What it is.
    pub(crate) content: Content,
}

/// What a node is.
pub(crate) enum Content {
    /// An array, and how many bytes it takes in how many objects, where that was found out.
    Array(Array, Option<Result<(u64, u64), Error>>),
    /// A group and what is in it.
    Group(Group, Vec<Entry>),
    /// Something that could not be opened: the class and the message of its error, and the object it names.
    Failed(String),
}

/// Gathers `node` and everything below it.
///
/// # Errors
///
/// Those of listing the root, where it is a group. Whatever fails below becomes an entry.
pub(crate) fn gather(name: &str, node: Node, sizes: Sizes) -> Result<Entry, Error> {
    let progress = Progress::new(None, Unit::Items("nodes"));
    let content = match node {
        Node::Array(array) => measured(array, sizes),
        Node::Group(group) => {
            let below = children(&group, sizes, 1, &progress)?;
            Content::Group(group, below)
        }
    };
    Ok(Entry { name: name.to_owned(), content })
}

impl Entry {
    /// Arrays, and nodes that could not be opened, here and below.
    pub(crate) fn census(&self) -> (u64, u64) {
        match &self.content {
            Content::Array(..) => (1, 0),
            Content::Failed(_) => (0, 1),
            Content::Group(_, below) => {
                below.iter().map(Entry::census).fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
            }
        }
    }
}

/// An error without the name of its object, which the tree shows already.
pub(crate) fn reason(error: &Error) -> String {
    let text = error.to_string();
    let object = error.object().map(|object| format!("{object}: ")).unwrap_or_default();
    text.strip_prefix(&object).unwrap_or(&text).to_owned()
}

fn children(group: &Group, sizes: Sizes, depth: usize, progress: &Progress) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    for (name, node) in group.children()? {
        progress.advance(1);
        let content = match node {
            Err(error) => Content::Failed(reason(&error)),
            Ok(Node::Array(array)) => measured(array, sizes),
            Ok(Node::Group(_)) if DEPTH_MAX < depth => {
                Content::Failed(format!("groups nested more than {DEPTH_MAX} deep"))
            }
            Ok(Node::Group(group)) => match children(&group, sizes, depth + 1, progress) {
                Ok(below) => Content::Group(group, below),
                Err(error) => Content::Failed(reason(&error)),
            },
        };
        entries.push(Entry { name, content });
    }
    Ok(entries)
}

fn measured(array: Array, sizes: Sizes) -> Content {
    let stored = (sizes == Sizes::Listed).then(|| array.stored_bytes());
    Content::Array(array, stored)
}
