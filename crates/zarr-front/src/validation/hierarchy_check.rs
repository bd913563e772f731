//! Hierarchies as they are stored, held against what consolidated metadata says of them.

use super::{Finding, Severity};
use crate::group::NamedNode;
use crate::metadata::{ArrayMetadata, NodeMetadata};
use crate::store::join;
use crate::{Consolidated, Error, Group, Node};
use std::collections::BTreeMap;

/// Nesting beyond this is a loop of links, or an attack.
const DEPTH_MAX: usize = 256;

/// More nodes than are checked.
const NODES_MAX: usize = 1 << 20;

/// What became of a look at consolidated metadata.
#[derive(Clone, Debug, Default)]
pub struct ConsolidatedCheck {
    /// Where it differs from what is stored; nothing where it is up to date.
    pub findings: Vec<Finding>,
    /// Whether all of the nodes that it has are stored by themselves too, and can be opened: then nothing is lost where it
    /// is written anew from what is stored.
    pub is_rewritable: bool,
}

impl Group {
    /// Every node below the group as it is stored, by path, parents before their children: [`Group::walk`] without any
    /// consolidated metadata.
    ///
    /// # Errors
    ///
    /// As [`Group::walk`].
    pub fn walk_stored(&self) -> Result<Vec<NamedNode>, Error> {
        let mut found = Vec::new();
        walk_into(self, "", 0, &mut found)?;
        Ok(found)
    }

    /// Holds the group's consolidated metadata against `stored`, which [`walk_stored`](Self::walk_stored) gave; nothing where
    /// the group has none.
    #[must_use]
    pub fn check_consolidated(&self, stored: &[NamedNode]) -> ConsolidatedCheck {
        let Some(consolidated) = self.metadata().consolidated() else { return ConsolidatedCheck::default() };
        let mut check = ConsolidatedCheck { findings: Vec::new(), is_rewritable: true };
        let mut listed: BTreeMap<&str, ()> =
            consolidated.iter().filter(|(path, _)| !path.is_empty()).map(|(path, _)| (path, ())).collect();
        for (path, node) in stored {
            let is_listed = listed.remove(&**path).is_some();
            let wrong = match (node, is_listed) {
                // What is stored cannot be opened: nothing can be said, and nothing shall be rewritten.
                (Err(_), _) => {
                    check.is_rewritable = false;
                    continue;
                }
                (Ok(_), false) => Some("the consolidated metadata does not have this node"),
                (Ok(node), true) => differs(consolidated, path, node),
            };
            check.findings.extend(wrong.map(|wrong| self.stale(path, wrong)));
        }
        for path in listed.into_keys() {
            check.is_rewritable = false;
            let wrong = "the consolidated metadata has this node, and it is not stored by itself";
            check.findings.push(self.stale(path, wrong));
        }
        check
    }

    fn stale(&self, path: &str, wrong: &str) -> Finding {
        Finding::of_object(Severity::Damage, self.store().describe(&join(self.path(), path)), wrong)
    }
}

fn walk_into(group: &Group, prefix: &str, depth: usize, found: &mut Vec<NamedNode>) -> Result<(), Error> {
    if DEPTH_MAX < depth || NODES_MAX < found.len() {
        let error = Error::invalid(format!("groups nested more than {DEPTH_MAX} deep, or {NODES_MAX} nodes"));
        return Err(error.with_object(&group.name()));
    }
    for (name, node) in group.without_consolidated().children()? {
        let path = join(prefix, &name);
        let below = match &node {
            Ok(Node::Group(group)) => Some(group.clone()),
            Ok(Node::Array(_)) | Err(_) => None,
        };
        found.push((path.clone(), node));
        if let Some(group) = below {
            walk_into(&group, &path, depth + 1, found)?;
        }
    }
    Ok(())
}

/// How what is listed of a node differs from the node, if it does. Fields are compared as they are understood: other
/// spellings of the same are no difference.
fn differs(consolidated: &Consolidated, path: &str, node: &Node) -> Option<&'static str> {
    let listed = match consolidated.get(path)?.parse(path) {
        Ok(listed) => listed,
        Err(_) => return Some("the consolidated metadata of this node cannot be read"),
    };
    match (node, &listed) {
        (Node::Array(array), NodeMetadata::Array(listed)) => array_differs(array.metadata(), listed),
        (Node::Group(group), NodeMetadata::Group(listed)) => (group.attributes() != listed.attributes()
            || group.zarr_format() != listed.zarr_format())
        .then_some("the consolidated metadata has other attributes of this group"),
        _ => Some("the consolidated metadata has another kind of node here"),
    }
}

fn array_differs(stored: &ArrayMetadata, listed: &ArrayMetadata) -> Option<&'static str> {
    let same = [
        (stored.shape() == listed.shape(), "the consolidated metadata has another shape of this array"),
        (
            stored.attributes() == listed.attributes(),
            "the consolidated metadata has other attributes of this array",
        ),
        (
            stored.data_type() == listed.data_type()
                && stored.zarr_format() == listed.zarr_format()
                && stored.chunk_shape() == listed.chunk_shape()
                && stored.fill_value() == listed.fill_value()
                && stored.chunk_key_encoding() == listed.chunk_key_encoding()
                && stored.dimension_names() == listed.dimension_names()
                && stored.codecs() == listed.codecs(),
            "the consolidated metadata describes this array otherwise than its own document",
        ),
    ];
    same.into_iter().find(|(is_same, _)| !is_same).map(|(_, wrong)| wrong)
}
