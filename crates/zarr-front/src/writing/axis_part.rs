//! What a write puts into a box of elements along one axis.

use super::axis_grid::AxisGrid;
use super::listed_part::{AxisList, ListedPart};
use super::stepped_part::SteppedPart;

/// All that a selection takes of an axis of the array.
#[derive(Debug)]
pub(super) enum WholeAxis {
    Stepped(SteppedPart),
    Listed(AxisList),
}

/// What a selection takes of an axis of a box: an object, or a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) enum AxisPart<'a> {
    Stepped(SteppedPart),
    Listed(ListedPart<'a>),
}

impl WholeAxis {
    /// Objects that the axis's elements lie in; where their lengths differ, those in between as well.
    pub(super) fn object_count(&self, grid: AxisGrid<'_>) -> u64 {
        match self {
            WholeAxis::Stepped(part) => part.object_count(grid),
            WholeAxis::Listed(list) => list.object_count(),
        }
    }

    /// The coordinate of one of those objects, and what lies in it; `None` where nothing does.
    pub(super) fn object(&self, number: u64, grid: AxisGrid<'_>) -> Option<(u64, AxisPart<'_>)> {
        match self {
            WholeAxis::Stepped(part) => {
                part.object(number, grid).map(|(coordinate, part)| (coordinate, AxisPart::Stepped(part)))
            }
            WholeAxis::Listed(list) => {
                list.object(number).map(|(coordinate, part)| (coordinate, AxisPart::Listed(part)))
            }
        }
    }
}

impl<'a> AxisPart<'a> {
    /// What lies in `start..start + len` of the box, as a part of that box; `None` where nothing does.
    pub(super) fn within(&self, start: u64, len: u64) -> Option<AxisPart<'a>> {
        match self {
            AxisPart::Stepped(part) => part.within(start, len).map(AxisPart::Stepped),
            AxisPart::Listed(part) => part.within(start, len).map(AxisPart::Listed),
        }
    }

    /// Whether every element of a box of so many is written.
    pub(super) fn covers(&self, len: u64) -> bool {
        match self {
            AxisPart::Stepped(part) => part.covers(len),
            AxisPart::Listed(part) => part.covers(len),
        }
    }
}
