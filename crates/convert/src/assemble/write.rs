//! A hypercube to Zarr.

use super::plan::{Plan, Source};
use super::variable::Variable;
use crate::coordinates::to_rows;
use crate::{Error, read_field, unpack};
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use swath_ioengine::{Engine, Medium, ObjectRef};
use swath_zarr_front::{
    Array, ArrayBuilder, AxisSelection, DataType, Existing, FillValue, Group, Selection, Store, ZarrFormat,
};

/// Fields that are read, unpacked and written at once, where their files are remote: each waits for a round trip.
const REMOTE_FIELDS_AT_ONCE: usize = 16;

/// How a plan is written.
#[derive(Clone, Copy, Default)]
pub struct WritePlanOptions<'a> {
    /// Told after each field how many are done.
    pub progress: Option<&'a (dyn Fn(usize) + Sync)>,
    /// Asked before each field; true ends the writing.
    pub interrupt: Option<&'a (dyn Fn() -> bool + Sync)>,
}

/// A field that could not be written: its cell holds the fill value.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The number of its source in the plan.
    pub source: usize,
    /// Why.
    pub error: Error,
}

impl Plan {
    /// Writes the plan as a new Zarr v3 group at the root of a store: a chunk for each field, of 32-bit floats behind zstd, NaN
    /// where a point or a field is missing; coordinates beside them. Metadata is written first, and consolidated last.
    ///
    /// In memory is a message, and its values twice, for each thread: as many as there are processors, or 16 where files are
    /// remote. A field that cannot be read or unpacked does not stop others: it is returned.
    ///
    /// # Errors
    ///
    /// Those of the store: a node is there already, or it cannot be written to. `Cancelled` where the interrupt said so.
    pub fn write(
        &self,
        engine: &Engine,
        files: &[ObjectRef],
        store: &Store,
        options: &WritePlanOptions<'_>,
    ) -> Result<Vec<Failure>, Error> {
        let mut attributes = Map::new();
        attributes.insert("Conventions".to_owned(), json!("CF-1.11"));
        let group = Group::create(store, "", ZarrFormat::V3, &attributes, Existing::Refuse)?;
        self.write_coordinates(store)?;
        let arrays = self
            .variables
            .iter()
            .map(|variable| self.create(variable, store))
            .collect::<Result<Vec<_>, _>>()?;
        let work = Work { plan: self, engine, files, arrays: &arrays, options, jobs: self.jobs() };
        let failures = work.run()?;
        group.consolidate()?;
        Ok(failures)
    }

    /// Each stored cell: its variable, its number, its source.
    fn jobs(&self) -> Vec<(usize, usize, usize)> {
        let cells = |(number, variable): (usize, &Variable)| {
            let stored = variable.cells.iter().enumerate();
            let stored = stored.filter_map(move |(cell, source)| Some((number, cell, (*source)?)));
            stored.collect::<Vec<_>>()
        };
        let mut jobs: Vec<_> = self.variables.iter().enumerate().flat_map(cells).collect();
        // In the order of the files, so that each is read forwards.
        jobs.sort_by_key(|(_, _, source)| *source);
        jobs
    }

    fn write_coordinates(&self, store: &Store) -> Result<(), Error> {
        let axes = [
            ("latitude", "degrees_north", &self.axes.latitudes),
            ("longitude", "degrees_east", &self.axes.longitudes),
        ];
        for (name, units, values) in axes {
            let attributes = json!({ "standard_name": name, "units": units });
            write_axis(store, name, values, attributes.as_object().cloned().unwrap_or_default())?;
        }
        for dimension in &self.dimensions {
            write_axis(store, &dimension.name, &dimension.values, dimension.attributes.clone())?;
        }
        for scalar in &self.scalars {
            let (data_type, bytes) = stored(&scalar.name, &[scalar.value]);
            let builder = ArrayBuilder::new(&[], data_type).attributes(scalar.attributes.clone());
            builder.dimension_names([]).create(store, &scalar.name)?.write(&Selection::all(), &bytes)?;
        }
        Ok(())
    }

    fn create(&self, variable: &Variable, store: &Store) -> Result<Array, Error> {
        let rows = [self.axes.latitudes.len(), self.axes.longitudes.len()].map(swath_ioengine::storage_len);
        let dimensions = || variable.dimensions.iter().filter_map(|number| self.dimensions.get(*number));
        let lens = dimensions().map(|dimension| swath_ioengine::storage_len(dimension.values.len()));
        let shape: Vec<u64> = lens.chain(rows).collect();
        let chunks: Vec<u64> = dimensions().map(|_| 1).chain(rows).collect();
        let names = dimensions().map(|dimension| dimension.name.as_str()).chain(["latitude", "longitude"]);
        let mut attributes = variable.attributes.clone();
        if !self.scalars.is_empty() {
            let scalars: Vec<&str> = self.scalars.iter().map(|scalar| scalar.name.as_str()).collect();
            attributes.insert("coordinates".to_owned(), json!(scalars.join(" ")));
        }
        let zstd = json!({ "name": "zstd", "configuration": { "level": 3, "checksum": false } });
        let missing = FillValue::from_json(&json!("NaN"), &DataType::Float32, ZarrFormat::V3)?;
        let builder = ArrayBuilder::new(&shape, DataType::Float32)
            .chunk_shape(&chunks)
            .fill_value(missing)
            .compressors([zstd])
            .attributes(attributes)
            .dimension_names(names.map(|name| Some(name.to_owned())));
        Ok(builder.create(store, &variable.name)?)
    }
}

fn write_axis(
    store: &Store,
    name: &str,
    values: &[f64],
    attributes: Map<String, Value>,
) -> Result<(), Error> {
    let (data_type, bytes) = stored(name, values);
    let len = swath_ioengine::storage_len(values.len());
    let builder = ArrayBuilder::new(&[len], data_type).chunk_shape(&[len.max(1)]).attributes(attributes);
    let array = builder.dimension_names([Some(name.to_owned())]).create(store, name)?;
    Ok(array.write(&Selection::all(), &bytes)?)
}

/// Coordinates as they are stored: times and members as integers, others as floats.
fn stored(name: &str, values: &[f64]) -> (DataType, Vec<u8>) {
    if matches!(name, "time" | "number") {
        let bytes = values.iter().flat_map(|value| integer(*value).to_ne_bytes()).collect();
        return (DataType::Int64, bytes);
    }
    (DataType::Float64, values.iter().flat_map(|value| value.to_ne_bytes()).collect())
}

#[expect(clippy::cast_possible_truncation, reason = "seconds and members are whole numbers far below 2^53")]
fn integer(value: f64) -> i64 {
    value as i64
}

/// Cells that threads take one after the other.
struct Work<'a> {
    plan: &'a Plan,
    engine: &'a Engine,
    files: &'a [ObjectRef],
    arrays: &'a [Array],
    options: &'a WritePlanOptions<'a>,
    jobs: Vec<(usize, usize, usize)>,
}

/// What a thread keeps from one field to the next.
#[derive(Default)]
struct Room {
    stored: Vec<f32>,
    rows: Vec<f32>,
}

impl Work<'_> {
    fn run(&self) -> Result<Vec<Failure>, Error> {
        let (next, done, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let failures = Mutex::new(Vec::new());
        let take = || {
            let mut room = Room::default();
            while let Some((variable, cell, source)) = self.jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if is_over.load(Ordering::Relaxed)
                    || self.options.interrupt.is_some_and(|interrupt| interrupt())
                {
                    is_over.store(true, Ordering::Relaxed);
                    return;
                }
                if let Err(error) = self.cell(*variable, *cell, *source, &mut room) {
                    let failure = Failure { source: *source, error };
                    failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
                }
                let count = done.fetch_add(1, Ordering::Relaxed) + 1;
                if let Some(progress) = self.options.progress {
                    progress(count);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads() {
                scope.spawn(take);
            }
            take();
        });
        if is_over.into_inner() {
            return Err(Error::new(crate::ErrorKind::Cancelled, "the writing was interrupted"));
        }
        let mut failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        failures.sort_by_key(|failure: &Failure| failure.source);
        Ok(failures)
    }

    fn threads(&self) -> usize {
        let is_remote = self.files.iter().any(|file| matches!(file.medium, Medium::Remote(_)));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let most = if is_remote { processors.max(REMOTE_FIELDS_AT_ONCE) } else { processors };
        most.min(self.jobs.len()).max(1)
    }

    /// Reads, unpacks and writes one field.
    fn cell(&self, variable: usize, cell: usize, source: usize, room: &mut Room) -> Result<(), Error> {
        let lost = || Error::new(crate::ErrorKind::Invalid, "the plan names a file that was not given");
        let Source { file, field } = self.plan.sources.get(source).ok_or_else(lost)?;
        let object = self.files.get(*file).ok_or_else(lost)?;
        let array = self.arrays.get(variable).ok_or_else(lost)?;
        let bytes = read_field(self.engine, object, field)?;
        let points = swath_ioengine::memory_len(field.grid.points)?;
        room.stored.resize(points, f32::NAN);
        room.rows.resize(points, f32::NAN);
        unpack(field, &bytes, &mut room.stored)?;
        to_rows(&field.grid, &room.stored, &mut room.rows)?;
        let selection = Selection::new(self.place(variable, cell));
        Ok(array.write(&selection, bytemuck::cast_slice(&room.rows))?)
    }

    /// The selection of a cell: an index for each dimension, and all rows and columns.
    fn place(&self, variable: usize, cell: usize) -> Vec<AxisSelection> {
        let dimensions = self.plan.variables.get(variable).map_or(&[][..], |variable| &variable.dimensions);
        let mut rest = cell;
        let mut indexes: Vec<AxisSelection> = dimensions
            .iter()
            .rev()
            .map(|number| {
                let len =
                    self.plan.dimensions.get(*number).map_or(1, |dimension| dimension.values.len()).max(1);
                let index = rest % len;
                rest /= len;
                AxisSelection::Index(i64::try_from(index).unwrap_or(i64::MAX))
            })
            .collect();
        indexes.reverse();
        indexes.push(AxisSelection::Ellipsis);
        indexes
    }
}
