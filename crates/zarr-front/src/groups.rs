//! Which results touch which stored object, and how objects are cut into windows. Pure.

use crate::Error;
use crate::compiled::Compiled;
use crate::projection::{AxisRun, group_axis};
use crate::raveling::{cell_count, ravel, unravel};
use crate::slabs::Slabs;
use swath_codecs::Output;

/// The stored objects that a batch touches, each with the results that want something of it.
///
/// 16 bytes for an object that one result wants; where objects take several windows, 8 more, and 8 for each window.
#[derive(Debug)]
pub(crate) struct Groups {
    rank: usize,
    pub(crate) slabs: Slabs,
    runs: Vec<AxisRun>,
    /// For each axis of each result, where its runs start; one more at the end.
    run_starts: Vec<usize>,
    /// For each group its object's row-major number, ascending.
    objects: Vec<u64>,
    /// The results of all groups, one group behind the other.
    results: Vec<u32>,
    /// For each group, its first result; one more at the end.
    result_starts: Vec<u32>,
    /// By how much the number of an object grows along each axis.
    object_strides: Vec<u64>,
    /// For each group its first window; one more at the end. Empty where no object has more slabs than a window.
    window_starts: Vec<usize>,
    /// The first slab of each window, of those windows of which something is wanted.
    windows: Vec<u64>,
}

/// One result that wants chunks of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    /// The object's row-major number.
    pub(crate) object: u64,
    /// The result's number.
    pub(crate) result: usize,
}

/// A window: some slabs of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which of the batch's objects.
    pub(crate) group: usize,
    /// The object's row-major number.
    pub(crate) object: u64,
    /// The first slab.
    pub(crate) slab_start: u64,
    /// The slab after the last.
    pub(crate) slab_end: u64,
}

/// Stored objects of one read at most, counted once for each selection that wants them: their plan takes 2 GiB.
const OBJECTS_MAX: usize = 1 << 26;

impl Groups {
    /// Groups the results of `output` by object; a window holds at most `reads_max` chunks.
    pub(crate) fn new(output: &Output<'_>, compiled: &Compiled, reads_max: u64) -> Result<Groups, Error> {
        let rank = compiled.objects.len();
        if cell_count(&compiled.objects).is_none() {
            return Err(Error::unsupported("an array of more than 2^64 stored objects"));
        }
        let mut object_strides = vec![1u64; rank];
        for axis in (1..rank).rev() {
            object_strides[axis - 1] = object_strides[axis].saturating_mul(compiled.objects[axis]);
        }
        let mut groups = Groups {
            rank,
            slabs: Slabs::new(&compiled.chunks_per_object, reads_max),
            runs: Vec::new(),
            run_starts: vec![0],
            objects: Vec::new(),
            results: Vec::new(),
            result_starts: Vec::new(),
            object_strides,
            window_starts: Vec::new(),
            windows: Vec::new(),
        };
        let mut members: Vec<(u64, u32)> = Vec::new();
        for result in 0..output.result_count() {
            for axis in 0..rank {
                group_axis(
                    output.axis_tiles(result, axis),
                    compiled.chunks_per_object[axis],
                    &mut groups.runs,
                );
                groups.run_starts.push(groups.runs.len());
            }
            groups.add_members(result, &compiled.objects, &mut members)?;
        }
        if !members.is_sorted() {
            members.sort_unstable();
        }
        for (number, (object, result)) in (0u32..).zip(&members) {
            if groups.objects.last() != Some(object) {
                groups.objects.push(*object);
                groups.result_starts.push(number);
            }
            groups.results.push(*result);
        }
        groups.result_starts.push(u32::try_from(members.len()).unwrap_or(u32::MAX));
        drop(members);
        groups.cut(output, compiled);
        Ok(groups)
    }

    /// Notes every object that a result touches.
    fn add_members(
        &self,
        result: usize,
        objects: &[u64],
        members: &mut Vec<(u64, u32)>,
    ) -> Result<(), Error> {
        let lengths: Vec<usize> = (0..self.rank).map(|axis| self.axis_runs(result, axis).len()).collect();
        if lengths.contains(&0) {
            return Ok(());
        }
        let count = lengths.iter().try_fold(1usize, |count, length| count.checked_mul(*length));
        let too_many = || {
            Error::unsupported(format!(
                "a read that touches more than {OBJECTS_MAX} stored objects: read it in parts"
            ))
        };
        let count = count.filter(|count| *count <= OBJECTS_MAX - members.len());
        members.reserve(count.ok_or_else(too_many)?);
        let result_number = u32::try_from(result).map_err(|_| too_many())?;
        let mut positions = vec![0; self.rank];
        loop {
            let coordinates =
                positions.iter().enumerate().map(|(axis, at)| self.axis_runs(result, axis)[*at].object);
            members.push((ravel(coordinates, objects), result_number));
            if !advance(&mut positions, &lengths) {
                return Ok(());
            }
        }
    }

    /// Cuts each object's wanted slabs into windows.
    fn cut(&mut self, output: &Output<'_>, compiled: &Compiled) {
        let extents = self.slabs.extents(&compiled.chunks_per_object);
        if cell_count(extents).is_some_and(|slabs| slabs <= self.slabs.per_window) {
            return;
        }
        let (mut starts, mut windows) = (Vec::with_capacity(self.objects.len() + 1), Vec::new());
        let mut wanted = Vec::new();
        for group in 0..self.objects.len() {
            starts.push(windows.len());
            wanted.clear();
            for member in self.members(group) {
                self.add_windows(member, output, extents, 0, &mut wanted);
            }
            wanted.sort_unstable();
            wanted.dedup();
            windows.extend(wanted.iter().map(|window| window * self.slabs.per_window));
        }
        starts.push(windows.len());
        (self.window_starts, self.windows) = (starts, windows);
    }

    /// Notes the windows of its object that a member wants something of, by number within the object. `extents` are
    /// those of the axes that are left, and `slab` is the row-major number so far.
    fn add_windows(
        &self,
        member: Member,
        output: &Output<'_>,
        extents: &[u64],
        slab: u64,
        wanted: &mut Vec<u64>,
    ) {
        let [extent, inner @ ..] = extents else {
            let window = slab / self.slabs.per_window;
            if wanted.last() != Some(&window) {
                wanted.push(window);
            }
            return;
        };
        let axis = self.slabs.axes - extents.len();
        let Some(run) = self.run_of(member, axis) else { return };
        for tile in &output.axis_tiles(member.result, axis)[run.first_tile..][..run.tile_count] {
            self.add_windows(member, output, inner, slab * extent + tile.chunk % extent, wanted);
        }
    }

    fn axis_runs(&self, result: usize, axis: usize) -> &[AxisRun] {
        let at = result * self.rank + axis;
        &self.runs[self.run_starts[at]..self.run_starts[at + 1]]
    }

    /// The tiles of one axis of a member's result that lie in the member's object.
    pub(crate) fn run_of(&self, member: Member, axis: usize) -> Option<AxisRun> {
        let outer = if axis == 0 { u64::MAX } else { self.object_strides[axis - 1] };
        let coordinate = member.object % outer / self.object_strides[axis];
        let runs = self.axis_runs(member.result, axis);
        let (first, last) = (runs.first()?.object, runs.last()?.object);
        // Runs without a gap are found by their distance; steps longer than an object leave gaps.
        let distance = usize::try_from(first.abs_diff(coordinate)).ok()?;
        if let Some(run) = runs.get(distance)
            && run.object == coordinate
        {
            return Some(*run);
        }
        let found = if first <= last {
            runs.binary_search_by(|run| run.object.cmp(&coordinate))
        } else {
            runs.binary_search_by(|run| coordinate.cmp(&run.object))
        };
        found.ok().map(|at| runs[at])
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
            (window, 0)
        } else {
            let slab_start = *self.windows.get(window)?;
            (self.window_starts.partition_point(|start| *start <= window).checked_sub(1)?, slab_start)
        };
        let object = *self.objects.get(group)?;
        Some(Place { group, object, slab_start, slab_end: slab_start.saturating_add(self.slabs.per_window) })
    }

    /// Windows of an object.
    pub(crate) fn windows_of(&self, group: usize) -> u64 {
        match (self.window_starts.get(group), self.window_starts.get(group + 1)) {
            (Some(start), Some(end)) => swath_ioengine::storage_len(end - start),
            _ => 1,
        }
    }

    /// The results that want chunks of an object.
    pub(crate) fn members(&self, group: usize) -> impl Iterator<Item = Member> {
        let results = match (self.result_starts.get(group), self.result_starts.get(group + 1)) {
            (Some(start), Some(end)) => &self.results[*start as usize..*end as usize],
            _ => &[],
        };
        let object = self.objects.get(group).copied().unwrap_or(0);
        results.iter().map(move |result| Member { object, result: *result as usize })
    }

    /// An object's coordinates.
    pub(crate) fn coordinates(&self, object: u64, objects: &[u64]) -> Vec<u64> {
        let mut coordinates = vec![0; self.rank];
        unravel(object, objects, &mut coordinates);
        coordinates
    }
}

/// Steps an odometer, last digit first. False when it has come round.
fn advance(positions: &mut [usize], lengths: &[usize]) -> bool {
    for (position, length) in positions.iter_mut().zip(lengths).rev() {
        *position += 1;
        if *position < *length {
            return true;
        }
        *position = 0;
    }
    false
}
