//! What will be written.

use super::coordinate::Coordinate;
use crate::journal::Journaled;
use crate::{Error, ErrorKind, Grid, document};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What a conversion writes: hypercubes, each a Zarr group, and where the fields are that fill them.
///
/// A plan is plain data: [`Plan::to_json`] and [`Plan::from_json`] carry it to another machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The files that fields are in.
    pub files: Vec<PlannedFile>,
    /// Fields of files before this one are in the store already.
    #[serde(default)]
    pub first_new_file: usize,
    /// The hypercubes.
    pub groups: Vec<Hypercube>,
    /// Bits of the mantissa that are kept of each value; all 23 where it is `None`.
    pub mantissa_bits: Option<u8>,
}

/// A file, as it was when the plan was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedFile {
    /// Its path or URL.
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
    /// What else tells this version from another, such as when it was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Variables over one grid whose coordinates are the same: one Zarr group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hypercube {
    /// The group's path in the store; empty for its root.
    pub path: String,
    /// The group's attributes.
    pub attributes: Map<String, Value>,
    /// A field whose grid is that of all of them.
    pub grid_of: FieldPlace,
    /// What tells that grid from others.
    pub grid_key: String,
    /// That grid; read again from its message where a plan came as JSON.
    #[serde(skip)]
    pub grid: Option<Arc<Grid>>,
    /// Dimensions before those of the grid: names and lengths.
    pub dimensions: Vec<(String, u64)>,
    /// Dimensions of the grid, behind the others.
    pub grid_dimensions: Vec<(String, u64)>,
    /// The coordinates, but for those of the grid.
    pub coordinates: Vec<Coordinate>,
    /// Coordinates of the grid's points, by their names: they are computed where they are written.
    pub grid_coordinates: Vec<String>,
    /// The variables.
    pub variables: Vec<Variable>,
}

/// A variable: its dimensions, its chunks, and which field fills each cell of the dimensions before the grid's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name, which no other variable of its group has.
    pub name: String,
    /// Its attributes.
    pub attributes: Map<String, Value>,
    /// Its dimensions before those of the grid, by their numbers in [`Hypercube::dimensions`].
    pub dimensions: Vec<usize>,
    /// Elements of a chunk along each dimension, the grid's too.
    pub chunks: Vec<u64>,
    /// Elements of a shard, where there are shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<Vec<u64>>,
    /// Compressors of its chunks, as Zarr v3's metadata lists them.
    pub compressors: Vec<Value>,
    /// The field of each cell, the last dimension running fastest; `None` for a gap.
    pub cells: Vec<Option<FieldPlace>>,
}

/// Where a field is: the file's number, the first byte of its message and the length of that, and its number in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(usize, u64, u64, u32)", into = "(usize, u64, u64, u32)")]
pub struct FieldPlace {
    /// The file, by its number in [`Plan::files`].
    pub file: usize,
    /// Where the message begins.
    pub offset: u64,
    /// Bytes of the message.
    pub len: u64,
    /// The field's number in it.
    pub number: u32,
}

impl From<(usize, u64, u64, u32)> for FieldPlace {
    fn from((file, offset, len, number): (usize, u64, u64, u32)) -> FieldPlace {
        FieldPlace { file, offset, len, number }
    }
}

impl From<FieldPlace> for (usize, u64, u64, u32) {
    fn from(place: FieldPlace) -> (usize, u64, u64, u32) {
        (place.file, place.offset, place.len, place.number)
    }
}

/// What a plan as JSON says that it is.
const FORMAT: &str = "swath convert plan 1";

impl Plan {
    /// How many fields will be written.
    #[must_use]
    pub fn fields(&self) -> usize {
        let variables = self.groups.iter().flat_map(|group| &group.variables);
        variables.map(|variable| variable.cells.iter().flatten().count()).sum()
    }

    /// The plan as JSON.
    ///
    /// # Errors
    ///
    /// `Internal` where it cannot be written so.
    pub fn to_json(&self) -> Result<Value, Error> {
        document::to_json(self, FORMAT)
    }

    /// A plan from JSON, looked over: what it names is there, and its shapes agree.
    ///
    /// # Errors
    ///
    /// `Invalid` where it is no plan.
    pub fn from_json(value: Value) -> Result<Plan, Error> {
        let plan: Plan = document::from_json(value, FORMAT)?;
        match plan.groups.iter().find_map(|group| group.contradiction(&plan)) {
            None => Ok(plan),
            Some(message) => Err(Error::new(ErrorKind::Invalid, format!("no plan: {message}"))),
        }
    }
}

impl Journaled for Plan {
    type Failure = (FieldPlace, String);

    fn to_document(&self) -> Result<Value, Error> {
        self.to_json()
    }

    fn from_document(document: Value) -> Result<Plan, Error> {
        Plan::from_json(document)
    }

    fn files(&self) -> usize {
        self.files.len()
    }
}

impl Hypercube {
    /// Elements of a variable along each of its dimensions.
    #[must_use]
    pub fn shape(&self, variable: &Variable) -> Vec<u64> {
        self.named(variable).map(|(_, len)| *len).collect()
    }

    /// The names of a variable's dimensions.
    #[must_use]
    pub fn dimension_names(&self, variable: &Variable) -> Vec<String> {
        self.named(variable).map(|(name, _)| name.clone()).collect()
    }

    fn named<'a>(&'a self, variable: &'a Variable) -> impl Iterator<Item = &'a (String, u64)> {
        let own = variable.dimensions.iter().filter_map(|number| self.dimensions.get(*number));
        own.chain(&self.grid_dimensions)
    }

    /// Points of the grid; `None` beyond 64 bits.
    pub(super) fn points(&self) -> Option<u64> {
        self.grid_dimensions.iter().try_fold(1u64, |points, (_, len)| points.checked_mul(*len))
    }

    /// What in this group does not agree.
    fn contradiction(&self, plan: &Plan) -> Option<String> {
        let is_there = |place: &FieldPlace| place.file < plan.files.len();
        if self.points().is_none() || !is_there(&self.grid_of) {
            return Some(format!("group {:?} has no grid", self.path));
        }
        self.variables.iter().find_map(|variable| {
            let of =
                |what: &str| Some(format!("variable {} of group {:?}: {what}", variable.name, self.path));
            if variable.dimensions.iter().any(|number| self.dimensions.len() <= *number) {
                return of("a dimension that is not there");
            }
            let shape = self.shape(variable);
            let header = shape.get(..variable.dimensions.len()).unwrap_or_default();
            let cells = header.iter().try_fold(1u64, |cells, len| cells.checked_mul(*len));
            if cells != Some(swath_ioengine::storage_len(variable.cells.len())) {
                return of("as many cells as its dimensions make are wanted");
            }
            let lists = [Some(&variable.chunks), variable.shards.as_ref()];
            if lists.into_iter().flatten().any(|list| list.len() != shape.len() || list.contains(&0)) {
                return of("chunks or shards of other dimensions");
            }
            if !variable.cells.iter().flatten().all(is_there) {
                return of("a file that is not there");
            }
            None
        })
    }
}
