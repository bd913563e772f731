//! Where a write goes: a selection, checked against the array.

use super::axis_grid::AxisGrid;
use super::axis_part::{AxisPart, WholeAxis};
use super::elements::{Elements, Spread};
use super::listed_part::AxisList;
use super::stepped_part::SteppedPart;
use crate::picking::{Room, pick_mask, pick_points};
use crate::raveling::{cell_count, unravel};
use crate::selection::{Kind, ResolvedList, at, element_count, output_shape, resolve_blocks, resolve_into};
use crate::{Array, Error, ErrorKind, ResolvedAxis, Selection};
use std::ops::Range;
use swath_codecs::Picks;
use swath_ioengine::storage_len;

/// The elements that a write is to.
pub(super) enum Target {
    /// Every combination of what is taken of each axis. Axes that have lists have their counts alone.
    Axes(Vec<ResolvedAxis>, Vec<ResolvedList>),
    /// Elements that are named one by one, and the shape that they are named in.
    Points(Picks, Vec<u64>),
}

impl Target {
    /// # Errors
    ///
    /// `OutOfBounds` for a selection that does not fit the array; `Unsupported` for one whose elements, named one by one,
    /// take more memory than plans may.
    pub(super) fn new(array: &Array, selection: &Selection) -> Result<Target, Error> {
        let (shape, compiled) = (array.shape(), &array.inner.compiled);
        let (mut axes, mut lists) = (Vec::with_capacity(shape.len()), Vec::new());
        let room = || Room::new(array.engine().config().limits.plan_bytes_max);
        match &selection.0 {
            Kind::Axes(entries) => resolve_into(entries, shape, &mut axes, &mut lists)?,
            Kind::Blocks(entries) => {
                let extents = array.inner.metadata.chunk_shape();
                let grid = array.metadata().rectilinear();
                resolve_blocks(entries, (shape, extents, array.stored_grid()), grid, &mut axes)?;
            }
            Kind::Points(points) => {
                points.check(shape)?;
                let picks = pick_points(points, shape, compiled, &mut room())?;
                return Ok(Target::Points(picks, points.shape().to_vec()));
            }
            Kind::Mask(mask) => {
                mask.check(shape)?;
                let picks = pick_mask(mask, shape, compiled, &mut room())?;
                return Ok(Target::Points(picks, vec![mask.count()]));
            }
        }
        Ok(Target::Axes(axes, lists))
    }

    /// The shape that elements are broadcast to.
    pub(super) fn shape(&self) -> Vec<u64> {
        match self {
            Target::Axes(axes, _) => output_shape(axes),
            Target::Points(_, shape) => shape.clone(),
        }
    }

    pub(super) fn is_empty(&self) -> Result<bool, Error> {
        match self {
            Target::Axes(axes, _) => Ok(element_count(axes)? == 0),
            Target::Points(picks, _) => Ok(picks.count() == 0),
        }
    }

    /// The elements that go there.
    pub(super) fn spread<'a>(
        &self,
        source: &Elements<'a>,
        element_bytes: usize,
    ) -> Result<Spread<'a>, Error> {
        match self {
            Target::Axes(axes, _) => source.spread(axes),
            Target::Points(_, shape) => source.spread_flat(shape, element_bytes),
        }
    }

    pub(super) fn picks(&self) -> Option<&Picks> {
        match self {
            Target::Axes(..) => None,
            Target::Points(picks, _) => Some(picks),
        }
    }

    /// The objects that it lies in.
    pub(super) fn objects(&self, array: &Array) -> Objects {
        let inner = &array.inner;
        let (axes, lists) = match self {
            Target::Axes(axes, lists) => (axes, lists),
            Target::Points(picks, _) => {
                let of_object = inner.compiled.chunks_in_object().max(1);
                return Objects::of_tiles(picks, of_object, &inner.compiled.objects);
            }
        };
        let extents = inner.metadata.chunk_shape();
        let mut whole: Vec<WholeAxis> =
            axes.iter().map(|axis| WholeAxis::Stepped(SteppedPart::new(axis))).collect();
        for list in lists {
            let length = array.shape()[list.axis];
            let elements = list.indices.iter().map(|index| at(*index, length));
            let grid = AxisGrid::new(&inner.compiled, list.axis, extents[list.axis]);
            whole[list.axis] = WholeAxis::Listed(AxisList::new(elements, grid));
        }
        let each = whole.iter().zip(extents).enumerate();
        let count = |(number, (axis, extent)): (usize, (&WholeAxis, &u64))| {
            axis.object_count(AxisGrid::new(&inner.compiled, number, *extent))
        };
        let counts = each.map(count).collect();
        Objects::Boxes(BoxedObjects { axes: whole, counts })
    }
}

/// The objects that a write is to, by number.
pub(super) enum Objects {
    Boxes(BoxedObjects),
    /// Those that elements are picked of.
    Tiles(Vec<PickedObject>),
}

/// Objects along each axis, and every combination of them.
pub(super) struct BoxedObjects {
    axes: Vec<WholeAxis>,
    counts: Vec<u64>,
}

/// The coordinates of an object, and its tiles.
pub(super) type PickedObject = (Vec<u64>, Range<u64>);

/// The coordinates of an object, and what is put into it along each axis.
pub(super) type BoxedObject<'a> = (Vec<u64>, Vec<AxisPart<'a>>);

impl BoxedObjects {
    /// How many there are at most: in a grid of short chunks, steps may pass over some of them.
    pub(super) fn count(&self) -> Result<u64, Error> {
        cell_count(&self.counts).ok_or_else(|| Error::invalid("a write to more than 2^64 objects"))
    }

    /// The object of this number; `None` where steps pass over it.
    pub(super) fn object(&self, array: &Array, number: u64) -> Result<Option<BoxedObject<'_>>, Error> {
        let (inner, mut coordinates) = (&array.inner, vec![0; self.axes.len()]);
        unravel(number, &self.counts, &mut coordinates);
        let mut parts = Vec::with_capacity(self.axes.len());
        let each = self.axes.iter().zip(&mut coordinates).zip(inner.metadata.chunk_shape()).enumerate();
        for (axis_number, ((axis, coordinate), extent)) in each {
            let grid = AxisGrid::new(&inner.compiled, axis_number, *extent);
            match axis.object(*coordinate, grid) {
                Some((found, part)) => {
                    *coordinate = found;
                    parts.push(part);
                }
                // Steps may pass over short chunks.
                None if matches!(grid, AxisGrid::Edges(_)) => return Ok(None),
                None => return Err(no_object()),
            }
        }
        Ok(Some((coordinates, parts)))
    }
}

impl Objects {
    /// How many there are at most.
    pub(super) fn count(&self) -> Result<u64, Error> {
        match self {
            Objects::Boxes(boxes) => boxes.count(),
            Objects::Tiles(tiles) => Ok(storage_len(tiles.len())),
        }
    }

    /// Tiles are sorted by their chunks, and so by the objects that these lie in.
    fn of_tiles(picks: &Picks, chunks_in_object: u64, grid: &[u64]) -> Objects {
        let (mut found, mut start) = (Vec::<PickedObject>::new(), 0);
        while start < picks.tile_count() {
            let object = picks.chunk(start) / chunks_in_object;
            let next = (object + 1).saturating_mul(chunks_in_object);
            let end = picks.tiles_between(object * chunks_in_object, next).end.max(start + 1);
            let mut coordinates = vec![0; grid.len()];
            unravel(object, grid, &mut coordinates);
            found.push((coordinates, start..end));
            start = end;
        }
        Objects::Tiles(found)
    }
}

/// How much an object has along each axis, and how much of that lies in the array.
pub(super) fn object_extents(array: &Array, coordinates: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let inner = &array.inner;
    let each = inner.metadata.shape().iter().zip(coordinates).zip(inner.metadata.chunk_shape());
    let extents = each.enumerate().map(|(axis, ((length, at), extent))| {
        let elements = AxisGrid::new(&inner.compiled, axis, *extent).elements(*at);
        (elements.end - elements.start, elements.end.min(*length).saturating_sub(elements.start))
    });
    extents.unzip()
}

#[cold]
pub(super) fn no_object() -> Error {
    Error::new(ErrorKind::Internal, "an object that nothing is written to")
}
