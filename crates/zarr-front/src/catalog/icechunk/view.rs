//! What a snapshot says to one read: where its chunks are, and which objects those are parts of.

use super::format::ObjectId;
use super::manifest::{ChunkRef, Location, Manifest};
use super::{Icechunk, Layout};
use crate::catalog::Located;
use crate::{Error, ErrorKind};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use swath_ioengine::{Engine, Entry, Identity, ObjectRef};

/// A snapshot, and the objects that one read found in it.
#[derive(Clone)]
pub(crate) struct IcechunkView {
    snapshot: Arc<Icechunk>,
    targets: Arc<OnceLock<Vec<Target>>>,
}

/// An object that chunks are parts of, and the version that it must be of.
struct Target {
    place: Place,
    identity: Option<Identity>,
}

enum Place {
    /// A chunk of the repository.
    Chunk(ObjectId),
    /// What a manifest holds itself, or an object elsewhere; or why that cannot be read.
    Object(Result<ObjectRef, Error>),
}

/// The number that stands for documents, among those of targets.
const DOCUMENTS: u32 = u32::MAX;

/// Manifests that are read at once, and in memory at once beside those that are kept; but for those that the last of the chunks
/// they are read for may be in besides.
const MANIFESTS_AT_ONCE: usize = 32;

impl IcechunkView {
    pub(crate) fn new(snapshot: &Arc<Icechunk>) -> IcechunkView {
        IcechunkView { snapshot: Arc::clone(snapshot), targets: Arc::default() }
    }

    /// Where a document is. Chunks are looked up by [`IcechunkView::locate`].
    pub(crate) fn find(&self, key: &str) -> Located {
        match self.snapshot.layout.document(key) {
            Some((offset, len)) => Located::Part { target: DOCUMENTS, offset, len },
            None => Located::Nowhere,
        }
    }

    /// Where so many chunks are, whose keys are written by number. Called once: targets are numbered for one read.
    ///
    /// Each manifest that has some of them is read once, about [`MANIFESTS_AT_ONCE`] in one batch; a chunk costs no call of its own.
    ///
    /// # Errors
    ///
    /// Why manifests could not be read; `Unsupported` for keys that Icechunk does not have.
    pub(crate) fn locate(
        &self,
        engine: &Engine,
        count: usize,
        mut write_key: impl FnMut(usize, &mut String),
    ) -> Result<Vec<Located>, Error> {
        let mut round = Round::new(&self.snapshot);
        let mut key = String::new();
        for number in 0..count {
            write_key(number, &mut key);
            round.add(&key)?;
            if MANIFESTS_AT_ONCE <= round.manifests.len() {
                round.take(engine)?;
            }
        }
        round.take(engine)?;
        let Round { located, numbering, .. } = round;
        let targets = numbering.opened(&self.snapshot, engine)?;
        let is_first = self.targets.set(targets).is_ok();
        is_first
            .then_some(located)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "chunks were located twice"))
    }

    /// An object that keys are parts of.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened, or is not the version that is meant.
    pub(crate) fn target(&self, number: u32) -> Result<ObjectRef, Error> {
        if number == DOCUMENTS {
            return Ok(self.snapshot.documents().clone());
        }
        match self.known(number).map(|target| &target.place) {
            Some(Place::Chunk(id)) => Ok(self.snapshot.chunk(id)),
            Some(Place::Object(object)) => object.clone(),
            None => Err(Error::new(ErrorKind::Internal, "a target that is not there")),
        }
    }

    /// The version that an object must be of.
    pub(crate) fn identity_of(&self, number: u32) -> Option<&Identity> {
        self.known(number)?.identity.as_ref()
    }

    fn known(&self, number: u32) -> Option<&Target> {
        self.targets.get()?.get(number as usize)
    }

    /// See [`Icechunk::list`].
    pub(crate) fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        self.snapshot.list(prefix)
    }
}

/// Chunks whose manifests are read together.
struct Round<'a> {
    snapshot: &'a Icechunk,
    layout: &'a Layout,
    manifests: Vec<ObjectId>,
    /// Numbers of manifests among those of this round, by id.
    numbers: HashMap<ObjectId, usize>,
    pending: Vec<Pending>,
    coordinates: Vec<u32>,
    /// Numbers of manifests that chunks may be in.
    candidates: Vec<usize>,
    /// Ids of those that one chunk may be in.
    ids: Vec<ObjectId>,
    located: Vec<Located>,
    numbering: Numbering,
}

/// A chunk that is looked for.
struct Pending {
    array: usize,
    coordinates: Range<usize>,
    candidates: Range<usize>,
}

impl<'a> Round<'a> {
    fn new(snapshot: &'a Icechunk) -> Round<'a> {
        Round {
            snapshot,
            layout: &snapshot.layout,
            manifests: Vec::new(),
            numbers: HashMap::new(),
            pending: Vec::new(),
            coordinates: Vec::new(),
            candidates: Vec::new(),
            ids: Vec::new(),
            located: Vec::new(),
            numbering: Numbering::default(),
        }
    }

    /// Adds a chunk, and the manifests that it may be in.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a key that Icechunk does not have, and for a chunk that too many manifests may have.
    fn add(&mut self, key: &str) -> Result<(), Error> {
        let start = self.coordinates.len();
        let array = self.layout.chunk(key, &mut self.coordinates)?;
        let coordinates = self.coordinates.get(start..).unwrap_or_default();
        let first = self.candidates.len();
        if let Some(node) = self.layout.array(array) {
            let mut ids = std::mem::take(&mut self.ids);
            node.manifests.find(coordinates, &mut ids)?;
            for id in ids.drain(..) {
                let number = *self.numbers.entry(id).or_insert_with(|| {
                    self.manifests.push(id);
                    self.manifests.len() - 1
                });
                self.candidates.push(number);
            }
            self.ids = ids;
        }
        let candidates = first..self.candidates.len();
        self.pending.push(Pending { array, coordinates: start..self.coordinates.len(), candidates });
        Ok(())
    }

    /// Reads the manifests, and looks the chunks up in them.
    fn take(&mut self, engine: &Engine) -> Result<(), Error> {
        let manifests = self.snapshot.load(engine, &self.manifests)?;
        for Pending { array, coordinates, candidates } in self.pending.drain(..) {
            let coordinates = self.coordinates.get(coordinates).unwrap_or_default();
            let numbers = self.candidates.get(candidates).unwrap_or_default();
            let node = self.layout.array(array).map(|node| node.id);
            let found = numbers.iter().find_map(|number| {
                let manifest = manifests.get(*number)?;
                Some((*number, manifest, manifest.find(node?, coordinates)?))
            });
            self.located.push(match found {
                Some((number, manifest, chunk)) => {
                    let id = self.manifests.get(number).copied().unwrap_or_default();
                    self.numbering.located(id, manifest, chunk)
                }
                None => Located::Nowhere,
            });
        }
        self.manifests.clear();
        self.numbers.clear();
        self.coordinates.clear();
        self.candidates.clear();
        Ok(())
    }
}

/// The targets of one read, while they are numbered.
#[derive(Default)]
struct Numbering {
    targets: Vec<Found>,
    chunks: HashMap<ObjectId, u32>,
    locations: HashMap<Location, u32>,
    inlines: HashMap<ObjectId, u32>,
}

enum Found {
    Chunk(ObjectId),
    Inline(ObjectRef),
    Virtual(Location),
}

impl Numbering {
    fn located(&mut self, id: ObjectId, manifest: &Manifest, chunk: ChunkRef) -> Located {
        match chunk {
            ChunkRef::Inline { offset, len } => {
                let (targets, inline) = (&mut self.targets, manifest.inline());
                let target =
                    *self.inlines.entry(id).or_insert_with(|| push(targets, Found::Inline(inline.clone())));
                Located::Part { target, offset, len }
            }
            ChunkRef::Native { id, offset, len } => {
                let targets = &mut self.targets;
                let target = *self.chunks.entry(id).or_insert_with(|| push(targets, Found::Chunk(id)));
                Located::Part { target, offset, len }
            }
            ChunkRef::Virtual { location, offset, len } => match manifest.location(location) {
                Some(location) => Located::Part { target: self.location(location), offset, len },
                None => Located::Nowhere,
            },
        }
    }

    fn location(&mut self, location: &Location) -> u32 {
        if let Some(number) = self.locations.get(location) {
            return *number;
        }
        let number = push(&mut self.targets, Found::Virtual(location.clone()));
        self.locations.insert(location.clone(), number);
        number
    }

    /// The objects of the targets; of those elsewhere the versions are looked at, all at once.
    fn opened(self, snapshot: &Icechunk, engine: &Engine) -> Result<Vec<Target>, Error> {
        let open = |found: &Found| match found {
            Found::Virtual(location) => Some((location.clone(), snapshot.open(location))),
            Found::Chunk(_) | Found::Inline(_) => None,
        };
        let elsewhere: Vec<(Location, Result<ObjectRef, Error>)> =
            self.targets.iter().filter_map(open).collect();
        let mut versions = snapshot.versions.check(engine, &elsewhere)?.into_iter();
        let mut elsewhere = elsewhere.into_iter();
        let target = |found| match found {
            Found::Chunk(id) => Target { place: Place::Chunk(id), identity: None },
            Found::Inline(object) => Target { place: Place::Object(Ok(object)), identity: None },
            Found::Virtual(_) => match (elsewhere.next(), versions.next()) {
                (Some((_, object)), Some(Ok(identity))) => Target { place: Place::Object(object), identity },
                (_, Some(Err(error))) => Target { place: Place::Object(Err(error)), identity: None },
                _ => {
                    let error = Error::new(ErrorKind::Internal, "a target that was not opened");
                    Target { place: Place::Object(Err(error)), identity: None }
                }
            },
        };
        Ok(self.targets.into_iter().map(target).collect())
    }
}

fn push(targets: &mut Vec<Found>, found: Found) -> u32 {
    // One number stands for documents; a read has fewer targets than chunks.
    let number = u32::try_from(targets.len()).unwrap_or(u32::MAX - 1);
    targets.push(found);
    number
}

impl fmt::Debug for IcechunkView {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.snapshot.fmt(out)
    }
}
