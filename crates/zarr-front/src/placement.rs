//! Which chunks of an object a window reads, and into which tiles each goes. Pure.

use crate::compiled::Compiled;
use crate::groups::{Groups, Member, Place};
use std::ops::Range;
use swath_codecs::{AxisTile, Output};

/// One tile that a chunk fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placement {
    /// The chunk's row-major number within its object.
    pub(crate) chunk: u64,
    /// The result's number.
    pub(crate) result: usize,
    /// The tile's row-major number within the result.
    pub(crate) tile: u64,
}

/// Collects the placements of a window, sorted by chunk.
pub(crate) fn collect(
    place: &Place,
    groups: &Groups,
    output: &Output<'_>,
    compiled: &Compiled,
    placements: &mut Vec<Placement>,
) {
    placements.clear();
    for member in groups.members(place.group) {
        let extents = &compiled.chunks_per_object;
        let mut walk = Walk { place, groups, output, extents, member, placements };
        walk.axis(0, 0, 0, 0);
    }
    if !placements.is_sorted_by_key(|placement| placement.chunk) {
        placements.sort_unstable();
    }
}

/// The nested walk over the tiles of one member.
struct Walk<'a> {
    place: &'a Place,
    groups: &'a Groups,
    output: &'a Output<'a>,
    extents: &'a [u64],
    member: Member,
    placements: &'a mut Vec<Placement>,
}

impl Walk<'_> {
    /// Walks the tiles of `axis` and those within. `chunk`, `tile` and `slab` are the row-major numbers so far.
    fn axis(&mut self, axis: usize, chunk: u64, tile: u64, slab: u64) {
        let Some(extent) = self.extents.get(axis).copied() else {
            return self.placements.push(Placement { chunk, result: self.member.result, tile });
        };
        let Some(run) = self.groups.run_of(self.member, axis) else { return };
        let output = self.output;
        let tiles = output.axis_tiles(self.member.result, axis);
        let mut wanted = run.first_tile..run.first_tile + run.tile_count;
        if axis < self.groups.slabs.axes {
            wanted = self.wanted_of(axis, extent, slab, &tiles[wanted.clone()], wanted.start);
        }
        let is_last = axis + 1 == self.extents.len();
        for number in wanted {
            let within = tiles[number].chunk % extent;
            let chunk = chunk * extent + within;
            let tile = tile * tile_count(tiles.len()) + tile_count(number);
            if is_last {
                self.placements.push(Placement { chunk, result: self.member.result, tile });
            } else {
                self.axis(axis + 1, chunk, tile, slab.saturating_mul(extent).saturating_add(within));
            }
        }
    }

    /// Those of a run's tiles that lie in the window's slabs, by number; the first of the run is number `first`.
    fn wanted_of(&self, axis: usize, extent: u64, slab: u64, run: &[AxisTile], first: usize) -> Range<usize> {
        // Slabs below one position of this axis.
        let slabs: u64 = self.extents[axis + 1..self.groups.slabs.axes].iter().product();
        let (low, high) = (self.place.slab_start / slabs, self.place.slab_end.div_ceil(slabs));
        let (low, high) = (low.saturating_sub(slab * extent), high.saturating_sub(slab * extent));
        // Chunks ascend along a run, or descend.
        let within = |tile: &AxisTile| tile.chunk % extent;
        let descends = matches!(run, [first, .., last] if last.chunk < first.chunk);
        let (start, end) = if descends {
            (
                run.partition_point(|tile| high <= within(tile)),
                run.partition_point(|tile| low <= within(tile)),
            )
        } else {
            (run.partition_point(|tile| within(tile) < low), run.partition_point(|tile| within(tile) < high))
        };
        first + start..first + end.max(start)
    }
}

fn tile_count(count: usize) -> u64 {
    swath_ioengine::storage_len(count)
}
