//! Which chunks of an object a window reads, and into which tiles each goes. Pure.

use crate::compiled::Compiled;
use crate::groups::{Groups, Member, Place};
use swath_codecs::Output;

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
        let mut walk = Walk { place, groups, output, compiled, member: *member, placements };
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
    compiled: &'a Compiled,
    member: Member,
    placements: &'a mut Vec<Placement>,
}

impl Walk<'_> {
    /// Walks the tiles of `axis` and those within. `chunk`, `tile` and `slab` are the row-major numbers so far.
    fn axis(&mut self, axis: usize, chunk: u64, tile: u64, slab: u64) {
        let Walk { place, compiled, member, .. } = *self;
        let Some(extent) = compiled.chunks_per_object.get(axis).copied() else {
            return self.placements.push(Placement { chunk, result: member.result, tile });
        };
        let Some(run) = self.groups.run_of(member, axis, &compiled.objects) else { return };
        let output = self.output;
        let tiles = output.axis_tiles(member.result, axis);
        let is_last = axis + 1 == compiled.chunks_per_object.len();
        let is_slab = axis < compiled.slab_axes;
        // Slabs below one position of this axis.
        let slabs: u64 = if is_slab { compiled.slab_extents()[axis + 1..].iter().product() } else { 1 };
        for (number, found) in tiles.iter().enumerate().skip(run.first_tile).take(run.tile_count) {
            let within = found.chunk % extent;
            let slab = if is_slab { slab * extent + within } else { slab };
            let wanted = slab * slabs < place.slab_end && place.slab_start < (slab + 1) * slabs;
            if is_slab && !wanted {
                continue;
            }
            let chunk = chunk * extent + within;
            let tile = tile * tile_count(tiles.len()) + tile_count(number);
            if is_last {
                self.placements.push(Placement { chunk, result: member.result, tile });
            } else {
                self.axis(axis + 1, chunk, tile, slab);
            }
        }
    }
}

fn tile_count(count: usize) -> u64 {
    count as u64
}
