//! Where each chunk of an array lies.

use crate::region::{Region, RegionGrid};
use crate::{Array, Error};

/// An array cut into its chunks; those of shards are the inner ones.
pub(super) enum ChunkBoxes<'a> {
    /// All of one shape.
    Even(RegionGrid),
    /// Of lengths of their own along some axis.
    Uneven(&'a Array),
}

impl<'a> ChunkBoxes<'a> {
    /// # Errors
    ///
    /// As [`RegionGrid::new`].
    pub(super) fn new(array: &'a Array) -> Result<ChunkBoxes<'a>, Error> {
        match array.metadata().rectilinear() {
            Some(_) => Ok(ChunkBoxes::Uneven(array)),
            None => RegionGrid::new(array.shape(), array.chunk_shape()).map(ChunkBoxes::Even),
        }
    }

    /// Chunks along each axis.
    pub(super) fn counts(&self) -> &[u64] {
        match self {
            ChunkBoxes::Even(grid) => grid.counts(),
            ChunkBoxes::Uneven(array) => &array.inner.compiled.objects,
        }
    }

    /// What of the array lies in the chunk at these coordinates.
    pub(super) fn at(&self, chunk: &[u64]) -> Region {
        let array = match self {
            ChunkBoxes::Even(grid) => return grid.at(chunk),
            ChunkBoxes::Uneven(array) => array,
        };
        let (mut start, mut shape) = (Vec::with_capacity(chunk.len()), Vec::with_capacity(chunk.len()));
        let grid = array.metadata().rectilinear();
        for (axis, (number, length)) in chunk.iter().zip(array.shape()).enumerate() {
            let elements =
                grid.and_then(|grid| grid.edges(axis)).map_or(0..0, |edges| edges.elements(*number));
            start.push(elements.start.min(*length));
            shape.push(elements.end.min(*length).saturating_sub(elements.start));
        }
        Region { start, shape }
    }
}
