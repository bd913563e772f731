//! The groups, arrays and coordinates of a plan, made in a store.

use super::coordinate::{Coordinate, object};
use super::message;
use super::plan::{Hypercube, Plan, Variable};
use super::slab::Piece;
use crate::coordinates::{Axes, Plane, Points};
use crate::{Error, ErrorKind, Place};
use serde_json::{Map, Value, json};
use swath_ioengine::{Engine, ObjectRef};
use swath_zarr_front::{
    Array, ArrayBuilder, DataType, Existing, FillValue, Group, Selection, Store, ZarrFormat,
};

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

/// Whether something is expected in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Expected {
    /// Nothing.
    #[default]
    Nothing,
    /// What another run of the same plan has made, or makes at the same time.
    SamePlan,
}

fn create_group(
    store: &Store,
    path: &str,
    attributes: &Map<String, Value>,
    expected: Expected,
) -> Result<(), Error> {
    if expected == Expected::SamePlan && store.contains_node(path)? {
        return Ok(());
    }
    match Group::create(store, path, ZarrFormat::V3, attributes, Existing::Refuse) {
        // Another piece was faster.
        Err(_) if expected == Expected::SamePlan && store.contains_node(path)? => Ok(()),
        made => Ok(made.map(|_| ())?),
    }
}

/// Makes an array, or opens the one that is there.
fn array(builder: &ArrayBuilder, store: &Store, path: &str, expected: Expected) -> Result<Array, Error> {
    let made = match expected {
        Expected::SamePlan if store.contains_node(path)? => None,
        _ => Some(builder.create(store, path)),
    };
    match made {
        Some(Ok(array)) => return Ok(array),
        Some(Err(error)) if expected == Expected::Nothing || !store.contains_node(path)? => {
            return Err(error.into());
        }
        _ => {}
    }
    Ok(Array::open_in(store, path)?)
}

/// The array in this shape, where it is smaller: new files have joined.
fn grown(array: Array, shape: &[u64]) -> Result<Array, Error> {
    let is_less = |(own, wanted): (&u64, &u64)| own <= wanted;
    let is_smaller = array.shape() != shape
        && array.shape().len() == shape.len()
        && array.shape().iter().zip(shape).all(is_less);
    Ok(if is_smaller { array.resize(shape)? } else { array })
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
        .compressors(plan.compressors.iter().cloned())
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
    let axis = |name: &str, values: Vec<f64>, attributes: Value| {
        let len = swath_ioengine::storage_len(values.len());
        let dimensions = vec![(name.to_owned(), len)];
        let attributes = object(attributes);
        let coordinate = Coordinate { name: name.to_owned(), dimensions, values, attributes };
        write_coordinate(&coordinate, group, store, expected)
    };
    match Points::of(&grid).unwrap_or(Points::Unknown) {
        Points::Axes(Axes { latitudes, longitudes }) => {
            let mut attributes = degrees("latitude");
            if matches!(latitudes[..], [first, .., last] if last < first) {
                attributes["stored_direction"] = json!("decreasing");
            }
            axis("latitude", latitudes, attributes)?;
            axis("longitude", longitudes, degrees("longitude"))
        }
        Points::Plane(plane) => {
            let mapping = ArrayBuilder::new(&[], DataType::Int32)
                .attributes(object(plane.mapping()))
                .dimension_names([]);
            array(&mapping, store, &joined(&group.path, "projection"), expected)?
                .write(&Selection::all(), &0i32.to_ne_bytes())?;
            let [x, y] = plane.axis_names();
            let named = |(name, units): (&str, &str)| json!({ "standard_name": name, "units": units });
            axis("x", plane.x.clone(), named(x))?;
            axis("y", plane.y.clone(), named(y))?;
            let Plane { x, y, .. } = &plane;
            let place = |number: usize| plane.place(x[number % x.len()], y[number / x.len()]);
            write_places(group, store, expected, x.len() * y.len(), &place)
        }
        Points::Listed(places) => {
            write_places(group, store, expected, places.len(), &|number| places[number])
        }
        Points::Unknown => Ok(()),
    }
}

fn degrees(name: &str) -> Value {
    let units = if name == "latitude" { "degrees_north" } else { "degrees_east" };
    json!({ "units": units, "standard_name": name, "long_name": name })
}

fn write_coordinate(
    coordinate: &Coordinate,
    group: &Hypercube,
    store: &Store,
    expected: Expected,
) -> Result<(), Error> {
    let (data_type, bytes) = stored(coordinate);
    let shape: Vec<u64> = coordinate.dimensions.iter().map(|(_, len)| *len).collect();
    let chunks: Vec<u64> = shape.iter().map(|len| (*len).max(1)).collect();
    let builder = ArrayBuilder::new(&shape, data_type)
        .chunk_shape(&chunks)
        .attributes(coordinate.attributes.clone())
        .dimension_names(coordinate.dimensions.iter().map(|(name, _)| Some(name.clone())));
    let array = grown(array(&builder, store, &joined(&group.path, &coordinate.name), expected)?, &shape)?;
    Ok(array.write(&Selection::all(), &bytes)?)
}

/// Coordinates as they are stored: times and members as integers, others as floats.
fn stored(coordinate: &Coordinate) -> (DataType, Vec<u8>) {
    if coordinate.is_integer() {
        let bytes = coordinate.values.iter().flat_map(|value| integer(*value).to_ne_bytes());
        return (DataType::Int64, bytes.collect());
    }
    let bytes = coordinate.values.iter().flat_map(|value| value.to_ne_bytes());
    (DataType::Float64, bytes.collect())
}

#[expect(clippy::cast_possible_truncation, reason = "seconds and members are whole numbers far below 2^53")]
fn integer(value: f64) -> i64 {
    value as i64
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
            .attributes(object(degrees(name)))
            .dimension_names(group.grid_dimensions.iter().map(|(name, _)| Some(name.clone())));
        array(&builder, store, &joined(&group.path, name), expected)
    };
    let (latitudes, longitudes) = (make("latitude")?, make("longitude")?);
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
