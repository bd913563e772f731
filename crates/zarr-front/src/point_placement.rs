//! Results of points, which may lie anywhere: the objects that they touch, and the chunks of each. Pure.

use crate::Error;
use crate::compiled::Compiled;
use crate::groups::{Groups, Member, Place, add};
use crate::placement::{Placement, Placements};
use swath_codecs::{Output, Picks};

/// The number by which points know a chunk: that of its object, times the chunks of an object, and its own within that.
/// [`crate::picking`] makes sure that 64 bits hold them all.
fn first_chunk(object: u64, compiled: &Compiled) -> u64 {
    object.saturating_mul(compiled.chunks_in_object())
}

/// Notes every object that a result of points touches; false for any other result.
pub(crate) fn add_points(
    output: &Output<'_>,
    compiled: &Compiled,
    members: &mut Vec<Member>,
    result: u32,
) -> Result<bool, Error> {
    let Some(points) = output.points(result as usize) else { return Ok(false) };
    let mut tile = 0;
    while tile < points.tile_count() {
        let object = points.chunk(tile) / compiled.chunks_in_object().max(1);
        let start = first_chunk(object, compiled);
        let end = points.tiles_between(start, start.saturating_add(compiled.chunks_in_object())).end;
        let end = end.max(tile + 1);
        let tiles = u32::try_from(end - tile).unwrap_or(u32::MAX);
        add(members, Member { object, result, tiles })?;
        tile = end;
    }
    Ok(true)
}

/// The chunks of an object that points lie in, by number within it, ascending.
pub(crate) fn chunks_of(points: &Picks, object: u64, compiled: &Compiled) -> impl Iterator<Item = u64> {
    let start = first_chunk(object, compiled);
    let tiles = points.tiles_between(start, start.saturating_add(compiled.chunks_in_object()));
    tiles.map(move |tile| points.chunk(tile) - start)
}

impl Placements {
    /// Adds the tiles of a result of points that lie in a window's slabs; false for any other result.
    pub(crate) fn add_points(
        &mut self,
        result: usize,
        place: &Place,
        groups: &Groups,
        output: &Output<'_>,
        compiled: &Compiled,
    ) -> bool {
        let Some(points) = output.points(result) else { return false };
        let (start, chunks) = (first_chunk(place.object, compiled), compiled.chunks_in_object());
        let slab_chunks = groups.slabs.chunks(&compiled.chunks_per_object);
        let (low, high) = match &place.slabs {
            None => (0, chunks),
            Some(slabs) => {
                (slabs.start.saturating_mul(slab_chunks), slabs.end.saturating_mul(slab_chunks).min(chunks))
            }
        };
        // Fewer results than 32 bits count: `Groups` has refused more.
        let result = u32::try_from(result).unwrap_or(u32::MAX);
        for tile in points.tiles_between(start.saturating_add(low), start.saturating_add(high)) {
            let part =
                compiled.part_strides.as_deref().and_then(|strides| part(points, tile, strides, compiled));
            let whole = || [0, u32::try_from(compiled.chain.decoded_len()).unwrap_or(u32::MAX)];
            let chunk = points.chunk(tile) - start;
            self.push(Placement::of_points(chunk, tile, result, part.unwrap_or_else(whole)));
        }
        true
    }
}

/// The bytes of a stored chunk from the first point to the end of the last; `None` for all of them.
fn part(points: &Picks, tile: u64, strides: &[u64], compiled: &Compiled) -> Option<[u32; 2]> {
    let element = swath_ioengine::storage_len(compiled.chain.layout().element.size_bytes);
    let is_in_c_order = {
        let mut expected = element;
        strides.iter().zip(&compiled.chunk_shape).rev().all(|(stride, extent)| {
            let found = *stride == expected || *extent == 1;
            expected = expected.saturating_mul(*extent);
            found
        })
    };
    let (first, last) = if is_in_c_order {
        let (low, high) = points.reach(tile);
        (low.checked_mul(element)?, high.checked_mul(element)?)
    } else {
        transposed_reach(points, tile, strides, &compiled.chunk_shape)?
    };
    Some([u32::try_from(first).ok()?, u32::try_from(last.checked_add(element)?).ok()?])
}

/// The first byte of the first point and of the last one, where elements are stored in another order than C's; `None`
/// where a run of points goes on from one row to the next.
fn transposed_reach(points: &Picks, tile: u64, strides: &[u64], shape: &[u64]) -> Option<(u64, u64)> {
    let row_len = shape.last().copied().unwrap_or(1).max(1);
    let place = |mut element: u64| {
        let mut at = 0;
        for (stride, extent) in strides.iter().zip(shape).rev() {
            let extent = (*extent).max(1);
            at += element % extent * stride;
            element /= extent;
        }
        at
    };
    let (mut first, mut last) = (u64::MAX, 0);
    for (source, _) in points.runs(tile) {
        let end = source.end.checked_sub(1)?;
        if source.start / row_len != end / row_len {
            return None;
        }
        (first, last) = (first.min(place(source.start)), last.max(place(end)));
    }
    (first <= last).then_some((first, last))
}
