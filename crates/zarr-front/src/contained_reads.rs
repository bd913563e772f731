//! Reading chunks that are parts of other objects: where each is, and windows of those that lie in one object.
//!
//! Chunks that are objects of a catalog's own would be a window each. Here those of one target are planned together, in the
//! order in which they lie in it, so that the engine merges neighbours. A shard is a window's one object, as everywhere, and
//! its ranges count from where it begins in its target.

use crate::array::ArrayInner;
use crate::catalog::{Contents, Located, absent, part};
use crate::groups::{Groups, Place};
use crate::member_reads::{Inflated, MemberRead};
use crate::note::{ChunkPart, Note, Wanted, number, slice, token};
use crate::placement::Placement;
use crate::raveling::unravel;
use crate::read_batch::{ReadBatch, version_range};
use crate::{Error, ErrorKind};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use swath_codecs::Scratch;
use swath_ioengine::{
    Arrival, ByteRange, Cursor, Engine, Identity, LaneContext, Medium, ObjectPart, ObjectRef, Window,
};

/// Where the chunks, or shards, of one read are, in a store that is a catalog.
pub(crate) struct Contained {
    pub(crate) contents: Contents,
    /// Of each group.
    located: Vec<Located>,
    /// The groups by target and place, and for each window its first one, and one more at the end. Empty for shards, each
    /// of which has windows of its own.
    order: Vec<u32>,
    starts: Vec<u32>,
}

/// A read of a chunk that is a part of another object.
#[derive(Clone, Debug)]
pub(crate) struct ContainedChunk {
    group: usize,
    run: Range<u32>,
    part: ChunkPart,
    located: Located,
}

/// Stands between the name of a contained object and what tells it from others of that name: no key has it.
pub(crate) const NAME_END: char = '\0';

/// The name of a contained object, for people.
pub(crate) fn plain_name(key: &str) -> &str {
    key.split(NAME_END).next().unwrap_or_default()
}

impl Contained {
    /// Looks up all objects of a read of an array; `None` where they are objects of their own.
    pub(crate) fn of(
        array: &ArrayInner,
        groups: &Groups,
        engine: &Engine,
    ) -> Result<Option<Contained>, Error> {
        let Some(catalog) = array.store.catalog() else { return Ok(None) };
        Contained::new(catalog.contents(engine)?, array, groups, engine).map(Some)
    }

    /// Windows of a remote target are of as many chunks as windows may have, so that merging sees all gaps.
    fn new(
        contents: Contents,
        array: &ArrayInner,
        groups: &Groups,
        engine: &Engine,
    ) -> Result<Contained, Error> {
        let remote_max = swath_ioengine::storage_len(engine.config().limits.window_reads_max);
        let mut coordinates = vec![0; array.compiled.objects.len()];
        let objects = groups.objects();
        let located = contents.locate(engine, objects.len(), |number, key| {
            let object = objects.get(number).copied().unwrap_or(u64::MAX);
            unravel(object, &array.compiled.objects, &mut coordinates);
            array.write_chunk_key(&coordinates, key);
        })?;
        let local_max = groups.slabs.per_window.min(remote_max);
        let most = |target: Option<u32>| {
            let object = target.map(|target| contents.target(target));
            match object {
                Some(Ok(ObjectRef { medium: Medium::Remote(_), .. })) => remote_max,
                _ => local_max,
            }
        };
        let (mut order, mut starts) = (Vec::new(), Vec::new());
        if array.compiled.levels.is_empty() {
            order.extend(0..number(located.len()));
            order.sort_by_key(|group: &u32| contents.place(located[*group as usize]));
            let (mut last, mut reads_max) = (None, local_max);
            for (at, group) in (0u32..).zip(&order) {
                let target = contents.place(located[*group as usize]).0;
                if last != Some(target) {
                    (last, reads_max) = (Some(target), most(target));
                    starts.push(at);
                } else if starts.last().is_some_and(|start| reads_max <= u64::from(at - start)) {
                    starts.push(at);
                }
            }
            starts.push(number(order.len()));
        }
        Ok(Contained { contents, located, order, starts })
    }

    /// Windows of the read; `None` where they are those of the objects.
    pub(crate) fn window_count(&self) -> Option<u64> {
        self.starts.len().checked_sub(1).map(swath_ioengine::storage_len)
    }

    /// The groups of a window.
    fn window(&self, window: u64) -> &[u32] {
        let bounds = usize::try_from(window).ok().and_then(|window| self.starts.get(window..window + 2));
        match bounds {
            Some([start, end]) => self.order.get(*start as usize..*end as usize).unwrap_or_default(),
            _ => &[],
        }
    }

    fn located(&self, group: usize) -> Located {
        self.contents.known_by_now(self.located.get(group).copied().unwrap_or(Located::Nowhere))
    }

    /// The version that the object must be of that a group is a part of, where one is known.
    fn identity_of(&self, group: usize) -> Option<&Identity> {
        match self.contents.place(self.located(group)).0 {
            Some(target) => self.contents.identity_of(target),
            None => self.contents.identity(),
        }
    }

    /// The error of bytes that are no chunk, saying which bytes of which object these are.
    #[cold]
    fn told_where(&self, located: Located, error: Error) -> Error {
        match located {
            Located::Part { target, offset, len } if error.kind() == ErrorKind::Corrupt => {
                let Ok(of) = self.contents.target(target) else { return error };
                let end = offset.saturating_add(len);
                error.with_message_prefix(&format!("bytes {offset}..{end} of {}: ", of.key))
            }
            _ => error,
        }
    }

    /// A contained object as one of its own, under a name that no other has, and what it is a part of.
    fn object(&self, name: &str, located: Located) -> Result<(ObjectRef, Option<ObjectPart>), Error> {
        if let Located::Whole { target } = located {
            return Ok((self.contents.target(target)?, None));
        }
        let Located::Part { target, offset, len } = located else {
            return Err(Error::new(ErrorKind::Internal, "an object whose place is not known"));
        };
        let of = self.contents.target(target)?;
        let key = match self.contents.identity_of(target) {
            Some(identity) => {
                let mut hasher = DefaultHasher::new();
                identity.hash(&mut hasher);
                format!("{name}{NAME_END}{}@{offset}+{len}#{:016x}", of.key, hasher.finish())
            }
            None => format!("{name}{NAME_END}{}@{offset}+{len}", of.key),
        };
        let object = ObjectRef { medium: of.medium.clone(), key: key.into() };
        Ok((object, Some(part(of, (offset, len)))))
    }
}

/// How the window of a shard goes on.
pub(crate) enum ContainedShard {
    /// Its ranges are of this object, which is a part of another.
    At(ObjectRef, Option<ObjectPart>),
    /// It is planned to its end, or to what must be known first.
    Planned,
}

impl ReadBatch<'_> {
    fn place_of(&self, group: usize) -> Place {
        let object = self.groups.objects().get(group).copied().unwrap_or(u64::MAX);
        Place { group, object, slabs: None, stretch: None }
    }

    /// The name of a group's object in its store.
    pub(crate) fn name_of(&self, place: &Place) -> String {
        let coordinates = self.groups.coordinates(place.object, &self.array.compiled.objects);
        self.array.chunk_object(&coordinates).key.to_string()
    }

    /// The object of a contained shard, as [`Contained::object`] names it.
    pub(crate) fn contained_object(&self, contained: &Contained, place: &Place) -> Option<ObjectRef> {
        contained.object(&self.name_of(place), contained.located(place.group)).ok().map(|(object, _)| object)
    }

    /// Plans a window of chunks that are parts of one object.
    pub(crate) fn plan_contained(&self, contained: &Contained, cursor: Cursor, window: &mut Window<'_, '_>) {
        let groups = contained.window(cursor.window);
        let mut note = std::mem::take(window.note::<Note>());
        note.clear();
        let (mut target, mut headers) = (None, Vec::new());
        let mut chunks: Vec<(ContainedChunk, ByteRange)> = Vec::with_capacity(groups.len());
        for group in groups.iter().map(|group| *group as usize) {
            let place = self.place_of(group);
            self.collect(&place, &mut note.single);
            let run = note.placements.append(&note.single);
            let located = contained.located(group);
            target = target.or(contained.contents.place(located).0);
            match self.contained_range(&contained.contents, located, slice(&note.placements, &run)) {
                Ok(Planned::Range(range, part)) => {
                    chunks.push((ContainedChunk { group, run, part, located }, range));
                }
                Ok(Planned::Header(member)) => headers.push(member),
                Ok(Planned::Missing) => note.missing.push(run),
                Err(error) => self.fail_contained(&place, slice(&note.placements, &run), error),
            }
        }
        let ranges = chunks.iter().map(|(_, range)| *range).collect();
        let wanted = chunks.into_iter().map(|(chunk, _)| Wanted::Contained(Box::new(chunk))).collect();
        self.push_contained(&contained.contents, target, (wanted, ranges), headers, &mut note, window);
        *window.note::<Note>() = note;
    }

    /// Adds the reads of a window; only those of headers, where some must be known first.
    fn push_contained(
        &self,
        contents: &Contents,
        target: Option<u32>,
        (mut wanted, mut ranges): (Vec<Wanted>, Vec<ByteRange>),
        headers: Vec<u32>,
        note: &mut Note,
        window: &mut Window<'_, '_>,
    ) {
        let object = match target.map(|target| contents.target(target)) {
            Some(Ok(object)) => object,
            Some(Err(error)) => return self.fail(&note.placements, &error),
            None => return self.fill_missing(note),
        };
        if let (Some((directory, _)), false) = (contents.archive(), headers.is_empty()) {
            note.missing.clear();
            ranges = headers.iter().map(|member| directory.header(*member)).collect();
            let header = |member: u32| Wanted::Member(Box::new(MemberRead::Header(member)));
            wanted = headers.into_iter().map(header).collect();
            note.inner_left = wanted.len();
        }
        if wanted.is_empty() {
            if contents.identity().is_none() || note.missing.is_empty() {
                return self.fill_missing(note);
            }
            // That nothing is stored is as true as the archive is still the one whose directory says so.
            ranges.push(version_range(&object));
            wanted.push(Wanted::Version);
        }
        window.set_object(object);
        if let Some(identity) = target.and_then(|target| contents.identity_of(target)) {
            window.expect_identity(identity.clone());
        }
        for (number, (range, wanted)) in ranges.into_iter().zip(wanted).enumerate() {
            let is_part =
                matches!(&wanted, Wanted::Contained(chunk) if !matches!(chunk.located, Located::Member(_)));
            note.reads.push(wanted);
            match is_part {
                true => self.read_chunk(window, range, token(number)),
                false => window.read(range, token(number)),
            }
        }
    }

    /// What to read of one chunk.
    fn contained_range(
        &self,
        contents: &Contents,
        located: Located,
        placements: &[Placement],
    ) -> Result<Planned, Error> {
        let chain = &self.array.compiled.chain;
        let len_max = self.array.compiled.encoded_len_max;
        let check = |len: u64| match len <= len_max {
            true => Ok(()),
            false => Err(too_long(len, len_max)),
        };
        match located {
            Located::Nowhere => Ok(Planned::Missing),
            Located::Part { offset, len, .. } => {
                check(len)?;
                match self.part(placements) {
                    Some(part) if chain.encoded_len_fixed() == Some(len) => {
                        let (start, len) = (u64::from(part.start), u64::from(part.end - part.start));
                        let range = ByteRange::Bounded { offset: offset.saturating_add(start), len };
                        Ok(Planned::Range(range, ChunkPart::From(part.start)))
                    }
                    _ => Ok(Planned::Range(ByteRange::Bounded { offset, len }, ChunkPart::Whole)),
                }
            }
            // As of a chunk that is an object of its own.
            Located::Whole { .. } => Ok(match self.part(placements) {
                Some(part) => {
                    let (offset, len) = (u64::from(part.start), u64::from(part.end - part.start));
                    Planned::Range(ByteRange::Bounded { offset, len }, ChunkPart::From(part.start))
                }
                None => {
                    Planned::Range(ByteRange::Whole { len_max: chain.encoded_len_max() }, ChunkPart::Whole)
                }
            }),
            Located::Member(member) => {
                let (directory, _) = contents.archive().ok_or_else(no_archive)?;
                check(directory.len(member))?;
                match directory.is_plain(member)? && self.part(placements).is_some() {
                    true => Ok(Planned::Header(member)),
                    false => Ok(Planned::Range(directory.span(member)?, ChunkPart::Whole)),
                }
            }
        }
    }

    /// Plans a window of a shard that is a part of another object, as far as that is not done as for every shard.
    pub(crate) fn plan_contained_shard(
        &self,
        contained: &Contained,
        place: &Place,
        window: &mut Window<'_, '_>,
    ) -> ContainedShard {
        let contents = &contained.contents;
        let located = contained.located(place.group);
        if let Located::Part { .. } | Located::Whole { .. } = located {
            match contained.object(&self.name_of(place), located) {
                Ok((object, part)) => return ContainedShard::At(object, part),
                Err(error) => self.fail_group(place.group, &error.about(&self.name_of(place))),
            }
            self.shards.planned(place.group);
            return ContainedShard::Planned;
        }
        let mut note = std::mem::take(window.note::<Note>());
        note.clear();
        self.collect(place, &mut note.placements);
        let (mut wanted, mut headers) = ((Vec::new(), Vec::new()), Vec::new());
        match self.contained_shard(contents, located) {
            Ok(Planned::Range(range, _)) => {
                if let Located::Member(member) = located {
                    let read = MemberRead::Shard(member, place.clone());
                    wanted = (vec![Wanted::Member(Box::new(read))], vec![range]);
                }
            }
            Ok(Planned::Header(member)) => headers.push(member),
            Ok(Planned::Missing) => {
                note.missing.push(0..number(note.placements.len()));
                self.shards.planned(place.group);
            }
            Err(error) => {
                self.fail_contained(place, &note.placements, error);
                self.shards.planned(place.group);
            }
        }
        let target = contents.place(located).0;
        self.push_contained(contents, target, wanted, headers, &mut note, window);
        *window.note::<Note>() = note;
        ContainedShard::Planned
    }

    /// Has a window read a shard that is a part of another object, of the version that its place is known of.
    pub(crate) fn set_part(
        &self,
        window: &mut Window<'_, '_>,
        place: &Place,
        object: ObjectRef,
        part: ObjectPart,
    ) {
        window.set_part(object, part);
        let identity = self.contained.as_ref().and_then(|contained| contained.identity_of(place.group));
        if let Some(identity) = identity {
            window.expect_identity(identity.clone());
        }
    }

    /// Takes a chunk that is a part of another object.
    #[inline(never)]
    pub(crate) fn contained_arrived(
        &self,
        chunk: &ContainedChunk,
        result: Result<Arrival<'_>, swath_ioengine::Error>,
        lane: &mut LaneContext<'_>,
    ) {
        let Some(contained) = &self.contained else { return };
        let Some(note) = lane.note.get::<Note>() else { return };
        let placements = slice(&note.placements, &chunk.run);
        let mut inflated = std::mem::take(lane.scratch.get::<Inflated>());
        let placed = match result {
            Ok(Arrival::Piece(piece)) => self.place_piece(placements, chunk.part, &piece),
            Ok(Arrival::Bytes(stored)) => {
                let scratch = lane.scratch.get::<Scratch>();
                let bytes = contained.contents.unpack(chunk.located, stored, scratch, &mut inflated.0);
                let placed = bytes.and_then(|bytes| self.place(placements, chunk.part, bytes, lane.scratch));
                placed.map_err(|error| contained.told_where(chunk.located, error))
            }
            Ok(Arrival::Placed(_)) => {
                Err(Error::new(ErrorKind::Internal, "a chunk was placed without a target"))
            }
            Err(error) => Err(self.storage_error(error)),
        };
        if let Err(error) = placed {
            self.fail_contained(&self.place_of(chunk.group), placements, error);
        }
        inflated.give_back(lane);
    }

    /// Fails all that is wanted of the objects of a window, what arrived of them included.
    pub(crate) fn fail_contained_window(&self, contained: &Contained, cursor: Cursor, error: &Error) {
        for group in contained.window(cursor.window) {
            let group = *group as usize;
            let name = self.name_of(&self.place_of(group));
            self.fail_group(group, &error.clone().about(&name));
        }
    }

    fn fail_contained(&self, place: &Place, placements: &[Placement], error: Error) {
        self.fail(placements, &error.about(&self.name_of(place)));
    }

    /// The error of a read that failed.
    #[cold]
    pub(crate) fn storage_error(&self, error: swath_ioengine::Error) -> Error {
        match self.contained {
            None => Error::from(error),
            Some(_) => absent(Error::from(error)),
        }
    }

    /// Whether an error says that nothing is stored. What a catalog points to must be there.
    #[cold]
    pub(crate) fn says_missing(&self, error: &swath_ioengine::Error) -> bool {
        error.kind() == swath_ioengine::ErrorKind::NotFound && self.contained.is_none()
    }
}

/// What there is to read of a contained object.
pub(crate) enum Planned {
    /// These bytes of its target, which are this part of it.
    Range(ByteRange, ChunkPart),
    /// The header of a member first.
    Header(u32),
    /// Nothing: it is not stored.
    Missing,
}

#[cold]
fn too_long(len: u64, len_max: u64) -> Error {
    let message = format!("a chunk of {len} stored bytes, where at most {len_max} are sound");
    Error::new(ErrorKind::Corrupt, message)
}

#[cold]
pub(crate) fn no_archive() -> Error {
    Error::new(ErrorKind::Internal, "a member without an archive")
}
