//! Which chunks of an object a window reads, and into which tiles each goes. Pure.

use crate::compiled::Compiled;
use crate::groups::{Groups, Place};
use std::ops::Range;
use swath_codecs::{AxisTile, Output};

/// One tile that a chunk fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placement {
    /// The chunk's row-major number within its object.
    pub(crate) chunk: u64,
    /// The tile's row-major number within the result.
    pub(crate) tile: u64,
    /// The result's number.
    pub(crate) result: u32,
    /// Of chunks that can be read in part: the first byte that the tile takes, and the byte after the last.
    part: [u32; 2],
}

impl Placement {
    /// The result's number.
    pub(crate) fn result(&self) -> usize {
        self.result as usize
    }
}

/// The bytes of a chunk that its placements take together, of a chunk that can be read in part.
pub(crate) fn part_of(placements: &[Placement]) -> Range<u32> {
    let (mut start, mut end) = (u32::MAX, 0);
    for placement in placements {
        start = start.min(placement.part[0]);
        end = end.max(placement.part[1]);
    }
    start..end
}

/// The placements of a window, in memory that is used again.
#[derive(Default)]
pub(crate) struct Placements {
    sorted: Vec<Placement>,
    /// For sorting.
    spare: Vec<Placement>,
    starts: Vec<u32>,
    /// The object's first chunk along each axis.
    origin: Vec<u64>,
    /// The tiles of one result that lie in the object, axis by axis.
    hits: Vec<Hit>,
    axes: Vec<HitAxis>,
}

/// A tile of one axis.
#[derive(Clone, Copy, Debug)]
struct Hit {
    /// The chunk's coordinate within its object.
    within: u64,
    /// The tile's number along the axis.
    number: u64,
    /// Where along the axis its elements start and end in a stored chunk that can be read in part, in bytes.
    part: [u32; 2],
}

/// One axis's tiles.
#[derive(Clone, Debug)]
struct HitAxis {
    hits: Range<usize>,
    /// Chunks of an object along the axis.
    extent: u64,
    /// Tiles of the result along the axis, those in other objects included.
    tile_count: u64,
    /// Slabs below one position of the axis; `None` for an axis that slabs do not divide.
    slabs: Option<u64>,
}

impl std::ops::Deref for Placements {
    type Target = [Placement];

    fn deref(&self) -> &[Placement] {
        &self.sorted
    }
}

impl Placements {
    pub(crate) fn clear(&mut self) {
        self.sorted.clear();
    }

    /// Collects the placements of a window, sorted by chunk.
    pub(crate) fn collect(
        &mut self,
        place: &Place,
        groups: &Groups,
        output: &Output<'_>,
        compiled: &Compiled,
    ) {
        self.sorted.clear();
        self.origin.resize(compiled.objects.len(), 0);
        compiled.object_origin(place.object, &mut self.origin);
        let element = compiled.chain.layout().element.size_bytes;
        let start =
            SoFar { chunk: 0, tile: 0, slab: 0, part: [0, u32::try_from(element).unwrap_or(u32::MAX)] };
        let slab_axes = if place.slabs.is_some() { groups.slabs.axes } else { 0 };
        for result in groups.members(place.group) {
            self.find_hits(result, output, compiled, (slab_axes, place.slabs.as_ref()));
            let mut walk = Walk {
                hits: &self.hits,
                axes: &self.axes,
                slabs: place.slabs.clone().unwrap_or(0..u64::MAX),
                result: u32::try_from(result).unwrap_or(u32::MAX),
                placements: &mut self.sorted,
            };
            walk.axis(0, start);
        }
        self.sort();
    }

    /// Finds the tiles of a result that lie in the object.
    fn find_hits(
        &mut self,
        result: usize,
        output: &Output<'_>,
        compiled: &Compiled,
        (slab_axes, wanted): (usize, Option<&Range<u64>>),
    ) {
        let Placements { hits, axes, origin, .. } = self;
        hits.clear();
        axes.clear();
        let extents = &compiled.chunks_per_object;
        for (axis, (origin, extent)) in origin.iter().zip(extents).enumerate() {
            let Some(cut) = output.axis(result, axis) else { return };
            let first_hit = hits.len();
            let stride = compiled.part_strides.as_ref().and_then(|strides| strides.get(axis)).copied();
            // Slabs below one position of this axis.
            let slabs = (axis < slab_axes).then(|| extents[axis + 1..slab_axes].iter().product::<u64>());
            let (mut low, mut high) = (0, *extent);
            if let (0, Some(slabs), Some(wanted)) = (axis, slabs, wanted) {
                (low, high) = (wanted.start / slabs, wanted.end.div_ceil(slabs).min(high));
            }
            for number in cut.tiles_between(origin.saturating_add(low), origin.saturating_add(high)) {
                let (Some(tile), stride) = (output.axis_tile(result, axis, number), stride.unwrap_or(0))
                else {
                    return;
                };
                let part = part_along(&tile, cut.step(), stride);
                hits.push(Hit { within: tile.chunk - origin, number, part });
            }
            let tile_count = cut.tile_count();
            axes.push(HitAxis { hits: first_hit..hits.len(), extent: *extent, tile_count, slabs });
        }
    }

    /// Sorts by chunk.
    fn sort(&mut self) {
        let Placements { sorted, spare, starts, .. } = self;
        if sorted.is_sorted_by_key(|placement| placement.chunk) {
            return;
        }
        let chunks = sorted.iter().map(|placement| placement.chunk);
        let (low, high) = (chunks.clone().min().unwrap_or(0), chunks.max().unwrap_or(0));
        let span = usize::try_from(high - low).unwrap_or(usize::MAX);
        if COUNTED_SPAN_MAX.saturating_mul(sorted.len()) < span {
            return sorted.sort_unstable_by_key(|placement| placement.chunk);
        }
        let place = |placement: &Placement| usize::try_from(placement.chunk - low).unwrap_or(usize::MAX);
        starts.clear();
        starts.resize(span + 2, 0);
        for placement in &*sorted {
            starts[place(placement) + 1] += 1;
        }
        let mut start = 0;
        for slot in &mut *starts {
            start += *slot;
            *slot = start;
        }
        spare.clone_from(sorted);
        for placement in &*spare {
            let start = &mut starts[place(placement)];
            sorted[*start as usize] = *placement;
            *start += 1;
        }
    }
}

/// Places for each placement up to which counting is faster than comparing.
const COUNTED_SPAN_MAX: usize = 16;

/// The bytes of a stored chunk along one axis, from the first element of a tile to the start of the last.
#[inline]
fn part_along(tile: &AxisTile, step: i64, stride: u64) -> [u32; 2] {
    let reach = (tile.count - 1).saturating_mul(step.unsigned_abs());
    let first = if step < 0 { tile.source_start.saturating_sub(reach) } else { tile.source_start };
    // Chunks that are read in part have fewer bytes than 32 bits count.
    let bytes = |elements: u64| u32::try_from(elements.saturating_mul(stride)).unwrap_or(u32::MAX);
    [bytes(first), bytes(first.saturating_add(reach))]
}

/// The nested walk over the tiles of one result in one object.
struct Walk<'a> {
    hits: &'a [Hit],
    axes: &'a [HitAxis],
    /// The slabs that are wanted.
    slabs: Range<u64>,
    result: u32,
    placements: &'a mut Vec<Placement>,
}

/// Row-major numbers along the axes so far.
#[derive(Clone, Copy)]
struct SoFar {
    chunk: u64,
    tile: u64,
    slab: u64,
    part: [u32; 2],
}

impl SoFar {
    #[inline]
    fn with(self, hit: &Hit, axis: &HitAxis) -> SoFar {
        SoFar {
            chunk: self.chunk * axis.extent + hit.within,
            tile: self.tile * axis.tile_count + hit.number,
            slab: self.slab.saturating_mul(axis.extent).saturating_add(hit.within),
            part: [self.part[0].saturating_add(hit.part[0]), self.part[1].saturating_add(hit.part[1])],
        }
    }
}

impl Walk<'_> {
    /// Walks the tiles of `axis` and those within.
    fn axis(&mut self, axis: usize, so_far: SoFar) {
        let Some(here) = self.axes.get(axis) else { return self.add(so_far) };
        let mut hits = &self.hits[here.hits.clone()];
        if let Some(slabs) = here.slabs {
            let before = so_far.slab.saturating_mul(here.extent);
            let low = (self.slabs.start / slabs).saturating_sub(before);
            let high = self.slabs.end.div_ceil(slabs).saturating_sub(before);
            hits = between(hits, low, high);
        }
        let is_last = axis + 1 == self.axes.len();
        for hit in hits {
            let next = so_far.with(hit, here);
            if is_last { self.add(next) } else { self.axis(axis + 1, next) }
        }
    }

    #[inline]
    fn add(&mut self, SoFar { chunk, tile, part, .. }: SoFar) {
        self.placements.push(Placement { chunk, tile, result: self.result, part });
    }
}

/// Those of one axis's tiles whose chunks lie in `low..high`. Chunks ascend along an axis, or descend.
fn between(hits: &[Hit], low: u64, high: u64) -> &[Hit] {
    let descends = matches!(hits, [first, .., last] if last.within < first.within);
    let (start, end) = if descends {
        (hits.partition_point(|hit| high <= hit.within), hits.partition_point(|hit| low <= hit.within))
    } else {
        (hits.partition_point(|hit| hit.within < low), hits.partition_point(|hit| hit.within < high))
    };
    &hits[start..end.max(start)]
}
