//! Groups: what lies below them.

use crate::array::Array;
use crate::decoded_cache::DecodedCache;
use crate::metadata::{GroupMetadata, NodeMetadata, ZarrFormat};
use crate::node::{Node, from_metadata, node_path, open_node, open_nodes, open_with_members};
use crate::node_documents::Likely;
use crate::store::{Store, join};
use crate::{Error, ErrorKind};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;
use swath_ioengine::Entry;

/// A node by its name or path, or why it cannot be opened.
pub type NamedNode = (String, Result<Node, Error>);

/// A Zarr group, v3 or v2. Cloning shares it.
///
/// Where its writer consolidated the metadata, everything below is known without further reads.
#[derive(Clone)]
pub struct Group {
    inner: Arc<GroupInner>,
    decoded: Option<DecodedCache>,
}

struct GroupInner {
    store: Store,
    path: String,
    metadata: GroupMetadata,
}

impl Group {
    /// Opens the group in a local directory, or in a zip archive: see [`Store::path`].
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no group, `Invalid` where its metadata breaks the specification.
    pub fn open(path: impl AsRef<Path>) -> Result<Group, Error> {
        Group::open_in(&Store::path(path)?, "")
    }

    /// Opens the group at `path` of a store.
    ///
    /// # Errors
    ///
    /// As [`Group::open`].
    pub fn open_in(store: &Store, path: &str) -> Result<Group, Error> {
        into_group(open_node(store, path)?, &store.describe(path))
    }

    /// Opens the group at `path` of a store and the nodes directly below it: [`Group::open_in`] and [`Group::children`] in
    /// fewer round trips to remote stores. Where its metadata is consolidated that is one; else two and a listing, and one
    /// more where members are not of the group's format, groups of v2, or no nodes.
    ///
    /// # Errors
    ///
    /// As [`Group::open`] and [`Group::children`]. That there is a v2 array takes a remote store a listing of its chunks.
    pub fn open_with_children(store: &Store, path: &str) -> Result<(Group, Vec<NamedNode>), Error> {
        let path = node_path(path)?;
        let list = || Ok(listed_names(store, &path)?.iter().map(|name| join(&path, name)).collect());
        let (node, members) = match store.is_remote() {
            true => open_with_members(store, &path, list)?,
            false => (open_node(store, &path)?, None),
        };
        let group = into_group(node, &store.describe(&path))?;
        let Some(members) = members else { return group.children().map(|children| (group, children)) };
        let below = |member: String| match member.strip_prefix(&*path) {
            Some(name) => name.trim_start_matches('/').to_owned(),
            None => member,
        };
        let members = members.into_iter().map(|(member, node)| (below(member), node)).filter(is_node);
        Ok((group, members.collect()))
    }

    pub(crate) fn new(store: Store, path: String, metadata: GroupMetadata) -> Group {
        Group { inner: Arc::new(GroupInner { store, path, metadata }), decoded: None }
    }

    /// The group with other metadata, at the same place.
    pub(crate) fn with_metadata(&self, metadata: GroupMetadata) -> Group {
        let GroupInner { store, path, .. } = &*self.inner;
        Group { decoded: self.decoded.clone(), ..Group::new(store.clone(), path.clone(), metadata) }
    }

    /// The same group without its consolidated metadata: what is below it is looked for where it is stored. So a group that
    /// is written to sees what was made since it was consolidated.
    #[must_use]
    pub fn without_consolidated(&self) -> Group {
        self.with_metadata(self.inner.metadata.clone().without_consolidated())
    }

    /// The same group, whose arrays keep their decoded chunks in `cache`, which they share:
    /// [`Array::with_decoded_cache`].
    #[must_use]
    pub fn with_decoded_cache(&self, cache: &DecodedCache) -> Group {
        Group { inner: Arc::clone(&self.inner), decoded: Some(cache.clone()) }
    }

    /// The group's checked metadata.
    pub fn metadata(&self) -> &GroupMetadata {
        &self.inner.metadata
    }

    /// The user's attributes.
    pub fn attributes(&self) -> &Map<String, Value> {
        self.inner.metadata.attributes()
    }

    /// The format that the group is stored in.
    pub fn zarr_format(&self) -> ZarrFormat {
        self.inner.metadata.zarr_format()
    }

    /// Where the group is stored.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The group's path in its store; empty for the root.
    pub fn path(&self) -> &str {
        &self.inner.path
    }

    /// What people call the group: its store and path.
    pub fn name(&self) -> String {
        self.inner.store.describe(&self.inner.path)
    }

    /// Opens a node below the group, at a path relative to it: `"a"`, `"a/b"`; the group itself at `""`.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is none, `Invalid` and `Unsupported` as for [`Array::open`].
    pub fn get(&self, path: &str) -> Result<Node, Error> {
        Ok(self.with_own_cache(self.open_below(path)?))
    }

    /// The node, with the group's cache of decoded chunks, if it has one.
    fn with_own_cache(&self, node: Node) -> Node {
        match &self.decoded {
            Some(cache) => node.with_decoded_cache(cache),
            None => node,
        }
    }

    fn open_below(&self, path: &str) -> Result<Node, Error> {
        let path = node_path(path)?;
        if path.is_empty() {
            return Ok(Node::Group(self.clone()));
        }
        let full = join(&self.inner.path, &path);
        if let Some(consolidated) = self.inner.metadata.consolidated() {
            let Some(node) = consolidated.get(&path) else {
                let message = "not in the group's consolidated metadata";
                return Err(
                    Error::new(ErrorKind::NotFound, message).with_object(&self.inner.store.describe(&full))
                );
            };
            let metadata = match node.parse(&self.inner.store.describe(&full))? {
                NodeMetadata::Group(group) => {
                    NodeMetadata::Group(group.with_consolidated(consolidated.below(&path)))
                }
                array @ NodeMetadata::Array(_) => array,
            };
            return from_metadata(&self.inner.store, &full, metadata);
        }
        open_node(&self.inner.store, &full)
    }

    /// Opens an array below the group.
    ///
    /// # Errors
    ///
    /// As [`Group::get`]; `NotFound` where there is a group.
    pub fn array(&self, path: &str) -> Result<Array, Error> {
        match self.get(path)? {
            Node::Array(array) => Ok(array),
            Node::Group(group) => {
                let error = Error::new(ErrorKind::NotFound, "wanted an array, found a group");
                Err(error.with_object(&group.name()))
            }
        }
    }

    /// Names directly below the group that may be nodes, sorted: those of the consolidated metadata, else the
    /// directories that the store lists. Whether one is an array or a group, or neither, shows when it is opened.
    ///
    /// # Errors
    ///
    /// Those of the store; `Unsupported` where it cannot list.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        if let Some(consolidated) = self.inner.metadata.consolidated() {
            return Ok(consolidated.children().map(str::to_owned).collect());
        }
        listed_names(&self.inner.store, &self.inner.path)
    }

    /// The nodes directly below the group, by name, sorted. A node that cannot be opened is its error; directories that
    /// are no nodes are left out.
    ///
    /// # Errors
    ///
    /// Those of the store; `Unsupported` where it cannot list.
    pub fn children(&self) -> Result<Vec<NamedNode>, Error> {
        let names = self.names()?;
        let nodes = self.get_many(&names);
        Ok(names.into_iter().zip(nodes).filter(is_node).collect())
    }

    /// Opens many nodes below the group, as [`Group::get`] each: of remote stores all at once, in two round trips at most
    /// (one more where a document is longer than 256 KiB) instead of some for each. Of a remote v2 group, the arrays of v2
    /// count before what a `zarr.json` beside them says.
    pub fn get_many<P: AsRef<str>>(&self, paths: &[P]) -> Vec<Result<Node, Error>> {
        if self.inner.metadata.consolidated().is_some() || !self.inner.store.is_remote() {
            return paths.iter().map(|path| self.get(path.as_ref())).collect();
        }
        let full = |path: &P| match node_path(path.as_ref()) {
            Ok(path) if path.is_empty() => Err(Ok(Node::Group(self.clone()))),
            Ok(path) => Ok(join(&self.inner.path, &path)),
            Err(error) => Err(Err(error)),
        };
        let full: Vec<Result<String, Result<Node, Error>>> = paths.iter().map(full).collect();
        let wanted: Vec<String> = full.iter().filter_map(|path| path.as_ref().ok().cloned()).collect();
        let mut opened =
            open_nodes(&self.inner.store, &wanted, Likely::MembersOf(self.zarr_format())).into_iter();
        let lost = || Err(Error::new(ErrorKind::Internal, "a node was not opened"));
        let nodes = full.into_iter().map(|path| match path {
            Ok(_) => opened.next().unwrap_or_else(lost).map(|node| self.with_own_cache(node)),
            Err(known) => known,
        });
        nodes.collect()
    }

    /// Every node below the group, by path relative to it, parents before their children, sorted by name.
    ///
    /// # Errors
    ///
    /// As [`Group::children`]; `Invalid` where groups are nested more than 256 deep, or there are more than a million
    /// nodes: links that lead back up make hierarchies without an end.
    pub fn walk(&self) -> Result<Vec<NamedNode>, Error> {
        let mut found = Vec::new();
        self.walk_into("", 0, &mut found)?;
        Ok(found)
    }

    fn walk_into(&self, prefix: &str, depth: usize, found: &mut Vec<NamedNode>) -> Result<(), Error> {
        if DEPTH_MAX < depth {
            let error = Error::invalid(format!("groups nested more than {DEPTH_MAX} deep"));
            return Err(error.with_object(&self.name()));
        }
        for (name, node) in self.children()? {
            let path = join(prefix, &name);
            let below = match &node {
                Ok(Node::Group(group)) => Some(group.clone()),
                Ok(Node::Array(_)) | Err(_) => None,
            };
            if NODES_MAX <= found.len() {
                let error = Error::invalid(format!("a hierarchy of more than {NODES_MAX} nodes"));
                return Err(error.with_object(&self.name()));
            }
            found.push((path.clone(), node));
            if let Some(group) = below {
                group.walk_into(&path, depth + 1, found)?;
            }
        }
        Ok(())
    }
}

/// Directories directly below a path, sorted: nodes, maybe.
fn listed_names(store: &Store, path: &str) -> Result<Vec<String>, Error> {
    let names = store.list(path)?.into_iter().filter_map(|entry| match entry {
        Entry::Prefix { name } => Some(name),
        Entry::Object { .. } => None,
    });
    Ok(names.collect())
}

/// False of directories that are no nodes; what cannot be opened is one.
fn is_node((_, node): &NamedNode) -> bool {
    !matches!(node, Err(error) if error.kind() == ErrorKind::NotFound)
}

fn into_group(node: Node, name: &str) -> Result<Group, Error> {
    match node {
        Node::Group(group) => Ok(group),
        Node::Array(_) => {
            let error = Error::new(ErrorKind::NotFound, "wanted a group, found an array");
            Err(error.with_object(name))
        }
    }
}

/// Nesting beyond this is a loop of links, or an attack.
const DEPTH_MAX: usize = 256;

/// More nodes than a walk lists.
const NODES_MAX: usize = 1 << 20;

impl std::fmt::Debug for Group {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Group({})", self.name())
    }
}
