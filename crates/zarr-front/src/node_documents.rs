//! The documents of nodes, and how they come to be known: on local media one after the other, as each look-up costs next
//! to nothing; on remote media all that one round trip can bring at once.

use crate::metadata::{ArrayMetadata, Consolidated, GroupMetadata, NodeMetadata, ZarrFormat};
use crate::store::{Document, Store, join};
use crate::{Error, ErrorKind};
use std::cell::OnceCell;
use swath_ioengine::Engine;

/// What documents are called. Their places in [`NodeDocuments::documents`].
const NAMES: [&str; 5] = ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"];
const V3: usize = 0;
const ARRAY: usize = 1;
const GROUP: usize = 2;
const ATTRIBUTES: usize = 3;
const CONSOLIDATED: usize = 4;

/// Bytes of a document of one node that a first request asks for at most: room for the consolidated metadata of some
/// thousand arrays, while five such documents fit a lane's share of the byte budget. Longer ones cost another request.
const ALONE_BYTES_MAX: u64 = 2 << 20;

/// The same for one of many nodes: room for any usual array, while hundreds are under way at once.
const MEMBER_BYTES_MAX: u64 = 256 << 10;

/// What is known of nodes before they are looked at, which decides what is asked for first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likely {
    /// Nothing.
    Anything,
    /// They are members of a group of this format.
    MembersOf(ZarrFormat),
}

impl Likely {
    /// The documents of the first round: those that decide most nodes in the fewest rounds at the fewest requests.
    fn first(self) -> &'static [usize] {
        match self {
            Likely::Anything => &[V3, CONSOLIDATED],
            Likely::MembersOf(ZarrFormat::V3) => &[V3],
            Likely::MembersOf(ZarrFormat::V2) => &[ARRAY, ATTRIBUTES],
        }
    }

    fn bytes_max(self) -> u64 {
        match self {
            Likely::Anything => ALONE_BYTES_MAX,
            Likely::MembersOf(_) => MEMBER_BYTES_MAX,
        }
    }
}

/// The metadata of the node at `path`, asked for document by document.
pub(crate) fn read_in_turn(store: &Store, path: &str) -> Result<NodeMetadata, Error> {
    let engine = Engine::global();
    let mut node = NodeDocuments::new(path);
    for name in [V3, ARRAY, GROUP, CONSOLIDATED, ATTRIBUTES] {
        // Attributes are wanted with an array or a group, consolidated metadata with a group only.
        let is_wanted = match name {
            V3 | ARRAY => true,
            ATTRIBUTES => node.is_here(ARRAY) || node.is_here(GROUP),
            _ => !node.is_here(ARRAY),
        };
        if is_wanted {
            node.documents[name] = Some(store.document(&engine, &node.key(name))?);
        }
        if node.is_here(V3) {
            break;
        }
    }
    node.metadata(store)
}

/// The metadata of nodes by path, in two round trips at most (one more where a document is unusually long).
pub(crate) fn read_at_once(
    store: &Store,
    paths: &[String],
    likely: Likely,
) -> Vec<Result<NodeMetadata, Error>> {
    let mut nodes: Vec<NodeDocuments> = paths.iter().map(|path| NodeDocuments::new(path)).collect();
    match complete(store, &mut nodes, likely) {
        Ok(()) => nodes.iter().map(|node| node.metadata(store)).collect(),
        Err(error) => paths.iter().map(|_| Err(error.clone())).collect(),
    }
}

/// What a look at a node and its members brought.
pub(crate) struct ReadWithMembers {
    pub(crate) node: NodeMetadata,
    /// The members by path, where one read brought them along.
    pub(crate) members: Option<Vec<(String, Result<NodeMetadata, Error>)>>,
}

/// The metadata of the node at `path` and of its members, which `list` names by path. What is known of a v2 group after
/// one round trip is only that it is no v3 node and not consolidated: its own documents are asked for in one round with
/// those of its members. Nodes of which one round trip tells all come without members, and `list` is not called.
pub(crate) fn read_with_members(
    store: &Store,
    path: &str,
    list: impl FnOnce() -> Result<Vec<String>, Error>,
) -> Result<ReadWithMembers, Error> {
    let mut node = [NodeDocuments::new(path)];
    ask(store, &mut node, Likely::Anything)?;
    let [node] = node;
    if node.wanted(store, Likely::Anything).is_empty() {
        return Ok(ReadWithMembers { node: node.metadata(store)?, members: None });
    }
    // No v3 node, so no v3 group.
    let likely = Likely::MembersOf(ZarrFormat::V2);
    let listed = list();
    let paths = listed.as_deref().unwrap_or_default();
    let mut nodes: Vec<NodeDocuments> =
        std::iter::once(node).chain(paths.iter().map(|path| NodeDocuments::new(path))).collect();
    complete(store, &mut nodes, likely)?;
    let mut found = nodes.iter().map(|node| node.metadata(store));
    let lost = || Err(Error::new(ErrorKind::Internal, "a node was not read"));
    let node = found.next().unwrap_or_else(lost)?;
    let members: Vec<Result<NodeMetadata, Error>> = found.collect();
    Ok(ReadWithMembers { node, members: Some(listed?.into_iter().zip(members).collect()) })
}

/// Asks for documents until all nodes are known.
fn complete(store: &Store, nodes: &mut [NodeDocuments], likely: Likely) -> Result<(), Error> {
    while ask(store, nodes, likely)? {}
    Ok(())
}

/// Asks, in one round, for whatever is wanted next of each node; false where that is nothing.
fn ask(store: &Store, nodes: &mut [NodeDocuments], likely: Likely) -> Result<bool, Error> {
    let mut asked = Vec::new();
    let mut keys = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        for name in node.wanted(store, likely) {
            asked.push((number, name));
            keys.push(node.key(name));
        }
    }
    if keys.is_empty() {
        return Ok(false);
    }
    let documents = store.documents(&Engine::global(), &keys, likely.bytes_max())?;
    for ((number, name), document) in asked.into_iter().zip(documents) {
        nodes[number].documents[name] = Some(document);
    }
    Ok(true)
}

/// What is known of one node.
struct NodeDocuments<'a> {
    path: &'a str,
    /// `None` for what was not asked for.
    documents: [Option<Document>; NAMES.len()],
    /// The group as its own consolidated metadata has it, once that was looked at.
    root: OnceCell<Result<Option<GroupMetadata>, Error>>,
}

impl<'a> NodeDocuments<'a> {
    fn new(path: &'a str) -> NodeDocuments<'a> {
        NodeDocuments { path, documents: Default::default(), root: OnceCell::new() }
    }

    fn key(&self, name: usize) -> String {
        join(self.path, NAMES[name])
    }

    fn is_here(&self, name: usize) -> bool {
        matches!(self.documents[name], Some(Document::Here(_)))
    }

    /// The bytes of a document; `None` where there is none. One that may not be looked at counts as none, as long as
    /// another makes the node: some stores answer so for whatever is not there.
    fn bytes(&self, name: usize) -> Result<Option<&[u8]>, Error> {
        match &self.documents[name] {
            Some(Document::Here(bytes)) => Ok(Some(bytes)),
            Some(Document::Failed(error)) => Err(error.clone()),
            Some(Document::Missing | Document::Denied(_)) | None => Ok(None),
        }
    }

    /// What to ask for next.
    fn wanted(&self, store: &Store, likely: Likely) -> Vec<usize> {
        let decided = [V3, ARRAY].map(|name| self.is_here(name) || self.bytes(name).is_err());
        let wanted: &[usize] = match decided {
            _ if self.documents.iter().all(Option::is_none) => likely.first(),
            [true, _] => &[],
            [_, true] => &[ATTRIBUTES],
            _ if matches!(self.root(store), Ok(Some(_))) => &[],
            _ => &[V3, ARRAY, GROUP, ATTRIBUTES, CONSOLIDATED],
        };
        wanted.iter().copied().filter(|name| self.documents[*name].is_none()).collect()
    }

    fn consolidated(&self, store: &Store) -> Result<Option<Consolidated>, Error> {
        let bytes = self.bytes(CONSOLIDATED)?;
        let name = || store.describe(&self.key(CONSOLIDATED));
        bytes.map(|bytes| Consolidated::parse_v2(bytes, &name())).transpose()
    }

    fn root(&self, store: &Store) -> Result<Option<GroupMetadata>, Error> {
        // Of one that is not there yet nothing is remembered.
        match self.documents[CONSOLIDATED] {
            None => Ok(None),
            Some(_) => self.root.get_or_init(|| self.consolidated_root(store)).clone(),
        }
    }

    fn consolidated_root(&self, store: &Store) -> Result<Option<GroupMetadata>, Error> {
        let Some(consolidated) = self.consolidated(store)? else { return Ok(None) };
        let Some(root) = consolidated.get("").filter(|root| !root.is_array()) else { return Ok(None) };
        match root.parse(&store.describe(&self.key(CONSOLIDATED)))? {
            NodeMetadata::Group(group) => Ok(Some(group.with_consolidated(consolidated))),
            NodeMetadata::Array(_) => Ok(None),
        }
    }

    /// What the documents say: `zarr.json` first, then `.zarray`, then `.zgroup`.
    fn metadata(&self, store: &Store) -> Result<NodeMetadata, Error> {
        let name = |document| store.describe(&self.key(document));
        if let Some(bytes) = self.bytes(V3)? {
            return NodeMetadata::parse_v3(bytes, &name(V3));
        }
        if let Some(bytes) = self.bytes(ARRAY)? {
            let metadata = ArrayMetadata::parse_v2(bytes, self.bytes(ATTRIBUTES)?, &name(ARRAY))?;
            return Ok(NodeMetadata::Array(Box::new(metadata)));
        }
        if let Some(bytes) = self.bytes(GROUP)? {
            let group = GroupMetadata::parse_v2(bytes, self.bytes(ATTRIBUTES)?, &name(GROUP))?;
            return Ok(NodeMetadata::Group(match self.consolidated(store)? {
                Some(consolidated) => group.with_consolidated(consolidated),
                None => group,
            }));
        }
        // Where a store lists no documents of its own, its consolidated metadata may still be a group's.
        if let Some(group) = self.root(store)? {
            return Ok(NodeMetadata::Group(group));
        }
        Err(self.denied().unwrap_or_else(|| {
            let message = "found neither zarr.json nor .zarray nor .zgroup";
            Error::new(ErrorKind::NotFound, message).with_object(&store.describe(self.path))
        }))
    }

    fn denied(&self) -> Option<Error> {
        self.documents.iter().flatten().find_map(|document| match document {
            Document::Denied(error) => Some(error.clone()),
            _ => None,
        })
    }
}
