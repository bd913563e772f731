//! An output that threads fill tile by tile.

use super::copy::RANK_MAX;
use super::cut_axis::{AxisTile, CutAxis};
use super::tile::Tile;
use crate::error::Error;
use std::alloc::{Layout, alloc_zeroed};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory for the results of many selections of one array, filled tile by tile by any number of threads.
///
/// The memory is written to and never read.
pub struct Output<'m> {
    pub(super) start: NonNull<u8>,
    len: usize,
    used: usize,
    owner: Option<Vec<u8>>,
    pub(super) element_bytes: usize,
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
    /// Every axis takes each element, forwards, as most crops do.
    is_plain: bool,
}

/// One axis of one result.
#[derive(Clone, Copy, Debug)]
pub(super) struct AxisPlace {
    pub(super) cut: CutAxis,
    pub(super) target_stride: usize,
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
        let is_plain = axes.iter().all(|axis| axis.step() == 1);
        self.results.push(ResultPlace { offset: self.used, first_tile_bit: self.tile_count, is_plain });
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
    pub(super) fn tile_at(&self, axis: &AxisPlace, number: u64) -> AxisTile {
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
        let is_plain = place.is_plain;
        let claimed = Tile { output: self, axes, number: tile, target: place.offset, is_plain };
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

/// Counts within an output fit memory: [`Output::push`] found room for them.
pub(super) fn memory(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
