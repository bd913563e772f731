//! All objects of a cache, and its memory.

use super::disk::{Record, Stored};
use super::extents::{Extent, charge};
use super::memory::Memory;
use super::object::{Dropped, Object, Version, now_ns};
use super::stats::Counts;
use super::table::Table;
use crate::engine::lock;
use crate::{Freshness, storage_len};
use bytes::Bytes;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What the two tiers share.
pub(super) struct Catalog {
    pub(super) memory: Memory,
    pub(super) counts: Counts,
    freshness: Freshness,
    next_id: AtomicU64,
    tables: Mutex<HashMap<Arc<str>, Arc<Table>>>,
    written: Mutex<Written>,
}

/// Objects that were written to or deleted through this process's media, and when: records of before do not count.
#[derive(Default)]
struct Written {
    at_ns: HashMap<(Arc<str>, Arc<str>), u64>,
    /// Records confirmed before this do not count either: of objects that there was no room for.
    all_ns: u64,
}

/// Objects kept in [`Written`].
const WRITTEN_MAX: usize = 1 << 16;

/// A range that came from the source: `id` and bytes, as the catalog keeps them.
pub(super) struct Kept {
    pub(super) start: u64,
    pub(super) id: u64,
    pub(super) bytes: Bytes,
    pub(super) in_memory: bool,
}

impl Catalog {
    pub(super) fn new(memory_bytes: u64, freshness: Freshness) -> Arc<Catalog> {
        Arc::new(Catalog {
            memory: Memory::new(memory_bytes),
            counts: Counts::default(),
            freshness,
            next_id: AtomicU64::new(1),
            tables: Mutex::default(),
            written: Mutex::default(),
        })
    }

    /// The table of the medium of that name, made where there is none.
    pub(super) fn table(&self, name: &str) -> Arc<Table> {
        let mut tables = lock(&self.tables);
        if let Some(table) = tables.get(name) {
            return Arc::clone(table);
        }
        let table = Table::new(name);
        tables.insert(Arc::clone(&table.name), Arc::clone(&table));
        table
    }

    pub(super) fn new_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether ranges of a version without a name may be kept: only where objects never change, because nothing would tell
    /// that they did.
    pub(super) fn keeps_unnamed(&self) -> bool {
        self.freshness == Freshness::Immutable
    }

    /// Counts what was taken out of an object, and frees it. No object's lock is held.
    pub(super) fn settle(&self, dropped: Dropped) {
        self.counts.changes.add(dropped.changes);
        for bytes in dropped.extents.iter().filter_map(|extent| extent.memory.as_ref()) {
            self.memory.release(charge(bytes.len()));
        }
    }

    /// Gives new ranges of an object their places in memory. No object's lock is held.
    pub(super) fn admit(&self, object: &Arc<Object>, kept: &[Kept]) {
        let ranges: Vec<(u64, u64, usize)> = kept
            .iter()
            .filter(|kept| kept.in_memory)
            .map(|kept| (kept.start, kept.id, kept.bytes.len()))
            .collect();
        self.memory.admit(object, &ranges, &self.counts);
    }

    /// Drops what a file had of a range, and has lost.
    pub(super) fn lose(&self, object: &Arc<Object>, start: u64, id: u64) {
        self.counts.corrupt.add(1);
        let mut state = object.lock();
        if let Some(extent) = state.extents.get_mut(start, id) {
            extent.stored = None;
            state.extents.drop_unheld(start);
        }
    }

    /// Puts a whole range that was read from a file into memory as well.
    pub(super) fn promote(&self, object: &Arc<Object>, start: u64, id: u64, bytes: &Bytes) {
        if !self.memory.takes(bytes.len()) {
            return;
        }
        let mut state = object.lock();
        let Some(extent) = state.extents.get_mut(start, id) else { return };
        if extent.memory.is_some() || extent.len != storage_len(bytes.len()) {
            return;
        }
        extent.memory = Some(bytes.clone());
        extent.used = false;
        self.memory.hold(bytes.len());
        drop(state);
        self.memory.admit(object, &[(start, id, bytes.len())], &self.counts);
    }

    /// Notes that an object was written to or deleted at `at_ns`.
    pub(super) fn note_written(&self, medium: &Arc<str>, key: &Arc<str>, at_ns: u64) {
        let mut written = lock(&self.written);
        if WRITTEN_MAX <= written.at_ns.len() {
            let latest = written.at_ns.drain().map(|(_, at_ns)| at_ns).max();
            written.all_ns = written.all_ns.max(latest.unwrap_or(0));
        }
        let known = written.at_ns.entry((Arc::clone(medium), Arc::clone(key))).or_default();
        *known = at_ns.max(*known);
    }

    fn is_outdated(&self, table: &Table, key: &Arc<str>, confirmed_ns: u64) -> bool {
        let written = lock(&self.written);
        let name = (Arc::clone(&table.name), Arc::clone(key));
        let at_ns = written.at_ns.get(&name).copied().unwrap_or(0).max(written.all_ns);
        0 < at_ns && confirmed_ns <= at_ns
    }

    /// Takes note of a record that was found in a file. What was confirmed in the future, by a clock that was set back since,
    /// counts as confirmed never; what was dropped then, as dropped now.
    pub(super) fn load(&self, mut record: Record, stored: Stored) {
        let now = now_ns();
        if now < record.confirmed_ns {
            record.confirmed_ns = if record.len == 0 { now } else { 0 };
        }
        let unnamed = record.identity.is_none();
        if unnamed && record.len != 0 && !self.keeps_unnamed() {
            return;
        }
        let table = self.table(&record.medium);
        let key = Arc::from(record.key.as_str());
        if self.is_outdated(&table, &key, record.confirmed_ns) {
            return;
        }
        if record.len == 0 {
            // Also for ranges of files that are not found yet.
            self.note_written(&table.name, &key, record.confirmed_ns);
        }
        let mut dropped = Dropped::default();
        let object = table.with(&key, |object, state| {
            let confirmed_ns = state.version.as_ref().map_or(0, |version| version.confirmed_ns);
            if record.len == 0 {
                if confirmed_ns <= record.confirmed_ns {
                    state.drop_ranges(&mut dropped);
                }
            } else if state.learn(record.identity.as_ref(), record.confirmed_ns, &mut dropped) {
                if let Some(version) = &mut state.version {
                    version.size = record.size.or(version.size);
                }
                for (start, len) in state.extents.gaps(record.start, record.len) {
                    let id = self.new_id();
                    let stored = stored.skip(start - record.start);
                    if stored.note(object, start, id) {
                        let stored = Some(Box::new(stored));
                        state
                            .extents
                            .add(start, Extent { id, len, memory: None, queued: None, stored, used: false });
                    }
                }
            }
            Arc::clone(object)
        });
        // Another process's find is no change that this one saw.
        dropped.changes = 0;
        self.settle(dropped);
        object.let_go_if_empty();
    }

    /// A copy of an answer's bytes that keeps no more from being freed than itself, made before the object is locked.
    /// `None` where they would not be kept as they are.
    pub(super) fn copy(&self, bytes: &Bytes, has_disk: bool) -> Option<Bytes> {
        (has_disk || self.memory.takes(bytes.len())).then(|| Bytes::copy_from_slice(bytes))
    }

    /// Keeps an answer's bytes, under their object's lock: those that are not there yet. `bytes` are a [`copy`](Self::copy)
    /// where there is one; where only runs of them are new, those are copied again.
    pub(super) fn keep(
        &self,
        state: &mut super::object::State,
        (start, size): (u64, Option<u64>),
        bytes: &Bytes,
        has_disk: bool,
    ) -> Vec<Kept> {
        if let Some(Version { size: known, .. }) = &mut state.version {
            *known = size.or(*known);
        }
        let mut kept = Vec::new();
        for (from, len) in state.extents.gaps(start, storage_len(bytes.len())) {
            let Ok((skip, short)) =
                crate::memory_len(from - start).and_then(|at| Ok((at, crate::memory_len(len)?)))
            else {
                continue;
            };
            let in_memory = self.memory.takes(short);
            if !in_memory && !has_disk {
                continue;
            }
            let bytes = match bytes.get(skip..skip + short) {
                Some(run) if short < bytes.len() => Bytes::copy_from_slice(run),
                Some(_) => bytes.clone(),
                None => continue,
            };
            let (id, used) = (self.new_id(), false);
            let memory = in_memory.then(|| bytes.clone());
            let queued = has_disk.then(|| bytes.clone());
            if in_memory {
                self.memory.hold(short);
            }
            state.extents.add(from, Extent { id, len, memory, queued, stored: None, used });
            kept.push(Kept { start: from, id, bytes, in_memory });
        }
        self.counts.inserts.add(storage_len(kept.len()));
        kept
    }
}
