//! How a read uses chunks that are kept decoded: found when a window is planned, placed once a read of the window has
//! shown that its object is still the one that they came from, and kept when they are decoded.

use crate::Error;
use crate::decoded_cache::{Known, Version};
use crate::groups::Place;
use crate::note::{Note, Wanted, number, slice, token};
use crate::placement::Placement;
use crate::read_batch::{ReadBatch, version_range};
use std::ops::Range;
use std::sync::Arc;
use swath_codecs::Scratch;
use swath_ioengine::{Arrival, Cursor, Identity, ObjectRef, Window};

/// What a window has of kept chunks.
#[derive(Default)]
pub(crate) struct Cached {
    /// Chunks that need not be read, by their placements.
    hits: Vec<(Range<u32>, Arc<[u8]>)>,
    /// Reads of the window that were not delivered yet.
    reads_left: usize,
    /// The object that they are of, where they were kept before something was written.
    looked_at: Option<u64>,
    admission: Admission,
}

/// Under what the window's own chunks are kept.
#[derive(Clone, Copy, Default)]
enum Admission {
    /// Not looked at yet.
    #[default]
    Unknown,
    /// They are not.
    Refused,
    Under(Version),
}

impl Cached {
    pub(crate) fn clear(&mut self) {
        *self = Cached { hits: std::mem::take(&mut self.hits), ..Cached::default() };
        self.hits.clear();
    }

    /// Keeps none of the window's own chunks.
    pub(crate) fn keep_none(&mut self) {
        self.admission = Admission::Refused;
    }

    /// No chunk of the window waits to be placed.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }
}

impl ReadBatch<'_> {
    /// The version of a window's object that chunks are kept of, if it is the one that the window is planned from.
    pub(crate) fn kept_version(&self, place: &Place, identity: Option<&Identity>) -> Option<Version> {
        let kept = self.decoded.as_ref()?.kept(place.object)?;
        (identity? == &kept.identity).then_some(kept.version)
    }

    /// Takes a chunk of a window from what is kept of its object; false where it has to be read.
    #[inline]
    pub(crate) fn take_cached(&self, note: &mut Note, version: Version, run: &Range<u32>) -> bool {
        let Some(decoded) = &self.decoded else { return false };
        let found = slice(&note.placements, run).first().and_then(|first| decoded.get(version, first.chunk));
        let Some(chunk) = found else { return false };
        note.cached.hits.push((run.clone(), chunk));
        true
    }

    /// Plans a chunk that is an object of its own from what is kept of it; false where it has to be read.
    pub(crate) fn plan_cached_chunk(
        &self,
        place: &Place,
        object: &ObjectRef,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let Some(decoded) = &self.decoded else { return false };
        let Some(Known { version, identity, writes }) = decoded.kept(place.object) else { return false };
        let note = window.note::<Note>();
        let run = 0..number(note.placements.len());
        if !self.take_cached(note, version, &run) {
            return false;
        }
        if self.is_taken_for_fresh(writes) {
            self.place_cached(note);
            return true;
        }
        note.cached.looked_at = (writes != self.writes).then_some(place.object);
        note.reads.push(Wanted::Version);
        note.cached.reads_left = 1;
        window.expect_identity(identity);
        window.read(version_range(object), token(0));
        true
    }

    /// Notes that a window is planned: its kept chunks wait for the first of its reads that arrives.
    pub(crate) fn await_reads(note: &mut Note) {
        note.cached.reads_left = note.reads.len();
    }

    /// Places a window's kept chunks where they are wanted.
    pub(crate) fn place_cached(&self, note: &mut Note) {
        let mut hits = std::mem::take(&mut note.cached.hits);
        if let Some(decoded) = &self.decoded {
            decoded.count_hits(hits.len());
        }
        for (run, chunk) in hits.drain(..) {
            let placements = slice(&note.placements, &run);
            let chunk = self.array.compiled.chain.view_decoded(&chunk);
            if let Err(error) = self.write_tiles(placements, &chunk) {
                self.fail(placements, &error);
            }
        }
        note.cached.hits = hits;
    }

    /// Places a window's kept chunks, once a read has shown that the object is the one that they came from; where every
    /// read failed, they have the last one's error.
    #[cold]
    pub(crate) fn judge_cached(
        &self,
        note: &mut Note,
        result: &Result<Arrival<'_>, swath_ioengine::Error>,
        object: &ObjectRef,
    ) {
        note.cached.reads_left = note.cached.reads_left.saturating_sub(1);
        let error = match result {
            Ok(_) => {
                if let (Some(object), Some(decoded)) = (note.cached.looked_at, &self.decoded) {
                    decoded.note_look(object, self.writes);
                }
                return self.place_cached(note);
            }
            Err(error) => error,
        };
        let is_gone = self.says_missing(error);
        if !is_gone && note.cached.reads_left != 0 {
            return;
        }
        for (run, _) in std::mem::take(&mut note.cached.hits) {
            let placements = slice(&note.placements, &run);
            // An object that is gone by now has nothing stored.
            match is_gone {
                true => self.fill(placements),
                false => self.fail(placements, &Error::from(error.clone()).with_object(&object.key)),
            }
        }
    }

    /// Under what to keep the chunks of a window; looked up with the first of them that arrives.
    #[inline]
    pub(crate) fn admission(
        &self,
        cached: &mut Cached,
        cursor: Cursor,
        identity: Option<&Identity>,
    ) -> Option<Version> {
        let decoded = self.decoded.as_ref()?;
        decoded.count_miss();
        if let Admission::Unknown = cached.admission {
            let place = self.groups.place(cursor.window);
            let version = place
                .zip(identity)
                .and_then(|(place, found)| decoded.admit(place.object, found, self.writes));
            cached.admission = version.map_or(Admission::Refused, Admission::Under);
        }
        match cached.admission {
            Admission::Under(version) => decoded.takes_another().then_some(version),
            Admission::Refused | Admission::Unknown => None,
        }
    }

    /// Decodes a chunk that is to be kept, and puts it where it is wanted.
    pub(crate) fn place_and_keep(
        &self,
        placements: &[Placement],
        version: Version,
        stored: &[u8],
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let (Some(decoded), Some(first)) = (&self.decoded, placements.first()) else { return Ok(()) };
        let chain = &self.array.compiled.chain;
        let chunk = decoded.decode((version, first.chunk), chain, stored, scratch)?;
        self.write_tiles(placements, &chain.view_decoded(&chunk))
    }

    /// Drops the chunks that are kept of a window's object.
    pub(crate) fn forget_cached(&self, place: &Place) {
        if let Some(decoded) = &self.decoded {
            decoded.forget(place.object);
        }
    }
}
