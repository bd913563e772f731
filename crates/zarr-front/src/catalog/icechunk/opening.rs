//! Finding the snapshot of a revision: two rounds of reads, however many branches, tags and nodes there are.

use super::block_style::containers_in_yaml;
use super::containers::{Container, Containers};
use super::format::{repository, snapshot};
use super::layout::Layout;
use super::{IcechunkOptions, Revision};
use crate::store::{Document, Store};
use crate::{Error, ErrorKind};
use bytes::Bytes;
use serde_json::Value;
use swath_ioengine::Engine;

/// What a repository says of one revision.
pub(crate) struct Opened {
    pub(super) layout: Layout,
    pub(super) containers: Containers,
    /// The id of the snapshot.
    pub(crate) snapshot: String,
}

/// The file of format 2, with branches, tags and the configuration.
const REPOSITORY: &str = "repo";

/// The configuration of format 1.
const CONFIGURATION: &str = "config.yaml";

/// Bytes that files which say where others are count as while they are asked for.
const SMALL_BYTES: u64 = 1 << 20;

impl Opened {
    /// Reads what a repository says of a revision. Its format is found out with the same reads: files of both are asked for, and of
    /// one that was changed into format 2 only that counts.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no repository, or no such branch, tag or snapshot; `Corrupt` for what is none, and `Unsupported` for one
    /// of a newer format.
    pub(crate) fn read(root: &Store, options: &IcechunkOptions) -> Result<Opened, Error> {
        let engine = Engine::global();
        let revision = options.revision();
        let mut keys = vec![REPOSITORY.to_owned(), CONFIGURATION.to_owned()];
        if let Some(file) = reference_file(revision) {
            keys.push(format!("{file}.deleted"));
            keys.push(file);
        }
        let Found { files, denied } = read(&engine, root, &keys)?;
        let mut files = files.into_iter();
        let mut next = || files.next().flatten();
        let (repo, configuration, deleted, reference) = (next(), next(), next(), next());
        let is_old = configuration.is_some() || reference.is_some() || deleted.is_some();
        let (id, containers) = match &repo {
            Some(file) => {
                let repo = repository(file, revision).map_err(|error| error.with_object(&keys[0]))?;
                (repo.snapshot, repo.containers)
            }
            None => {
                let id = match revision {
                    Revision::Snapshot(id) => Some(id.clone()),
                    _ if deleted.is_some() => None,
                    _ => reference.map(|file| named(&file)).transpose()?,
                };
                (id, configured(configuration.as_ref()))
            }
        };
        let has_found = repo.is_some() || is_old;
        let none = || denied.filter(|_| !has_found).unwrap_or_else(|| missing(revision));
        let id = id.filter(|id| is_id(id)).ok_or_else(none)?;
        let key = format!("snapshots/{id}");
        let Found { mut files, denied } = read(&engine, root, std::slice::from_ref(&key))?;
        let file = files.pop().flatten().ok_or_else(|| match (denied, revision) {
            (Some(error), _) => error,
            (None, Revision::Snapshot(_)) => missing(revision),
            _ => Error::new(ErrorKind::Io, "a snapshot that a branch or tag names is not there")
                .with_object(&key),
        })?;
        let nodes = snapshot(&file).map_err(|error| error.with_object(&key))?;
        let containers = Containers::new(containers, options.authorized());
        Ok(Opened { layout: Layout::new(nodes), containers, snapshot: id })
    }
}

/// What was found of files that may be there.
struct Found {
    /// `None` of those that are not there.
    files: Vec<Option<Bytes>>,
    /// Why one may not be looked at: stores that must not be listed say so of those that are not there.
    denied: Option<Error>,
}

/// Files, all asked for at once.
fn read(engine: &Engine, root: &Store, keys: &[String]) -> Result<Found, Error> {
    let mut denied = None;
    let taken = root.documents(engine, keys, SMALL_BYTES)?.into_iter().map(|found| match found {
        Document::Here(bytes) => Ok(Some(bytes)),
        Document::Missing => Ok(None),
        Document::Denied(error) => {
            denied.get_or_insert(error);
            Ok(None)
        }
        Document::Failed(error) => Err(error),
    });
    let files = taken.collect::<Result<Vec<_>, _>>()?;
    Ok(Found { files, denied })
}

/// The file in which format 1 says what a branch or a tag is; `None` for a name that none can have there, and for a snapshot.
fn reference_file(revision: &Revision) -> Option<String> {
    let (kind, name) = match revision {
        Revision::Branch(name) => ("branch", name),
        Revision::Tag(name) => ("tag", name),
        Revision::Snapshot(_) => return None,
    };
    let is_plain = !name.is_empty() && !name.contains(['/', '\\', '\0']);
    is_plain.then(|| format!("refs/{kind}.{name}/ref.json"))
}

/// The snapshot in a file of a branch or a tag.
fn named(file: &[u8]) -> Result<String, Error> {
    let found: Option<Value> = serde_json::from_slice(file).ok();
    let id = found.as_ref().and_then(|found| found.get("snapshot")?.as_str());
    id.map(str::to_owned).ok_or_else(|| {
        Error::new(ErrorKind::Corrupt, "wanted a file that names a snapshot, found something else")
    })
}

/// The containers in a configuration of format 1; `None` where what it says is not understood.
fn configured(file: Option<&Bytes>) -> Option<Vec<Container>> {
    match file {
        Some(file) => containers_in_yaml(std::str::from_utf8(file).ok()?),
        None => Some(Vec::new()),
    }
}

/// Whether a text is an id: 12 bytes in Crockford's base 32.
fn is_id(text: &str) -> bool {
    text.len() == ID_CHARACTERS && text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

const ID_CHARACTERS: usize = 20;

fn missing(revision: &Revision) -> Error {
    Error::new(ErrorKind::NotFound, format!("wanted {revision} of an Icechunk repository, found none"))
}
