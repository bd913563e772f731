//! What planning asks of one axis of a result, whether its elements are picked or at equal distances.

use std::ops::Range;
use swath_codecs::{CutAxis, CutView, Output};

/// One axis of a result, cut into tiles. Planning is compiled once for results without picks, which are most, and once for
/// all others.
pub(crate) trait AxisCut<'a>: Copy {
    /// One axis of a result; `None` where there is no such.
    fn of(output: &'a Output<'_>, result: usize, axis: usize) -> Option<Self>;

    /// Tiles along the axis.
    fn tile_count(self) -> u64;

    /// The coordinate of a tile's chunk. Ascends from tile to tile, or descends.
    fn chunk(self, tile: u64) -> u64;

    /// The tiles whose chunks have coordinates in `low..high`.
    fn tiles_between(self, low: u64, high: u64) -> Range<u64>;

    /// The coordinate of a tile's chunk, and where along the axis its elements start and end in a chunk whose elements are
    /// `stride` bytes apart: from the first one to the start of the last. As far as 32 bits count; nothing where `stride`
    /// is 0.
    fn chunk_part(self, tile: u64, stride: u64) -> (u64, [u32; 2]);
}

impl<'a> AxisCut<'a> for &'a CutAxis {
    #[inline]
    fn of(output: &'a Output<'_>, result: usize, axis: usize) -> Option<Self> {
        output.axis(result, axis)
    }

    #[inline]
    fn tile_count(self) -> u64 {
        CutAxis::tile_count(self)
    }

    #[inline]
    fn chunk(self, tile: u64) -> u64 {
        CutAxis::chunk(self, tile)
    }

    #[inline]
    fn tiles_between(self, low: u64, high: u64) -> Range<u64> {
        CutAxis::tiles_between(self, low, high)
    }

    #[inline]
    fn chunk_part(self, tile: u64, stride: u64) -> (u64, [u32; 2]) {
        let (tile, step) = (self.tile(tile), self.step());
        let reach = (tile.count - 1).saturating_mul(step.unsigned_abs());
        let first = if step < 0 { tile.source_start.saturating_sub(reach) } else { tile.source_start };
        (tile.chunk, [bytes_of(first, stride), bytes_of(first.saturating_add(reach), stride)])
    }
}

impl<'a> AxisCut<'a> for CutView<'a> {
    fn of(output: &'a Output<'_>, result: usize, axis: usize) -> Option<Self> {
        output.cut(result, axis)
    }

    fn tile_count(self) -> u64 {
        CutView::tile_count(self)
    }

    fn chunk(self, tile: u64) -> u64 {
        CutView::chunk(self, tile)
    }

    fn tiles_between(self, low: u64, high: u64) -> Range<u64> {
        CutView::tiles_between(self, low, high)
    }

    fn chunk_part(self, tile: u64, stride: u64) -> (u64, [u32; 2]) {
        let (first, last) = if stride == 0 { (0, 0) } else { self.reach(tile) };
        (CutView::chunk(self, tile), [bytes_of(first, stride), bytes_of(last, stride)])
    }
}

/// Chunks that are read in part have fewer bytes than 32 bits count.
#[inline]
fn bytes_of(elements: u64, stride: u64) -> u32 {
    u32::try_from(elements.saturating_mul(stride)).unwrap_or(u32::MAX)
}
