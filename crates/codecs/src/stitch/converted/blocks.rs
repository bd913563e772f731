//! The blocks along one axis of a result, and which of them lie in several chunks.

use super::super::cut_axis::CutAxis;
use super::super::output::memory;

/// The blocks along one axis.
pub(super) struct AxisBlocks {
    pub(super) count: usize,
    /// By block; empty where each of them lies in one chunk.
    places: Vec<BlockPlace>,
    /// The blocks that lie in several chunks.
    pub(super) cut: Vec<usize>,
    /// Blocks of one chunk.
    pub(super) whole: usize,
    /// Shares of blocks that lie in several.
    pub(super) cut_shares: usize,
}

/// Where a block lies along its axis, and how it is counted.
#[derive(Clone, Copy)]
pub(super) struct BlockPlace {
    /// The first tile that has a share of it.
    first_tile: usize,
    /// Tiles that have.
    pub(super) shares: usize,
    /// The first share's number among all shares of all blocks.
    pub(super) first_share: usize,
    /// Among the blocks of one chunk the block's number; among the shares of all others its first share's.
    pub(super) rank: usize,
}

impl BlockPlace {
    pub(super) fn is_cut(&self) -> bool {
        1 < self.shares
    }

    /// The number among all shares of the one that a tile has.
    pub(super) fn share_of(&self, tile: usize) -> usize {
        self.first_share + self.behind_first(tile)
    }

    /// The rank of the share that a tile has: see [`rank`](Self::rank).
    pub(super) fn rank_of(&self, tile: usize) -> usize {
        self.rank + self.behind_first(tile)
    }

    fn behind_first(&self, tile: usize) -> usize {
        if self.is_cut() { tile.saturating_sub(self.first_tile) } else { 0 }
    }
}

impl AxisBlocks {
    /// The blocks of `factor` elements along an axis.
    pub(super) fn new(cut: &CutAxis, factor: usize) -> AxisBlocks {
        let count = memory(cut.count()) / factor;
        let starts = (0..cut.tile_count()).map(|tile| memory(cut.tile(tile).target_start));
        if factor == 1 || starts.clone().all(|start| start.is_multiple_of(factor)) {
            return AxisBlocks { count, places: Vec::new(), cut: Vec::new(), whole: count, cut_shares: 0 };
        }
        let nothing = BlockPlace { first_tile: 0, shares: 0, first_share: 0, rank: 0 };
        let mut places = vec![nothing; count];
        for (tile, start) in starts.enumerate() {
            let cut = cut.tile(tile as u64);
            let last = start + memory(cut.count) - 1;
            for place in places.iter_mut().take(last / factor + 1).skip(start / factor) {
                if place.shares == 0 {
                    place.first_tile = tile;
                }
                place.shares += 1;
            }
        }
        let (mut shares, mut whole, mut cut_shares) = (0, 0, 0);
        for place in &mut places {
            place.first_share = shares;
            shares += place.shares;
            let rank = if place.is_cut() { &mut cut_shares } else { &mut whole };
            place.rank = *rank;
            *rank += place.shares;
        }
        let cut = (0..count).filter(|block| places[*block].is_cut()).collect();
        AxisBlocks { count, places, cut, whole, cut_shares }
    }

    /// The place of a block.
    #[inline]
    pub(super) fn place(&self, block: usize) -> BlockPlace {
        let whole = BlockPlace { first_tile: 0, shares: 1, first_share: block, rank: block };
        self.places.get(block).copied().unwrap_or(whole)
    }

    /// Shares of all blocks.
    pub(super) fn shares(&self) -> usize {
        self.whole + self.cut_shares
    }

    /// Bytes of memory that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.places.capacity() * size_of::<BlockPlace>() + self.cut.capacity() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_cut_where_chunks_meet() {
        // Elements 3 to 14 of chunks of 5, in blocks of 3: tiles of 2, 5 and 5.
        let blocks = AxisBlocks::new(&CutAxis::new(3, 12, 1, 5), 3);
        assert_eq!((blocks.count, blocks.whole, blocks.cut_shares, blocks.shares()), (4, 2, 4, 6));
        let place = |block| {
            let place = blocks.place(block);
            (place.first_tile, place.shares, place.first_share, place.rank)
        };
        assert_eq!(
            [place(0), place(1), place(2), place(3)],
            [(0, 2, 0, 0), (1, 1, 2, 0), (1, 2, 3, 2), (2, 1, 5, 1)]
        );
        assert_eq!((blocks.place(2).share_of(2), blocks.place(2).rank_of(2)), (4, 3));
        // Chunks that blocks fill.
        let blocks = AxisBlocks::new(&CutAxis::new(1, 12, 1, 6), 1);
        assert_eq!((blocks.count, blocks.whole, blocks.bytes()), (12, 12, 0));
        let blocks = AxisBlocks::new(&CutAxis::new(6, 12, 1, 6), 3);
        assert_eq!((blocks.count, blocks.whole, blocks.cut_shares), (4, 4, 0));
        // Blocks that hold several chunks.
        let blocks = AxisBlocks::new(&CutAxis::new(0, 8, 1, 1), 4);
        assert_eq!((blocks.whole, blocks.cut_shares, blocks.place(1).first_tile), (0, 8, 4));
    }
}
