//! An output that threads fill tile by tile.

use super::copy::{Loop, LoopNest, RANK_MAX, copy_nest, copy_nest_swapped};
use super::cut_axis::{AxisTile, CutAxis};
use crate::chain::DecodedChunk;
use crate::error::Error;
use std::alloc::{Layout, alloc_zeroed};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory for the results of many selections of one array, filled tile by tile by any number of threads.
///
/// The memory is written to and never read.
pub struct Output<'m> {
    start: NonNull<u8>,
    len: usize,
    used: usize,
    owner: Option<Vec<u8>>,
    element_bytes: usize,
    rank: usize,
    results: Vec<ResultPlace>,
    axes: Vec<AxisPlace>,
    /// Tiles of axes that have few, worked out once for all the tiles of a result that share them.
    tiles: Vec<AxisTile>,
    /// One bit a tile, over all results: set by whoever claimed it.
    claims: Vec<AtomicU64>,
    tile_count: u64,
    memory: PhantomData<&'m mut [u8]>,
}

/// The memory of an output's plan, kept from one output for the next: fresh memory costs more in page faults than what is
/// put there.
#[derive(Default)]
pub struct OutputMemory {
    results: Vec<ResultPlace>,
    axes: Vec<AxisPlace>,
    tiles: Vec<AxisTile>,
    claims: Vec<AtomicU64>,
}

impl OutputMemory {
    /// Bytes that it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.results.capacity() * size_of::<ResultPlace>()
            + self.axes.capacity() * size_of::<AxisPlace>()
            + self.tiles.capacity() * size_of::<AxisTile>()
            + self.claims.capacity() * size_of::<AtomicU64>()
    }
}

/// Where a result lies.
#[derive(Clone, Copy, Debug)]
struct ResultPlace {
    offset: usize,
    first_tile_bit: u64,
}

/// One axis of one result.
#[derive(Clone, Copy, Debug)]
struct AxisPlace {
    cut: CutAxis,
    target_stride: usize,
    /// Its first tile among the listed ones; [`UNLISTED`] where they are worked out each time.
    first_tile: u32,
}

/// Axes of more tiles are not listed: memory is for results, not for what can be computed.
const LISTED_TILES_MAX: u64 = 64;

const UNLISTED: u32 = u32::MAX;

// SAFETY: the memory is plain bytes, written only through tiles, each of which is claimed by one thread.
#[expect(unsafe_code, reason = "shares memory between the threads that fill it")]
unsafe impl Send for Output<'_> {}
// SAFETY: as above: claims are atomic, and disjoint tiles touch disjoint bytes.
#[expect(unsafe_code, reason = "shares memory between the threads that fill it")]
unsafe impl Sync for Output<'_> {}

impl<'m> Output<'m> {
    /// An output in `memory`, which the caller lends, for results of `rank` axes.
    ///
    /// # Errors
    ///
    /// `Unsupported` for more than 32 axes; `Internal` for elements of no bytes.
    pub fn new(memory: &'m mut [u8], element_bytes: usize, rank: usize) -> Result<Output<'m>, Error> {
        let (start, len) = (NonNull::from(&mut *memory).cast(), memory.len());
        Output::over(start, len, None, element_bytes, rank)
    }

    /// An output of `len` zeroed bytes of its own.
    ///
    /// # Errors
    ///
    /// As [`Output::new`]; `Unsupported` where the system does not give as much memory.
    pub fn owned(len: usize, element_bytes: usize, rank: usize) -> Result<Output<'static>, Error> {
        let mut memory = zeroed(len)?;
        let start = NonNull::from(memory.as_mut_slice()).cast();
        Output::over(start, len, Some(memory), element_bytes, rank)
    }

    fn over(
        start: NonNull<u8>,
        len: usize,
        owner: Option<Vec<u8>>,
        element_bytes: usize,
        rank: usize,
    ) -> Result<Output<'m>, Error> {
        if RANK_MAX < rank {
            return Err(Error::unsupported(
                "output",
                format!("wanted at most {RANK_MAX} dimensions, found {rank}"),
            ));
        }
        if element_bytes == 0 {
            return Err(Error::internal("output", "wanted elements of at least 1 byte, found 0"));
        }
        Ok(Output {
            start,
            len,
            used: 0,
            owner,
            element_bytes,
            rank,
            results: Vec::new(),
            axes: Vec::new(),
            tiles: Vec::new(),
            claims: Vec::new(),
            tile_count: 0,
            memory: PhantomData,
        })
    }

    /// The output with memory for its plan that another has used. It must have no results yet; what it has is lost.
    #[must_use]
    pub fn with_memory(self, mut memory: OutputMemory) -> Output<'m> {
        memory.results.clear();
        memory.axes.clear();
        memory.tiles.clear();
        memory.claims.clear();
        let OutputMemory { results, axes, tiles, claims } = memory;
        Output { results, axes, tiles, claims, used: 0, tile_count: 0, ..self }
    }

    /// Adds the next result, behind those before it. A result with an axis of no elements is empty.
    ///
    /// # Errors
    ///
    /// `Internal` when the memory has no room for it, or the axes are not as many as the output's. The output is then as
    /// it was.
    pub fn push(&mut self, axes: &[CutAxis]) -> Result<(), Error> {
        if axes.len() != self.rank {
            return Err(Error::internal(
                "output",
                format!("wanted {} axes, found {}", self.rank, axes.len()),
            ));
        }
        let first_axis = self.axes.len();
        let places = axes.iter().map(|cut| AxisPlace { cut: *cut, target_stride: 0, first_tile: UNLISTED });
        self.axes.extend(places);
        // What is left of it would be taken for the next result's.
        let bytes = self.lay_out(first_axis).inspect_err(|_| self.axes.truncate(first_axis))?;
        for axis in &mut self.axes[first_axis..] {
            if axis.cut.tile_count() <= LISTED_TILES_MAX {
                axis.first_tile = u32::try_from(self.tiles.len()).unwrap_or(UNLISTED);
                self.tiles.extend((0..axis.cut.tile_count()).map(|number| axis.cut.tile(number)));
            }
        }
        // No more than elements, which fit memory; nothing where an axis has none.
        let tile_count = axes.iter().map(CutAxis::tile_count).fold(1, u64::saturating_mul);
        self.results.push(ResultPlace { offset: self.used, first_tile_bit: self.tile_count });
        self.used += bytes;
        self.tile_count += tile_count;
        let words = usize::try_from(self.tile_count.div_ceil(64)).unwrap_or(usize::MAX);
        self.claims.resize_with(words, AtomicU64::default);
        Ok(())
    }

    /// Makes room for so many more results.
    pub fn reserve(&mut self, results: usize) {
        self.results.reserve(results);
        self.axes.reserve(results.saturating_mul(self.rank));
    }

    /// Gives the axes from `first_axis` on their strides; returns the bytes of the result.
    fn lay_out(&mut self, first_axis: usize) -> Result<usize, Error> {
        let room = self.len - self.used;
        let mut stride = self.element_bytes;
        if self.axes[first_axis..].iter().any(|axis| axis.cut.count() == 0) {
            return Ok(0);
        }
        for axis in self.axes[first_axis..].iter_mut().rev() {
            axis.target_stride = stride;
            let bytes = usize::try_from(axis.cut.count()).ok().and_then(|count| stride.checked_mul(count));
            stride = bytes.filter(|bytes| *bytes <= room).ok_or_else(|| no_room(room))?;
        }
        if room < stride { Err(no_room(room)) } else { Ok(stride) }
    }

    /// One axis of a result; `None` where there is no such.
    #[inline]
    pub fn axis(&self, result: usize, axis: usize) -> Option<&CutAxis> {
        self.axis_place(result, axis).map(|axis| &axis.cut)
    }

    /// One tile of an axis of a result; `None` where there is no such axis. The number must be below the axis's
    /// [`tile_count`](CutAxis::tile_count).
    #[inline]
    pub fn axis_tile(&self, result: usize, axis: usize, number: u64) -> Option<AxisTile> {
        self.axis_place(result, axis).map(|axis| self.tile_at(axis, number))
    }

    #[inline]
    fn axis_place(&self, result: usize, axis: usize) -> Option<&AxisPlace> {
        if self.rank <= axis {
            return None;
        }
        self.axes.get(result.checked_mul(self.rank)?.checked_add(axis)?)
    }

    #[inline]
    fn tile_at(&self, axis: &AxisPlace, number: u64) -> AxisTile {
        match axis.first_tile {
            UNLISTED => axis.cut.tile(number),
            first => {
                let listed = self.tiles.get(first as usize + memory(number));
                listed.copied().unwrap_or_else(|| axis.cut.tile(number))
            }
        }
    }

    /// Results that the output holds.
    pub fn result_count(&self) -> usize {
        self.results.len()
    }

    /// Claims one tile of a result, named by its row-major number over the result's axis tiles. `None` when there is no
    /// such tile, or it was claimed before.
    pub fn claim(&self, result: usize, tile: u64) -> Option<Tile<'_>> {
        let place = self.results.get(result)?;
        let next_bit = self.results.get(result + 1).map_or(self.tile_count, |next| next.first_tile_bit);
        if next_bit - place.first_tile_bit <= tile {
            return None;
        }
        let axes = &self.axes[result * self.rank..][..self.rank];
        let bit = place.first_tile_bit + tile;
        let word = &self.claims[usize::try_from(bit / 64).ok()?];
        let mask = 1u64 << (bit % 64);
        let claimed = Tile { output: self, axes, number: tile, target: place.offset };
        (word.fetch_or(mask, Ordering::Relaxed) & mask == 0).then_some(claimed)
    }

    /// Tiles that nobody claimed: zero once everything was filled.
    pub fn unclaimed(&self) -> u64 {
        let claimed: u64 =
            self.claims.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum();
        self.tile_count - claimed
    }

    /// The memory of an output of its own; `None` of a lent one.
    pub fn into_owned(self) -> Option<Vec<u8>> {
        self.into_parts().0
    }

    /// The memory of an output of its own (`None` of a lent one), and that of its plan.
    pub fn into_parts(self) -> (Option<Vec<u8>>, OutputMemory) {
        let Output { owner, results, axes, tiles, claims, .. } = self;
        (owner, OutputMemory { results, axes, tiles, claims })
    }
}

/// The exclusive right to fill one tile.
pub struct Tile<'a> {
    output: &'a Output<'a>,
    axes: &'a [AxisPlace],
    /// The tile's row-major number over the axis tiles.
    number: u64,
    /// The result's first byte in the output.
    target: usize,
}

impl<'a> Tile<'a> {
    /// The tile's extent along each axis, last axis first.
    #[inline]
    fn axes(&self) -> impl Iterator<Item = (&'a AxisPlace, AxisTile)> + use<'a> {
        let mut rest = self.number;
        let output = self.output;
        self.axes.iter().rev().map(move |axis| {
            let position;
            (rest, position) = divide(rest, axis.cut.tile_count());
            (axis, output.tile_at(axis, position))
        })
    }

    /// True when the tile takes every element of a chunk of `shape`, in order.
    pub fn covers(&self, shape: &[u64]) -> bool {
        shape.len() == self.axes.len()
            && self.axes().zip(shape.iter().rev()).all(|((axis, tile), extent)| {
                tile.source_start == 0 && tile.count == *extent && (axis.cut.step() == 1 || tile.count == 1)
            })
    }

    /// The tile as one run of bytes, if that is what it is in the output.
    ///
    /// # Errors
    ///
    /// The tile itself, where it is not.
    #[expect(unsafe_code, reason = "hands out the claimed bytes")]
    pub fn into_contiguous(self) -> Result<&'a mut [u8], Tile<'a>> {
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

    /// Copies the tile's elements out of a decoded chunk, swapping bytes where the chunk's order is foreign.
    ///
    /// # Errors
    ///
    /// `Internal` when the tile takes elements that the chunk does not have, or the unit to swap is none of the output's
    /// elements.
    pub fn write(self, chunk: &DecodedChunk<'_>) -> Result<(), Error> {
        let element_bytes = self.output.element_bytes;
        let fits = |unit: usize| matches!(unit, 2 | 4 | 8) && element_bytes.is_multiple_of(unit);
        if let Some(unit) = chunk.swap_unit_bytes.filter(|unit| !fits(*unit)) {
            let message =
                format!("wanted a unit of 2, 4 or 8 bytes that divides {element_bytes}, found {unit}");
            return Err(Error::internal("output", message));
        }
        if self.axes.len() <= RANK_USUAL {
            self.write_nest::<RANK_USUAL>(chunk)
        } else {
            self.write_nest::<RANK_MAX>(chunk)
        }
    }

    /// [`write`](Self::write), with memory for as many loops.
    #[expect(unsafe_code, reason = "writes to the claimed bytes")]
    fn write_nest<const RANK: usize>(self, chunk: &DecodedChunk<'_>) -> Result<(), Error> {
        let (nest, first, target) = self.nest::<RANK>(chunk.strides, chunk.start, chunk.bytes.len())?;
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
    /// `Internal`, made an `E`, when the tile takes elements that those bytes of the chunk do not have.
    pub fn fill_rows<E: From<Error>>(
        self,
        strides: &[usize],
        (start, len): (usize, usize),
        mut copy: impl FnMut(usize, usize, &mut [&mut [u8]]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.axes.len() <= RANK_USUAL {
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
        let (nest, first, target) = self.nest::<RANK>(strides, start, len)?;
        let start = self.output.start;
        let mut rows: [&mut [u8]; ROWS_AT_ONCE] = std::array::from_fn(|_| Default::default());
        nest.each_rows(first, target, |source, target, run| {
            // Rows that go backwards in the chunk are copied one by one.
            let (stride, at_once) = match usize::try_from(run.source_stride) {
                Ok(stride) => (stride, ROWS_AT_ONCE),
                Err(_) => (0, 1),
            };
            let mut done = 0;
            while done < run.count {
                let count = at_once.min(run.count - done);
                for (number, row) in (done..).zip(&mut rows[..count]) {
                    // SAFETY: the row lies within the tile, and the tile within the output.
                    let memory = unsafe { start.add(target + number * run.target_stride) };
                    // SAFETY: the row's bytes are initialised and belong to the tile, which this claim alone may touch;
                    // the rows of a tile are disjoint, and each is handed out once.
                    *row = unsafe { std::slice::from_raw_parts_mut(memory.as_ptr(), nest.run_bytes) };
                }
                let from = source.wrapping_add_signed(run.source_stride.wrapping_mul(signed(done)));
                copy(from, stride, &mut rows[..count])?;
                done += count;
            }
            Ok(())
        })
    }

    /// The loops that copy the tile out of `len` bytes of a chunk from `start` on, whose elements are `strides` apart; the
    /// first element's place in those bytes, and in the output. Every element of the tile lies within the bytes.
    fn nest<const RANK: usize>(
        &self,
        strides: &[usize],
        start: usize,
        len: usize,
    ) -> Result<(LoopNest<RANK>, usize, usize), Error> {
        let mut nest = LoopNest::<RANK>::new(self.output.element_bytes);
        let (mut first, mut low, mut high) = (0isize, 0isize, 0isize);
        let mut target = self.target;
        if strides.len() != self.axes.len() {
            return Err(outside(len));
        }
        for ((axis, tile), stride) in self.axes().zip(strides.iter().rev()) {
            let Some(reach) = Reach::new(*stride, axis.cut.step(), &tile) else { return Err(outside(len)) };
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
        let end = within(high).and_then(|high| high.checked_add(self.output.element_bytes));
        match (within(low), within(first)) {
            (Some(_), Some(first)) if end.is_some_and(|end| end <= len) => Ok((nest, first, target)),
            _ => Err(outside(len)),
        }
    }

    /// Fills the tile with one element's bytes, in native order. An `element` of another size than the output's fills
    /// nothing and is an error.
    ///
    /// # Errors
    ///
    /// `Internal` for an element of another size.
    pub fn fill(self, element: &[u8]) -> Result<(), Error> {
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
struct Reach {
    first: isize,
    low: isize,
    high: isize,
    stride: isize,
}

impl Reach {
    #[inline]
    fn new(stride: usize, step: i64, tile: &AxisTile) -> Option<Reach> {
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

fn no_room(room: usize) -> Error {
    Error::internal("output", format!("a result has no room in the {room} bytes that are left"))
}

/// Zeroed memory, or an error where the system has none: sizes come from metadata that anyone may have written.
#[expect(unsafe_code, reason = "`vec!` ends the process where there is no memory")]
fn zeroed(len: usize) -> Result<Vec<u8>, Error> {
    let refused = || Error::unsupported("output", format!("the system gave no memory for {len} bytes"));
    if len == 0 {
        return Ok(Vec::new());
    }
    let layout = Layout::array::<u8>(len).map_err(|_| refused())?;
    // SAFETY: the layout is not of zero bytes.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(refused());
    }
    // SAFETY: `start` is a block of the global allocator with the layout of `len` bytes, all of them initialised, and
    // nobody else has it.
    Ok(unsafe { Vec::from_raw_parts(start, len, len) })
}

#[cold]
fn outside(len: usize) -> Error {
    Error::internal("output", format!("a tile takes elements outside {len} bytes of a chunk"))
}

/// Rows that are handed out at a time.
const ROWS_AT_ONCE: usize = 32;

/// Counts of elements in memory fit.
fn signed(count: usize) -> isize {
    isize::try_from(count).unwrap_or(isize::MAX)
}

/// Axes of most arrays, at most.
const RANK_USUAL: usize = 4;

/// Quotient and remainder. Numbers of tiles mostly fit 32 bits, which processors divide faster.
#[inline]
fn divide(number: u64, by: u64) -> (u64, u64) {
    if by == 1 {
        return (number, 0);
    }
    match (u32::try_from(number), u32::try_from(by)) {
        (Ok(number), Ok(by)) if by != 0 => (u64::from(number / by), u64::from(number % by)),
        _ => (number / by.max(1), number % by.max(1)),
    }
}

/// Counts within an output fit memory: [`Output::push`] found room for them.
fn memory(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
