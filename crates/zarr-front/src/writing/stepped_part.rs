//! What a write puts into a box of elements along one axis, at equal distances.

use super::axis_grid::AxisGrid;
use crate::ResolvedAxis;

/// Elements `number..number + count` of a selection, along one axis: they lie at `first`, `first + step`, ... of a box (an
/// array, an object, a chunk), all within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SteppedPart {
    /// The first of them, counted along the selection.
    pub(super) number: u64,
    pub(super) count: u64,
    pub(super) first: u64,
    pub(super) step: i64,
}

impl SteppedPart {
    /// All that a selection takes of an axis of the array.
    pub(super) fn new(axis: &ResolvedAxis) -> SteppedPart {
        SteppedPart { number: 0, count: axis.count, first: axis.start, step: axis.step }
    }

    /// What lies in `start..start + len` of the box, as a part of that box; `None` where nothing does.
    pub(super) fn within(&self, start: u64, len: u64) -> Option<SteppedPart> {
        let (end, stride) = (start.saturating_add(len), self.stride());
        let last = end.checked_sub(1)?;
        let is_backward = self.step < 0;
        let skipped = match is_backward {
            false => start.saturating_sub(self.first).div_ceil(stride),
            true => self.first.saturating_sub(last).div_ceil(stride),
        };
        let left = self.count.checked_sub(skipped).filter(|left| *left != 0)?;
        // An element of the selection, so that neither overflows.
        let first = match is_backward {
            false => self.first + skipped * stride,
            true => self.first - skipped * stride,
        };
        let room = match is_backward {
            false => last.checked_sub(first)? / stride,
            true => first.checked_sub(start)? / stride,
        };
        let count = left.min(room.saturating_add(1));
        Some(SteppedPart { number: self.number + skipped, count, first: first - start, step: self.step })
    }

    /// Whether every element of a box of so many is written.
    pub(super) fn covers(&self, len: u64) -> bool {
        self.count == len && (self.stride() == 1 || len == 1)
    }

    /// Objects that the part lies in; where their lengths differ, those in between as well.
    pub(super) fn object_count(&self, grid: AxisGrid<'_>) -> u64 {
        let Some(last) = self.count.checked_sub(1) else { return 0 };
        if self.skips_objects(grid) {
            return self.count;
        }
        grid.object_of(self.element(last)).abs_diff(grid.object_of(self.first)) + 1
    }

    /// The coordinate of one of those objects, and what lies in it; `None` where nothing does.
    pub(super) fn object(&self, number: u64, grid: AxisGrid<'_>) -> Option<(u64, SteppedPart)> {
        let coordinate = if self.skips_objects(grid) {
            grid.object_of(self.element(number))
        } else if self.step < 0 {
            grid.object_of(self.first).checked_sub(number)?
        } else {
            grid.object_of(self.first) + number
        };
        let elements = grid.elements(coordinate);
        Some((coordinate, self.within(elements.start, elements.end - elements.start)?))
    }

    /// Whether each element lies in an object of its own.
    fn skips_objects(&self, grid: AxisGrid<'_>) -> bool {
        matches!(grid, AxisGrid::Even(extent) if extent <= self.stride())
    }

    fn element(&self, number: u64) -> u64 {
        match self.step < 0 {
            false => self.first + number * self.stride(),
            true => self.first - number * self.stride(),
        }
    }

    fn stride(&self) -> u64 {
        self.step.unsigned_abs().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(part: &SteppedPart, start: u64) -> Vec<(u64, u64)> {
        (0..part.count).map(|number| (part.number + number, start + part.element(number))).collect()
    }

    proptest::proptest! {
        #[test]
        fn objects_have_each_element_once(first in 0u64..40, count in 0u64..20, step in -7i64..8, extent in 1u64..9) {
            let step = if step == 0 { 1 } else { step };
            let count = if step < 0 { count.min(first / step.unsigned_abs() + 1) } else { count };
            let whole = SteppedPart { number: 0, count, first, step };
            let mut found = Vec::new();
            for number in 0..whole.object_count(AxisGrid::Even(extent)) {
                let (coordinate, part) = whole.object(number, AxisGrid::Even(extent)).unwrap();
                proptest::prop_assert!(part.first < extent && part.count != 0);
                let covered = part.covers(extent);
                let distinct: std::collections::BTreeSet<u64> =
                    elements(&part, 0).into_iter().map(|(_, element)| element).collect();
                proptest::prop_assert!(distinct.iter().all(|element| *element < extent));
                proptest::prop_assert_eq!(covered, distinct.len() as u64 == extent);
                found.extend(elements(&part, coordinate * extent));
            }
            proptest::prop_assert_eq!(found, elements(&whole, 0));
        }
    }
}
