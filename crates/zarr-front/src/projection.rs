//! Selection times chunk grid: which chunk gives which elements of a result. Pure.

use crate::ResolvedAxis;
use swath_codecs::AxisTile;

/// Appends the tiles of one axis, in the order of the result: one for each chunk of `chunk_extent` elements that the
/// axis's elements lie in.
pub(crate) fn project_axis(axis: &ResolvedAxis, chunk_extent: u64, tiles: &mut Vec<AxisTile>) {
    let step = axis.step.unsigned_abs().max(1);
    let chunk_extent = chunk_extent.max(1);
    let (mut position, mut left) = (axis.start, axis.count);
    while left != 0 {
        let chunk = position / chunk_extent;
        let within = position % chunk_extent;
        // Steps that stay inside this chunk, in the direction of the axis.
        let steps = if axis.step < 0 { within / step } else { (chunk_extent - 1 - within) / step };
        let count = left.min(steps.saturating_add(1));
        tiles.push(AxisTile { chunk, source_start: within, count, target_start: 0 });
        left -= count;
        let distance = count.saturating_mul(step);
        position =
            if axis.step < 0 { position.saturating_sub(distance) } else { position.saturating_add(distance) };
    }
}

/// Consecutive tiles of one axis whose chunks lie in one stored object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AxisRun {
    /// The object's coordinate along the axis.
    pub(crate) object: u64,
    /// The first of its tiles.
    pub(crate) first_tile: usize,
    /// How many.
    pub(crate) tile_count: usize,
}

/// Appends the runs of one axis's tiles, where an object holds `chunks_per_object` chunks along it.
pub(crate) fn group_axis(tiles: &[AxisTile], chunks_per_object: u64, runs: &mut Vec<AxisRun>) {
    let first_run = runs.len();
    for (index, tile) in tiles.iter().enumerate() {
        let object = tile.chunk / chunks_per_object.max(1);
        match runs[first_run..].last_mut() {
            Some(run) if run.object == object => run.tile_count += 1,
            _ => runs.push(AxisRun { object, first_tile: index, tile_count: 1 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AxisKind, Selection};
    use proptest::prelude::*;

    fn axis(start: u64, count: u64, step: i64) -> ResolvedAxis {
        ResolvedAxis { start, count, step, kind: AxisKind::Kept }
    }

    fn tiles(axis: &ResolvedAxis, chunk_extent: u64) -> Vec<(u64, u64, u64)> {
        let mut tiles = Vec::new();
        project_axis(axis, chunk_extent, &mut tiles);
        tiles.iter().map(|tile| (tile.chunk, tile.source_start, tile.count)).collect()
    }

    #[test]
    fn forwards_backwards_and_in_steps() {
        assert_eq!(tiles(&axis(3, 6, 1), 4), [(0, 3, 1), (1, 0, 4), (2, 0, 1)]);
        assert_eq!(tiles(&axis(8, 6, -1), 4), [(2, 0, 1), (1, 3, 4), (0, 3, 1)]);
        assert_eq!(tiles(&axis(1, 4, 3), 4), [(0, 1, 1), (1, 0, 2), (2, 2, 1)]);
        assert_eq!(tiles(&axis(0, 3, 9), 4), [(0, 0, 1), (2, 1, 1), (4, 2, 1)]);
        assert_eq!(tiles(&axis(5, 0, 1), 4), []);
    }

    #[test]
    fn tiles_of_one_object_form_a_run() {
        let mut cut = Vec::new();
        project_axis(&axis(3, 20, 1), 4, &mut cut);
        let mut runs = Vec::new();
        group_axis(&cut, 3, &mut runs);
        let found: Vec<_> = runs.iter().map(|run| (run.object, run.first_tile, run.tile_count)).collect();
        assert_eq!(found, [(0, 0, 3), (1, 3, 3)]);
    }

    proptest! {
        #[test]
        fn every_element_comes_from_its_place(
            length in 1u64..60, start in -70i64..70, stop in -70i64..70, step in -7i64..8, extent in 1u64..12,
        ) {
            prop_assume!(step != 0);
            let selection: Selection = format!("{start}:{stop}:{step}").parse().unwrap();
            let resolved = selection.resolve(&[length]).unwrap().axes[0];
            let wanted: Vec<u64> = (0..resolved.count).map(|k| resolved.element(k).unwrap()).collect();
            let mut cut = Vec::new();
            project_axis(&resolved, extent, &mut cut);
            let mut found = Vec::new();
            for tile in &cut {
                for k in 0..i64::try_from(tile.count).unwrap() {
                    let within = i64::try_from(tile.source_start).unwrap() + k * resolved.step;
                    prop_assert!(0 <= within && within < i64::try_from(extent).unwrap());
                    found.push(tile.chunk * extent + u64::try_from(within).unwrap());
                }
            }
            prop_assert_eq!(found, wanted);
        }
    }
}
