//! The groups, arrays and coordinates of a plan, made in a store.

use super::coordinate::{Coordinate, object};
use super::grid_arrays::{GridArrays, LATITUDE, LONGITUDE, MAPPING, degrees};
use super::message;
use super::plan::{Hypercube, Plan, Variable};
use crate::coordinates::Points;
use crate::nodes::{Expected, array, create_group, grown};
use crate::{Error, ErrorKind, Piece, Place};
use serde_json::json;
use swath_ioengine::{Engine, ObjectRef};
use swath_zarr_front::{Array, ArrayBuilder, DataType, FillValue, Selection, Store, ZarrFormat};

/// Points whose places are worked out at once.
const BLOCK_POINTS: usize = 1 << 20;

/// Makes what is not there yet, and gives the arrays of each group's variables.
///
/// # Errors
///
/// Those of the store; `Invalid` where something else is there already, or anything where nothing is expected.
pub(super) fn create(
    plan: &Plan,
    engine: &Engine,
    files: &[ObjectRef],
    store: &Store,
    expected: Expected,
    piece: Piece,
) -> Result<Vec<Vec<Array>>, Error> {
    let is_single = plan.groups.iter().any(|group| group.path.is_empty());
    if !is_single {
        let conventions = object(json!({ "Conventions": "CF-1.11" }));
        create_group(store, "", &conventions, expected)?;
    }
    let mut arrays = Vec::with_capacity(plan.groups.len());
    for group in &plan.groups {
        create_group(store, &group.path, &group.attributes, expected)?;
        if piece.is_first() {
            let write = |coordinate: &Coordinate| write_coordinate(coordinate, group, store, expected);
            group.coordinates.iter().try_for_each(write)?;
            // Where new files join, the grid is there.
            if plan.first_new_file == 0 {
                write_grid(group, engine, files, store, expected)?;
            }
        }
        let made =
            group.variables.iter().map(|variable| create_variable(plan, group, variable, store, expected));
        arrays.push(made.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(arrays)
}

fn create_variable(
    plan: &Plan,
    group: &Hypercube,
    variable: &Variable,
    store: &Store,
    expected: Expected,
) -> Result<Array, Error> {
    let path = joined(&group.path, &variable.name);
    let shape = group.shape(variable);
    let missing = FillValue::from_json(&json!("NaN"), &DataType::Float32, ZarrFormat::V3)?;
    let mut attributes = variable.attributes.clone();
    if let Some(bits) = plan.mantissa_bits {
        attributes.insert("mantissa_bits".to_owned(), json!(bits));
    }
    let mut builder = ArrayBuilder::new(&shape, DataType::Float32)
        .chunk_shape(&variable.chunks)
        .fill_value(missing)
        .compressors(variable.compressors.iter().cloned())
        .attributes(attributes)
        .dimension_names(group.dimension_names(variable).into_iter().map(Some));
    if let Some(shards) = &variable.shards {
        builder = builder.shard_shape(shards);
    }
    let array = grown(array(&builder, store, &path, expected)?, &shape)?;
    let chunks = array.common_chunk_shape();
    if array.shape() != shape
        || chunks.as_ref() != Some(&variable.chunks)
        || array.shard_shape() != variable.shards.as_deref()
    {
        let message = format!(
            "wanted an array of shape {shape:?} in chunks of {:?}, found {:?} in {chunks:?}",
            variable.chunks,
            array.shape()
        );
        return Err(Error::new(ErrorKind::Invalid, message).with_object(&path));
    }
    Ok(array)
}

fn joined(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") }
}

/// Writes where the points of a group's grid are, as far as that is known.
fn write_grid(
    group: &Hypercube,
    engine: &Engine,
    files: &[ObjectRef],
    store: &Store,
    expected: Expected,
) -> Result<(), Error> {
    let grid = match &group.grid {
        Some(grid) => std::sync::Arc::clone(grid),
        None => message::grid(engine, files, &group.grid_of)?,
    };
    let GridArrays { axes, mapping, places } = GridArrays::of(&grid);
    if let Some(attributes) = mapping {
        let mapping = ArrayBuilder::new(&[], DataType::Int32).attributes(attributes).dimension_names([]);
        array(&mapping, store, &joined(&group.path, MAPPING), expected)?
            .write(&Selection::all(), &0i32.to_ne_bytes())?;
    }
    axes.iter().try_for_each(|coordinate| write_coordinate(coordinate, group, store, expected))?;
    match places {
        Points::Plane(plane) => {
            let points = plane.x.len() * plane.y.len();
            write_places(group, store, expected, points, &|number| plane.point(number))
        }
        Points::Listed(places) => {
            write_places(group, store, expected, places.len(), &|number| places[number])
        }
        Points::Axes(_) | Points::Unknown => Ok(()),
    }
}

fn write_coordinate(
    coordinate: &Coordinate,
    group: &Hypercube,
    store: &Store,
    expected: Expected,
) -> Result<(), Error> {
    let data_type = if coordinate.is_integer() { DataType::Int64 } else { DataType::Float64 };
    let bytes: Vec<u8> = coordinate.elements().flat_map(u64::to_ne_bytes).collect();
    let shape: Vec<u64> = coordinate.dimensions.iter().map(|(_, len)| *len).collect();
    let chunks: Vec<u64> = shape.iter().map(|len| (*len).max(1)).collect();
    let builder = ArrayBuilder::new(&shape, data_type)
        .chunk_shape(&chunks)
        .attributes(coordinate.attributes.clone())
        .dimension_names(coordinate.dimensions.iter().map(|(name, _)| Some(name.clone())));
    let array = grown(array(&builder, store, &joined(&group.path, &coordinate.name), expected)?, &shape)?;
    Ok(array.write(&Selection::all(), &bytes)?)
}

/// Latitudes and longitudes of all points, in blocks of whole rows: a plane of the finest grids would fill the memory.
fn write_places(
    group: &Hypercube,
    store: &Store,
    expected: Expected,
    points: usize,
    place: &dyn Fn(usize) -> Place,
) -> Result<(), Error> {
    let shape: Vec<u64> = group.grid_dimensions.iter().map(|(_, len)| *len).collect();
    let row = shape.iter().skip(1).try_fold(1usize, |row, len| row.checked_mul(usize::try_from(*len).ok()?));
    let row = row.unwrap_or(points).max(1);
    let rows = (BLOCK_POINTS / row).max(1);
    let block = rows.saturating_mul(row);
    let chunks: Vec<u64> = std::iter::once(swath_ioengine::storage_len(rows).min(shape[0]))
        .chain(shape.iter().skip(1).copied())
        .map(|len| len.max(1))
        .collect();
    let make = |name: &str| {
        let builder = ArrayBuilder::new(&shape, DataType::Float64)
            .chunk_shape(&chunks)
            .attributes(degrees(name))
            .dimension_names(group.grid_dimensions.iter().map(|(name, _)| Some(name.clone())));
        array(&builder, store, &joined(&group.path, name), expected)
    };
    let (latitudes, longitudes) = (make(LATITUDE)?, make(LONGITUDE)?);
    for first in (0..points).step_by(block) {
        let last = points.min(first.saturating_add(block));
        let places: Vec<Place> = (first..last).map(place).collect();
        let rows: Selection = format!("{}:{}", first / row, last.div_ceil(row)).parse()?;
        let bytes = |of: fn(&Place) -> f64| -> Vec<u8> {
            places.iter().flat_map(|place| of(place).to_ne_bytes()).collect()
        };
        latitudes.write(&rows, &bytes(|place| place.latitude))?;
        longitudes.write(&rows, &bytes(|place| place.longitude))?;
    }
    Ok(())
}
