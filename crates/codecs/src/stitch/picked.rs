//! Results of elements that are picked one by one, along some axes or anywhere.

use super::cut_axis::CutAxis;
use super::output::{AxisPlace, Form, Output, ResultLayout};
use super::picks::Picks;
use crate::error::Error;

/// One axis of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Elements at equal distances.
    Stepped(CutAxis),
    /// Elements in any order, [sorted](Picks::sorted) by their chunk's coordinate.
    Picked(Picks),
}

/// One axis of a result that an output holds: see [`CutAxis`] and [`Picks`] for what is asked of it.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "as in Cut")]
pub enum CutView<'a> {
    Stepped(&'a CutAxis),
    Picked(&'a Picks),
}

impl CutView<'_> {
    /// Elements of the result along the axis.
    #[must_use]
    pub fn count(self) -> u64 {
        match self {
            CutView::Stepped(cut) => cut.count(),
            CutView::Picked(picks) => picks.count(),
        }
    }

    /// Tiles along the axis.
    #[must_use]
    pub fn tile_count(self) -> u64 {
        match self {
            CutView::Stepped(cut) => cut.tile_count(),
            CutView::Picked(picks) => picks.tile_count(),
        }
    }

    /// The coordinate of a tile's chunk.
    #[must_use]
    pub fn chunk(self, tile: u64) -> u64 {
        match self {
            CutView::Stepped(cut) => cut.chunk(tile),
            CutView::Picked(picks) => picks.chunk(tile),
        }
    }

    /// The tiles whose chunks have coordinates in `low..high`.
    #[must_use]
    pub fn tiles_between(self, low: u64, high: u64) -> std::ops::Range<u64> {
        match self {
            CutView::Stepped(cut) => cut.tiles_between(low, high),
            CutView::Picked(picks) => picks.tiles_between(low, high),
        }
    }

    /// The first and the last element that a tile takes of its chunk, in this order.
    #[must_use]
    pub fn reach(self, tile: u64) -> (u64, u64) {
        let cut = match self {
            CutView::Picked(picks) => return picks.reach(tile),
            CutView::Stepped(cut) => cut,
        };
        let tile = cut.tile(tile);
        let span = (tile.count - 1).saturating_mul(cut.step().unsigned_abs());
        if cut.step() < 0 {
            (tile.source_start.saturating_sub(span), tile.source_start)
        } else {
            (tile.source_start, tile.source_start.saturating_add(span))
        }
    }
}

/// The picks of one result: along one of its axes, or of all it takes.
#[derive(Debug)]
pub(super) struct PickedPlace {
    result: usize,
    pub(super) along: Along,
    pub(super) picks: Picks,
}

/// What picks number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// Elements along this axis.
    Axis(usize),
    /// Elements of chunks of this shape, in C order.
    Chunk(Box<[u64]>),
}

impl Output<'_> {
    /// Adds the next result, as [`push`](Output::push) does, some of whose axes may be picked.
    ///
    /// # Errors
    ///
    /// As [`push`](Output::push); `Unsupported` for picks along an axis whose elements are to become means.
    pub fn push_cuts(&mut self, axes: Vec<Cut>) -> Result<(), Error> {
        let stepped = |cut: &Cut| match cut {
            Cut::Stepped(cut) => *cut,
            Cut::Picked(picks) => in_one_tile(picks.count()),
        };
        let stand_ins: Vec<CutAxis> = axes.iter().map(stepped).collect();
        if axes.iter().all(|cut| matches!(cut, Cut::Stepped(_))) {
            return self.push(&stand_ins);
        }
        if let Some(converted) = &self.converted {
            let picked = axes.iter().enumerate().filter(|(_, cut)| matches!(cut, Cut::Picked(_)));
            picked.map(|(axis, _)| axis).try_for_each(|axis| converted.refuse_picks(Some(axis)))?;
        }
        let tiles = axes.iter().map(|cut| match cut {
            Cut::Stepped(cut) => cut.tile_count(),
            Cut::Picked(picks) => picks.tile_count(),
        });
        let tile_count = tiles.fold(1, u64::saturating_mul);
        let (result, first_axis) = (self.result_count(), self.axes.len());
        let layout = self.lay_out(&stand_ins)?;
        self.add(ResultLayout { tile_count, ..layout }, Form::Picked, first_axis)?;
        self.picked.extend(axes.into_iter().enumerate().filter_map(|(axis, cut)| match cut {
            Cut::Stepped(_) => None,
            Cut::Picked(picks) => Some(PickedPlace { result, along: Along::Axis(axis), picks }),
        }));
        Ok(())
    }

    /// Adds the next result, of one axis: elements from anywhere in chunks of `chunk_shape`. Tiles are those of `points`,
    /// which are [sorted](Picks::sorted) by any number that chunks have.
    ///
    /// # Errors
    ///
    /// As [`push`](Output::push); `Unsupported` where elements are to become means.
    pub fn push_points(&mut self, points: Picks, chunk_shape: &[u64]) -> Result<(), Error> {
        let rank = self.rank();
        if chunk_shape.len() != rank {
            let found = chunk_shape.len();
            return Err(Error::internal("output", format!("wanted chunks of {rank} axes, found {found}")));
        }
        self.converted.as_ref().map_or(Ok(()), |converted| converted.refuse_picks(None))?;
        // The result's one axis is none of the chunk's.
        let mut stand_ins = vec![in_one_tile(1); chunk_shape.len()];
        match stand_ins.first_mut() {
            Some(first) => *first = in_one_tile(points.count()),
            None if points.count() <= 1 => {}
            None => return Err(Error::unsupported("output", "wanted one element of a scalar, found more")),
        }
        let (result, first_axis, tile_count) = (self.result_count(), self.axes.len(), points.tile_count());
        let bytes = match (points.count(), stand_ins.len()) {
            (0, 0) => 0,
            _ => self.lay_out(&stand_ins)?.bytes,
        };
        self.add(ResultLayout { bytes, tile_count, is_plain: false }, Form::Picked, first_axis)?;
        let along = Along::Chunk(chunk_shape.into());
        self.picked.push(PickedPlace { result, along, picks: points });
        Ok(())
    }

    /// True where some result has picks.
    #[must_use]
    #[inline]
    pub fn has_picks(&self) -> bool {
        !self.picked.is_empty()
    }

    /// The picks of a result that [`push_points`](Self::push_points) added; `None` of any other.
    #[must_use]
    pub fn points(&self, result: usize) -> Option<&Picks> {
        match self.picked(result) {
            [PickedPlace { along: Along::Chunk(_), picks, .. }] => Some(picks),
            _ => None,
        }
    }

    /// One axis of a result, picked or not; `None` where there is no such.
    #[must_use]
    pub fn cut(&self, result: usize, axis: usize) -> Option<CutView<'_>> {
        let picked = self.picked(result).iter().find(|place| place.along == Along::Axis(axis));
        match picked {
            Some(place) => Some(CutView::Picked(&place.picks)),
            None => self.axis(result, axis).map(CutView::Stepped),
        }
    }

    /// Bytes that picks take, of all results together.
    #[must_use]
    pub fn picks_bytes(&self) -> usize {
        self.picked.iter().map(|place| place.picks.bytes()).fold(0, usize::saturating_add)
    }

    /// The picks of a result, by axis.
    pub(super) fn picked(&self, result: usize) -> &[PickedPlace] {
        let start = self.picked.partition_point(|place| place.result < result);
        let end = self.picked.partition_point(|place| place.result <= result);
        &self.picked[start..end]
    }
}

/// Stands among a result's axes for one that is picked.
fn in_one_tile(count: u64) -> CutAxis {
    CutAxis::new(0, count, 1, u64::MAX)
}

/// One axis of a tile, picked or not, and the tile's number along it.
pub(super) fn view_of<'a>(picked: &'a [PickedPlace], axes: &'a [AxisPlace], axis: usize) -> CutView<'a> {
    let place = picked.iter().find(|place| place.along == Along::Axis(axis));
    place.map_or(CutView::Stepped(&axes[axis].cut), |place| CutView::Picked(&place.picks))
}
