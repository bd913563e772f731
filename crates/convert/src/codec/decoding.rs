//! What a chunk's bytes hold.

use super::Order;
use crate::coordinates::{Axes, GridLayout, Points, layout};
use crate::grib::{Grid, Place, fields};
use crate::unpack::{is_by_rows, unpack_message, unpack_rows};
use crate::{Error, ErrorKind, Field, Sample};

/// The field that a chunk is of.
pub(super) fn field(message: &[u8], order: Order) -> Result<Field, Error> {
    let mut fields = fields(message)?.into_iter();
    let field = match order {
        Order::File => fields.next(),
        Order::Rows => fields.next_back(),
    };
    field.ok_or_else(|| Error::corrupt("a message without a field"))
}

/// Whether a chunk of a shape holds one field of a grid, and nothing else.
pub(super) fn check_shape(shape: &[u64], grid: &Grid) -> Result<(), Error> {
    let points = shape.iter().try_fold(1u64, |points, len| points.checked_mul(*len));
    let rows = match (layout(grid), grid.rows, grid.columns) {
        (GridLayout::Axes { rows, columns } | GridLayout::Plane { rows, columns }, ..) => {
            Some([rows, columns])
        }
        // Of a grid that swath takes for points, others may have rows.
        _ => None,
    };
    let is_flat = shape.last() == Some(&grid.points);
    let has_rows = rows.is_none_or(|rows| shape.ends_with(&rows) || is_flat);
    if points == Some(grid.points) && has_rows {
        return Ok(());
    }
    let found = match rows {
        Some([rows, columns]) => format!("{rows} rows of {columns} points"),
        None => format!("{} points", grid.points),
    };
    Err(Error::corrupt(format!("wanted a field of shape {shape:?}, found one of {found}")))
}

pub(super) fn values<T: Sample>(
    field: &Field,
    message: &[u8],
    order: Order,
    target: &mut [T],
) -> Result<(), Error> {
    match order {
        Order::File => unpack_message(field, message, target),
        Order::Rows => unpack_rows(field, message, &mut Vec::new(), target),
    }
}

/// Fills `target` with a coordinate of each point, row by row where the grid has rows, which then have to be so in the file too.
pub(super) fn places<T: Sample>(
    grid: &Grid,
    of: impl Fn(Place) -> f64,
    order: Order,
    target: &mut [T],
) -> Result<(), Error> {
    let found = swath_ioengine::storage_len(target.len());
    if found != grid.points {
        let message = format!("a target of {found} elements for a grid of {} points", grid.points);
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    if order == Order::File && !is_by_rows(grid) {
        return Err(Error::unsupported("places of points whose order in the file is not row by row"));
    }
    let fill = |target: &mut [T], place: &dyn Fn(usize) -> Place| {
        target.iter_mut().enumerate().for_each(|(number, target)| *target = T::from_f64(of(place(number))));
    };
    match Points::of(grid)? {
        Points::Axes(Axes { latitudes, longitudes }) => {
            let columns = longitudes.len().max(1);
            fill(target, &|number| Place {
                latitude: latitudes.get(number / columns).copied().unwrap_or(f64::NAN),
                longitude: longitudes.get(number % columns).copied().unwrap_or(f64::NAN),
            });
        }
        Points::Plane(plane) => fill(target, &|number| plane.point(number)),
        Points::Listed(places) => fill(target, &|number| places[number]),
        Points::Unknown => {
            return Err(Error::unsupported(format!("places of the points of a {} grid", grid.kind.name())));
        }
    }
    Ok(())
}
