//! Which chunks of an object a window reads, and into which tiles each goes. Pure.

use crate::compiled::Compiled;
use crate::groups::{Groups, Place};
use std::ops::Range;
use swath_codecs::{CutAxis, Output};

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
        let mut walk = Walk {
            slabs: place.slabs.as_ref().map(|wanted| (groups.slabs.axes, wanted)),
            output,
            extents: &compiled.chunks_per_object,
            strides: compiled.part_strides.as_deref(),
            origin: &self.origin,
            result: 0,
            placements: &mut self.sorted,
        };
        let element = compiled.chain.layout().element.size_bytes;
        let end = u32::try_from(element).unwrap_or(u32::MAX);
        for result in groups.members(place.group) {
            walk.result = result;
            walk.axis(0, SoFar { chunk: 0, tile: 0, slab: 0, part: [0, end] });
        }
        self.sort();
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

/// The nested walk over the tiles of one result in one object.
struct Walk<'a> {
    /// The axes that slabs divide, and the slabs that are wanted, where not all are.
    slabs: Option<(usize, &'a Range<u64>)>,
    output: &'a Output<'a>,
    extents: &'a [u64],
    /// Bytes between neighbours in a stored chunk, where it can be read in part.
    strides: Option<&'a [u64]>,
    origin: &'a [u64],
    result: usize,
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

impl Walk<'_> {
    /// Walks the tiles of `axis` and those within.
    fn axis(&mut self, axis: usize, so_far: SoFar) {
        let (Some(extent), Some(origin)) = (self.extents.get(axis).copied(), self.origin.get(axis).copied())
        else {
            return self.add(so_far);
        };
        let output = self.output;
        let Some(cut) = output.axis(self.result, axis) else { return };
        let (mut low, mut high) = (0, extent);
        if let Some((axes, wanted)) = self.slabs
            && axis < axes
        {
            // Slabs below one position of this axis.
            let slabs: u64 = self.extents[axis + 1..axes].iter().product();
            low = (wanted.start / slabs).saturating_sub(so_far.slab * extent).min(extent);
            high = wanted.end.div_ceil(slabs).saturating_sub(so_far.slab * extent).min(extent);
        }
        let is_last = axis + 1 == self.extents.len();
        let tile_count = cut.tile_count();
        for number in cut.tiles_between(origin.saturating_add(low), origin.saturating_add(high)) {
            let within = cut.chunk(number) - origin;
            let next = SoFar {
                chunk: so_far.chunk * extent + within,
                tile: so_far.tile * tile_count + number,
                slab: so_far.slab.saturating_mul(extent).saturating_add(within),
                part: self.part((axis, cut), number, so_far.part),
            };
            if is_last { self.add(next) } else { self.axis(axis + 1, next) }
        }
    }

    /// Moves a part along one axis.
    #[inline]
    fn part(&self, (axis, cut): (usize, &CutAxis), number: u64, part: [u32; 2]) -> [u32; 2] {
        let Some(stride) = self.strides.and_then(|strides| strides.get(axis)) else { return part };
        let Some(tile) = self.output.axis_tile(self.result, axis, number) else { return part };
        let reach = (tile.count - 1).saturating_mul(cut.step().unsigned_abs());
        let first = if cut.step() < 0 { tile.source_start.saturating_sub(reach) } else { tile.source_start };
        // Chunks that are read in part have fewer bytes than 32 bits count.
        let bytes = |elements: u64| u32::try_from(elements.saturating_mul(*stride)).unwrap_or(u32::MAX);
        [part[0].saturating_add(bytes(first)), part[1].saturating_add(bytes(first.saturating_add(reach)))]
    }

    #[inline]
    fn add(&mut self, so_far: SoFar) {
        let SoFar { chunk, tile, part, .. } = so_far;
        let result = u32::try_from(self.result).unwrap_or(u32::MAX);
        self.placements.push(Placement { chunk, tile, result, part });
    }
}
