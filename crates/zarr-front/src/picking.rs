//! Lists, points and masks as picks, sorted by the chunks that they lie in. Pure.

use crate::axis_edges::AxisEdges;
use crate::compiled::Compiled;
use crate::raveling::{cell_count, unravel};
use crate::selection::{Mask, Points, at};
use crate::{Error, ResolvedAxis};
use swath_codecs::Picks;

/// Elements that are worked on at a time: what is known of them fits a first-level cache.
const BLOCK: usize = 512;

/// What the picks of one read may still take.
pub(crate) struct Room {
    left: usize,
    max: usize,
}

impl Room {
    /// Room for so many bytes.
    pub(crate) fn new(max: usize) -> Room {
        Room { left: max, max }
    }

    fn check(&self, picks: &Picks) -> Result<(), Error> {
        if picks.bytes() <= self.left {
            return Ok(());
        }
        let max = self.max;
        Err(Error::unsupported(format!(
            "a selection whose plan takes more than {max} bytes (the limit `plan_bytes_max`): take it in parts"
        )))
    }

    /// Sorts picks that are complete, and takes them off what is left.
    fn sorted(&mut self, picks: Picks) -> Result<Picks, Error> {
        let picks = picks.sorted();
        self.check(&picks)?;
        self.left -= picks.bytes();
        Ok(picks)
    }
}

/// A list's elements along an axis of `length` elements, whose chunks hold `extent` each, or as `edges` has them.
pub(crate) fn pick_axis(
    indices: &[i64],
    (length, extent): (u64, u64),
    edges: Option<&AxisEdges>,
    room: &mut Room,
) -> Result<Picks, Error> {
    match edges {
        None => {
            let divisor = Divisor::new(extent);
            pick_each(indices, |index| divisor.divide(at(*index, length)), room)
        }
        Some(edges) => pick_each(indices, |index| edges.chunk_of(at(*index, length)), room),
    }
}

/// A slice's elements along an axis whose chunks differ in length: a run for each chunk, where every element is taken.
pub(crate) fn pick_stretch(axis: &ResolvedAxis, edges: &AxisEdges, room: &mut Room) -> Result<Picks, Error> {
    if axis.step != 1 {
        // Their place was checked when the selection was resolved.
        let element = |number: u64| {
            let distance = number.saturating_mul(axis.step.unsigned_abs());
            if axis.step < 0 {
                axis.start.saturating_sub(distance)
            } else {
                axis.start.saturating_add(distance)
            }
        };
        let (mut picks, mut numbers) = (Picks::default(), 0..axis.count);
        let (mut chunks, mut sources) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
        while !numbers.is_empty() {
            chunks.clear();
            sources.clear();
            for number in numbers.by_ref().take(BLOCK) {
                let (chunk, source) = edges.chunk_of(element(number));
                chunks.push(chunk);
                sources.push(u32::try_from(source).map_err(|_| too_large())?);
            }
            picks.push(&chunks, &sources)?;
            room.check(&picks)?;
        }
        return room.sorted(picks);
    }
    let (mut picks, end) = (Picks::default(), axis.start.saturating_add(axis.count));
    let mut start = axis.start;
    while start < end {
        let (chunk, source) = edges.chunk_of(start);
        let count = (edges.extent(chunk) - source).min(end - start);
        let [source, taken] = [source, count].map(|number| u32::try_from(number).map_err(|_| too_large()));
        picks.push_run(chunk, source?, taken?)?;
        room.check(&picks)?;
        start += count;
    }
    room.sorted(picks)
}

/// Elements one by one, where `place` says in which chunk an entry's element lies, and where in it.
fn pick_each<T>(indices: &[T], place: impl Fn(&T) -> (u64, u64), room: &mut Room) -> Result<Picks, Error> {
    let mut picks = Picks::default();
    let (mut chunks, mut sources) = ([0; BLOCK], [0; BLOCK]);
    for block in indices.chunks(BLOCK) {
        for ((index, chunk), source) in block.iter().zip(&mut chunks).zip(&mut sources) {
            let (found, rest) = place(index);
            *chunk = found;
            *source = u32::try_from(rest).map_err(|_| too_large())?;
        }
        picks.push(&chunks[..block.len()], &sources[..block.len()])?;
        room.check(&picks)?;
    }
    room.sorted(picks)
}

/// Points, within an array of `shape`.
pub(crate) fn pick_points(
    points: &Points,
    shape: &[u64],
    compiled: &Compiled,
    room: &mut Room,
) -> Result<Picks, Error> {
    let grid = Grid::new(shape, compiled)?;
    let (mut picks, mut start) = (Picks::default(), 0);
    let (mut places, mut indices) = (Places::new(), [0; BLOCK]);
    while start < points.count() {
        let count = usize::try_from(points.count() - start).unwrap_or(BLOCK).min(BLOCK);
        places.start_at(Place::default(), count);
        for (number, axis) in grid.axes.iter().enumerate() {
            points.indices(number, start, &mut indices[..count]);
            places.go_on(axis, &indices[..count]);
        }
        places.push_to(&mut picks, count, &grid)?;
        room.check(&picks)?;
        start += swath_ioengine::storage_len(count);
    }
    room.sorted(picks)
}

/// The elements for which a mask of the array's `shape` is true.
pub(crate) fn pick_mask(
    mask: &Mask,
    shape: &[u64],
    compiled: &Compiled,
    room: &mut Room,
) -> Result<Picks, Error> {
    let grid = Grid::new(shape, compiled)?;
    let (mut picks, mut places) = (Picks::default(), Places::new());
    let Some((last, outer)) = grid.axes.split_last() else {
        // The one element of an array without axes.
        places.push_to(&mut picks, mask.values().iter().filter(|value| **value).count(), &grid)?;
        return room.sorted(picks);
    };
    let row_len = usize::try_from(last.length).unwrap_or(usize::MAX).max(1);
    let mut at = vec![0; outer.len()];
    let mut indices = [0i64; BLOCK];
    for (number, row) in mask.values().chunks(row_len).enumerate() {
        if !row.contains(&true) {
            continue;
        }
        unravel(swath_ioengine::storage_len(number), &shape[..outer.len()], &mut at);
        let mut first = Place::default();
        outer.iter().zip(&at).for_each(|(axis, at)| first.go_on(axis, axis.place(*at)));
        let mut taken = (0i64..).zip(row).filter(|(_, value)| **value).map(|(index, _)| index);
        loop {
            let mut count = 0;
            for (place, index) in indices.iter_mut().zip(&mut taken) {
                (*place, count) = (index, count + 1);
            }
            if count == 0 {
                break;
            }
            places.start_at(first, count);
            places.go_on(last, &indices[..count]);
            places.push_to(&mut picks, count, &grid)?;
        }
        room.check(&picks)?;
    }
    room.sorted(picks)
}

/// The grid of chunks, axis by axis.
struct Grid<'a> {
    axes: Vec<GridAxis<'a>>,
    chunks_in_object: u64,
}

struct GridAxis<'a> {
    length: u64,
    /// Elements of a chunk; of the longest, where they differ.
    extent: Divisor,
    /// The chunks, where they differ in length.
    edges: Option<&'a AxisEdges>,
    chunks_per_object: Divisor,
    objects: u64,
}

impl GridAxis<'_> {
    /// The chunk along the axis that an element lies in, and its place there.
    fn place(&self, index: u64) -> (u64, u64) {
        match self.edges {
            None => self.extent.divide(index),
            Some(edges) => edges.chunk_of(index),
        }
    }
}

impl<'a> Grid<'a> {
    fn new(shape: &[u64], compiled: &'a Compiled) -> Result<Grid<'a>, Error> {
        let chunks_in_object = compiled.chunks_in_object();
        let objects = cell_count(&compiled.objects);
        if objects.and_then(|objects| objects.checked_mul(chunks_in_object)).is_none() {
            return Err(Error::unsupported("points of an array of more than 2^64 chunks"));
        }
        // Elements of a chunk are numbered by 32 bits.
        let elements = cell_count(&compiled.chunk_shape).filter(|elements| *elements <= 1 << 32);
        if elements.is_none() {
            return Err(too_large());
        }
        let extents = compiled.chunk_shape.iter().zip(&compiled.chunks_per_object);
        let lengths = shape.iter().zip(&compiled.objects).enumerate();
        let axes = lengths.zip(extents).map(|((axis, (length, objects)), (extent, chunks))| {
            let (extent, chunks_per_object) = (Divisor::new(*extent), Divisor::new(*chunks));
            let edges = compiled.shaped.as_ref().and_then(|shaped| shaped.grid.axis(axis));
            GridAxis { length: *length, extent, edges, chunks_per_object, objects: *objects }
        });
        Ok(Grid { axes: axes.collect(), chunks_in_object })
    }
}

/// Where an element lies, along the axes so far: row-major numbers.
#[derive(Clone, Copy, Default)]
struct Place {
    object: u64,
    /// The chunk within its object.
    chunk: u64,
    /// The element within its chunk.
    source: u64,
}

impl Place {
    /// Goes on to an element along the next axis, by its chunk and its place there.
    #[inline]
    fn go_on(&mut self, axis: &GridAxis<'_>, (chunk, source): (u64, u64)) {
        let (object, chunk) = axis.chunks_per_object.divide(chunk);
        self.object = self.object * axis.objects + object;
        self.chunk = self.chunk * axis.chunks_per_object.by + chunk;
        self.source = self.source * axis.extent.by + source;
    }
}

/// Where the elements of a block lie.
struct Places([Place; BLOCK], [u64; BLOCK], [u32; BLOCK]);

impl Places {
    fn new() -> Places {
        Places([Place::default(); BLOCK], [0; BLOCK], [0; BLOCK])
    }

    /// Has the first elements of the block start at one place.
    fn start_at(&mut self, first: Place, count: usize) {
        self.0[..count.min(BLOCK)].fill(first);
    }

    fn go_on(&mut self, axis: &GridAxis<'_>, indices: &[i64]) {
        let places = self.0.iter_mut().zip(indices);
        match axis.edges {
            None => places.for_each(|(place, index)| {
                place.go_on(axis, axis.extent.divide(at(*index, axis.length)));
            }),
            Some(edges) => places.for_each(|(place, index)| {
                place.go_on(axis, edges.chunk_of(at(*index, axis.length)));
            }),
        }
    }

    /// Adds the block's first elements to the picks.
    fn push_to(&mut self, picks: &mut Picks, count: usize, grid: &Grid<'_>) -> Result<(), Error> {
        let Places(places, chunks, sources) = self;
        for ((place, chunk), source) in places.iter().zip(&mut *chunks).zip(&mut *sources).take(count) {
            *chunk = place.object * grid.chunks_in_object + place.chunk;
            *source = u32::try_from(place.source).map_err(|_| too_large())?;
        }
        Ok(picks.push(&chunks[..count], &sources[..count])?)
    }
}

/// A number that others are divided by.
#[derive(Clone, Copy)]
struct Divisor {
    by: u64,
    /// Where it is a power of two, which.
    shift: Option<u32>,
}

impl Divisor {
    /// 0 is taken as 1.
    fn new(by: u64) -> Divisor {
        let by = by.max(1);
        Divisor { by, shift: by.is_power_of_two().then(|| by.trailing_zeros()) }
    }

    /// Quotient and remainder. Most numbers fit 32 bits, which processors divide faster.
    #[inline]
    fn divide(self, number: u64) -> (u64, u64) {
        if let Some(shift) = self.shift {
            return (number >> shift, number & (self.by - 1));
        }
        match (u32::try_from(number), u32::try_from(self.by)) {
            (Ok(number), Ok(by)) if by != 0 => (u64::from(number / by), u64::from(number % by)),
            _ => (number / self.by, number % self.by),
        }
    }
}

#[cold]
fn too_large() -> Error {
    Error::unsupported("a selection by lists of an array whose chunks have more than 2^32 elements")
}
