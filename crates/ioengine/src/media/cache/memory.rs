//! Which ranges stay in memory.
//!
//! S3-FIFO (Yang and others, "FIFO queues are all you need for cache eviction", SOSP 2023): what is new goes through a small
//! queue, and only what is hit there, or comes back soon after it left, gets into the main one, where a hit buys another
//! round. A hit sets a flag under the object's lock, and touches no queue. A scan passes through the small queue.

use super::extents::charge;
use super::object::Object;
use super::stats::Counts;
use crate::engine::lock;
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The part of the memory that the small queue has: one of so many.
const SMALL_SHARE: u64 = 10;

/// A cached range's place in a queue.
struct Place {
    object: Arc<Object>,
    start: u64,
    id: u64,
    bytes: u64,
}

/// Bytes of a place.
#[cfg(test)]
pub(super) const PLACE_BYTES: usize = size_of::<Place>();

/// The memory's bound, and the order in which ranges make room.
pub(super) struct Memory {
    bytes_max: u64,
    /// Charged for ranges that are in memory. Raised before a range is queued, lowered by who takes it out.
    held: AtomicU64,
    queues: Mutex<Queues>,
    hasher: RandomState,
}

#[derive(Default)]
struct Queues {
    small: Queue,
    main: Queue,
    ghosts: VecDeque<u64>,
    ghost_set: HashSet<u64>,
    /// Places at the last look for those that had gone.
    swept: usize,
}

#[derive(Default)]
struct Queue {
    places: VecDeque<Place>,
    /// Of all places, those of ranges that went another way included.
    bytes: u64,
}

impl Queue {
    fn push(&mut self, place: Place) {
        self.bytes += place.bytes;
        self.places.push_back(place);
    }

    fn pop(&mut self) -> Option<Place> {
        let place = self.places.pop_front()?;
        self.bytes -= place.bytes;
        Some(place)
    }

    fn sweep(&mut self) {
        self.places.retain(Place::is_live);
        self.bytes = self.places.iter().map(|place| place.bytes).sum();
    }
}

/// What was found of a range that should make room.
enum Found {
    Used,
    Evicted,
    Gone,
}

impl Place {
    fn is_live(&self) -> bool {
        self.object.lock().extents.get_mut(self.start, self.id).is_some_and(|extent| extent.memory.is_some())
    }

    /// Takes the range out of memory, or its mark of a hit away where it has one.
    fn look(&self, memory: &Memory) -> Found {
        let mut state = self.object.lock();
        let Some(extent) = state.extents.get_mut(self.start, self.id) else { return Found::Gone };
        if extent.memory.is_none() {
            return Found::Gone;
        }
        if std::mem::take(&mut extent.used) {
            return Found::Used;
        }
        let bytes = extent.memory.take();
        memory.release(bytes.as_ref().map_or(0, |bytes| charge(bytes.len())));
        state.extents.drop_unheld(self.start);
        let empty = state.is_empty();
        drop(state);
        if empty {
            self.object.let_go_if_empty();
        }
        Found::Evicted
    }
}

impl Memory {
    pub(super) fn new(bytes_max: u64) -> Memory {
        let (held, queues) = (AtomicU64::new(0), Mutex::default());
        Memory { bytes_max, held, queues, hasher: RandomState::new() }
    }

    /// True for a range that may be kept. Larger than a quarter of the memory it would push too much out.
    pub(super) fn takes(&self, len: usize) -> bool {
        charge(len) <= self.bytes_max / 4
    }

    pub(super) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Counts a range that is put into memory, under its object's lock.
    pub(super) fn hold(&self, len: usize) {
        self.held.fetch_add(charge(len), Ordering::Relaxed);
    }

    /// Counts bytes that were taken out.
    pub(super) fn release(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Gives ranges that were put into memory their places, and makes room. No object's lock is held.
    pub(super) fn admit(&self, object: &Arc<Object>, ranges: &[(u64, u64, usize)], counts: &Counts) {
        if ranges.is_empty() {
            return;
        }
        let mut queues = lock(&self.queues);
        for &(start, id, len) in ranges {
            let place = Place { object: Arc::clone(object), start, id, bytes: charge(len) };
            if queues.ghost_set.remove(&self.print(object, start)) {
                queues.main.push(place);
            } else {
                queues.small.push(place);
            }
        }
        while self.bytes_max < self.held() && self.make_room(&mut queues, counts) {}
        queues.sweep();
    }

    /// Looks at one range. False when there is none.
    fn make_room(&self, queues: &mut Queues, counts: &Counts) -> bool {
        let from_small = queues.main.places.is_empty() || self.bytes_max / SMALL_SHARE < queues.small.bytes;
        let popped = if from_small { queues.small.pop() } else { queues.main.pop() };
        let popped = popped.or_else(|| queues.small.pop()).or_else(|| queues.main.pop());
        let Some(place) = popped else { return false };
        match place.look(self) {
            Found::Used => queues.main.push(place),
            Found::Evicted => {
                counts.memory_evictions.add(1);
                if from_small {
                    queues.remember(self.print(&place.object, place.start));
                }
            }
            Found::Gone => {}
        }
        true
    }

    fn print(&self, object: &Arc<Object>, start: u64) -> u64 {
        self.hasher.hash_one((&object.key, start))
    }
}

impl Queues {
    /// Remembers what left the small queue, as many as there are places.
    fn remember(&mut self, print: u64) {
        if self.ghost_set.insert(print) {
            self.ghosts.push_back(print);
        }
        let most = self.small.places.len() + self.main.places.len() + 64;
        while most < self.ghosts.len() {
            if let Some(oldest) = self.ghosts.pop_front() {
                self.ghost_set.remove(&oldest);
            }
        }
    }

    /// Drops places of ranges that went another way, once there may be as many of them as of others.
    fn sweep(&mut self) {
        let places = self.small.places.len() + self.main.places.len();
        if places < 1024.max(self.swept * 2) {
            return;
        }
        self.small.sweep();
        self.main.sweep();
        self.swept = self.small.places.len() + self.main.places.len();
    }
}
