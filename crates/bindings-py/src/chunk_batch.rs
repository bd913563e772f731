//! What zarr-python asks of a codec pipeline: chunks with a selection in each, as one selection of the array.

use crate::plain_slice;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PySlice, PyString, PyTuple};

/// Where chunks of one shape lie, and how their keys are made.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct ChunkGrid {
    /// Elements of a chunk along each axis.
    #[pyo3(get)]
    extents: Vec<u64>,
    /// What stands before the coordinates in a key.
    prefix: Option<String>,
    separator: char,
}

/// An array's path, where the last chunk ends along each axis, and an index.
type FoundBox<'py> = (String, Vec<u64>, Bound<'py, PyTuple>);

#[pymethods]
impl ChunkGrid {
    #[new]
    fn new(extents: Vec<u64>, prefix: Option<String>, separator: char) -> ChunkGrid {
        ChunkGrid { extents, prefix, separator }
    }

    /// Return an array's path and a chunk's coordinates, from the chunk's path; None for other paths.
    fn place(&self, path: &str) -> Option<(String, Vec<u64>)> {
        let mut coordinates = Vec::new();
        let folder = self.split(path, &mut coordinates)?;
        Some((folder.to_owned(), coordinates))
    }

    /// Return the one selection by integers and slices that a batch of zarr-python's comes to.
    ///
    /// The array's path, where the last chunk ends along each axis, and the index. None where it comes to no
    /// such selection, or to one that does not fill an output of this shape.
    fn box_of<'py>(
        &self,
        py: Python<'py>,
        batch: &Bound<'py, PyList>,
        shape: Vec<u64>,
    ) -> PyResult<Option<FoundBox<'py>>> {
        let Some(found) = self.selected(batch)? else { return Ok(None) };
        if !found.lengths().eq(shape) {
            return Ok(None);
        }
        let index = found.axes.iter().map(|along| match *along {
            Along::Integer(at) => Ok(at.into_pyobject(py)?.into_any()),
            Along::Slice { first, end, step, .. } => plain_slice::made(py, first, end, step),
        });
        let index = PyTuple::new(py, index.collect::<PyResult<Vec<_>>>()?)?;
        Ok(Some((found.path, found.ends, index)))
    }
}

/// The one selection by integers and slices that a batch comes to.
pub(crate) struct Selected<'py> {
    /// The store that all chunks are in.
    pub(crate) store: Bound<'py, PyAny>,
    /// The array's path.
    pub(crate) path: String,
    /// Where the last chunk ends along each axis.
    pub(crate) ends: Vec<u64>,
    pub(crate) axes: Vec<Along>,
}

impl Selected<'_> {
    /// Elements along each axis of the output.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = u64> {
        self.axes.iter().filter_map(|along| match along {
            Along::Integer(_) => None,
            Along::Slice { count, .. } => Some(*count),
        })
    }
}

/// What is selected in the chunks at each coordinate of an axis, in the order of the coordinates.
#[derive(Clone, Default)]
struct Axis(Vec<(u64, Part)>);

impl Axis {
    /// Notes what is selected in a chunk at a coordinate; false where another one there selects something else.
    fn note(&mut self, at: u64, part: Part) -> bool {
        match self.number_of(at) {
            Ok(number) => self.0.get(number).is_some_and(|(_, known)| *known == part),
            Err(number) => {
                self.0.insert(number, (at, part));
                true
            }
        }
    }

    /// Which of the coordinates this is, or would be.
    fn number_of(&self, at: u64) -> Result<usize, usize> {
        self.0.binary_search_by_key(&at, |(at, _)| *at)
    }
}

/// What is selected in a chunk along an axis: an element, or a slice and the part of the output that it fills.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Integer(u64),
    Slice { start: u64, step: u64, target: u64, target_end: u64 },
}

/// The store of a batch's chunks, the path of its array, and what is selected along each axis.
type Selections<'py> = (Bound<'py, PyAny>, String, Vec<Axis>);

impl ChunkGrid {
    /// The array's path in that of a chunk, whose coordinates are written to `coordinates`.
    fn split<'a>(&self, path: &'a str, coordinates: &mut Vec<u64>) -> Option<&'a str> {
        let (rank, mut head) = (self.extents.len(), path);
        let first = coordinates.len();
        for number in 0..rank {
            let is_first = number + 1 == rank && self.prefix.is_none();
            let (before, name) = match head.rsplit_once(if is_first { '/' } else { self.separator }) {
                Some(found) => found,
                None if is_first => ("", head),
                None => return None,
            };
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            coordinates.push(name.parse().ok()?);
            head = before;
        }
        coordinates[first..].reverse();
        let prefix = match &self.prefix {
            Some(prefix) => prefix.as_str(),
            None if rank == 0 => "0",
            None => return Some(head),
        };
        match head.rsplit_once('/') {
            Some((folder, name)) => (name == prefix).then_some(folder),
            None => (head == prefix).then_some(""),
        }
    }

    /// The one selection by integers and slices that a batch comes to; `None` where what it selects along an axis is not the
    /// same in all chunks at one coordinate, where not each combination is there once, or where chunks do not go on from each
    /// other.
    pub(crate) fn selected<'py>(&self, batch: &Bound<'py, PyList>) -> PyResult<Option<Selected<'py>>> {
        let Some((store, path, axes)) = self.axes(batch)? else { return Ok(None) };
        let (mut ends, mut found) = (Vec::with_capacity(axes.len()), Vec::with_capacity(axes.len()));
        for (axis, extent) in axes.iter().zip(&self.extents) {
            let Some(along) = along(&axis.0, *extent) else { return Ok(None) };
            let last = axis.0.last().map_or(0, |(at, _)| *at);
            ends.push(last.saturating_add(1).saturating_mul(*extent));
            found.push(along);
        }
        Ok(Some(Selected { store, path, ends, axes: found }))
    }

    /// What a batch selects along each axis, where each combination of chunks is there once.
    fn axes<'py>(&self, batch: &Bound<'py, PyList>) -> PyResult<Option<Selections<'py>>> {
        let (py, rank) = (batch.py(), self.extents.len());
        let mut origin = None::<(Bound<'py, PyAny>, String)>;
        let (mut axes, mut chunks) = (vec![Axis::default(); rank], Vec::with_capacity(rank * batch.len()));
        let mut is_sorted = true;
        for item in batch.iter() {
            let item = item.cast_into::<PyTuple>()?;
            let getter = item.get_borrowed_item(0)?;
            let store = getter.getattr(intern!(py, "store"))?;
            let key = getter.getattr(intern!(py, "path"))?.cast_into::<PyString>()?;
            let Some(folder) = self.split(key.to_str()?, &mut chunks) else { return Ok(None) };
            match &origin {
                Some((known, path)) if store.is(known) && path == folder => {}
                Some(_) => return Ok(None),
                None => origin = Some((store, folder.to_owned())),
            }
            let (before, at) = chunks.split_at(chunks.len() - rank);
            is_sorted &= before.len() < rank || &before[before.len() - rank..] < at;
            if !note_parts(&item, at, &mut axes)? {
                return Ok(None);
            }
        }
        let product = axes.iter().try_fold(1, |count: usize, axis| count.checked_mul(axis.0.len()));
        // Chunks that come in order are different ones.
        let is_whole = product == Some(batch.len()) && (is_sorted || are_distinct(&chunks, rank, &axes));
        Ok(origin.filter(|_| is_whole).map(|(store, path)| (store, path, axes)))
    }
}

/// Notes what an item selects in the chunk at these coordinates; false where that is no box, or another one than before.
fn note_parts(item: &Bound<'_, PyTuple>, at: &[u64], axes: &mut [Axis]) -> PyResult<bool> {
    let (inside, outside) = (item.get_borrowed_item(2)?, item.get_borrowed_item(3)?);
    let (Ok(inside), Ok(outside)) = (inside.cast::<PyTuple>(), outside.cast::<PyTuple>()) else {
        return Ok(false);
    };
    if inside.len() != at.len() {
        return Ok(false);
    }
    let mut targets = outside.iter_borrowed();
    for ((part, at), axis) in inside.iter_borrowed().zip(at).zip(axes) {
        let part = match part.cast::<PySlice>() {
            Ok(part) => {
                let target = targets.next();
                target.and_then(|target| {
                    target.cast::<PySlice>().ok().and_then(|target| slice_part(&part, &target))
                })
            }
            Err(_) if part.is_exact_instance_of::<PyInt>() => part.extract::<u64>().ok().map(Part::Integer),
            Err(_) => None,
        };
        if !part.is_some_and(|part| axis.note(*at, part)) {
            return Ok(false);
        }
    }
    Ok(targets.next().is_none())
}

/// A slice of a chunk, and the part of the output that it fills; `None` where either goes backwards or is empty, and where the
/// output's has no end.
fn slice_part(part: &Bound<'_, PySlice>, target: &Bound<'_, PySlice>) -> Option<Part> {
    // What has no end reads as ending there, and what counts from the end as starting just before.
    let length = isize::MAX;
    let (start, _, step) = plain_slice::indices(part, length)?;
    let (target, target_end, target_step) = plain_slice::indices(target, length)?;
    let is_whole = target_step == 1 && target_end != length;
    let number = |value| u64::try_from(value).ok();
    let part = Part::Slice {
        start: number(start)?,
        step: number(step)?,
        target: number(target)?,
        target_end: number(target_end)?,
    };
    is_whole.then_some(part)
}

/// Whether no two chunks are the same, of as many as there are combinations.
fn are_distinct(chunks: &[u64], rank: usize, axes: &[Axis]) -> bool {
    if rank == 0 {
        return true;
    }
    let mut seen = vec![false; chunks.len() / rank];
    for chunk in chunks.chunks_exact(rank) {
        let number = chunk.iter().zip(axes).try_fold(0, |number: usize, (at, axis)| {
            number.checked_mul(axis.0.len())?.checked_add(axis.number_of(*at).ok()?)
        });
        match number.and_then(|number| seen.get_mut(number)) {
            Some(seen) if !*seen => *seen = true,
            _ => return false,
        }
    }
    true
}

/// One selection along an axis.
#[derive(Clone, Copy)]
pub(crate) enum Along {
    Integer(u64),
    Slice { first: u64, end: u64, step: u64, count: u64 },
}

/// What is selected along an axis, where it is one integer, or one slice that fills the output from its start on without a gap.
fn along(parts: &[(u64, Part)], extent: u64) -> Option<Along> {
    if let [(at, Part::Integer(part))] = parts {
        return at.checked_mul(extent)?.checked_add(*part).filter(|_| *part < extent).map(Along::Integer);
    }
    let (mut found, mut filled) = (None, 0);
    for (at, part) in parts {
        let Part::Slice { start, step, target, target_end } = *part else { return None };
        if extent <= start || target != filled || target_end <= target {
            return None;
        }
        let start = at.checked_mul(extent)?.checked_add(start)?;
        let (first, following, steps) = found.unwrap_or((start, start, step));
        if start != following || step != steps {
            return None;
        }
        filled = target_end;
        found = Some((first, start.checked_add((target_end - target).checked_mul(step)?)?, step));
    }
    let (first, following, step) = found?;
    Some(Along::Slice { first, end: following - step + 1, step, count: filled })
}
