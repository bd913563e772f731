//! What a window's plan notes for when its bytes arrive.

use crate::Error;
use crate::cached_reads::Cached;
use crate::contained_reads::ContainedChunk;
use crate::groups::Place;
use crate::member_reads::MemberRead;
use crate::placement::{Placement, Placements};
use crate::shards::InnerKey;
use std::ops::Range;
use swath_ioengine::Token;

/// What a window's reads are, by token.
#[derive(Default)]
pub(crate) struct Note {
    pub(crate) placements: Placements,
    pub(crate) reads: Vec<Wanted>,
    /// Chunks that are not stored: filled once a read of the window has shown that the plan was not stale.
    pub(crate) missing: Vec<Range<u32>>,
    /// Inner shard indexes of this window that have not arrived.
    pub(crate) inner_left: usize,
    pub(crate) cached: Cached,
    /// The window is one stretch of its shard, and was not told yet that the others are of the same version.
    pub(crate) is_unsure: bool,
    /// Placements of one of several objects of a window.
    pub(crate) single: Placements,
    /// What the window's chunks wait for could not be read.
    pub(crate) has_failed: bool,
}

/// One read of a window.
pub(crate) enum Wanted {
    /// The index of the window's shard.
    Index(Box<Place>),
    /// All of the window's shard.
    Shard(Box<Place>),
    /// The index of an inner shard, which starts at this offset of the object.
    InnerIndex(Box<(InnerKey, u64)>),
    /// A chunk, or a part of it, for these placements.
    Chunk { run: Range<u32>, part: ChunkPart },
    /// A chunk, or a part of it, that is a part of another object.
    Contained(Box<ContainedChunk>),
    /// Something of a member of an archive that is needed before its chunks, or for all of them.
    Member(Box<MemberRead>),
    /// No more than whether the object is still the one that was planned from.
    Version,
    /// The same, for chunks that the index puts where none can be: these fail where the index is not stale.
    Unsound(Box<[(Range<u32>, Error)]>),
}

/// How much of a chunk is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkPart {
    /// All that is stored of it.
    Whole,
    /// Elements as they are stored, from this byte on.
    From(u32),
}

impl Note {
    pub(crate) fn clear(&mut self) {
        self.placements.clear();
        self.reads.clear();
        self.missing.clear();
        self.inner_left = 0;
        self.is_unsure = false;
        self.cached.clear();
        self.has_failed = false;
    }
}

/// Some of a window's placements. Windows hold fewer than 32 bits count.
pub(crate) fn slice<'a>(placements: &'a Placements, run: &Range<u32>) -> &'a [Placement] {
    &placements[run.start as usize..run.end as usize]
}

pub(crate) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

pub(crate) fn token(number: usize) -> Token {
    Token(swath_ioengine::storage_len(number))
}
