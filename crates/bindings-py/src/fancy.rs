//! Indexes by lists, masks, points and blocks, by zarr-python's rules.

use crate::errors::raised_about;
use crate::index_list::{IndexList, Strictness};
use crate::selection::Parser;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyTuple};
use std::num::{NonZeroI64, NonZeroU8};
use std::sync::Arc;
use swath::{AxisSelection, Points, Selection};

/// One entry of an index, as far as its type tells.
enum Entry {
    /// An integer, a slice or `...`.
    Plain(AxisSelection),
    List(IndexList),
}

impl Entry {
    fn is_index(&self) -> bool {
        matches!(self, Entry::Plain(AxisSelection::Index(_)))
    }

    fn is_integers(&self) -> bool {
        matches!(self, Entry::List(IndexList::Integers(..)))
    }

    fn is_ellipsis(&self) -> bool {
        matches!(self, Entry::Plain(AxisSelection::Ellipsis))
    }

    fn is_list(&self) -> bool {
        matches!(self, Entry::List(_))
    }
}

const PLAIN: &str = "integers, slices, `...`, or a tuple of them, with one list or array of integers or booleans beside \
                     integers and slices, or with one for every axis, do";
const ORTHOGONAL: &str = "integers, slices with positive steps, one `...`, and lists or arrays of integers or booleans with one axis do";
const POINTS: &str =
    "one list or array of integers for every axis, or one array of booleans of the array's shape, does";
const BLOCKS: &str = "integers and slices without steps do";

impl Parser<'_> {
    /// What `a[index]` selects, where it is not by integers, slices and `...` alone.
    pub(crate) fn fancy(&self, index: &Bound<'_, PyAny>) -> PyResult<Selection> {
        let rank = self.shape.len();
        let Ok(tuple) = index.cast::<PyTuple>() else {
            let Some(list) = IndexList::of(index, Strictness::Uniform)? else {
                return Err(self.unsupported(index, PLAIN));
            };
            let is_array = !index.is_instance_of::<PyList>();
            return match list {
                IndexList::Mask(..) if is_array || rank == 1 => self.masked(index, list),
                IndexList::Integers(..) if rank == 1 => self.pointed(index, vec![Entry::List(list)]),
                list => self.crossed(index, vec![Entry::List(list)]),
            };
        };
        let mut entries = Vec::with_capacity(tuple.len());
        for entry in tuple.iter_borrowed() {
            // Two lists of Python's in one are no index.
            let axis = self.axis(entries.len(), tuple.len(), entries.iter().any(Entry::is_ellipsis));
            let found = self.known(&entry, axis, Strictness::Uniform)?;
            entries.push(found.ok_or_else(|| self.unsupported(&entry, PLAIN))?);
        }
        let lists = entries.iter().filter(|entry| entry.is_list()).count();
        let is_whole = entries.len() == rank;
        if is_whole && entries.iter().all(|entry| entry.is_index() || entry.is_integers()) {
            return self.pointed(index, entries);
        }
        let has_ellipsis = entries.iter().any(Entry::is_ellipsis);
        if is_whole && lists == entries.len() || lists <= 1 && !has_ellipsis {
            return self.crossed(index, entries);
        }
        Err(self.unsupported(index, PLAIN))
    }

    /// What `a.oindex[index]` selects.
    pub(crate) fn orthogonal(&self, index: &Bound<'_, PyAny>) -> PyResult<Selection> {
        let entries = self.each(index, ORTHOGONAL)?;
        self.crossed(index, entries)
    }

    /// What `a.vindex[index]` selects.
    pub(crate) fn vectorised(&self, index: &Bound<'_, PyAny>) -> PyResult<Selection> {
        let mut entries = self.each(index, POINTS)?;
        match entries.pop() {
            Some(Entry::List(list @ IndexList::Mask(..))) if entries.is_empty() => self.masked(index, list),
            last => {
                entries.extend(last);
                self.pointed(index, entries)
            }
        }
    }

    /// What `a.get_coordinate_selection(index)` selects.
    pub(crate) fn points(&self, index: &Bound<'_, PyAny>) -> PyResult<Selection> {
        let entries = self.each(index, POINTS)?;
        self.pointed(index, entries)
    }

    /// What `a.get_mask_selection(index)` selects.
    pub(crate) fn mask(&self, index: &Bound<'_, PyAny>) -> PyResult<Selection> {
        let mut entries = self.each(index, POINTS)?;
        match (entries.pop(), entries.is_empty()) {
            (Some(Entry::List(list)), true) => self.masked(index, list),
            _ => Err(self.unsupported(index, POINTS)),
        }
    }

    /// What `a.blocks[index]` selects.
    pub(crate) fn blocks(&self, index: &Bound<'_, PyAny>) -> PyResult<Selection> {
        let py = index.py();
        let (mut axes, tuple) = (Vec::new(), self.tuple(index)?);
        for (number, entry) in tuple.iter().enumerate() {
            let axis = self.axis(number, tuple.len(), axes.contains(&AxisSelection::Ellipsis));
            let found = match entry.cast::<PySlice>() {
                Ok(slice) => {
                    let part = |name| entry.getattr(name)?.extract::<Option<i64>>();
                    let (start, stop) = (part(intern!(py, "start")), part(intern!(py, "stop")));
                    match (start, stop, part(intern!(py, "step"))) {
                        (Ok(start), Ok(stop), Ok(None | Some(1))) => {
                            Some(AxisSelection::Slice { start, stop, step: NonZeroU8::MIN.into() })
                        }
                        _ => return Err(self.unsupported(slice, BLOCKS)),
                    }
                }
                Err(_) => self.entry(&entry, axis)?,
            };
            axes.push(found.ok_or_else(|| self.unsupported(&entry, BLOCKS))?);
        }
        Ok(Selection::blocks(axes))
    }

    /// An index as a tuple.
    fn tuple<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        match index.cast::<PyTuple>() {
            // zarr-python takes a tuple that is alone in one for it.
            Ok(tuple) if tuple.len() == 1 => match tuple.get_item(0)?.cast_into::<PyTuple>() {
                Ok(inner) => Ok(inner),
                Err(_) => Ok(tuple.clone()),
            },
            Ok(tuple) => Ok(tuple.clone()),
            Err(_) => PyTuple::new(index.py(), [index]),
        }
    }

    /// The entries of an index; `wanted` says which do.
    fn each(&self, index: &Bound<'_, PyAny>, wanted: &str) -> PyResult<Vec<Entry>> {
        let (mut entries, tuple) = (Vec::new(), self.tuple(index)?);
        for entry in tuple.iter() {
            let axis = self.axis(entries.len(), tuple.len(), entries.iter().any(Entry::is_ellipsis));
            let found = self.known(&entry, axis, Strictness::Any)?;
            entries.push(found.ok_or_else(|| self.unsupported(&entry, wanted))?);
        }
        Ok(entries)
    }

    /// The axis that entry `number` of so many is of. Behind an ellipsis, axes count from the last.
    fn axis(&self, number: usize, entries: usize, is_behind: bool) -> usize {
        if is_behind { (self.shape.len() + number).saturating_sub(entries) } else { number }
    }

    fn known(
        &self,
        entry: &Bound<'_, PyAny>,
        axis: usize,
        strictness: Strictness,
    ) -> PyResult<Option<Entry>> {
        if let Ok(slice) = entry.cast::<PySlice>() {
            self.check_forwards(slice)?;
            // Which axis it is of depends on what an ellipsis stands for: selections are resolved later.
            let part = |name| -> Option<Option<i64>> { entry.getattr(name).ok()?.extract().ok() };
            let py = entry.py();
            let parts = (part(intern!(py, "start")), part(intern!(py, "stop")), part(intern!(py, "step")));
            if let (Some(start), Some(stop), Some(step)) = parts
                && let Some(step) = NonZeroI64::new(step.unwrap_or(1))
            {
                return Ok(Some(Entry::Plain(AxisSelection::Slice { start, stop, step })));
            }
        }
        if let Some(plain) = self.entry(entry, axis)? {
            return Ok(Some(Entry::Plain(plain)));
        }
        Ok(IndexList::of(entry, strictness)?.map(Entry::List))
    }

    /// Beside lists, slices go forwards, as in zarr-python.
    fn check_forwards(&self, slice: &Bound<'_, PySlice>) -> PyResult<()> {
        let step = slice.getattr(intern!(slice.py(), "step"))?;
        if !step.is_none() && step.lt(0)? {
            return Err(self.unsupported(slice, ORTHOGONAL));
        }
        Ok(())
    }

    /// Every combination of what is taken of each axis.
    fn crossed(&self, index: &Bound<'_, PyAny>, entries: Vec<Entry>) -> PyResult<Selection> {
        let mut axes = Vec::with_capacity(entries.len());
        for entry in entries {
            axes.push(match entry {
                Entry::Plain(axis) => axis,
                Entry::List(list) if list.rank() != 1 => return Err(self.unsupported(index, ORTHOGONAL)),
                Entry::List(IndexList::Integers(_, indices)) => AxisSelection::List(indices),
                Entry::List(IndexList::Mask(_, values)) => AxisSelection::Mask(values),
            });
        }
        Ok(Selection::new(axes))
    }

    /// One element for each index.
    fn pointed(&self, index: &Bound<'_, PyAny>, entries: Vec<Entry>) -> PyResult<Selection> {
        if entries.len() != self.shape.len() {
            return Err(self.unsupported(index, POINTS));
        }
        let mut axes: Vec<(Vec<u64>, Arc<[i64]>)> = Vec::with_capacity(entries.len());
        for entry in entries {
            axes.push(match entry {
                Entry::Plain(AxisSelection::Index(index)) => (vec![1], Arc::from([index])),
                // Without axes they would select a scalar, where zarr-python gives an array of one element.
                Entry::List(IndexList::Integers(shape, indices)) if shape.is_empty() => (vec![1], indices),
                Entry::List(IndexList::Integers(shape, indices)) => (shape, indices),
                _ => return Err(self.unsupported(index, POINTS)),
            });
        }
        let points = Points::broadcast(axes).map_err(|error| raised_about(index.py(), &error, self.name))?;
        Ok(points.into())
    }

    /// The elements for which a mask of the whole array is true.
    fn masked(&self, index: &Bound<'_, PyAny>, list: IndexList) -> PyResult<Selection> {
        let IndexList::Mask(shape, values) = list else { return Err(self.unsupported(index, POINTS)) };
        Selection::mask(shape, values).map_err(|error| raised_about(index.py(), &error, self.name))
    }
}
