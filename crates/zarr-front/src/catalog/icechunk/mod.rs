//! Icechunk repositories, of format 1 and 2: a snapshot of one, whose chunks are objects of the repository, parts of objects
//! elsewhere, or bytes of their own. Only reading.
//!
//! What is read is read by the engine: two rounds when the store is opened, and manifests when a read wants chunks of theirs, all
//! that it wants at once. Snapshots, manifests and chunks never change, so that nothing is asked for twice.
//!
//! Source: the Icechunk specification, versions 1 and 2.

mod block_style;
mod configuration;
mod containers;
mod extents;
mod format;
mod layout;
mod manifest;
mod opening;
mod options;
mod versions;
mod view;

pub(crate) use opening::Opened;
pub use options::{IcechunkOptions, Revision};
pub(crate) use view::IcechunkView;

use super::references::{ReferenceTargets, Targets};
use crate::store::Store;
use crate::{Error, ErrorKind};
use containers::Containers;
use format::{ObjectId, id_text, manifest};
use layout::Layout;
use manifest::{Location, Manifest};
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use swath_ioengine::{ByteRange, Engine, Entry, ObjectRef, RangeRead, RunOptions};
use versions::Versions;

/// A snapshot of a repository.
pub(crate) struct Icechunk {
    /// Where its objects are.
    root: Store,
    layout: Layout,
    containers: Containers,
    targets: Targets,
    /// Which versions virtual chunks turned out to be of.
    versions: Versions,
    /// The manifests that were read last, the latest one at the end.
    kept: Mutex<VecDeque<(ObjectId, Arc<Manifest>)>>,
    /// Held while a large manifest is parsed.
    large: Mutex<()>,
}

/// Memory of manifests that are kept for the next read, roughly.
const KEPT_BYTES_MAX: u64 = 256 << 20;

/// Bytes of a manifest's file at most.
const FILE_BYTES_MAX: u64 = 512 << 20;

/// Bytes of a manifest at most, decompressed: some ten million chunks. What it says may take twice as many.
const MANIFEST_BYTES_MAX: usize = 1 << 30;

/// Bytes of manifests, decompressed, that are parsed by as many threads as there are; of larger ones one is parsed at once.
const SMALL_BYTES_MAX: usize = 32 << 20;

/// Memory of the manifests that are taken at once at most, roughly.
const TAKEN_BYTES_MAX: u64 = 2 << 30;

impl Icechunk {
    /// A snapshot of the repository whose objects are in a store.
    pub(crate) fn new(opened: Opened, root: Store, base: ReferenceTargets) -> Icechunk {
        // What is read elsewhere the reader authorised, local files too, wherever the repository is.
        let base = if root.is_remote() { base.taken_for_far().with_scheme("file") } else { base };
        Icechunk {
            root,
            layout: opened.layout,
            containers: opened.containers,
            targets: Targets::new(Vec::new(), base),
            versions: Versions::default(),
            kept: Mutex::default(),
            large: Mutex::default(),
        }
    }

    /// The same snapshot, whose remote objects are kept in a cache as they are read.
    #[cfg(feature = "cache")]
    pub(crate) fn with_cache(&self, cache: &swath_ioengine::CacheTier) -> Icechunk {
        Icechunk {
            root: self.root.clone().with_cache(cache),
            layout: self.layout.clone(),
            containers: self.containers.clone(),
            targets: self.targets.with_cache(cache),
            versions: Versions::default(),
            kept: Mutex::default(),
            large: Mutex::default(),
        }
    }

    /// All documents, as one object in memory.
    pub(crate) fn documents(&self) -> &ObjectRef {
        self.layout.texts()
    }

    /// What lies directly below a key that ends in `/`, or is empty; sorted by name.
    ///
    /// # Errors
    ///
    /// `Unsupported` for the chunks of an array: which there are takes reading all its manifests.
    pub(crate) fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        self.layout.list(prefix)
    }

    /// A virtual chunk turned out to be of another version than the one that was found before.
    pub(crate) fn note_change(&self) {
        self.versions.forget();
    }

    /// The object of a chunk of the repository.
    fn chunk(&self, id: &ObjectId) -> ObjectRef {
        self.root.object(&format!("chunks/{}", id_text(id)))
    }

    /// The object of a virtual chunk.
    ///
    /// # Errors
    ///
    /// `Unsupported` where it is in no container that may be read from; why it cannot be opened.
    fn open(&self, location: &Location) -> Result<ObjectRef, Error> {
        self.targets.open(&self.containers.resolve(&location.url)?)
    }

    /// The manifests of these ids, in their order; read in one batch, but for those that are kept.
    ///
    /// # Errors
    ///
    /// `Io` where one is not there, `Corrupt` for what is none.
    fn load(&self, engine: &Engine, ids: &[ObjectId]) -> Result<Vec<Arc<Manifest>>, Error> {
        let mut found: Vec<Option<Arc<Manifest>>> = ids.iter().map(|id| self.known(id)).collect();
        let wanted: Vec<usize> = (0..ids.len()).filter(|number| found[*number].is_none()).collect();
        let object = |number: &usize| self.root.object(&format!("manifests/{}", id_text(&ids[*number])));
        let objects: Vec<ObjectRef> = wanted.iter().map(object).collect();
        let range = ByteRange::Whole { len_max: FILE_BYTES_MAX };
        let reads: Vec<RangeRead> = (0..objects.len()).map(|object| RangeRead { object, range }).collect();
        let lost = || Mutex::new(Err(Error::new(ErrorKind::Internal, "never delivered")));
        let slots: Vec<Mutex<Result<Arc<Manifest>, Error>>> = wanted.iter().map(|_| lost()).collect();
        let taken = AtomicU64::new(0);
        let take = |read: usize, result: Result<&[u8], swath_ioengine::Error>| {
            let Some(slot) = slots.get(read) else { return };
            let manifest = match result {
                Ok(bytes) => self.parse(bytes, &taken).map(Arc::new),
                Err(error) => Err(super::absent(Error::from(error))),
            };
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = manifest;
        };
        engine.read_ranges(&objects, &reads, take, &RunOptions::default())?;
        for ((number, slot), object) in wanted.into_iter().zip(slots).zip(&objects) {
            let manifest = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
            let manifest = manifest.map_err(|error| self.root.named(error.with_object(&object.key)))?;
            self.keep(ids[number], &manifest);
            found[number] = Some(manifest);
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// Takes a manifest, beside others of so many bytes.
    fn parse(&self, bytes: &[u8], taken: &AtomicU64) -> Result<Manifest, Error> {
        let found = match manifest(bytes, SMALL_BYTES_MAX) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let _one_at_once = self.large.lock().unwrap_or_else(PoisonError::into_inner);
                manifest(bytes, MANIFEST_BYTES_MAX)?
            }
            found => found?,
        };
        let len = found.memory_bytes();
        match taken.fetch_add(len, Ordering::Relaxed).saturating_add(len) <= TAKEN_BYTES_MAX {
            true => Ok(found),
            false => Err(Error::unsupported(format!(
                "manifests of more than {TAKEN_BYTES_MAX} bytes that are read together"
            ))),
        }
    }

    fn known(&self, id: &ObjectId) -> Option<Arc<Manifest>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().find(|(known, _)| known == id).map(|(_, manifest)| Arc::clone(manifest))
    }

    /// Keeps a manifest in place of those that were read longest ago.
    fn keep(&self, id: ObjectId, manifest: &Arc<Manifest>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != id);
        kept.push_back((id, Arc::clone(manifest)));
        let mut bytes: u64 = kept.iter().map(|(_, manifest)| manifest.memory_bytes()).sum();
        while KEPT_BYTES_MAX < bytes
            && 1 < kept.len()
            && let Some((_, oldest)) = kept.pop_front()
        {
            bytes = bytes.saturating_sub(oldest.memory_bytes());
        }
    }
}

impl fmt::Debug for Icechunk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Icechunk({})", self.root.name())
    }
}
