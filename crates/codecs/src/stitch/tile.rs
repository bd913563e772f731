//! Tiles: pieces of an output that one thread fills.

use super::copy::{Loop, LoopNest, RANK_MAX, copy_nest, copy_nest_swapped};
use super::cut_axis::AxisTile;
use super::output::{AxisPlace, Form, Output, memory};
use super::rows::Rows;
use crate::chain::DecodedChunk;
use crate::error::Error;

/// The exclusive right to fill one tile.
pub struct Tile<'a> {
    pub(super) output: &'a Output<'a>,
    pub(super) axes: &'a [AxisPlace],
    /// The result's number.
    pub(super) result: usize,
    /// The tile's row-major number over the axis tiles.
    pub(super) number: u64,
    /// The result's first byte in the output.
    pub(super) target: usize,
    pub(super) form: Form,
}

impl<'a> Tile<'a> {
    /// The tile's extent along each axis, last axis first.
    #[inline]
    fn axes(&self) -> impl Iterator<Item = (&'a AxisPlace, AxisTile)> + use<'a> {
        let mut rest = self.number;
        self.axes.iter().enumerate().rev().map(move |(number, axis)| {
            let position;
            (rest, position) = position_of(rest, number, axis);
            (axis, axis.cut.tile(position))
        })
    }

    /// True when the tile takes every element of a chunk of `shape`, in order.
    pub fn covers(&self, shape: &[u64]) -> bool {
        self.form < Form::Picked
            && shape.len() == self.axes.len()
            && self.axes().zip(shape.iter().rev()).all(|((axis, tile), extent)| {
                tile.source_start == 0 && tile.count == *extent && (axis.cut.step() == 1 || tile.count == 1)
            })
    }

    /// The tile as one run of bytes, if that is what it is in the output, and its elements are not converted.
    ///
    /// # Errors
    ///
    /// The tile itself, where it is not.
    #[expect(unsafe_code, reason = "hands out the claimed bytes")]
    pub fn into_contiguous(self) -> Result<&'a mut [u8], Tile<'a>> {
        if Form::Picked <= self.form {
            return Err(self);
        }
        let (mut run, mut target) = (self.output.element_bytes, self.target);
        for (axis, tile) in self.axes() {
            target += memory(tile.target_start) * axis.target_stride;
            if tile.count == 1 {
                continue;
            }
            if axis.target_stride != run {
                return Err(self);
            }
            run *= memory(tile.count);
        }
        // SAFETY: the tile has elements, and `Output::push` made room for them: it starts within the output.
        let start = unsafe { self.output.start.add(target) };
        // SAFETY: the tile's elements are `run` initialised bytes from there, within the output (`Output::push` made
        // room for them); the tile was claimed once, tiles are disjoint, and the output is borrowed for 'a.
        Ok(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), run) })
    }

    /// Copies the tile's elements out of a decoded chunk, swapping bytes where the chunk's order is foreign, and converting
    /// them where the output does.
    ///
    /// # Errors
    ///
    /// `Internal` when the tile takes elements that the chunk does not have, or the unit to swap is none of the output's
    /// elements.
    pub fn write(self, chunk: &DecodedChunk<'_>) -> Result<(), Error> {
        if let (Form::Converted, Some(conversion)) = (self.form, self.output.conversion()) {
            return self.write_converted(chunk, conversion);
        }
        let element_bytes = self.output.element_bytes;
        let fits = |unit: usize| matches!(unit, 2 | 4 | 8) && element_bytes.is_multiple_of(unit);
        if let Some(unit) = chunk.swap_unit_bytes.filter(|unit| !fits(*unit)) {
            let message =
                format!("wanted a unit of 2, 4 or 8 bytes that divides {element_bytes}, found {unit}");
            return Err(Error::internal("output", message));
        }
        if self.form == Form::Picked {
            self.write_picked(chunk)
        } else if self.axes.len() <= RANK_USUAL {
            self.write_nest::<RANK_USUAL>(chunk)
        } else {
            self.write_nest::<RANK_MAX>(chunk)
        }
    }

    /// [`write`](Self::write), with memory for as many loops.
    #[expect(unsafe_code, reason = "writes to the claimed bytes")]
    fn write_nest<const RANK: usize>(self, chunk: &DecodedChunk<'_>) -> Result<(), Error> {
        let mut nest = LoopNest::<RANK>::new(self.output.element_bytes);
        let (first, target) = self.nest(&mut nest, chunk.strides, (chunk.start, chunk.bytes.len()))?;
        // SAFETY: the first element lies within the bytes: see `nest`.
        let source = unsafe { chunk.bytes.as_ptr().add(first) };
        // SAFETY: as in `into_contiguous`.
        let target = unsafe { self.output.start.as_ptr().add(target) };
        match chunk.swap_unit_bytes {
            // SAFETY: every combination reads within the bytes, as `nest` has checked, and writes the tile's own bytes,
            // which this claim alone may write; chunk and output are distinct borrows.
            None => unsafe { copy_nest(source, target, &nest) },
            // SAFETY: as above; the unit was checked to be one that divides the element, and with it every run.
            Some(unit_bytes) => unsafe { copy_nest_swapped(source, target, &nest, unit_bytes) },
        }
        Ok(())
    }

    /// Fills the tile row by row: the way to fill it from a chunk that is not in memory as a slice. `copy` gets some rows,
    /// each of bytes that follow each other both in the chunk and in the output: where the first one starts in the `len`
    /// bytes of the chunk from `start` on, how far apart they start there, and the memory to fill. Elements must be in
    /// native byte order, and `strides` apart. `copy` ends it by an error, which is handed on; the tile is undefined then.
    ///
    /// # Errors
    ///
    /// `Internal`, made an `E`, when the tile takes elements that those bytes of the chunk do not have, or its elements are
    /// to be converted.
    pub fn fill_rows<E: From<Error>>(
        self,
        strides: &[usize],
        (start, len): (usize, usize),
        mut copy: impl FnMut(usize, usize, &mut [&mut [u8]]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.form == Form::Converted {
            Err(E::from(Error::internal("output", "wanted a chunk in memory to convert, found rows")))
        } else if self.form == Form::Picked {
            self.fill_picked_rows(strides, (start, len), &mut copy)
        } else if self.axes.len() <= RANK_USUAL {
            self.fill_nest::<RANK_USUAL, E>(strides, (start, len), &mut copy)
        } else {
            self.fill_nest::<RANK_MAX, E>(strides, (start, len), &mut copy)
        }
    }

    #[expect(unsafe_code, reason = "hands out the claimed bytes, some rows at a time")]
    fn fill_nest<const RANK: usize, E: From<Error>>(
        self,
        strides: &[usize],
        (start, len): (usize, usize),
        copy: &mut impl FnMut(usize, usize, &mut [&mut [u8]]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut nest = LoopNest::<RANK>::new(self.output.element_bytes);
        let (first, target) = self.nest(&mut nest, strides, (start, len))?;
        let mut rows = Rows::new(self.output);
        nest.each_rows(first, target, |source, target, run| {
            // SAFETY: the nest's rows are the tile's, which this claim alone may touch, and it has each of them once.
            unsafe { rows.hand_out((source, target), run, nest.run_bytes, copy) }
        })
    }

    /// Adds the loops to `nest`, an empty one, that copy the tile out of `len` bytes of a chunk from `start` on, whose
    /// elements are `strides` apart; returns the first element's place in those bytes, and in the output. Every element of
    /// the tile lies within the bytes.
    #[inline]
    fn nest<const RANK: usize>(
        &self,
        nest: &mut LoopNest<RANK>,
        strides: &[usize],
        (start, len): (usize, usize),
    ) -> Result<(usize, usize), Error> {
        if strides.len() != self.axes.len() {
            return Err(outside(len));
        }
        if self.form == Form::Plain
            && let Some(found) = self.plain_nest(nest, strides, (start, len))
        {
            return Ok(found);
        }
        self.any_nest(nest, strides, (start, len)).ok_or_else(|| outside(len))
    }

    /// [`nest`](Self::nest), whatever the steps, and however far elements are apart.
    fn any_nest<const RANK: usize>(
        &self,
        nest: &mut LoopNest<RANK>,
        strides: &[usize],
        (start, len): (usize, usize),
    ) -> Option<(usize, usize)> {
        *nest = LoopNest::new(self.output.element_bytes);
        let (mut first, mut low, mut high) = (0isize, 0isize, 0isize);
        let mut target = self.target;
        for ((axis, tile), stride) in self.axes().zip(strides.iter().rev()) {
            let reach = Reach::new(*stride, axis.cut.step(), &tile)?;
            first = first.saturating_add(reach.first);
            low = low.saturating_add(reach.low);
            high = high.saturating_add(reach.high);
            target += memory(tile.target_start) * axis.target_stride;
            nest.push(Loop {
                count: memory(tile.count),
                source_stride: reach.stride,
                target_stride: axis.target_stride,
            });
        }
        let within = |place: isize| usize::try_from(place).ok()?.checked_sub(start);
        let end = within(high)?.checked_add(self.output.element_bytes)?;
        within(low)?;
        let first = within(first)?;
        (end <= len).then_some((first, target))
    }

    /// [`nest`](Self::nest) where every step is 1: what lies lowest is first, and nothing is negative. `None` where the
    /// elements lie outside the bytes, or so far apart that products would have to be checked one by one.
    #[inline(always)]
    fn plain_nest<const RANK: usize>(
        &self,
        nest: &mut LoopNest<RANK>,
        strides: &[usize],
        (start, len): (usize, usize),
    ) -> Option<(usize, usize)> {
        let (mut first, mut span, mut target, mut sizes) = (0usize, 0usize, self.target, 0usize);
        let mut rest = self.number;
        for (number, (axis, stride)) in self.axes.iter().zip(strides).enumerate().rev() {
            let position;
            (rest, position) = position_of(rest, number, axis);
            let tile = axis.cut.forward_tile(position);
            let (source_start, count) = (memory(tile.source_start), memory(tile.count));
            let last = count.wrapping_sub(1);
            sizes |= source_start | last | *stride;
            first = first.wrapping_add(source_start.wrapping_mul(*stride));
            span = span.wrapping_add(last.wrapping_mul(*stride));
            target += memory(tile.target_start) * axis.target_stride;
            let (source_stride, target_stride) = (stride.cast_signed(), axis.target_stride);
            nest.push(Loop { count, source_stride, target_stride });
        }
        // Anything above may have overflowed, which `PLAIN_SIZE_MAX` rules out.
        if PLAIN_SIZE_MAX <= sizes {
            return None;
        }
        let first = first.checked_sub(start)?;
        let end = first.checked_add(span)?.checked_add(self.output.element_bytes)?;
        (end <= len).then_some((first, target))
    }

    /// Fills the tile with one element's bytes, in native order: an element as chunks have it, where the output converts
    /// them. An `element` of another size fills nothing and is an error.
    ///
    /// # Errors
    ///
    /// `Internal` for an element of another size.
    pub fn fill(self, element: &[u8]) -> Result<(), Error> {
        if let (Form::Converted, Some(conversion)) = (self.form, self.output.conversion()) {
            return self.fill_converted(element, conversion);
        }
        if element.len() != self.output.element_bytes {
            let message = format!(
                "wanted a fill value of {} bytes, found {}",
                self.output.element_bytes,
                element.len()
            );
            return Err(Error::internal("output", message));
        }
        // A chunk in which every element is the same one: all strides are zero.
        let strides = [0usize; RANK_MAX];
        let strides = &strides[..self.axes.len()];
        match self.into_contiguous() {
            Ok(run) => fill_run(run, element),
            Err(tile) => {
                tile.write(&DecodedChunk { bytes: element, start: 0, strides, swap_unit_bytes: None })?
            }
        }
        Ok(())
    }
}

/// How far a tile reaches into a chunk along one axis, in bytes.
pub(super) struct Reach {
    pub(super) first: isize,
    pub(super) low: isize,
    pub(super) high: isize,
    pub(super) stride: isize,
}

impl Reach {
    #[inline]
    pub(super) fn new(stride: usize, step: i64, tile: &AxisTile) -> Option<Reach> {
        let stride = isize::try_from(stride).ok()?;
        let first = isize::try_from(tile.source_start).ok()?.checked_mul(stride)?;
        let stride = if step == 1 { stride } else { isize::try_from(step).ok()?.checked_mul(stride)? };
        let span = isize::try_from(tile.count.checked_sub(1)?).ok()?.checked_mul(stride)?;
        let last = first.checked_add(span)?;
        Some(Reach { first, low: first.min(last), high: first.max(last), stride })
    }
}

fn fill_run(run: &mut [u8], element: &[u8]) {
    match element {
        [first, rest @ ..] if rest.iter().all(|byte| byte == first) => run.fill(*first),
        _ => run.chunks_exact_mut(element.len()).for_each(|place| place.copy_from_slice(element)),
    }
}

#[cold]
pub(super) fn outside(len: usize) -> Error {
    Error::internal("output", format!("a tile takes elements outside {len} bytes of a chunk"))
}

/// Numbers below a power of two that is no less can have products added up, one for each of [`RANK_MAX`] axes, and two
/// such sums, without any overflow: on 64 bits, 2 * 32 products below 2^56.
const PLAIN_SIZE_MAX: usize = 1 << (usize::BITS / 2 - 4);

/// Axes of most arrays, at most.
const RANK_USUAL: usize = 4;

/// What is left of a tile's number along the axes before one, and the tile's number along that axis. Along the first one
/// nothing is left to divide: a number lies below the product of all counts, see `Output::claim`.
#[inline(always)]
fn position_of(rest: u64, axis_number: usize, axis: &AxisPlace) -> (u64, u64) {
    if axis_number == 0 { (0, rest) } else { divide(rest, axis.cut.tile_count()) }
}

/// Quotient and remainder. Numbers of tiles mostly fit 32 bits, which processors divide faster.
#[inline(always)]
pub(super) fn divide(number: u64, by: u64) -> (u64, u64) {
    if by == 1 {
        return (number, 0);
    }
    match (u32::try_from(number), u32::try_from(by)) {
        (Ok(number), Ok(by)) if by != 0 => (u64::from(number / by), u64::from(number % by)),
        _ => (number / by.max(1), number % by.max(1)),
    }
}
