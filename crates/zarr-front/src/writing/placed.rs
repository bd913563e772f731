//! What a write puts into an object, a shard or a chunk.

use super::axis_part::AxisPart;
use crate::compiled::{Compiled, Level};
use crate::raveling::unravel;
use swath_codecs::Picks;

/// What is put into a box of elements.
#[derive(Clone, Copy)]
pub(super) enum Placed<'a> {
    /// Every combination of what is taken of each axis.
    Box(&'a [AxisPart<'a>]),
    /// Elements that are named one by one: the tiles of the write's picks that lie in the box, each of one chunk.
    Tiles(&'a [u64]),
}

impl Placed<'_> {
    /// Whether every element of a box of these extents is known to be written.
    pub(super) fn covers(&self, extents: &[u64]) -> bool {
        match self {
            Placed::Box(parts) => parts.iter().zip(extents).all(|(part, extent)| part.covers(*extent)),
            Placed::Tiles(_) => false,
        }
    }
}

/// What is put into the entries of a shard.
pub(super) enum Entered<'a> {
    Box(&'a [AxisPart<'a>]),
    /// Tiles by the number of their entry.
    Tiles(Vec<(u64, u64)>),
}

impl<'a> Entered<'a> {
    pub(super) fn new(
        placed: Placed<'a>,
        level: &Level,
        compiled: &Compiled,
        picks: Option<&Picks>,
    ) -> Entered<'a> {
        let tiles = match placed {
            Placed::Box(parts) => return Entered::Box(parts),
            Placed::Tiles(tiles) => tiles,
        };
        let chunks_in_object = compiled.chunks_in_object().max(1);
        let mut coordinates = vec![0; compiled.chunks_per_object.len()];
        let mut entered: Vec<(u64, u64)> = tiles
            .iter()
            .map(|tile| {
                let chunk = picks.map_or(0, |picks| picks.chunk(*tile)) % chunks_in_object;
                unravel(chunk, &compiled.chunks_per_object, &mut coordinates);
                (level.entry_of(&coordinates), *tile)
            })
            .collect();
        entered.sort_unstable();
        Entered::Tiles(entered)
    }
}

/// What is put into one entry of a shard: memory that is used again for the next.
#[derive(Default)]
pub(super) struct Entry<'a> {
    parts: Vec<AxisPart<'a>>,
    tiles: Vec<u64>,
}

impl<'a> Entry<'a> {
    /// Works it out for the entry of this number at these coordinates; `None` where nothing is.
    pub(super) fn take(
        &mut self,
        entered: &Entered<'a>,
        number: u64,
        (coordinates, extents): (&[u64], &[u64]),
    ) -> Option<Placed<'_>> {
        match entered {
            Entered::Box(parts) => {
                self.parts.clear();
                for ((coordinate, extent), part) in coordinates.iter().zip(extents).zip(*parts) {
                    self.parts.push(part.within(coordinate * extent, *extent)?);
                }
                Some(Placed::Box(&self.parts))
            }
            Entered::Tiles(entered) => {
                self.tiles.clear();
                let start = entered.partition_point(|(entry, _)| *entry < number);
                let own = entered.iter().skip(start).take_while(|(entry, _)| *entry == number);
                self.tiles.extend(own.map(|(_, tile)| *tile));
                (!self.tiles.is_empty()).then_some(Placed::Tiles(&self.tiles))
            }
        }
    }
}
