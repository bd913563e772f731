//! Where a selection and a chunk meet, and the nests of rows that are copied there.

use protocol::{Failure, Refused};
use std::collections::HashMap;

/// Where a selection meets one unit along one axis, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    /// The unit's number along the axis.
    pub(crate) unit: u64,
    /// The first element within the unit.
    pub(crate) source: u64,
    /// The first element within the selection.
    pub(crate) target: u64,
    pub(crate) count: u64,
}

/// Cuts `start..start + count` where units of `extent` elements meet.
pub(crate) fn axis_tiles(start: u64, count: u64, extent: u64) -> Vec<Tile> {
    let end = start + count;
    let units = if count == 0 { 0..0 } else { start / extent..(end - 1) / extent + 1 };
    let tile = |unit: u64| {
        let (first, last) = ((unit * extent).max(start), ((unit + 1) * extent).min(end));
        Tile { unit, source: first - unit * extent, target: first - start, count: last - first }
    };
    units.map(tile).collect()
}

/// Runs of bytes within three loops, from a chunk to the output; loops that are not needed go round once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Nest {
    pub(crate) run_bytes: usize,
    /// Outermost first.
    pub(crate) loops: [Loop; 3],
}

/// One loop of a nest; strides are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Loop {
    pub(crate) count: usize,
    pub(crate) source_stride: usize,
    pub(crate) target_stride: usize,
}

impl Default for Loop {
    fn default() -> Loop {
        Loop { count: 1, source_stride: 0, target_stride: 0 }
    }
}

impl Nest {
    /// Whether it is one run.
    pub(crate) fn is_run(&self) -> bool {
        self.loops.iter().all(|one| one.count == 1)
    }

    /// Merges loops that go on where the run ends.
    fn new(tiles: &[Tile], unit: &[u64], extents: &[u64], item_bytes: usize) -> Option<Nest> {
        let mut nest = Nest { run_bytes: item_bytes, loops: [Loop::default(); 3] };
        let mut free = nest.loops.len();
        let (mut source_stride, mut target_stride) = (item_bytes, item_bytes);
        for (axis, tile) in tiles.iter().enumerate().rev() {
            let count = tile.count as usize;
            let is_run_so_far =
                nest.is_run() && source_stride == nest.run_bytes && target_stride == nest.run_bytes;
            if is_run_so_far {
                nest.run_bytes *= count;
            } else if 1 < count {
                free = free.checked_sub(1)?;
                nest.loops[free] = Loop { count, source_stride, target_stride };
            }
            source_stride *= unit[axis] as usize;
            target_stride *= extents[axis] as usize;
        }
        Some(nest)
    }
}

/// The distinct nests of a plan; there are few.
#[derive(Default)]
pub(crate) struct Nests {
    numbers: HashMap<Nest, u32>,
    list: Vec<Nest>,
}

impl Nests {
    /// The number of the nest that copies these tiles.
    pub(crate) fn number(
        &mut self,
        tiles: &[Tile],
        unit: &[u64],
        extents: &[u64],
        item_bytes: usize,
    ) -> Result<u32, Failure> {
        let nest = Nest::new(tiles, unit, extents, item_bytes)
            .ok_or_else(|| Refused("the floor copies rows in three loops at most".to_owned()))?;
        Ok(*self.numbers.entry(nest).or_insert_with(|| {
            self.list.push(nest);
            self.list.len() as u32 - 1
        }))
    }

    /// Bytes of a chunk from the nest's first to its last.
    pub(crate) fn span(&self, number: u32) -> u32 {
        let nest = &self.list[number as usize];
        let skipped: usize = nest.loops.iter().map(|one| (one.count - 1) * one.source_stride).sum();
        (skipped + nest.run_bytes) as u32
    }

    pub(crate) fn into_list(self) -> Vec<Nest> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cut_where_units_meet() {
        let tiles = axis_tiles(5, 8, 4);
        let found: Vec<[u64; 4]> = tiles.iter().map(|t| [t.unit, t.source, t.target, t.count]).collect();
        assert_eq!(found, [[1, 1, 0, 3], [2, 0, 3, 4], [3, 0, 7, 1]]);
        assert_eq!(axis_tiles(5, 0, 4), []);
    }

    #[test]
    fn rows_that_touch_are_one_run() {
        let whole = |count| Tile { unit: 0, source: 0, target: 0, count };
        let one = Nest::new(&[whole(1), whole(3), whole(8)], &[1, 3, 8], &[5, 3, 8], 2);
        assert_eq!(one.map(|nest| (nest.run_bytes, nest.is_run())), Some((48, true)));
        let rows = Nest::new(&[whole(2), whole(3), whole(8)], &[2, 3, 8], &[2, 9, 8], 2);
        let outer = Loop { count: 2, source_stride: 48, target_stride: 144 };
        assert_eq!(rows, Some(Nest { run_bytes: 48, loops: [Loop::default(), Loop::default(), outer] }));
    }
}
