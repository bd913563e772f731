//! What zarr-python asks of a codec pipeline: chunks with a selection in each, as one selection of the array.

use crate::plain_slice;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PySlice, PyString, PyTuple};
use std::collections::HashMap;

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
        let Some((path, axes)) = self.axes(batch)? else { return Ok(None) };
        let (mut ends, mut index, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
        for (axis, extent) in axes.iter().zip(&self.extents) {
            let Some(along) = along(axis, *extent) else { return Ok(None) };
            let last = axis.keys().max().copied().unwrap_or(0);
            ends.push(last.saturating_add(1).saturating_mul(*extent));
            index.push(match along {
                Along::Integer(at) => at.into_pyobject(py)?.into_any(),
                Along::Slice { first, end, step, count } => {
                    lengths.push(count);
                    plain_slice::made(py, first, end, step)?
                }
            });
        }
        let fills = lengths == shape;
        Ok(fills.then(|| PyTuple::new(py, index)).transpose()?.map(|index| (path, ends, index)))
    }
}

/// Along each axis, what is selected in the chunks at each coordinate.
type Axes = Vec<HashMap<u64, Part>>;

/// What is selected in a chunk along an axis: an element, or a slice and the part of the output that it fills.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Integer(u64),
    Slice { start: u64, step: u64, target: u64, target_end: u64 },
}

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

    /// What a batch selects along each axis, and the path of its array; `None` where that is not the same in all chunks at
    /// one coordinate, or where not each combination is there once.
    fn axes(&self, batch: &Bound<'_, PyList>) -> PyResult<Option<(String, Axes)>> {
        let rank = self.extents.len();
        let (mut path, mut store) = (None::<String>, None);
        let (mut axes, mut chunks): (Axes, Vec<u64>) = (vec![HashMap::new(); rank], Vec::new());
        for item in batch.iter() {
            let item = item.cast_into::<PyTuple>()?;
            let getter = item.get_item(0)?;
            let found = getter.getattr(intern!(item.py(), "store"))?;
            if !store.get_or_insert_with(|| found.clone()).is(&found) {
                return Ok(None);
            }
            let key = getter.getattr(intern!(item.py(), "path"))?.cast_into::<PyString>()?;
            let Some(folder) = self.split(key.to_str()?, &mut chunks) else { return Ok(None) };
            if path.get_or_insert_with(|| folder.to_owned()) != folder {
                return Ok(None);
            }
            let at = &chunks[chunks.len() - rank..];
            if !note_parts(&item, at, &mut axes)? {
                return Ok(None);
            }
        }
        let is_product = axes.iter().try_fold(1, |count: usize, axis| count.checked_mul(axis.len()));
        let is_whole = is_product == Some(batch.len()) && are_distinct(&chunks, rank, &axes);
        Ok(path.filter(|_| is_whole).map(|path| (path, axes)))
    }
}

/// Notes what an item selects in the chunk at these coordinates; false where that is no box, or another one than before.
fn note_parts(item: &Bound<'_, PyTuple>, at: &[u64], axes: &mut Axes) -> PyResult<bool> {
    let (inside, outside) = (item.get_item(2)?, item.get_item(3)?);
    let (Ok(inside), Ok(outside)) = (inside.cast_into::<PyTuple>(), outside.cast_into::<PyTuple>()) else {
        return Ok(false);
    };
    if inside.len() != at.len() {
        return Ok(false);
    }
    let mut targets = outside.iter();
    for ((part, at), axis) in inside.iter().zip(at).zip(axes) {
        let part = match part.cast::<PySlice>() {
            Ok(part) => {
                let Some(Ok(target)) = targets.next().map(Bound::cast_into::<PySlice>) else {
                    return Ok(false);
                };
                slice_part(part, &target)?
            }
            Err(_) if part.is_exact_instance_of::<PyInt>() => part.extract::<u64>().ok().map(Part::Integer),
            Err(_) => None,
        };
        let Some(part) = part else { return Ok(false) };
        if *axis.entry(*at).or_insert(part) != part {
            return Ok(false);
        }
    }
    Ok(targets.next().is_none())
}

/// A slice of a chunk, and the part of the output that it fills; `None` where either goes backwards or leaves its ends out.
fn slice_part(part: &Bound<'_, PySlice>, target: &Bound<'_, PySlice>) -> PyResult<Option<Part>> {
    let py = part.py();
    let number = |slice: &Bound<'_, PySlice>, name: &Bound<'_, PyString>| -> PyResult<Option<u64>> {
        let value = slice.getattr(name)?;
        Ok(if value.is_none() { None } else { value.extract().ok() })
    };
    let step = |slice: &Bound<'_, PySlice>| -> PyResult<Option<u64>> {
        let value = slice.getattr(intern!(py, "step"))?;
        Ok(if value.is_none() { Some(1) } else { value.extract().ok().filter(|step| *step != 0) })
    };
    let (start, stop) = (intern!(py, "start"), intern!(py, "stop"));
    if step(target)? != Some(1) {
        return Ok(None);
    }
    let (first, step) = (number(part, start)?, step(part)?);
    let (target, target_end) = (number(target, start)?, number(target, stop)?);
    Ok((|| Some(Part::Slice { start: first?, step: step?, target: target?, target_end: target_end? }))())
}

/// Whether no two chunks are the same, of as many as there are combinations.
fn are_distinct(chunks: &[u64], rank: usize, axes: &Axes) -> bool {
    if rank == 0 {
        return true;
    }
    let numbered = axes.iter().map(|axis| {
        let mut sorted: Vec<u64> = axis.keys().copied().collect();
        sorted.sort_unstable();
        sorted
    });
    let numbered: Vec<Vec<u64>> = numbered.collect();
    let mut seen = vec![false; chunks.len() / rank];
    for chunk in chunks.chunks_exact(rank) {
        let number = chunk.iter().zip(&numbered).try_fold(0, |number: usize, (at, sorted)| {
            number.checked_mul(sorted.len())?.checked_add(sorted.binary_search(at).ok()?)
        });
        match number.and_then(|number| seen.get_mut(number)) {
            Some(seen) if !*seen => *seen = true,
            _ => return false,
        }
    }
    true
}

/// One selection along an axis.
enum Along {
    Integer(u64),
    Slice { first: u64, end: u64, step: u64, count: u64 },
}

/// What is selected along an axis, where it is one integer, or one slice that fills the output from its start on without a gap.
fn along(axis: &HashMap<u64, Part>, extent: u64) -> Option<Along> {
    let mut parts: Vec<(u64, Part)> = axis.iter().map(|(at, part)| (*at, *part)).collect();
    parts.sort_unstable_by_key(|(at, _)| *at);
    if let [(at, Part::Integer(part))] = parts.as_slice() {
        return at.checked_mul(extent)?.checked_add(*part).map(Along::Integer);
    }
    let (mut found, mut filled) = (None, 0);
    for (at, part) in parts {
        let Part::Slice { start, step, target, target_end } = part else { return None };
        let start = at.checked_mul(extent)?.checked_add(start)?;
        let (first, following, steps) = found.unwrap_or((start, start, step));
        if start != following || step != steps || target != filled || target_end <= target {
            return None;
        }
        filled = target_end;
        found = Some((first, start.checked_add((target_end - target).checked_mul(step)?)?, step));
    }
    let (first, following, step) = found?;
    Some(Along::Slice { first, end: following - step + 1, step, count: filled })
}
