//! A planned window while it is being read.

use crate::batch_state::BatchState;
use crate::blocks::Blocks;
use crate::buffer::{AlignedBuffer, BufferPool};
use crate::coalesce::{Part, PhysicalRead, Share};
use crate::driver::ReadTarget;
use crate::target::BatchTarget;
use crate::window::{Cursor, WindowStorage};
use crate::{Error, Identity, OpenObject};
use std::sync::Arc;

/// The memory of a window, used again for the next one.
#[derive(Default)]
pub(crate) struct WindowMemory {
    pub(crate) storage: WindowStorage,
    pub(crate) parts: Vec<Part>,
    pub(crate) physical: Vec<PhysicalRead>,
    pub(crate) splits: Vec<Split>,
}

impl WindowMemory {
    pub(crate) fn clear(&mut self) {
        self.storage.clear();
        self.parts.clear();
        self.physical.clear();
        self.splits.clear();
    }
}

/// A window from its plan to its last delivery. It moves between lanes whole.
pub(crate) struct OpenWindow {
    pub(crate) batch: Arc<BatchState>,
    pub(crate) cursor: Cursor,
    pub(crate) replans: u32,
    pub(crate) memory: WindowMemory,
    pub(crate) handle: Option<Arc<dyn OpenObject>>,
    /// Set where the reads are of whole blocks, past the page cache.
    pub(crate) blocks: Option<Blocks>,
    /// The version read: the handle's, or what a remote source told.
    pub(crate) identity: Option<Identity>,
    /// The next of the physical reads to issue.
    pub(crate) next: usize,
    /// Physical reads not yet delivered, unissued ones included.
    pub(crate) unfinished: usize,
    /// Set when an inline lane would have to wait: the rest goes to another lane.
    pub(crate) deferred: bool,
    /// What the plan said follows. Planned once this window is done, so that a stale plan takes it along.
    pub(crate) continuation: Option<Cursor>,
    /// Set when a sink was told of a read: the window can no longer be planned anew.
    pub(crate) told: bool,
    /// Set when the object turned out to be another version than the plan expected: planned anew once nothing is in
    /// flight.
    pub(crate) stale: bool,
    /// Reads and bytes delivered and not yet told to the batch's control, whose counters all lanes share.
    uncounted_reads: u64,
    uncounted_bytes: u64,
}

/// Reads delivered between two updates of a batch's progress.
const COUNTED_READS: u64 = 32;

impl OpenWindow {
    pub(crate) fn new(
        batch: Arc<BatchState>,
        cursor: Cursor,
        replans: u32,
        memory: WindowMemory,
    ) -> Box<OpenWindow> {
        Box::new(OpenWindow {
            batch,
            cursor,
            replans,
            memory,
            handle: None,
            blocks: None,
            identity: None,
            next: 0,
            unfinished: 0,
            deferred: false,
            continuation: None,
            told: false,
            stale: false,
            uncounted_reads: 0,
            uncounted_bytes: 0,
        })
    }

    /// Bytes of the budget that pieces of splits hold which arrived and wait for the others.
    pub(crate) fn held_bytes(&self) -> usize {
        self.memory.splits.iter().map(|split| split.budget_bytes).sum()
    }

    /// What the offsets and lengths of its reads are multiples of.
    pub(crate) fn alignment(&self) -> u64 {
        self.blocks.map_or(1, |blocks| blocks.block_bytes)
    }

    /// Physical reads not yet issued.
    pub(crate) fn unissued(&self) -> usize {
        self.memory.physical.len() - self.next
    }

    /// Counts reads and bytes into the batch's progress, some at a time.
    pub(crate) fn count(&mut self, reads: u64, bytes: u64) {
        self.uncounted_reads += reads;
        self.uncounted_bytes += bytes;
        if COUNTED_READS <= self.uncounted_reads {
            self.flush_counts();
        }
    }

    pub(crate) fn flush_counts(&mut self) {
        let reads = std::mem::take(&mut self.uncounted_reads);
        self.batch.control.count(reads, std::mem::take(&mut self.uncounted_bytes));
    }

    /// Issues none of the reads that are left.
    pub(crate) fn drop_unissued(&mut self) {
        self.unfinished -= self.unissued();
        self.next = self.memory.physical.len();
    }

    /// Puts the target of a read that was not done back to where the next attempt takes it from.
    pub(crate) fn give_back(
        &mut self,
        physical: &PhysicalRead,
        target: Option<ReadTarget>,
        pool: &mut BufferPool,
    ) {
        let output = match target {
            Some(ReadTarget::Pooled(buffer)) => return pool.put(buffer),
            Some(ReadTarget::Output(output)) => output,
            None => return,
        };
        let memory = &mut self.memory;
        if let Share::Split { split, at } = physical.share {
            let piece = memory
                .splits
                .get_mut(split as usize)
                .and_then(|split| split.pieces.get_mut(at / split.piece_bytes));
            if let Some(piece) = piece {
                *piece = Some(output);
            }
        } else if let Some(part) = memory.parts.get(physical.first_part as usize)
            && let Some(read) = memory.storage.reads.get_mut(part.read as usize)
        {
            read.target = Some(output);
        }
    }
}

/// A part that is read in several pieces.
pub(crate) struct Split {
    pub(crate) part: u32,
    /// The first piece's first byte, and the bytes of all pieces: the part's, or those of the blocks that it lies in.
    pub(crate) start: u64,
    pub(crate) len: usize,
    /// Bytes of each piece but the last.
    piece_bytes: usize,
    pub(crate) remaining: u32,
    pub(crate) error: Option<Error>,
    /// Bytes that count against the budget until the part is delivered.
    pub(crate) budget_bytes: usize,
    pieces: Vec<Option<BatchTarget>>,
    memory: Option<SplitMemory>,
}

/// Where the pieces come together. Not touched while a piece of it is out.
enum SplitMemory {
    Buffer(AlignedBuffer),
    Output,
}

impl Split {
    pub(crate) fn new((part, pieces): (u32, u32), (start, len): (u64, usize), piece_bytes: usize) -> Split {
        Split {
            part,
            start,
            len,
            piece_bytes,
            remaining: pieces,
            error: None,
            budget_bytes: 0,
            pieces: Vec::new(),
            memory: None,
        }
    }

    /// The memory of the piece `at` bytes behind the first one's start. The first call fixes where the part comes
    /// together: in `output`, where it is of as many bytes, or in a buffer.
    pub(crate) fn piece(
        &mut self,
        at: usize,
        output: Option<&mut Option<BatchTarget>>,
        pool: &mut BufferPool,
    ) -> Result<ReadTarget, Error> {
        if self.memory.is_none() {
            match output.and_then(Option::take) {
                Some(mut target) => {
                    self.pieces = cut(target.as_mut_slice(), self.piece_bytes);
                    self.memory = Some(SplitMemory::Output);
                }
                None => {
                    let mut buffer = pool.take(self.len)?;
                    self.pieces = cut(&mut buffer.as_mut_slice()[..self.len], self.piece_bytes);
                    self.memory = Some(SplitMemory::Buffer(buffer));
                }
            }
        }
        let piece = self.pieces.get_mut(at / self.piece_bytes).and_then(Option::take);
        piece.map(ReadTarget::Output).ok_or_else(|| {
            Error::new(
                crate::ErrorKind::Internal,
                format!("the piece at byte {at} of a split read was issued twice"),
            )
        })
    }

    /// The whole part, once every piece has arrived, unless it came together in the output.
    pub(crate) fn take_buffer(&mut self) -> Option<AlignedBuffer> {
        match self.memory.take() {
            Some(SplitMemory::Buffer(buffer)) => Some(buffer),
            Some(SplitMemory::Output) | None => None,
        }
    }
}

fn cut(memory: &mut [u8], piece_bytes: usize) -> Vec<Option<BatchTarget>> {
    memory.chunks_mut(piece_bytes).map(|piece| Some(BatchTarget::new(piece))).collect()
}

/// A physical read in flight.
pub(crate) struct Flight {
    pub(crate) window: u32,
    pub(crate) station: usize,
    pub(crate) physical: PhysicalRead,
    /// Bytes that earlier attempts filled.
    pub(crate) filled: usize,
    pub(crate) attempts: u32,
    /// Bytes that count against the budget until the read is delivered.
    pub(crate) budget_bytes: usize,
    /// When, in ns of the lane's clock.
    pub(crate) submitted_ns: u64,
    /// For drivers that lend or give: where a copy of the bytes shall go.
    pub(crate) held: Option<ReadTarget>,
}
