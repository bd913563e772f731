//! Which results touch which stored object, and how objects are cut into windows. Pure.

use crate::Error;
use crate::compiled::Compiled;
use crate::projection::{AxisRun, group_axis};
use crate::raveling::{cell_count, ravel, unravel};
use swath_codecs::Output;

/// The stored objects that a batch touches, each with the results that want something of it.
#[derive(Debug)]
pub(crate) struct Groups {
    rank: usize,
    runs: Vec<AxisRun>,
    /// For each axis of each result, where its runs start; one more at the end.
    run_starts: Vec<usize>,
    /// Sorted by object.
    members: Vec<Member>,
    /// For each object, its first member; one more at the end.
    member_starts: Vec<usize>,
    /// For each object, its first window; one more at the end.
    window_starts: Vec<u64>,
    /// For each object, the first slab that is wanted of it.
    first_slabs: Vec<u64>,
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

impl Groups {
    /// Groups the results of `output` by object.
    pub(crate) fn new(output: &Output<'_>, compiled: &Compiled) -> Result<Groups, Error> {
        let rank = compiled.objects.len();
        if cell_count(&compiled.objects).is_none() {
            return Err(Error::unsupported("an array of more than 2^64 stored objects"));
        }
        let mut groups = Groups {
            rank,
            runs: Vec::new(),
            run_starts: vec![0],
            members: Vec::new(),
            member_starts: Vec::new(),
            window_starts: vec![0],
            first_slabs: Vec::new(),
        };
        for result in 0..output.result_count() {
            for axis in 0..rank {
                group_axis(
                    output.axis_tiles(result, axis),
                    compiled.chunks_per_object[axis],
                    &mut groups.runs,
                );
                groups.run_starts.push(groups.runs.len());
            }
            groups.add_members(result, &compiled.objects);
        }
        if !groups.members.is_sorted() {
            groups.members.sort_unstable();
        }
        groups.cut(output, compiled);
        Ok(groups)
    }

    /// Notes every object that a result touches.
    fn add_members(&mut self, result: usize, objects: &[u64]) {
        let lengths: Vec<usize> = (0..self.rank).map(|axis| self.axis_runs(result, axis).len()).collect();
        if lengths.contains(&0) {
            return;
        }
        let mut positions = vec![0; self.rank];
        loop {
            let coordinates =
                positions.iter().enumerate().map(|(axis, at)| self.axis_runs(result, axis)[*at].object);
            let object = ravel(coordinates, objects);
            self.members.push(Member { object, result });
            if !advance(&mut positions, &lengths) {
                return;
            }
        }
    }

    /// Cuts each object's wanted slabs into windows.
    fn cut(&mut self, output: &Output<'_>, compiled: &Compiled) {
        let mut start = 0;
        let mut windows = 0;
        while start < self.members.len() {
            let object = self.members[start].object;
            let len = self.members[start..].iter().take_while(|member| member.object == object).count();
            let (mut low, mut high) = (u64::MAX, 0);
            for member in &self.members[start..start + len] {
                let (first, last) = self.slabs_of(*member, output, compiled);
                low = low.min(first);
                high = high.max(last);
            }
            self.member_starts.push(start);
            self.first_slabs.push(low);
            windows += (high - low + 1).div_ceil(compiled.slabs_per_window);
            self.window_starts.push(windows);
            start += len;
        }
        self.member_starts.push(start);
    }

    /// The first and the last slab that a member wants.
    fn slabs_of(&self, member: Member, output: &Output<'_>, compiled: &Compiled) -> (u64, u64) {
        let extents = compiled.slab_extents();
        let ends = |pick: fn(u64, u64) -> u64| {
            let coordinates = extents.iter().enumerate().map(|(axis, extent)| {
                let Some(run) = self.run_of(member, axis, &compiled.objects) else { return 0 };
                let tiles = output.axis_tiles(member.result, axis);
                let (first, last) = (tiles[run.first_tile], tiles[run.first_tile + run.tile_count - 1]);
                pick(first.chunk % extent, last.chunk % extent)
            });
            ravel(coordinates, extents)
        };
        (ends(u64::min), ends(u64::max))
    }

    fn axis_runs(&self, result: usize, axis: usize) -> &[AxisRun] {
        let at = result * self.rank + axis;
        &self.runs[self.run_starts[at]..self.run_starts[at + 1]]
    }

    /// The tiles of one axis of a member's result that lie in the member's object.
    pub(crate) fn run_of(&self, member: Member, axis: usize, objects: &[u64]) -> Option<AxisRun> {
        let inner: u64 = objects[axis + 1..].iter().product();
        let coordinate = member.object / inner.max(1) % objects[axis].max(1);
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
        self.window_starts.last().copied().unwrap_or(0)
    }

    /// The window of this number.
    pub(crate) fn place(&self, window: u64, compiled: &Compiled) -> Option<Place> {
        let group = self.window_starts.partition_point(|start| *start <= window).checked_sub(1)?;
        let member = self.members.get(*self.member_starts.get(group)?)?;
        let part = window - self.window_starts[group];
        let slab_start = self.first_slabs.get(group)? + part * compiled.slabs_per_window;
        Some(Place {
            group,
            object: member.object,
            slab_start,
            slab_end: slab_start + compiled.slabs_per_window,
        })
    }

    /// Windows of the same object as this one.
    pub(crate) fn windows_of(&self, group: usize) -> u64 {
        match (self.window_starts.get(group), self.window_starts.get(group + 1)) {
            (Some(start), Some(end)) => end - start,
            _ => 0,
        }
    }

    /// The results that want chunks of an object.
    pub(crate) fn members(&self, group: usize) -> &[Member] {
        match (self.member_starts.get(group), self.member_starts.get(group + 1)) {
            (Some(start), Some(end)) => &self.members[*start..*end],
            _ => &[],
        }
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
