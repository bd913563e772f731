//! One axis of a result, cut into tiles by a regular chunk grid.

/// What one chunk contributes along one axis of a result: `count` elements, the first of them number `source_start`
/// within the chunk, counted along the axis of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisTile {
    /// The chunk's coordinate along this axis.
    pub chunk: u64,
    /// The first element taken, counted from the chunk's start.
    pub source_start: u64,
    /// Elements taken; at least one.
    pub count: u64,
    /// The first element's place in the result.
    pub target_start: u64,
}

/// The elements `start`, `start + step`, ... of one axis, `count` of them, where chunks hold `extent` elements each. Its
/// tiles are numbered in the order of the result, and are worked out when they are asked for: an axis takes the same
/// memory however many chunks it crosses.
///
/// Whatever the arguments, tile by tile the elements of the result are `0..count`, each in one tile: what relies on tiles
/// being disjoint may rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutAxis {
    first_chunk: u64,
    /// The first element's distance from the side of its chunk that the axis comes from.
    lead: u64,
    count: u64,
    step: i64,
    extent: u64,
    tile_count: u64,
}

impl CutAxis {
    /// Cuts an axis. An `extent` of 0 is taken as 1, and so is a `step` of 0.
    pub fn new(start: u64, count: u64, step: i64, extent: u64) -> CutAxis {
        let extent = extent.max(1);
        let stride = step.unsigned_abs().max(1);
        let (first_chunk, within) = (start / extent, start % extent);
        let is_backward = step < 0;
        let lead = if is_backward { extent - 1 - within } else { within };
        let tile_count = match count.checked_sub(1) {
            None => 0,
            // No two elements share a chunk.
            Some(_) if extent < stride => count,
            Some(last) => (lead.saturating_add(last.saturating_mul(stride)) / extent).saturating_add(1),
        };
        let step = if step == 0 { 1 } else { step };
        CutAxis { first_chunk, lead, count, step, extent, tile_count }
    }

    /// Elements of the result along the axis.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// From one element to the next; negative goes backwards.
    #[inline]
    pub fn step(&self) -> i64 {
        self.step
    }

    /// From one element to the next, either way.
    #[inline]
    fn stride(&self) -> u64 {
        self.step.unsigned_abs()
    }

    #[inline]
    fn is_backward(&self) -> bool {
        self.step < 0
    }

    /// Tiles, which is chunks that some element lies in.
    #[inline]
    pub fn tile_count(&self) -> u64 {
        self.tile_count
    }

    /// The tile of this number, below [`tile_count`](Self::tile_count).
    #[inline]
    pub fn tile(&self, number: u64) -> AxisTile {
        if self.step == 1 {
            return self.forward_tile(number);
        }
        let first = self.first_element(number);
        let count = self.first_element(number + 1) - first;
        let distance = self.distance(number);
        // Of the first element, from the side of the tile's chunk that the axis comes from.
        let within = self
            .lead
            .saturating_add(first.saturating_mul(self.stride()))
            .saturating_sub(distance.saturating_mul(self.extent));
        let source_start = if self.is_backward() { (self.extent - 1).saturating_sub(within) } else { within };
        AxisTile { chunk: self.chunk_at(distance), source_start, count, target_start: first }
    }

    /// [`tile`](Self::tile) where every element is taken, forwards: no more than a product and some comparisons.
    #[inline(always)]
    pub(super) fn forward_tile(&self, number: u64) -> AxisTile {
        let start = number.saturating_mul(self.extent);
        let first = start.saturating_sub(self.lead).min(self.count);
        let end = if self.tile_count <= number + 1 {
            self.count
        } else {
            start.saturating_add(self.extent).saturating_sub(self.lead).min(self.count)
        };
        AxisTile {
            chunk: self.first_chunk.saturating_add(number),
            source_start: self.lead.saturating_sub(start),
            count: end.saturating_sub(first),
            target_start: first,
        }
    }

    /// The coordinate of a tile's chunk.
    #[inline]
    pub fn chunk(&self, number: u64) -> u64 {
        self.chunk_at(self.distance(number))
    }

    /// The tiles whose chunks have coordinates in `low..high`.
    #[inline]
    pub fn tiles_between(&self, low: u64, high: u64) -> std::ops::Range<u64> {
        if high <= low {
            return 0..0;
        }
        if self.step == 1 {
            let before = |coordinate: u64| coordinate.saturating_sub(self.first_chunk).min(self.tile_count);
            return before(low)..before(high);
        }
        // Chunks from the first one on, in the axis's direction.
        let (near, far) = if self.is_backward() {
            let past = self.first_chunk.saturating_add(1);
            (past.saturating_sub(high), past.saturating_sub(low))
        } else {
            (low.saturating_sub(self.first_chunk), high.saturating_sub(self.first_chunk))
        };
        let (start, end) = (self.tiles_before(near), self.tiles_before(far));
        start..end
    }

    /// Tiles whose chunks are fewer than `distance` chunks away from the first one's.
    #[inline]
    fn tiles_before(&self, distance: u64) -> u64 {
        if self.stride() <= self.extent {
            return distance.min(self.tile_count);
        }
        // One element a tile: those before the chunk's near side.
        let room = distance.saturating_mul(self.extent).saturating_sub(self.lead);
        room.div_ceil(self.stride()).min(self.tile_count)
    }

    /// The first element of the result that lies in a tile.
    #[inline]
    fn first_element(&self, number: u64) -> u64 {
        if self.extent < self.stride() || number == 0 {
            return number.min(self.count);
        }
        if self.tile_count <= number {
            return self.count;
        }
        let before = number.saturating_mul(self.extent).saturating_sub(self.lead);
        let before = if self.step == 1 { before } else { before.div_ceil(self.stride()) };
        before.min(self.count)
    }

    /// Chunks between a tile's and the first one's.
    #[inline]
    fn distance(&self, number: u64) -> u64 {
        if self.step == 1 || self.stride() <= self.extent {
            return number;
        }
        self.lead.saturating_add(number.saturating_mul(self.stride())) / self.extent
    }

    #[inline]
    fn chunk_at(&self, distance: u64) -> u64 {
        if self.is_backward() {
            self.first_chunk.saturating_sub(distance)
        } else {
            self.first_chunk.saturating_add(distance)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Tile by tile, from the elements themselves.
    fn listed(start: u64, count: u64, step: i64, extent: u64) -> Vec<AxisTile> {
        let mut tiles: Vec<AxisTile> = Vec::new();
        for k in 0..count {
            let at = start.checked_add_signed(step * i64::try_from(k).unwrap()).unwrap();
            match tiles.last_mut() {
                Some(tile) if tile.chunk == at / extent => tile.count += 1,
                _ => tiles.push(AxisTile {
                    chunk: at / extent,
                    source_start: at % extent,
                    count: 1,
                    target_start: k,
                }),
            }
        }
        tiles
    }

    fn tiles(axis: &CutAxis) -> Vec<AxisTile> {
        (0..axis.tile_count()).map(|number| axis.tile(number)).collect()
    }

    proptest! {
        #[test]
        fn tiles_are_those_of_the_elements(
            start in 0u64..60, count in 0u64..30, step in -9i64..10, extent in 1u64..12,
        ) {
            prop_assume!(step != 0);
            let room = if step < 0 { start / step.unsigned_abs() + 1 } else { u64::MAX };
            let count = count.min(room);
            let axis = CutAxis::new(start, count, step, extent);
            let listed = listed(start, count, step, extent);
            prop_assert_eq!(tiles(&axis), listed.clone());
            for (number, tile) in listed.iter().enumerate() {
                prop_assert_eq!(axis.chunk(number as u64), tile.chunk);
            }
            for low in 0..12 {
                for high in 0..14 {
                    let within = |tile: &&AxisTile| low <= tile.chunk && tile.chunk < high;
                    let wanted: Vec<AxisTile> = listed.iter().filter(within).copied().collect();
                    let found = axis.tiles_between(low, high).map(|number| axis.tile(number));
                    prop_assert_eq!(found.collect::<Vec<_>>(), wanted);
                }
            }
        }

        #[test]
        fn tiles_are_disjoint_whatever_the_arguments(
            start in any::<u64>(), count in any::<u64>(), step in any::<i64>(), extent in any::<u64>(),
            number in any::<u64>(),
        ) {
            let axis = CutAxis::new(start, count, step, extent);
            if let Some(last) = axis.tile_count().checked_sub(1) {
                let number = number.min(last);
                let (tile, next) = (axis.tile(number), axis.tile((number + 1).min(last)));
                prop_assert!(tile.target_start + tile.count <= count);
                prop_assert!(number == last || tile.target_start + tile.count == next.target_start);
                prop_assert_eq!(axis.tile(0).target_start, 0);
                let end = axis.tile(last);
                prop_assert_eq!(end.target_start + end.count, count);
            }
        }
    }
}
