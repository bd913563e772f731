//! All bytes that a window wants, taken from the cache at once: one look at the object for all of them, no copy of what is
//! in memory, and of what is in files one into memory that is used again.

use super::disk::{Loaded, Stored};
use super::object::{Object, Wanted};
use super::source::Front;
use crate::{AtHand, ByteRange, Identity, memory_len, storage_len};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a file that are loaded at once for several reads: few system calls, and still in the processor's second cache
/// when the last of them is taken.
const LOADED_BYTES: u64 = 256 << 10;

/// Longer reads of files, and of several ranges, are not taken at once.
const LOADED_BYTES_MAX: u64 = 4 << 20;

/// Bytes between two reads that are loaded with them: no more than checking whole blocks would load anyway.
const GAP_BYTES_MAX: u64 = 16 << 10;

/// Where one of the wanted ranges is, as the cache counts.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Its number among the wanted ranges.
    pub(super) number: usize,
    pub(super) start: u64,
    pub(super) len: u64,
}

/// A cached range.
pub(super) struct Run {
    pub(super) start: u64,
    pub(super) len: u64,
    pub(super) source: Source,
}

/// Where a cached range's bytes are.
pub(super) enum Source {
    Memory(Bytes),
    File { id: u64, stored: Stored },
}

/// What a window wants, and the cached ranges that cover it.
pub(super) struct Held<'a> {
    front: &'a Front,
    object: Arc<Object>,
    identity: Option<Identity>,
    bytes: u64,
    /// By where they start.
    places: Vec<Place>,
    /// By where they start; they do not overlap.
    runs: Vec<Run>,
    next_place: usize,
    /// No place from the next on begins before this one.
    run: usize,
    loaded: Option<LoadedPart>,
    /// No run from this one on was read from.
    untouched: usize,
    /// A read of several runs.
    joined: Vec<u8>,
    given: Given,
}

/// What was loaded last, and where in the memory it is.
struct LoadedPart {
    run: usize,
    start: u64,
    end: u64,
    found: Range<usize>,
}

/// What was given out, until it is counted.
#[derive(Default)]
struct Given {
    /// Cached ranges that reads were answered from.
    runs: u64,
    from_memory: u64,
    from_files: u64,
}

impl Place {
    pub(super) fn end(&self) -> u64 {
        self.start + self.len
    }
}

impl Run {
    pub(super) fn end(&self) -> u64 {
        self.start + self.len
    }
}

impl Front {
    /// All of the ranges, where they are cached, of that version if one is named, and count now.
    pub(super) fn held(
        &self,
        key: &Arc<str>,
        identity: Option<&Identity>,
        ranges: &mut dyn Iterator<Item = ByteRange>,
    ) -> Option<Held<'_>> {
        let object = self.table.find(key)?;
        let config = &self.tier.config;
        let mut state = object.lock();
        if state.extents.is_empty() || !state.is_fresh(config.freshness, config.check_interval) {
            return None;
        }
        let found = state.version.as_ref()?.identity.clone();
        if identity.is_some() && identity != found.as_ref() {
            return None;
        }
        let mut places = Vec::with_capacity(ranges.size_hint().0);
        let mut bytes = 0u64;
        for (number, range) in ranges.enumerate() {
            let Wanted::Run { start, len } = state.locate(range)? else { return None };
            bytes = bytes.saturating_add(len);
            places.push(Place { number, start, len });
        }
        places.sort_unstable_by_key(|place| place.start);
        let runs = state.extents.runs(&places)?;
        drop(state);
        Some(Held {
            front: self,
            object,
            identity: found,
            bytes,
            places,
            runs,
            next_place: 0,
            run: 0,
            loaded: None,
            untouched: 0,
            joined: Vec::new(),
            given: Given::default(),
        })
    }
}

impl AtHand for Held<'_> {
    fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn next<'a>(&'a mut self, memory: &'a mut Vec<u8>) -> Option<(usize, &'a [u8])> {
        let place = *self.places.get(self.next_place)?;
        while self.runs.get(self.run)?.end() <= place.start {
            self.run += 1;
        }
        let run = self.runs.get(self.run)?;
        let is_one = place.end() <= run.end();
        let needs_memory = !is_one || matches!(run.source, Source::File { .. });
        if needs_memory && LOADED_BYTES_MAX < place.len {
            return None;
        }
        if is_one {
            self.load(self.run, (place.start, place.end()), memory)?;
        } else {
            self.join(place, memory)?;
        }
        self.next_place += 1;
        let bytes =
            if is_one { self.slice(self.run, (place.start, place.end()), memory)? } else { &self.joined };
        Some((place.number, bytes))
    }
}

impl Held<'_> {
    /// Has the bytes from `start` to `end` of a run in memory, and counts them.
    fn load(&mut self, number: usize, (start, end): (u64, u64), memory: &mut Vec<u8>) -> Option<()> {
        let run = self.runs.get(number)?;
        let Source::File { id, stored } = &run.source else {
            self.given.from_memory += end - start;
            self.touch(number);
            return Some(());
        };
        let is_loaded = |part: &LoadedPart| part.run == number && part.start <= start && end <= part.end;
        if !self.loaded.as_ref().is_some_and(is_loaded) {
            let upto = self.stretch(run, start, end);
            self.loaded = None;
            match stored.load(start - run.start, upto - start, memory) {
                Loaded::Sound(found) => {
                    self.loaded = Some(LoadedPart { run: number, start, end: upto, found });
                }
                Loaded::WouldWait => return None,
                Loaded::Lost => {
                    self.front.tier.catalog.lose(&self.object, run.start, *id);
                    return None;
                }
            }
        }
        self.given.from_files += end - start;
        self.touch(number);
        Some(())
    }

    /// Counts a run that is read from, once: reads come by where they start.
    fn touch(&mut self, number: usize) {
        if self.untouched <= number {
            self.untouched = number + 1;
            self.given.runs += 1;
        }
    }

    /// Where to stop loading a run from `start` on, at `end` or behind what the next reads want of it.
    fn stretch(&self, run: &Run, start: u64, end: u64) -> u64 {
        let mut upto = end;
        for place in self.places.get(self.next_place + 1..).unwrap_or_default() {
            let until = place.end().min(run.end());
            if upto.saturating_add(GAP_BYTES_MAX) < place.start
                || run.end() <= place.start
                || LOADED_BYTES < until.saturating_sub(start)
            {
                break;
            }
            upto = upto.max(until);
        }
        upto
    }

    /// Bytes of a run that are in memory.
    fn slice<'a>(&'a self, number: usize, (start, end): (u64, u64), memory: &'a [u8]) -> Option<&'a [u8]> {
        let run = self.runs.get(number)?;
        let (bytes, from) = match (&run.source, &self.loaded) {
            (Source::Memory(bytes), _) => (bytes.as_ref(), run.start),
            (Source::File { .. }, Some(part)) => (memory.get(part.found.clone())?, part.start),
            (Source::File { .. }, None) => return None,
        };
        bytes.get(memory_len(start - from).ok()?..memory_len(end - from).ok()?)
    }

    /// Puts a read of several runs together.
    fn join(&mut self, place: Place, memory: &mut Vec<u8>) -> Option<()> {
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        let (mut at, mut number) = (place.start, self.run);
        while at < place.end() {
            let end = self.runs.get(number)?.end().min(place.end());
            self.load(number, (at, end), memory)?;
            joined.extend_from_slice(self.slice(number, (at, end), memory)?);
            (at, number) = (end, number + 1);
        }
        self.joined = joined;
        (storage_len(self.joined.len()) == place.len).then_some(())
    }
}

impl Drop for Held<'_> {
    /// Counts what was given out, all at once.
    fn drop(&mut self) {
        let counts = &self.front.tier.catalog.counts;
        counts.hits.add(self.given.runs);
        self.front.forecast.hit(self.given.runs);
        counts.bytes_from_memory.add(self.given.from_memory);
        counts.bytes_from_disk.add(self.given.from_files);
    }
}
