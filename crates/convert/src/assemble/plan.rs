//! What will be written, worked out from fields alone.

use super::cell::{AXES, Cell, Kind, LEVEL};
use super::naming;
use super::variable::{Scalar, Variable};
use crate::coordinates::{Axes, axes};
use crate::{Error, Field, Grid, Parameter};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A field, and the number of the file that it is in.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The file's number.
    pub file: usize,
    /// The field.
    pub field: Field,
}

/// A dimension before rows and columns: a coordinate of several values.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// Its values, upwards.
    pub values: Vec<f64>,
    /// Its attributes.
    pub attributes: Map<String, Value>,
}

/// A hypercube: variables over one grid whose dimensions of one name are the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The fields, in the order given.
    pub sources: Vec<Source>,
    /// The grid of all of them.
    pub grid: Arc<Grid>,
    /// Latitudes of its rows, longitudes of its columns.
    pub axes: Axes,
    /// Dimensions of variables.
    pub dimensions: Vec<Dimension>,
    /// Coordinates that all variables share.
    pub scalars: Vec<Scalar>,
    /// Variables, by name.
    pub variables: Vec<Variable>,
}

/// Cells of a variable for each of its fields: with more, it is mostly gaps, and no hypercube.
const CELLS_PER_FIELD_MAX: usize = 16;

/// The fields of one variable by where they belong.
struct Members {
    cells: Vec<(Cell, usize)>,
    /// The values of each axis.
    values: [Vec<f64>; AXES.len()],
    /// What each axis is called here.
    names: [String; AXES.len()],
}

impl Plan {
    /// Puts fields together by parameter, type of level, statistic and part of an ensemble; dimensions are time, step, number and
    /// level, each where it has several values. Gaps are allowed.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the fields are of several grids, or make no one hypercube: variables whose dimensions of one name
    /// differ, or fields that differ in something else than these; and as [`axes`].
    pub fn new(sources: Vec<Source>) -> Result<Plan, Error> {
        let grid = common_grid(&sources)?;
        let axes = axes(&grid)?;
        let mut kinds: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
        for (number, source) in sources.iter().enumerate() {
            kinds.entry(Kind::of(&source.field)).or_default().push(number);
        }
        let mut plan =
            Plan { grid, axes, dimensions: Vec::new(), scalars: Vec::new(), variables: Vec::new(), sources };
        let mut names = BTreeSet::new();
        let mut singles: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for (kind, members) in &kinds {
            let name = free_name(&plan, kind, members, &names);
            names.insert(name.clone());
            let members = Members::of(&plan, members, &name)?;
            let variable = plan.variable(name, &members)?;
            for (values, name) in members.values.iter().zip(&members.names) {
                if let [value] = values[..] {
                    singles.entry(name.clone()).or_default().insert(value.to_bits());
                }
            }
            plan.variables.push(variable);
        }
        plan.share(&singles);
        Ok(plan)
    }

    fn variable(&mut self, name: String, members: &Members) -> Result<Variable, Error> {
        let mut dimensions = Vec::new();
        for (axis, values) in members.values.iter().enumerate() {
            if 1 < values.len() {
                dimensions.push(self.dimension(&members.names[axis], axis, values, &name)?);
            }
        }
        let lens: Vec<usize> = members.values.iter().map(Vec::len).collect();
        let count = lens.iter().try_fold(1usize, |count, len| count.checked_mul(*len));
        let most = members.cells.len().saturating_mul(CELLS_PER_FIELD_MAX);
        let count = count.filter(|count| *count <= most).ok_or_else(|| {
            let fields = members.cells.len();
            Error::unsupported(format!(
                "variable {name}: {fields} fields in a hypercube of {lens:?} are mostly gaps"
            ))
        })?;
        let mut cells = vec![None; count];
        for (cell, source) in &members.cells {
            let place = members.place(cell);
            let slot = cells.get_mut(place).ok_or_else(|| {
                Error::new(crate::ErrorKind::Internal, "a field has coordinates that its variable lacks")
            })?;
            if slot.replace(*source).is_some() {
                return Err(Error::unsupported(format!(
                    "variable {name}: two fields of the same time, step, number and level"
                )));
            }
        }
        let field = members.cells.first().and_then(|(_, source)| self.sources.get(*source));
        let attributes = field.map(|source| attributes(&source.field)).unwrap_or_default();
        Ok(Variable { name, attributes, dimensions, cells })
    }

    /// The dimension of these values, made where there is none yet.
    fn dimension(&mut self, name: &str, axis: usize, values: &[f64], variable: &str) -> Result<usize, Error> {
        if let Some(found) = self.dimensions.iter().position(|dimension| dimension.name == name) {
            if self.dimensions[found].values == values {
                return Ok(found);
            }
            return Err(Error::unsupported(format!(
                "not one hypercube: variable {variable} has another dimension {name} than one before it"
            )));
        }
        let attributes = axis_attributes(axis, name, self.units(axis, name));
        self.dimensions.push(Dimension { name: name.to_owned(), values: values.to_vec(), attributes });
        Ok(self.dimensions.len() - 1)
    }

    /// The units of a level of this name.
    fn units(&self, axis: usize, name: &str) -> &'static str {
        if axis != LEVEL {
            return "1";
        }
        let named = self.sources.iter().filter_map(|source| {
            source.field.level.map(|level| naming::level_name(source.field.edition, &level))
        });
        named.into_iter().find(|(found, _)| found == name).map_or("1", |(_, units)| units)
    }

    /// Coordinates of one value that no variable contradicts are told once for all.
    fn share(&mut self, singles: &BTreeMap<String, BTreeSet<u64>>) {
        for (name, values) in singles {
            let is_dimension = self.dimensions.iter().any(|dimension| dimension.name == *name);
            if let (Some(bits), 1, false) = (values.first(), values.len(), is_dimension) {
                let axis = AXES.iter().position(|axis| axis == name).unwrap_or(LEVEL);
                let attributes = axis_attributes(axis, name, self.units(axis, name));
                self.scalars.push(Scalar { name: name.clone(), value: f64::from_bits(*bits), attributes });
            }
        }
    }
}

impl Members {
    fn of(plan: &Plan, numbers: &[usize], name: &str) -> Result<Members, Error> {
        let mut cells = Vec::with_capacity(numbers.len());
        let mut names = AXES.map(str::to_owned);
        for number in numbers {
            let Some(source) = plan.sources.get(*number) else { continue };
            let named = |error: Error| error.with_object(&format!("variable {name}"));
            cells.push((Cell::of(&source.field).map_err(named)?, *number));
            if let Some(level) = &source.field.level {
                names[LEVEL] = naming::level_name(source.field.edition, level).0;
            }
        }
        let values = std::array::from_fn(|axis| {
            let mut values: Vec<f64> = cells.iter().map(|(cell, _)| cell.0[axis]).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        });
        Ok(Members { cells, values, names })
    }

    /// The number of a cell, the last axis running fastest.
    fn place(&self, cell: &Cell) -> usize {
        self.values.iter().zip(cell.0).fold(0, |place, (values, value)| {
            let found = values.binary_search_by(|other| other.total_cmp(&value)).unwrap_or(0);
            place * values.len() + found
        })
    }
}

fn common_grid(sources: &[Source]) -> Result<Arc<Grid>, Error> {
    let Some(first) = sources.first() else { return Err(Error::unsupported("no fields: nothing to write")) };
    let grid = Arc::clone(&first.field.grid);
    let differs = |source: &&Source| !Arc::ptr_eq(&source.field.grid, &grid) && source.field.grid != grid;
    match sources.iter().find(differs) {
        None => Ok(grid),
        Some(_) => Err(Error::unsupported("not one hypercube: the fields are of several grids")),
    }
}

/// A name that no variable has yet: the parameter's, then with its statistic, its level, a number.
fn free_name(plan: &Plan, kind: &Kind, members: &[usize], taken: &BTreeSet<String>) -> String {
    let field = members.first().and_then(|number| plan.sources.get(*number)).map(|source| &source.field);
    let short = field.map_or_else(|| "parameter".to_owned(), naming::short_name);
    let level = field.and_then(|field| Some(naming::level_name(field.edition, field.level.as_ref()?).0));
    let mut name = short;
    for suffix in [kind.suffix(), level].into_iter().flatten() {
        if !taken.contains(&name) {
            return name;
        }
        name = format!("{name}_{suffix}");
    }
    let numbered = (2u32..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or(name)
}

fn attributes(field: &Field) -> Map<String, Value> {
    let mut attributes = Map::new();
    let mut put = |name: &str, value: Value| {
        attributes.insert(name.to_owned(), value);
    };
    if let Some(name) = naming::name(field) {
        put("long_name", json!(name.long));
        put("units", json!(name.units));
    }
    put("GRIB_edition", json!(field.edition));
    put("GRIB_centre", json!(field.centre));
    match field.parameter {
        Parameter::Triple { discipline, category, number } => {
            put("GRIB_discipline", json!(discipline));
            put("GRIB_parameterCategory", json!(category));
            put("GRIB_parameterNumber", json!(number));
        }
        Parameter::Indicator { table, indicator } => {
            put("GRIB_table2Version", json!(table));
            put("GRIB_indicatorOfParameter", json!(indicator));
        }
    }
    if let Some(level) = &field.level {
        put("GRIB_typeOfLevel", json!(naming::level_name(field.edition, level).0));
    }
    if let Some(statistic) = field.step.and_then(|step| step.statistic) {
        put("GRIB_typeOfStatisticalProcessing", json!(statistic));
    }
    attributes
}

fn axis_attributes(axis: usize, name: &str, units: &str) -> Map<String, Value> {
    let attributes = match AXES.get(axis).copied() {
        Some("time") => json!({
            "standard_name": "forecast_reference_time",
            "units": "seconds since 1970-01-01T00:00:00",
            "calendar": "proleptic_gregorian",
        }),
        Some("step") => json!({ "standard_name": "forecast_period", "units": "hours" }),
        Some("number") => json!({ "standard_name": "realization", "units": "1" }),
        _ => json!({ "long_name": name, "units": units }),
    };
    attributes.as_object().cloned().unwrap_or_default()
}
