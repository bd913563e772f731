//! One file of records.

use super::record::{BLOCK_BYTES, HEAD_BYTES, Record, Sealed, block_sum};
use crate::engine::lock;
use crate::media::cache::object::Object;
use crate::media::files::open_file::read_cached_at;
use crate::media::positioned::{read_at, read_exact_at};
use crate::{Error, memory_len, storage_len};
use bytes::Bytes;
use std::fs::File;
use std::ops::Range as Span;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// A file of records. It only grows, and is removed as a whole, so what was read from it once is there as long as it is
/// open.
pub(in super::super) struct Segment {
    pub(super) path: PathBuf,
    pub(super) file: File,
    /// Up to where its records are known.
    pub(super) scanned: AtomicU64,
    /// Removed: nothing may refer to it any more.
    pub(super) gone: AtomicBool,
    /// When it was made: tells its records from those of others.
    made_ns: u64,
    ranges: Mutex<Vec<Range>>,
    /// Ranges of all segments.
    total: Arc<AtomicUsize>,
}

/// A cached range that is stored in a segment.
struct Range {
    object: Weak<Object>,
    start: u64,
    id: u64,
}

/// Bytes that a segment keeps of each of its ranges.
#[cfg(test)]
pub(in super::super) const RANGE_BYTES: usize = size_of::<Range>();

impl Segment {
    pub(super) fn new(path: PathBuf, made_ns: u64, file: File, total: &Arc<AtomicUsize>) -> Arc<Segment> {
        let (scanned, gone, ranges) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::default());
        Arc::new(Segment { path, file, scanned, gone, made_ns, ranges, total: Arc::clone(total) })
    }

    /// Names the place of a record in this file, and in no other.
    pub(super) fn place(&self, at: u64) -> u64 {
        self.made_ns.wrapping_add(at.rotate_left(32))
    }

    /// False where the segment is gone.
    fn note(&self, range: Range) -> bool {
        let mut ranges = lock(&self.ranges);
        if self.gone.load(Ordering::Acquire) {
            return false;
        }
        self.total.fetch_add(1, Ordering::Relaxed);
        ranges.push(range);
        true
    }

    /// Ranges of objects that are stored here.
    pub(super) fn range_count(&self) -> usize {
        lock(&self.ranges).len()
    }

    /// Takes its ranges out of their objects. Returns how many there were.
    pub(super) fn forget(&self) -> u64 {
        self.gone.store(true, Ordering::Release);
        let ranges = std::mem::take(&mut *lock(&self.ranges));
        self.total.fetch_sub(ranges.len(), Ordering::Relaxed);
        let mut lost = 0;
        for range in ranges {
            let Some(object) = range.object.upgrade() else { continue };
            let mut state = object.lock();
            if let Some(extent) = state.extents.get_mut(range.start, range.id)
                && extent.stored.take().is_some()
            {
                lost += 1;
                state.extents.drop_unheld(range.start);
            }
            drop(state);
            object.let_go_if_empty();
        }
        lost
    }

    /// Reads the records that were added since the last scan, up to the first that is not whole.
    pub(super) fn scan(self: &Arc<Segment>, mut found: impl FnMut(Record, Stored)) -> u64 {
        let size = self.file.metadata().map_or(0, |metadata| metadata.len());
        let mut at = self.scanned.load(Ordering::Acquire);
        while let Some((record, sealed)) = self.record_at(at, size) {
            let data_at = at + sealed.head_bytes;
            at = data_at + record.len;
            found(
                record,
                Stored { segment: Arc::clone(self), at: data_at, skip: 0, len: at - data_at, sealed },
            );
        }
        self.scanned.store(at, Ordering::Release);
        at
    }

    fn record_at(&self, at: u64, size: u64) -> Option<(Record, Sealed)> {
        let mut fixed = [0; HEAD_BYTES];
        read_exact_at(&self.file, &mut fixed, at).ok()?;
        let mut head = vec![0; Record::head_bytes(&fixed)?];
        if size < at.checked_add(storage_len(head.len()))? {
            return None;
        }
        read_exact_at(&self.file, &mut head, at).ok()?;
        let (record, sealed) = Record::open(&head, self.place(at))?;
        let end = at.checked_add(sealed.head_bytes)?.checked_add(record.len)?;
        (end <= size).then_some((record, sealed))
    }
}

/// Whether a read may wait for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    Allowed,
    Never,
}

/// What came of loading bytes of a stored range.
pub(in super::super) enum Loaded {
    /// The bytes that were written are there.
    Sound(Span<usize>),
    /// The read would wait for the device.
    WouldWait,
    /// Other bytes were found, or none.
    Lost,
}

/// What a read of a stored range found.
pub(super) enum Look {
    /// The bytes that were written.
    Sound(Bytes),
    /// The read would wait for the device.
    WouldWait,
    /// Other bytes, or none.
    Lost,
}

/// Where a range is stored: `len` bytes of a record's data, from `skip` on.
#[derive(Clone)]
pub(in super::super) struct Stored {
    pub(super) segment: Arc<Segment>,
    /// Where the record's data begins in the file.
    pub(super) at: u64,
    pub(super) skip: u64,
    /// Bytes of the record's data.
    pub(super) len: u64,
    pub(super) sealed: Sealed,
}

impl Stored {
    /// The same record's data, from `more` bytes further on.
    pub(in super::super) fn skip(&self, more: u64) -> Stored {
        Stored { skip: self.skip + more, ..self.clone() }
    }

    /// Notes in the segment which range this is. False where the segment is gone.
    pub(in super::super) fn note(&self, object: &Arc<Object>, start: u64, id: u64) -> bool {
        self.segment.note(Range { object: Arc::downgrade(object), start, id })
    }

    /// True where `len` bytes are all of its record's data, so that reading them brings nothing else.
    pub(in super::super) fn is_all(&self, len: u64) -> bool {
        self.skip == 0 && self.len == len
    }

    /// Reads `len` bytes from `from` on, and the blocks around them, and checks those.
    pub(super) fn read(&self, from: u64, len: u64, waiting: Waiting) -> Look {
        match self.try_read(from, len, waiting) {
            Ok(Some(bytes)) => Look::Sound(bytes),
            Ok(None) => Look::Lost,
            Err(WouldWait) => Look::WouldWait,
        }
    }

    /// As [`read`](Stored::read) without waiting, into memory that is used again: it grows where it is too short, and the
    /// bytes are in the range that this returns.
    pub(in super::super) fn load(&self, from: u64, len: u64, memory: &mut Vec<u8>) -> Loaded {
        match self.read_blocks(from, len, memory, Waiting::Never) {
            Ok(Some(found)) => Loaded::Sound(found),
            Ok(None) => Loaded::Lost,
            Err(WouldWait) => Loaded::WouldWait,
        }
    }

    fn try_read(&self, from: u64, len: u64, waiting: Waiting) -> Result<Option<Bytes>, WouldWait> {
        let mut memory = Vec::new();
        let found = self.read_blocks(from, len, &mut memory, waiting)?;
        Ok(found.map(|found| Bytes::from(memory).slice(found)))
    }

    /// Reads the blocks around some bytes and checks them. Returns where in `memory` the bytes are.
    fn read_blocks(
        &self,
        from: u64,
        len: u64,
        memory: &mut Vec<u8>,
        waiting: Waiting,
    ) -> Result<Option<Span<usize>>, WouldWait> {
        let from = self.skip + from;
        let first = from / BLOCK_BYTES;
        let begin = first * BLOCK_BYTES;
        let end = (from + len).next_multiple_of(BLOCK_BYTES).min(self.len);
        let sizes = || -> Result<_, Error> {
            Ok((memory_len(end.saturating_sub(begin))?, memory_len(from - begin)?, memory_len(len)?))
        };
        let Ok((total, skip, len)) = sizes() else { return Ok(None) };
        if memory.len() < total {
            memory.resize(total, 0);
        }
        let Some(blocks) = memory.get_mut(..total) else { return Ok(None) };
        if !self.fill(blocks, begin, waiting)? || !self.is_sound(blocks, first) {
            return Ok(None);
        }
        Ok((skip + len <= total).then_some(skip..skip + len))
    }

    /// Fills `target` from `from` of the record's data on. False where that fails.
    fn fill(&self, target: &mut [u8], from: u64, waiting: Waiting) -> Result<bool, WouldWait> {
        let mut done = 0;
        while done < target.len() {
            let at = self.at + from + storage_len(done);
            let (file, rest) = (&self.segment.file, &mut target[done..]);
            let read = match waiting {
                Waiting::Allowed => read_at(file, rest, at),
                Waiting::Never => read_cached_at(file, rest, at).ok_or(WouldWait)?,
            };
            match read {
                Ok(0) => return Ok(false),
                Ok(read) => done += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::warn!(%error, path = %self.segment.path.display(), "a file of the cache cannot be read");
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn is_sound(&self, bytes: &[u8], first: u64) -> bool {
        let Ok(block_bytes) = memory_len(BLOCK_BYTES) else { return false };
        (first..).zip(bytes.chunks(block_bytes)).all(|(number, block)| {
            let sum = usize::try_from(number).ok().and_then(|at| self.sealed.blocks.get(at));
            sum == Some(&block_sum(block, self.sealed.seal, number))
        })
    }
}

struct WouldWait;
