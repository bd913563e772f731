//! How an axis is cut into the objects that are written.

use crate::axis_edges::AxisEdges;
use crate::compiled::Compiled;
use std::ops::Range;

/// The objects along an axis.
#[derive(Clone, Copy, Debug)]
pub(super) enum AxisGrid<'a> {
    /// Objects of so many elements each.
    Even(u64),
    /// Objects of lengths of their own.
    Edges(&'a AxisEdges),
}

impl<'a> AxisGrid<'a> {
    /// That of an axis of an array, whose objects have so many elements each unless the array says otherwise.
    pub(super) fn new(compiled: &'a Compiled, axis: usize, extent: u64) -> AxisGrid<'a> {
        let edges = compiled.shaped.as_ref().and_then(|shaped| shaped.grid.edges(axis));
        edges.map_or(AxisGrid::Even(extent.max(1)), AxisGrid::Edges)
    }

    /// The object that an element lies in.
    pub(super) fn object_of(&self, element: u64) -> u64 {
        match self {
            AxisGrid::Even(extent) => element / extent,
            AxisGrid::Edges(edges) => edges.chunk_of(element).0,
        }
    }

    /// The elements of an object, also beyond the array.
    pub(super) fn elements(&self, object: u64) -> Range<u64> {
        match self {
            AxisGrid::Even(extent) => {
                let start = object.saturating_mul(*extent);
                start..start.saturating_add(*extent)
            }
            AxisGrid::Edges(edges) => edges.elements(object),
        }
    }
}
