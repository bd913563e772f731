//! Which chunks of an object a window reads, and into which tiles each goes. Pure.

use crate::axis_cut::AxisCut;
use crate::compiled::Compiled;
use crate::counting_sort::{SortMemory, sort_by_number};
use crate::groups::{Groups, Place};
use crate::note::number;
use std::ops::Range;
use swath_codecs::{CutAxis, CutView, Output};

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
    /// A tile of picks from anywhere in a chunk.
    pub(crate) fn of_points(chunk: u64, tile: u64, result: u32, part: [u32; 2]) -> Placement {
        Placement { chunk, tile, result, part }
    }

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
    sorting: SortMemory<Placement>,
    along: Vec<Along>,
    /// The object's first chunk along each axis.
    origin: Vec<u64>,
    /// The tiles of one result that lie in the object, along one axis.
    hits: Vec<Hit>,
    /// The tiles of one result that lie in the object, over the axes so far, and with the next one.
    so_far: Vec<SoFar>,
    next: Vec<SoFar>,
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

/// Tiles over the axes so far: row-major numbers, and the bytes of a chunk.
#[derive(Clone, Copy, Debug)]
struct SoFar {
    chunk: u64,
    tile: u64,
    slab: u64,
    part: [u32; 2],
}

/// One axis, for all results.
struct Along {
    /// The object's first chunk.
    origin: u64,
    /// Chunks of an object.
    extent: u64,
    /// Bytes between neighbours in a stored chunk that can be read in part; else zero.
    stride: u64,
    /// Slabs below one position; `None` for an axis that slabs do not divide.
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

    /// Adds a placement that [`collect`](Self::collect) sorts in.
    pub(crate) fn push(&mut self, placement: Placement) {
        self.sorted.push(placement);
    }

    /// Appends the placements of another window; says where they are.
    pub(crate) fn append(&mut self, other: &Placements) -> Range<u32> {
        let start = number(self.sorted.len());
        self.sorted.extend_from_slice(&other.sorted);
        start..number(self.sorted.len())
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
        self.lay_axes(place, groups, compiled);
        self.sorted.reserve(self.count_tiles(groups.members(place.group), output));
        let element = u32::try_from(compiled.chain.layout().element.size_bytes).unwrap_or(u32::MAX);
        let slabs = place.slabs.clone().unwrap_or(0..u64::MAX);
        let has_picks = output.has_picks();
        for result in groups.members(place.group) {
            if has_picks && self.add_points(result, place, groups, output, compiled) {
                continue;
            }
            self.so_far.clear();
            self.so_far.push(SoFar { chunk: 0, tile: 0, slab: 0, part: [0, element] });
            if has_picks {
                let cuts = (0..compiled.objects.len()).filter_map(|axis| CutView::of(output, result, axis));
                self.add_result(result, cuts, &slabs);
            } else {
                self.add_result(result, output.axes(result), &slabs);
            }
        }
        sort_by_number(&mut self.sorted, &mut self.sorting, |placement| placement.chunk);
    }

    /// An upper bound of the tiles that results have in the object. Also what first looks at their axes, which are in the
    /// cache of the core that laid them out: one look waits for none before it, as the walk over them would.
    fn count_tiles(&self, results: impl Iterator<Item = usize>, output: &Output<'_>) -> usize {
        if output.has_picks() {
            // Those of picks are not looked at: what is reserved is bounded all the same.
            let tiles = results.map(|result| output.tile_count(result)).fold(0, u64::saturating_add);
            return usize::try_from(tiles).unwrap_or(RESERVED_MAX).min(RESERVED_MAX);
        }
        let tiles = results.map(|result| {
            let along = |(along, cut): (&Along, &CutAxis)| {
                let tiles = cut.tiles_between(along.origin, along.origin.saturating_add(along.extent));
                tiles.end - tiles.start
            };
            let in_object =
                self.along.iter().zip(output.axes(result)).map(along).fold(1, u64::saturating_mul);
            in_object.min(output.tile_count(result))
        });
        usize::try_from(tiles.fold(0, u64::saturating_add)).unwrap_or(0).min(RESERVED_MAX)
    }

    fn lay_axes(&mut self, place: &Place, groups: &Groups, compiled: &Compiled) {
        let Placements { along, origin, .. } = self;
        origin.resize(compiled.objects.len(), 0);
        compiled.object_origin(place.object, origin);
        let slab_axes = if place.slabs.is_some() { groups.slabs.axes } else { 0 };
        let extents = &compiled.chunks_per_object;
        along.clear();
        along.extend(origin.iter().zip(extents).enumerate().map(|(axis, (origin, extent))| {
            let stride = compiled.part_strides.as_ref().and_then(|strides| strides.get(axis)).copied();
            let slabs = (axis < slab_axes).then(|| extents[axis + 1..slab_axes].iter().product::<u64>());
            Along { origin: *origin, extent: *extent, stride: stride.unwrap_or(0), slabs }
        }));
    }

    /// Adds the tiles of a result that lie in the object and the wanted slabs, axis by axis.
    fn add_result<'o, C: AxisCut<'o>>(
        &mut self,
        result: usize,
        cuts: impl Iterator<Item = C>,
        wanted: &Range<u64>,
    ) {
        let Placements { sorted, hits, so_far, next, along, .. } = self;
        let number = u32::try_from(result).unwrap_or(u32::MAX);
        let last = along.len().saturating_sub(1);
        for (axis, (along, cut)) in along.iter().zip(cuts).enumerate() {
            along.find(axis, cut, wanted, hits);
            let tile_count = cut.tile_count();
            next.clear();
            for before in &*so_far {
                let hits = along.within(hits, before, wanted).iter();
                let with = |hit: &Hit| before.with(hit, along, tile_count);
                if axis == last {
                    sorted.extend(hits.map(|hit| with(hit).placement(number)));
                } else {
                    next.extend(hits.map(with));
                }
            }
            std::mem::swap(so_far, next);
        }
        if along.is_empty() {
            sorted.extend(so_far.iter().map(|all| all.placement(number)));
        }
    }
}

impl Along {
    /// Finds the tiles along the axis that lie in the object and, as far as the first axis tells, in the wanted slabs.
    #[inline]
    fn find<'o>(&self, axis: usize, cut: impl AxisCut<'o>, wanted: &Range<u64>, hits: &mut Vec<Hit>) {
        let (mut low, mut high) = (0, self.extent);
        if let (0, Some(slabs)) = (axis, self.slabs) {
            (low, high) = (wanted.start / slabs, wanted.end.div_ceil(slabs).min(high));
        }
        let tiles = cut.tiles_between(self.origin.saturating_add(low), self.origin.saturating_add(high));
        hits.clear();
        hits.extend(tiles.map(|number| {
            let (chunk, part) = cut.chunk_part(number, self.stride);
            Hit { within: chunk - self.origin, number, part }
        }));
    }

    /// Those of the axis's tiles that lie in the wanted slabs, behind a place along the axes before it.
    #[inline]
    fn within<'h>(&self, hits: &'h [Hit], before: &SoFar, wanted: &Range<u64>) -> &'h [Hit] {
        let Some(slabs) = self.slabs else { return hits };
        let before = before.slab.saturating_mul(self.extent);
        let low = (wanted.start / slabs).saturating_sub(before);
        let high = wanted.end.div_ceil(slabs).saturating_sub(before);
        between(hits, low, high)
    }
}

/// Placements that memory is reserved for at once: what slabs are cut for, see [`crate::slabs`].
const RESERVED_MAX: usize = 1024;

impl SoFar {
    #[inline]
    fn with(&self, hit: &Hit, along: &Along, tile_count: u64) -> SoFar {
        SoFar {
            chunk: self.chunk * along.extent + hit.within,
            tile: self.tile * tile_count + hit.number,
            slab: match along.slabs {
                Some(_) => self.slab.saturating_mul(along.extent).saturating_add(hit.within),
                None => self.slab,
            },
            part: [self.part[0].saturating_add(hit.part[0]), self.part[1].saturating_add(hit.part[1])],
        }
    }

    #[inline]
    fn placement(self, result: u32) -> Placement {
        Placement { chunk: self.chunk, tile: self.tile, result, part: self.part }
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
