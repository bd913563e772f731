//! Which results touch which stored object, and how objects are cut into windows. Pure.

use crate::Error;
use crate::axis_cut::AxisCut;
use crate::compiled::Compiled;
use crate::counting_sort::{SortMemory, sort_by_number};
use crate::point_placement::{add_points, chunks_of};
use crate::raveling::{cell_count, unravel};
use crate::slabs::Slabs;
use crate::stretches::Stretch;
use std::ops::Range;
use swath_codecs::{CutAxis, CutView, Output};

/// The stored objects that a batch touches, each with the results that want something of it.
///
/// 16 bytes for an object that one result wants; where objects take several windows, 4 more, and 8 for each window.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) slabs: Slabs,
    /// For each group its object's row-major number, ascending.
    objects: Vec<u64>,
    /// The results of all groups, one group behind the other.
    results: Vec<u32>,
    /// For each group, its first result; one more at the end.
    result_starts: Vec<u32>,
    /// For each group its first window; one more at the end. Empty where every object is one window.
    window_starts: Vec<u32>,
    /// The first slab of each window, of those windows of which something is wanted; [`WHOLE`] for a whole object, and what
    /// is less than that by its number for a stretch of one.
    windows: Vec<u64>,
}

/// One result that wants chunks of one object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The object's row-major number.
    pub(crate) object: u64,
    /// The result's number.
    pub(crate) result: u32,
    /// Tiles of the result that lie in the object, as far as 32 bits count.
    pub(crate) tiles: u32,
}

/// A window: some slabs of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which of the batch's objects.
    pub(crate) group: usize,
    /// The object's row-major number.
    pub(crate) object: u64,
    /// The slabs; `None` for all.
    pub(crate) slabs: Option<Range<u64>>,
    /// The stretch of what is wanted of the object; `None` for all.
    pub(crate) stretch: Option<Stretch>,
}

/// Stands for all slabs of an object.
const WHOLE: u64 = u64::MAX;

/// Stretches of one object are fewer: at most as many as lanes. No slab that is wanted has a number as large as those left.
const STRETCHES_MAX: u64 = 1 << 16;

/// Stored objects of one read at most, counted once for each selection that wants them: their plan takes 2 GiB.
const OBJECTS_MAX: usize = 1 << 26;

impl Groups {
    /// Groups the results of `output` by object, whose chunks go into windows by `slabs`.
    pub(crate) fn new(output: &Output<'_>, compiled: &Compiled, slabs: Slabs) -> Result<Groups, Error> {
        if cell_count(&compiled.objects).is_none() {
            return Err(Error::unsupported("an array of more than 2^64 stored objects"));
        }
        let mut members: Vec<Member> = Vec::with_capacity(output.result_count());
        let has_picks = output.has_picks();
        for result in 0..output.result_count() {
            if output.axes(result).any(|cut| cut.count() == 0) {
                continue;
            }
            let result = u32::try_from(result).map_err(|_| too_many())?;
            let none = Member { object: 0, result, tiles: 1 };
            if has_picks {
                if !add_points(output, compiled, &mut members, result)? {
                    add_members::<CutView<'_>>(output, compiled, &mut members, none, 0)?;
                }
                continue;
            }
            if let Some(member) = only_member(output, compiled, result) {
                members.push(member);
                continue;
            }
            add_members::<&CutAxis>(output, compiled, &mut members, none, 0)?;
        }
        // Those of one object stay in the order of results.
        sort_by_number(&mut members, &mut SortMemory::default(), |member| member.object);
        let mut groups = Groups {
            slabs,
            objects: Vec::new(),
            results: Vec::with_capacity(members.len()),
            result_starts: Vec::new(),
            window_starts: Vec::new(),
            windows: Vec::new(),
        };
        let mut tile_counts: Vec<u64> = Vec::new();
        for (number, member) in (0u32..).zip(&members) {
            if groups.objects.last() != Some(&member.object) {
                groups.objects.push(member.object);
                groups.result_starts.push(number);
                tile_counts.push(0);
            }
            if let Some(tiles) = tile_counts.last_mut() {
                *tiles += u64::from(member.tiles);
            }
            groups.results.push(member.result);
        }
        groups.result_starts.push(u32::try_from(members.len()).unwrap_or(u32::MAX));
        drop(members);
        groups.cut(output, compiled, &tile_counts);
        Ok(groups)
    }

    /// Cuts each object's wanted slabs into windows, where one window would be too large.
    fn cut(&mut self, output: &Output<'_>, compiled: &Compiled, tile_counts: &[u64]) {
        let slabs = cell_count(self.slabs.extents(&compiled.chunks_per_object));
        let is_one_window = slabs.is_some_and(|slabs| slabs <= self.slabs.per_window);
        let are_whole = is_one_window || tile_counts.iter().all(|tiles| *tiles <= self.slabs.window_tiles);
        let stretches = self.slabs.stretches.map(|stretches| (stretches, stretches.bytes(tile_counts)));
        let stretches = |tiles| stretches.map_or(1, |(stretches, bytes)| stretches.count(tiles, bytes));
        let are_cut =
            self.slabs.stretches.is_some() && tile_counts.iter().any(|tiles| stretches(*tiles) != 1);
        if are_whole && !are_cut {
            return;
        }
        let mut origin = vec![0; compiled.objects.len()];
        let mut wanted = Vec::new();
        for (group, tiles) in tile_counts.iter().enumerate() {
            self.window_starts.push(window_number(self.windows.len()));
            if is_one_window || *tiles <= self.slabs.window_tiles {
                self.windows.extend((0..stretches(*tiles)).map(|number| WHOLE - number));
                continue;
            }
            compiled.object_origin(self.objects[group], &mut origin);
            wanted.clear();
            for result in self.members(group) {
                let walk = SlabWalk { output, compiled, slabs: &self.slabs, origin: &origin, result };
                if !output.has_picks() {
                    walk.axis::<&CutAxis>(0, 0, &mut wanted);
                } else if let Some(points) = output.points(result) {
                    let slab_chunks = self.slabs.chunks(&compiled.chunks_per_object);
                    for chunk in chunks_of(points, self.objects[group], compiled) {
                        walk.note(chunk / slab_chunks.max(1), &mut wanted);
                    }
                } else {
                    walk.axis::<CutView<'_>>(0, 0, &mut wanted);
                }
            }
            wanted.sort_unstable();
            wanted.dedup();
            self.windows.extend(wanted.iter().map(|window| window * self.slabs.per_window));
        }
        self.window_starts.push(window_number(self.windows.len()));
    }

    /// Windows of the batch.
    pub(crate) fn window_count(&self) -> u64 {
        let count = if self.window_starts.is_empty() { self.objects.len() } else { self.windows.len() };
        swath_ioengine::storage_len(count)
    }

    /// The window of this number.
    pub(crate) fn place(&self, window: u64) -> Option<Place> {
        let window = usize::try_from(window).ok()?;
        let (group, slab_start) = if self.window_starts.is_empty() {
            (window, WHOLE)
        } else {
            let starts = &self.window_starts;
            let group = starts.partition_point(|start| *start as usize <= window).checked_sub(1)?;
            (group, *self.windows.get(window)?)
        };
        let object = *self.objects.get(group)?;
        let (number, count) = (WHOLE - slab_start, self.windows_of(group));
        if number < STRETCHES_MAX {
            let stretch = (1 < count).then_some(Stretch { number, count });
            return Some(Place { group, object, slabs: None, stretch });
        }
        let slabs = slab_start..slab_start.saturating_add(self.slabs.per_window);
        Some(Place { group, object, slabs: Some(slabs), stretch: None })
    }

    /// Windows of an object.
    pub(crate) fn windows_of(&self, group: usize) -> u64 {
        match (self.window_starts.get(group), self.window_starts.get(group + 1)) {
            (Some(start), Some(end)) => u64::from(end - start),
            _ => 1,
        }
    }

    /// Each group's object, by row-major number, ascending.
    pub(crate) fn objects(&self) -> &[u64] {
        &self.objects
    }

    /// The results that want chunks of an object.
    pub(crate) fn members(&self, group: usize) -> impl Iterator<Item = usize> {
        let results = match (self.result_starts.get(group), self.result_starts.get(group + 1)) {
            (Some(start), Some(end)) => &self.results[*start as usize..*end as usize],
            _ => &[],
        };
        results.iter().map(|result| *result as usize)
    }

    /// An object's coordinates.
    pub(crate) fn coordinates(&self, object: u64, objects: &[u64]) -> Vec<u64> {
        let mut coordinates = vec![0; objects.len()];
        unravel(object, objects, &mut coordinates);
        coordinates
    }
}

/// The one member of a result that lies in one object, as most crops do.
#[inline]
fn only_member(output: &Output<'_>, compiled: &Compiled, result: u32) -> Option<Member> {
    let mut only = Member { object: 0, result, tiles: 1 };
    let grid = compiled.chunks_per_object.iter().zip(&compiled.objects);
    for ((extent, objects), cut) in grid.zip(output.axes(result as usize)) {
        let extent = (*extent).max(1);
        let (first, last) = (cut.chunk(0), cut.chunk(cut.tile_count() - 1));
        let object = first / extent;
        if extent <= last.abs_diff(object * extent) || last < object * extent {
            return None;
        }
        only.object = only.object * objects + object;
        only.tiles = only.tiles.saturating_mul(u32::try_from(cut.tile_count()).unwrap_or(u32::MAX));
    }
    Some(only)
}

/// Notes every object that a result touches. `so_far` holds the number of the object, and the tiles, along the axes
/// before `axis`.
fn add_members<'o, C: AxisCut<'o>>(
    output: &'o Output<'_>,
    compiled: &Compiled,
    members: &mut Vec<Member>,
    so_far: Member,
    axis: usize,
) -> Result<(), Error> {
    let Some(extent) = compiled.chunks_per_object.get(axis).map(|extent| (*extent).max(1)) else {
        return add(members, so_far);
    };
    let Some(cut) = C::of(output, so_far.result as usize, axis) else { return Ok(()) };
    let mut number = 0;
    while number < cut.tile_count() {
        let object = cut.chunk(number) / extent;
        let tiles = tiles_of(cut, object, extent);
        let count = u32::try_from(tiles.end - tiles.start).unwrap_or(u32::MAX);
        let member = Member {
            object: so_far.object * compiled.objects[axis] + object,
            tiles: so_far.tiles.saturating_mul(count),
            ..so_far
        };
        add_members::<C>(output, compiled, members, member, axis + 1)?;
        number = tiles.end.max(number + 1);
    }
    Ok(())
}

/// The tiles of an axis that lie in the object at a coordinate, of `extent` chunks along the axis.
fn tiles_of<'o>(cut: impl AxisCut<'o>, object: u64, extent: u64) -> Range<u64> {
    let start = object.saturating_mul(extent);
    cut.tiles_between(start, start.saturating_add(extent))
}

/// Notes an object that a result touches.
pub(crate) fn add(members: &mut Vec<Member>, member: Member) -> Result<(), Error> {
    if OBJECTS_MAX <= members.len() {
        return Err(too_many());
    }
    members.push(member);
    Ok(())
}

fn too_many() -> Error {
    Error::unsupported(format!(
        "a read that touches more than {OBJECTS_MAX} stored objects: read it in parts"
    ))
}

fn window_number(count: usize) -> u32 {
    // Windows are fewer than the tiles of `OBJECTS_MAX` objects that need several; far fewer, where memory holds them.
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The nested walk over the slabs that one result wants of one object.
struct SlabWalk<'a> {
    output: &'a Output<'a>,
    compiled: &'a Compiled,
    slabs: &'a Slabs,
    /// The object's first chunk along each axis.
    origin: &'a [u64],
    result: usize,
}

impl<'a> SlabWalk<'a> {
    /// Notes the windows that something is wanted of, by number within the object. `slab` is the row-major number of the
    /// slab so far.
    fn axis<C: AxisCut<'a>>(&self, axis: usize, slab: u64, wanted: &mut Vec<u64>) {
        if axis == self.slabs.axes {
            return self.note(slab, wanted);
        }
        let (origin, extent) = (self.origin[axis], self.compiled.chunks_per_object[axis]);
        let Some(cut) = C::of(self.output, self.result, axis) else { return };
        for number in cut.tiles_between(origin, origin.saturating_add(extent)) {
            self.axis::<C>(axis + 1, slab * extent + (cut.chunk(number) - origin), wanted);
        }
    }

    /// Notes the window that a slab is in.
    fn note(&self, slab: u64, wanted: &mut Vec<u64>) {
        let window = slab / self.slabs.per_window;
        if wanted.last() != Some(&window) {
            wanted.push(window);
        }
    }
}
