//! A plan, worked out from fields alone.

use super::cell::{AXES, Cell, Kind, LEVEL, STEP, TIME};
use super::compressors::suited;
use super::coordinate::{Coordinate, axis_name, is_decreasing};
use super::group::{Cube, Series};
use super::layout::{LayoutOptions, is_called};
use super::{attributes, plan::FieldPlace, plan::Hypercube, plan::Plan, plan::PlannedFile, plan::Variable};
use crate::coordinates::{GridLayout, Points, layout};
use crate::{Error, Field, Grid};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// A field, and the number of the file that it is in.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The file's number.
    pub file: usize,
    /// The field.
    pub field: Field,
}

/// How a plan is made.
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    /// Chunks and shards.
    pub layout: LayoutOptions,
    /// Compressors as Zarr v3's metadata lists them. Where it is `None`, those that suit how the fields of a variable were packed: zstd behind
    /// a bitshuffle where they have ten bits or more that a power of two scales, or mantissas are rounded; else zstd of level 3.
    pub compressors: Option<Vec<Value>>,
    /// Bits of the mantissa to keep, of 23: the rest is rounded off, which compresses better. All where it is `None`.
    pub mantissa_bits: Option<u8>,
    /// Dimensions that stay where there is one value of them, so that more can be appended: `time`, as a rule.
    pub kept_dimensions: Vec<String>,
}

/// A plan, and what it leaves out.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Fields that have no place in it.
    pub unplanned: Vec<Unplanned>,
}

/// A field that has no place in a plan.
#[derive(Clone, Debug)]
pub struct Unplanned {
    /// Its number among the sources.
    pub source: usize,
    /// Why.
    pub error: Error,
}

impl Plan {
    /// Puts fields together: those of one parameter, type of level, statistic and part of an ensemble are a variable, whose
    /// dimensions are number, time, step and level, each where it has several values; variables over one grid with the same
    /// coordinates are a hypercube. Gaps are allowed. Two fields of one place are variables of two hypercubes.
    ///
    /// A single hypercube is written to the root of the store, several to groups that are called by their type of level.
    ///
    /// # Errors
    ///
    /// `Unsupported` where no field has a place; `Invalid` for chunks or shards that do not fit.
    pub fn of(files: Vec<PlannedFile>, sources: &[Source], options: &PlanOptions) -> Result<Planned, Error> {
        let (series, unplanned) = sorted(sources);
        let cubes = Cube::sort(series);
        let Some(_) = cubes.first() else {
            let why = unplanned.first().map_or_else(
                || Error::unsupported("no fields: nothing to write"),
                |unplanned| unplanned.error.clone(),
            );
            return Err(why);
        };
        let paths = paths(&cubes);
        let groups = cubes.iter().zip(paths).map(|(cube, path)| hypercube(cube, path, sources, options));
        let groups = groups.collect::<Result<Vec<_>, Error>>()?;
        known_names(&options.layout, &groups)?;
        let plan = Plan { files, first_new_file: 0, groups, mantissa_bits: options.mantissa_bits };
        Ok(Planned { plan, unplanned })
    }
}

/// Extents are of dimensions that some variable has.
fn known_names(layout: &LayoutOptions, groups: &[Hypercube]) -> Result<(), Error> {
    let given = [&layout.chunks, &layout.shards].into_iter().flatten().flatten();
    let all = || groups.iter().flat_map(|group| group.dimensions.iter().chain(&group.grid_dimensions));
    for (wanted, _) in given {
        if !all().any(|(name, _)| is_called(name, wanted)) {
            let mut found: Vec<&str> = all().map(|(name, _)| name.as_str()).collect();
            found.sort_unstable();
            found.dedup();
            let message = format!("extents along {wanted}, and the dimensions are {}", found.join(", "));
            return Err(Error::new(crate::ErrorKind::Invalid, message));
        }
    }
    Ok(())
}

/// Variables and their names, in the order of types of levels and parameters; and fields of no variable.
fn sorted(sources: &[Source]) -> (Vec<(String, Series)>, Vec<Unplanned>) {
    let mut grids = Grids::default();
    let mut kinds: BTreeMap<Kind, Vec<(Cell, usize)>> = BTreeMap::new();
    let mut unplanned = Vec::new();
    for (source, Source { field, .. }) in sources.iter().enumerate() {
        match Kind::of(field, grids.number(&field.grid)) {
            Ok((kind, cell)) => kinds.entry(kind).or_default().push((cell, source)),
            Err(error) => unplanned.push(Unplanned { source, error }),
        }
    }
    let mut series = Vec::new();
    for (kind, members) in kinds {
        let Some(first) = members.first().and_then(|(_, number)| sources.get(*number)) else { continue };
        let (name, _) = attributes::variable(&first.field, &kind);
        let decreasing = is_decreasing(kind.level.as_deref());
        series
            .extend(Series::of(&kind, members, decreasing).into_iter().map(|series| (name.clone(), series)));
    }
    (series, unplanned)
}

/// Grids that differ, each with its number.
#[derive(Default)]
struct Grids {
    known: Vec<Arc<Grid>>,
    /// By their addresses, which fields of one message after the other share.
    addresses: HashMap<usize, usize>,
}

impl Grids {
    fn number(&mut self, grid: &Arc<Grid>) -> usize {
        let address = Arc::as_ptr(grid).addr();
        if let Some(number) = self.addresses.get(&address) {
            return *number;
        }
        let number = self.known.iter().position(|known| known == grid).unwrap_or_else(|| {
            self.known.push(Arc::clone(grid));
            self.known.len() - 1
        });
        self.addresses.insert(address, number);
        number
    }
}

/// Where each cube is written: by its type of level, and its level where that tells cubes apart; else by a number.
fn paths(cubes: &[Cube]) -> Vec<String> {
    if cubes.len() == 1 {
        return vec![String::new()];
    }
    let plain = |cube: &Cube| cube.level().map_or_else(|| "fields".to_owned(), str::to_owned);
    let mut count: HashMap<String, usize> = HashMap::new();
    for cube in cubes {
        *count.entry(plain(cube)).or_default() += 1;
    }
    let mut taken = HashSet::new();
    let mut path = |cube: &Cube| {
        let mut name = plain(cube);
        let is_shared = count.get(&name).is_some_and(|count| 1 < *count);
        if let (true, Some([level])) = (is_shared, cube.axes[LEVEL].as_deref())
            && *level != 0.0
        {
            name = format!("{name}_{level}");
        }
        let numbered = (2u32..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
        let free = free.unwrap_or(name);
        taken.insert(free.clone());
        free
    };
    cubes.iter().map(&mut path).collect()
}

fn hypercube(
    cube: &Cube,
    path: String,
    sources: &[Source],
    options: &PlanOptions,
) -> Result<Hypercube, Error> {
    let lost = || Error::new(crate::ErrorKind::Internal, "a hypercube has no field");
    let first = cube.variables.first().and_then(|(_, series)| series.members.first());
    let first = first.and_then(|(_, number)| sources.get(*number)).ok_or_else(lost)?;
    let (level, kept) = (cube.level(), &options.kept_dimensions);
    let mut dimensions = Vec::new();
    // The dimension of each axis, where it is one.
    let mut numbers = [None; AXES.len()];
    let mut coordinates = Vec::new();
    for (axis, values) in cube.axes.iter().enumerate() {
        let Some(values) = values else { continue };
        let coordinate = Coordinate::of_axis(axis, &axis_name(axis, level), values, kept);
        if let Some(dimension) = coordinate.dimensions.first() {
            numbers[axis] = Some(dimensions.len());
            dimensions.push(dimension.clone());
        }
        coordinates.push(coordinate);
    }
    if let (Some(times), Some(steps)) = (&cube.axes[TIME], &cube.axes[STEP]) {
        coordinates.push(Coordinate::valid_time(times, steps, kept));
    }
    let grid = &first.field.grid;
    let grid_layout = layout(grid);
    let own = |(name, len): (&str, u64)| (name.to_owned(), len);
    let mut made = Hypercube {
        path,
        attributes: attributes::group(&first.field),
        grid_of: place(first),
        grid_key: grid_key(grid),
        grid: Some(Arc::clone(grid)),
        dimensions,
        grid_dimensions: grid_layout.dimensions().into_iter().map(own).collect(),
        coordinates,
        grid_coordinates: grid_coordinates(grid, grid_layout),
        variables: Vec::new(),
    };
    for (name, series) in &cube.variables {
        let variable = variable(&made, name, series, &numbers, sources, options)?;
        made.variables.push(variable);
    }
    Ok(made)
}

/// What tells grids apart in plans: a checksum of all that a message says of its grid (FNV-1a, 64 bits).
fn grid_key(grid: &Grid) -> String {
    let told = format!("{grid:?}");
    let mix = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", told.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
}

/// The names of the coordinates of a grid's points that are no dimensions of their own.
fn grid_coordinates(grid: &Grid, layout: GridLayout) -> Vec<String> {
    let names: &[&str] = match layout {
        GridLayout::Axes { .. } => &[],
        GridLayout::Plane { .. } => &["latitude", "longitude", "projection"],
        GridLayout::Points(_) if grid.row_lengths.is_some() => &["latitude", "longitude"],
        GridLayout::Points(_) => &[],
    };
    // Fields whose points cannot be placed are written all the same.
    let names = if names.is_empty() || Points::of(grid).is_err() { &[] } else { names };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Where a source is.
pub(super) fn place(source: &Source) -> FieldPlace {
    let message = source.field.message;
    FieldPlace { file: source.file, offset: message.offset, len: message.len, number: source.field.number }
}

fn variable(
    group: &Hypercube,
    name: &str,
    series: &Series,
    numbers: &[Option<usize>; AXES.len()],
    sources: &[Source],
    options: &PlanOptions,
) -> Result<Variable, Error> {
    let own = series.axes.iter().zip(numbers).filter(|(values, _)| values.is_some());
    let dimensions: Vec<usize> = own.filter_map(|(_, number)| *number).collect();
    let cells = series.filled().into_iter().map(|number| number.and_then(|at| sources.get(at)).map(place));
    let first = series.members.first().and_then(|(_, number)| sources.get(*number));
    let mut attributes =
        first.map(|source| attributes::variable(&source.field, &series.kind).1).unwrap_or_default();
    let is_own = |dimensions: &[(String, u64)]| {
        let known = group.dimensions.iter().map(|(name, _)| name);
        let own = dimensions.iter().filter_map(|(name, _)| known.clone().position(|known| known == name));
        own.into_iter().all(|number| dimensions_contain(&series.axes, numbers, number))
    };
    let scalars = group.coordinates.iter().filter(|coordinate| {
        let names_itself = coordinate.dimensions.first().is_some_and(|(name, _)| *name == coordinate.name);
        !names_itself && is_own(&coordinate.dimensions)
    });
    let names = scalars.map(|coordinate| coordinate.name.as_str());
    let names: Vec<&str> = names.chain(group.grid_coordinates.iter().map(String::as_str)).collect();
    attributes.insert("coordinates".to_owned(), json!(names.join(" ")));
    if group.grid_coordinates.iter().any(|name| name == "projection") {
        attributes.insert("grid_mapping".to_owned(), json!("projection"));
    }
    let mut made = Variable {
        name: name.to_owned(),
        attributes,
        dimensions,
        chunks: Vec::new(),
        shards: None,
        compressors: Vec::new(),
        cells: cells.collect(),
    };
    let (shape, names) = (group.shape(&made), group.dimension_names(&made));
    let header = made.dimensions.len();
    let (chunks, shards) = options
        .layout
        .of(&names, &shape, header)
        .map_err(|error| error.with_object(&format!("variable {name}")))?;
    made.compressors = options.compressors.clone().unwrap_or_else(|| {
        let fields = series.members.iter().filter_map(|(_, number)| sources.get(*number));
        let elements = chunks.iter().fold(1u64, |product, len| product.saturating_mul(*len));
        suited(fields.map(|source| &source.field.packing), elements, options.mantissa_bits)
    });
    (made.chunks, made.shards) = (chunks, shards);
    Ok(made)
}

/// Whether fields have the axis that a dimension is of.
fn dimensions_contain(
    axes: &[Option<Vec<f64>>; AXES.len()],
    numbers: &[Option<usize>; AXES.len()],
    number: usize,
) -> bool {
    let mut all = axes.iter().zip(numbers);
    all.any(|(values, dimension)| values.is_some() && *dimension == Some(number))
}
