//! An output that threads fill tile by tile.

use super::converted::Converted;
use super::copy::RANK_MAX;
use super::cut_axis::CutAxis;
use super::picked::PickedPlace;
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
    pub(super) rank: usize,
    results: Vec<ResultPlace>,
    pub(super) axes: Vec<AxisPlace>,
    /// One bit a tile of the results that have more than [`CLAIMS_IN_PLACE`], each from a word of its own on.
    claims: Vec<AtomicU64>,
    /// What is picked, by result.
    pub(super) picked: Vec<PickedPlace>,
    pub(super) converted: Option<Box<Converted>>,
    /// Tiles of all results.
    tile_count: u64,
    memory: PhantomData<&'m mut [u8]>,
}

/// The memory of an output's plan, kept from one output for the next: fresh memory costs more in page faults than what is
/// put there.
#[derive(Default)]
pub struct OutputMemory {
    results: Vec<ResultPlace>,
    axes: Vec<AxisPlace>,
    claims: Vec<AtomicU64>,
}

impl OutputMemory {
    /// Bytes that it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.results.capacity() * size_of::<ResultPlace>()
            + self.axes.capacity() * size_of::<AxisPlace>()
            + self.claims.capacity() * size_of::<AtomicU64>()
    }
}

/// Where a result lies, and which of its tiles are claimed.
///
/// Threads take results from all over an output: bits of many results on one cache line would have it go to and fro
/// between them at every claim.
#[derive(Debug)]
struct ResultPlace {
    offset: usize,
    tile_count: u64,
    /// One bit a tile, set by whoever claimed it, where there are no more than [`CLAIMS_IN_PLACE`].
    claims: AtomicU64,
    /// Else the first of its words among those of all such results; [`IN_PLACE`] otherwise.
    first_word: u32,
    form: Form,
}

/// How a result's elements are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// Every axis takes each element, forwards, as most crops do.
    Plain,
    /// Every axis takes elements at equal distances.
    Stepped,
    /// Elements are picked along some axis, or anywhere.
    Picked,
    /// Elements are converted, whichever these are.
    Converted,
}

/// Tiles of a result whose claims are one word.
const CLAIMS_IN_PLACE: u64 = 64;

const IN_PLACE: u32 = u32::MAX;

/// How a result is laid out.
pub(super) struct ResultLayout {
    pub(super) bytes: usize,
    pub(super) tile_count: u64,
    pub(super) is_plain: bool,
}

/// One axis of one result.
#[derive(Clone, Copy, Debug)]
pub(super) struct AxisPlace {
    pub(super) cut: CutAxis,
    pub(super) target_stride: usize,
}

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
            claims: Vec::new(),
            picked: Vec::new(),
            converted: None,
            tile_count: 0,
            memory: PhantomData,
        })
    }

    /// The output with memory for its plan that another has used. It must have no results yet; what it has is lost.
    #[must_use]
    pub fn with_memory(self, mut memory: OutputMemory) -> Output<'m> {
        memory.results.clear();
        memory.axes.clear();
        memory.claims.clear();
        let OutputMemory { results, axes, claims } = memory;
        Output { results, axes, claims, picked: Vec::new(), used: 0, tile_count: 0, ..self }
    }

    /// Adds the next result, behind those before it. A result with an axis of no elements is empty.
    ///
    /// # Errors
    ///
    /// `Internal` when the memory has no room for it, or the axes are not as many as the output's. The output is then as
    /// it was.
    pub fn push(&mut self, axes: &[CutAxis]) -> Result<(), Error> {
        let first_axis = self.axes.len();
        let layout = self.lay_out(axes)?;
        let form = if layout.is_plain { Form::Plain } else { Form::Stepped };
        self.add(layout, form, first_axis)
    }

    /// Adds a result whose axes, from `first_axis` on, are laid out; takes them away where there is an error.
    #[inline]
    pub(super) fn add(&mut self, layout: ResultLayout, form: Form, first_axis: usize) -> Result<(), Error> {
        let ResultLayout { bytes, tile_count, .. } = layout;
        let form = if self.converted.is_some() { Form::Converted } else { form };
        let first_word = self.add_claims(tile_count).inspect_err(|_| self.axes.truncate(first_axis))?;
        let claims = AtomicU64::default();
        self.results.push(ResultPlace { offset: self.used, tile_count, claims, first_word, form });
        self.used += bytes;
        self.tile_count += tile_count;
        Ok(())
    }

    /// Adds the claims of a result of so many tiles; returns their first word.
    #[inline]
    fn add_claims(&mut self, tile_count: u64) -> Result<u32, Error> {
        if tile_count <= CLAIMS_IN_PLACE {
            return Ok(IN_PLACE);
        }
        let (start, words) = (self.claims.len(), memory(tile_count.div_ceil(64)));
        let found = u32::try_from(start).ok().filter(|first| *first != IN_PLACE);
        let first = found.ok_or_else(|| Error::unsupported("output", "more tiles than 38 bits count"))?;
        self.claims.resize_with(start.saturating_add(words), AtomicU64::default);
        Ok(first)
    }

    /// Makes room for so many more results.
    pub fn reserve(&mut self, results: usize) {
        self.results.reserve(results);
        self.axes.reserve(results.saturating_mul(self.rank));
    }

    /// Appends axes with their strides, or nothing where there is an error.
    #[inline]
    pub(super) fn lay_out(&mut self, axes: &[CutAxis]) -> Result<ResultLayout, Error> {
        if axes.len() != self.rank {
            return Err(Error::internal(
                "output",
                format!("wanted {} axes, found {}", self.rank, axes.len()),
            ));
        }
        if self.has_means() {
            return self.lay_out_means(axes);
        }
        let first_axis = self.axes.len();
        self.axes.extend(axes.iter().map(|cut| AxisPlace { cut: *cut, target_stride: 0 }));
        let room = self.len - self.used;
        // No more tiles than elements, which fit memory; nothing where an axis has none.
        let (mut layout, mut is_empty) = (ResultLayout { bytes: 0, tile_count: 1, is_plain: true }, false);
        let mut stride = Some(self.element_bytes);
        for axis in self.axes[first_axis..].iter_mut().rev() {
            axis.target_stride = stride.unwrap_or(0);
            let count = usize::try_from(axis.cut.count()).ok();
            stride = stride.zip(count).and_then(|(stride, count)| stride.checked_mul(count));
            layout.tile_count = layout.tile_count.saturating_mul(axis.cut.tile_count());
            layout.is_plain &= axis.cut.step() == 1;
            is_empty |= axis.cut.count() == 0;
        }
        match stride {
            _ if is_empty => Ok(layout),
            Some(bytes) if bytes <= room => Ok(ResultLayout { bytes, ..layout }),
            _ => {
                // What is left of it would be taken for the next result's.
                self.axes.truncate(first_axis);
                Err(no_room(room))
            }
        }
    }

    /// The axes of a result; none where there is no such result.
    #[inline]
    pub fn axes(&self, result: usize) -> impl ExactSizeIterator<Item = &CutAxis> {
        let start = result.saturating_mul(self.rank);
        let axes = self.axes.get(start..start.saturating_add(self.rank)).unwrap_or_default();
        axes.iter().map(|axis| &axis.cut)
    }

    /// One axis of a result; `None` where there is no such.
    #[inline]
    pub fn axis(&self, result: usize, axis: usize) -> Option<&CutAxis> {
        self.axes(result).nth(axis)
    }

    /// Axes of the array that results are of.
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// Bytes that are left for results.
    pub(super) fn room(&self) -> usize {
        self.len - self.used
    }

    /// Results that the output holds.
    pub fn result_count(&self) -> usize {
        self.results.len()
    }

    /// Claims one tile of a result, named by its row-major number over the result's axis tiles. `None` when there is no
    /// such tile, or it was claimed before.
    #[inline]
    pub fn claim(&self, result: usize, tile: u64) -> Option<Tile<'_>> {
        let place = self.results.get(result)?;
        if place.tile_count <= tile {
            return None;
        }
        let word = match place.first_word {
            IN_PLACE => &place.claims,
            first => self.claims.get((first as usize).checked_add(memory(tile / 64))?)?,
        };
        let axes = &self.axes[result * self.rank..][..self.rank];
        let mask = 1u64 << (tile % 64);
        let claimed =
            Tile { output: self, axes, result, number: tile, target: place.offset, form: place.form };
        (word.fetch_or(mask, Ordering::Relaxed) & mask == 0).then_some(claimed)
    }

    /// Tiles of a result; none where there is no such result.
    #[inline]
    pub fn tile_count(&self, result: usize) -> u64 {
        self.results.get(result).map_or(0, |place| place.tile_count)
    }

    /// Tiles of all results.
    pub fn total_tile_count(&self) -> u64 {
        self.tile_count
    }

    /// Tiles that nobody claimed: zero once everything was filled.
    pub fn unclaimed(&self) -> u64 {
        let words = self.results.iter().map(|place| &place.claims).chain(&self.claims);
        let claimed: u64 = words.map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum();
        self.tile_count - claimed
    }

    /// The memory of an output of its own; `None` of a lent one.
    pub fn into_owned(self) -> Option<Vec<u8>> {
        self.into_parts().0
    }

    /// The memory of an output of its own (`None` of a lent one), and that of its plan.
    pub fn into_parts(self) -> (Option<Vec<u8>>, OutputMemory) {
        let Output { owner, results, axes, claims, .. } = self;
        (owner, OutputMemory { results, axes, claims })
    }
}

#[cold]
pub(super) fn no_room(room: usize) -> Error {
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
    advise_huge_pages(start, len);
    // SAFETY: `start` is a block of the global allocator with the layout of `len` bytes, all of them initialised, and
    // nobody else has it.
    Ok(unsafe { Vec::from_raw_parts(start, len, len) })
}

/// Memory from this size on is asked for in huge pages, as NumPy asks.
#[cfg(target_os = "linux")]
const HUGE_BYTES_MIN: usize = 4 << 20;

/// Asks for huge pages, so that filling much memory is not mostly page faults: Linux 2.6.38, where it is `madvise` that
/// gives them out. Where it does not, nothing changes.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "madvise has no safe wrapper")]
fn advise_huge_pages(start: *mut u8, len: usize) {
    const PAGE: usize = 4096;
    let ahead = start.addr().wrapping_neg() % PAGE;
    if len < HUGE_BYTES_MIN {
        return;
    }
    let inner = start.wrapping_add(ahead);
    // SAFETY: whole pages of this size or, where they are larger, an error of the call; they lie within a block that nobody
    // else has, and advice on huge pages changes no byte.
    let _ = unsafe { libc::madvise(inner.cast(), (len - ahead) / PAGE * PAGE, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages(_: *mut u8, _: usize) {}

/// Counts within an output fit memory: [`Output::push`] found room for them.
pub(super) fn memory(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
