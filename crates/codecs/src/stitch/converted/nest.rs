//! The rows of a tile whose elements are converted.

use super::super::copy::RANK_MAX;
use super::super::output::memory;
use super::super::picked::{Along, CutView, view_of};
use super::super::picks::Run;
use super::super::tile::{Tile, divide, outside};
use crate::conversion::Channels;
use crate::error::Error;

/// Where an element lies: in bytes from its chunk's start and the output's, and its index along the axis of channels.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) source: isize,
    pub(super) target: usize,
    pub(super) channel: i64,
}

/// Elements at equal distances, on both sides and along the axis of channels.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Strided {
    pub(super) count: usize,
    pub(super) source: isize,
    pub(super) target: usize,
    pub(super) channel: i64,
}

/// One axis of a tile.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Strided(Strided),
    /// Runs of elements, by their places along the axis; the count is not used.
    Picked(&'a [Run], Strided),
}

/// One axis of a tile, before axes are merged.
pub(super) struct TileAxis<'a> {
    /// Where the tile's first element lies; of picks, where the element of number 0 would.
    pub(super) first: Place,
    pub(super) step: Step<'a>,
    /// The first element's place along the axis of the result; 0 of picks.
    pub(super) low: usize,
    /// The tile's number along the axis.
    pub(super) tile: u64,
}

impl Place {
    /// So many steps on.
    #[inline(always)]
    pub(super) fn after(self, count: usize, step: &Strided) -> Place {
        // Beyond what memory holds nothing is read: it is no place in the chunk.
        let signed = isize::try_from(count).unwrap_or(isize::MAX);
        let wide = i64::try_from(count).unwrap_or(i64::MAX);
        Place {
            source: self.source.saturating_add(step.source.saturating_mul(signed)),
            target: self.target.wrapping_add(step.target.wrapping_mul(count)),
            channel: self.channel.saturating_add(step.channel.saturating_mul(wide)),
        }
    }

    /// As far from one place as another is from nowhere.
    pub(super) fn plus(self, other: Place) -> Place {
        Place {
            source: self.source.saturating_add(other.source),
            target: self.target.wrapping_add(other.target),
            channel: self.channel.saturating_add(other.channel),
        }
    }
}

impl Strided {
    /// A run of picks along an axis of these strides: where its first element is, and its elements.
    #[inline]
    pub(super) fn run(&self, from: Place, run: &Run) -> (Place, Strided) {
        let (source, target) = (run.source as usize, run.target as usize);
        let Place { source, channel, .. } = from.after(source, self);
        let Place { target, .. } = from.after(target, self);
        (Place { source, target, channel }, Strided { count: run.count as usize, ..*self })
    }
}

impl<'a> Tile<'a> {
    /// The tile's axes, last one first; `None` where elements lie further apart than memory reaches.
    pub(super) fn converted_axes(
        &self,
        strides: &[usize],
        channels: Option<&Channels>,
        mut each: impl FnMut(usize, TileAxis<'a>),
    ) -> Option<()> {
        let picked = self.output.picked(self.result);
        let mut rest = self.number;
        for (axis, stride) in strides.iter().enumerate().rev() {
            let view = view_of(picked, self.axes, axis);
            let position;
            (rest, position) = divide(rest, view.tile_count());
            let channels = channels.filter(|channels| channels.axis == axis);
            let origin = channels.map_or(0, |channels| view.chunk(position).saturating_mul(channels.extent));
            let (stride, target) = (isize::try_from(*stride).ok()?, self.axes[axis].target_stride);
            let (mut first, mut low) =
                (Place { channel: i64::try_from(origin).ok()?, ..Place::default() }, 0);
            let each_step = i64::from(channels.is_some());
            let step = match view {
                CutView::Picked(picks) => {
                    let steps = Strided { count: 0, source: stride, target, channel: each_step };
                    Step::Picked(picks.runs_of(position), steps)
                }
                CutView::Stepped(cut) => {
                    let tile = cut.tile(position);
                    let unit = Strided { count: 1, source: stride, target: 0, channel: each_step };
                    first = first.after(memory(tile.source_start), &unit);
                    low = memory(tile.target_start);
                    Step::Strided(Strided {
                        count: memory(tile.count),
                        source: isize::try_from(cut.step()).ok()?.checked_mul(stride)?,
                        target,
                        channel: cut.step().checked_mul(each_step)?,
                    })
                }
            };
            each(axis, TileAxis { first, step, low, tile: position });
        }
        Some(())
    }

    /// Calls `row` with rows of the tile: the first element of the first one, the rows that follow at equal distances, and the
    /// elements of each. Strides that are not as many as the tile's axes are an error.
    pub(super) fn converted_rows(
        &self,
        strides: &[usize],
        channels: Option<&Channels>,
        row: &mut impl FnMut(Place, Strided, Strided) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if strides.len() != self.axes.len() {
            return Err(outside(0));
        }
        if let [place] = self.output.picked(self.result)
            && let Along::Chunk(shape) = &place.along
        {
            let origin = channels.map(|channels| self.channel_of_points(channels)).unwrap_or_default();
            let points = Points { shape, strides, target: self.output.element_bytes, channels, origin };
            return points.rows(place.picks.runs_of(self.number), self.target, row);
        }
        let mut nest = Nest::new();
        let mut first = Place { target: self.target, ..Place::default() };
        let laid = self.converted_axes(strides, channels, |_, axis| {
            let target = match axis.step {
                Step::Strided(steps) => axis.low.wrapping_mul(steps.target),
                Step::Picked(..) => 0,
            };
            first = first.plus(Place { target, ..axis.first });
            nest.push(axis.step);
        });
        laid.ok_or_else(|| outside(0))?;
        rows(nest.steps(), first, row)
    }

    /// Where the tile of points starts along the axis of channels.
    fn channel_of_points(&self, channels: &Channels) -> i64 {
        let chunk = self.output.points(self.result).map_or(0, |picks| picks.chunk(self.number));
        let chunk = self.output.chunk_along_channels(chunk);
        i64::try_from(chunk.saturating_mul(channels.extent)).unwrap_or(i64::MAX)
    }
}

/// The loops of a tile, innermost first; neighbours that run together are merged.
struct Nest<'a> {
    steps: [Step<'a>; RANK_MAX],
    len: usize,
}

impl<'a> Nest<'a> {
    fn new() -> Nest<'a> {
        Nest { steps: [Step::Strided(Strided::default()); RANK_MAX], len: 0 }
    }

    /// Adds the next outer axis; there are at most [`RANK_MAX`].
    fn push(&mut self, step: Step<'a>) {
        if let Step::Strided(outer) = step {
            if outer.count == 1 {
                return;
            }
            if let Some(Step::Strided(inner)) = self.steps[..self.len].last_mut() {
                let end = Place::default().after(inner.count, inner);
                let runs_on =
                    (end.source, end.target, end.channel) == (outer.source, outer.target, outer.channel);
                if runs_on {
                    inner.count = inner.count.saturating_mul(outer.count);
                    return;
                }
            }
        }
        self.steps[self.len] = step;
        self.len += 1;
    }

    fn steps(&self) -> &[Step<'a>] {
        &self.steps[..self.len]
    }
}

/// The only row.
const ONE: Strided = Strided { count: 1, source: 0, target: 0, channel: 0 };

fn rows(
    steps: &[Step<'_>],
    place: Place,
    row: &mut impl FnMut(Place, Strided, Strided) -> Result<(), Error>,
) -> Result<(), Error> {
    match steps {
        [] => row(place, ONE, ONE),
        [Step::Strided(innermost)] => row(place, ONE, *innermost),
        [Step::Strided(innermost), Step::Strided(rows)] => row(place, *rows, *innermost),
        [Step::Picked(runs, steps)] => runs.iter().try_for_each(|run| {
            let (first, elements) = steps.run(place, run);
            row(first, ONE, elements)
        }),
        [inner @ .., Step::Strided(outer)] => {
            (0..outer.count).try_for_each(|number| rows(inner, place.after(number, outer), row))
        }
        [inner @ .., Step::Picked(runs, steps)] => runs.iter().try_for_each(|run| {
            let (first, elements) = steps.run(place, run);
            (0..elements.count).try_for_each(|number| rows(inner, first.after(number, &elements), row))
        }),
    }
}

/// Elements from anywhere in a chunk, whose numbers count them in C order.
struct Points<'s> {
    shape: &'s [u64],
    strides: &'s [usize],
    /// Bytes of an element of the result.
    target: usize,
    channels: Option<&'s Channels>,
    /// Where the chunk starts along the axis of channels.
    origin: i64,
}

impl Points<'_> {
    /// Calls `row` with each row of the chunk that a run has elements of.
    fn rows(
        &self,
        runs: &[Run],
        target: usize,
        row: &mut impl FnMut(Place, Strided, Strided) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let row_len = self.shape.last().copied().unwrap_or(1).max(1);
        let last = self.shape.len().saturating_sub(1);
        let along_rows = self.channels.is_some_and(|channels| channels.axis == last);
        let stride = self.strides.last().copied().unwrap_or(0);
        let source = isize::try_from(stride).map_err(|_| outside(0))?;
        for run in runs {
            let (mut element, mut left) = (u64::from(run.source), u64::from(run.count));
            let mut at = target.wrapping_add((run.target as usize).wrapping_mul(self.target));
            while left != 0 {
                let count = memory(left.min(row_len - element % row_len));
                let place = self.place(element, at).ok_or_else(|| outside(0))?;
                let channel = i64::from(along_rows);
                row(place, ONE, Strided { count, source, target: self.target, channel })?;
                (element, left) = (element + count as u64, left - count as u64);
                at = at.wrapping_add(count.wrapping_mul(self.target));
            }
        }
        Ok(())
    }

    fn place(&self, element: u64, target: usize) -> Option<Place> {
        let mut place = Place { target, channel: self.origin, source: 0 };
        let mut rest = element;
        for (axis, (extent, stride)) in self.shape.iter().zip(self.strides).enumerate().rev() {
            let position;
            (rest, position) = divide(rest, *extent);
            let bytes = memory(position).checked_mul(*stride)?;
            place.source = place.source.checked_add(isize::try_from(bytes).ok()?)?;
            if self.channels.is_some_and(|channels| channels.axis == axis) {
                place.channel = place.channel.checked_add(i64::try_from(position).ok()?)?;
            }
        }
        // What is left of it counts chunks: there are no such elements.
        (rest == 0).then_some(place)
    }
}
