//! Plans that go on with a store: new files join what is there.

use super::cell::{AXES, STEP, TIME};
use super::coordinate::{Coordinate, VALID_TIME};
use super::plan::{FieldPlace, Hypercube, Plan, Variable};
use crate::{Error, ErrorKind};

impl Plan {
    /// This plan, which is carried out, with the fields of another one behind its own: what is written then is what is new.
    ///
    /// The hypercubes of the new files must be in the store: of the same origin, grid, type of level and variables. Along one dimension
    /// each may have values behind the last one that is stored; fields of coordinates that are stored take their places there, over
    /// what they hold. Chunks stay as they are. [`Plan::dimension_names`] says which dimensions the other plan has to keep.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a hypercube that the store does not have, and for coordinates between or before those that are stored;
    /// `Invalid` for a file that is in the plan already.
    pub fn extended(&self, newer: &Plan) -> Result<Plan, Error> {
        if let Some(file) = newer.files.iter().find(|file| self.files.iter().any(|own| own.name == file.name))
        {
            return Err(Error::new(ErrorKind::Invalid, format!("{} is in the store already", file.name)));
        }
        let mut plan = self.clone();
        plan.first_new_file = self.files.len();
        plan.files.extend(newer.files.iter().cloned());
        for group in &newer.groups {
            let known = plan.groups.iter().position(|own| own.takes(group));
            let number = known.ok_or_else(|| {
                let names: Vec<&str> =
                    group.variables.iter().map(|variable| variable.name.as_str()).collect();
                Error::unsupported(format!("the store has no hypercube for {}", names.join(", ")))
            })?;
            let own = plan.groups.get(number).ok_or_else(lost)?;
            let extended = own.extended(group, self.files.len())?;
            plan.groups[number] = extended;
        }
        Ok(plan)
    }

    /// The names of dimensions of all groups: what [`PlanOptions::kept_dimensions`](super::PlanOptions) is of a plan that
    /// [`extended`](Plan::extended) takes.
    #[must_use]
    pub fn dimension_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.groups.iter().flat_map(|group| &group.dimensions).map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn lost() -> Error {
    Error::new(ErrorKind::Internal, "a coordinate has lost its place")
}

impl Hypercube {
    /// Whether the fields of another hypercube are of this one's origin, grid, type of level and variables.
    fn takes(&self, other: &Hypercube) -> bool {
        let names = |group: &Hypercube| -> Vec<String> {
            group.coordinates.iter().map(|coordinate| coordinate.name.clone()).collect()
        };
        let same_scalars = self.coordinates.iter().filter(|own| own.dimensions.is_empty()).all(|own| {
            own.name == VALID_TIME
                || other.coordinates.iter().any(|other| other.name == own.name && other.values == own.values)
        });
        (&self.attributes, &self.grid_key, &self.grid_dimensions)
            == (&other.attributes, &other.grid_key, &other.grid_dimensions)
            && names(self) == names(other)
            && same_scalars
            && other
                .variables
                .iter()
                .all(|variable| self.variables.iter().any(|own| own.name == variable.name))
    }

    /// This hypercube with the fields of another one, whose files are behind so many.
    fn extended(&self, other: &Hypercube, files: usize) -> Result<Hypercube, Error> {
        let mut made = self.clone();
        let mut grown: Option<&str> = None;
        for (number, (name, _)) in self.dimensions.iter().enumerate() {
            let own = made.coordinates.iter_mut().find(|own| own.name == *name).ok_or_else(lost)?;
            let new = other.coordinates.iter().find(|other| other.name == *name).ok_or_else(lost)?;
            let before = own.values.len();
            own.grow(new)?;
            if before == own.values.len() {
                continue;
            }
            if let Some(first) = grown.replace(name) {
                return Err(Error::unsupported(format!("new values along {first} and along {name}")));
            }
            let len = swath_ioengine::storage_len(own.values.len());
            made.dimensions[number].1 = len;
            own.dimensions = vec![(name.clone(), len)];
        }
        made.renew_valid_time();
        for variable in &mut made.variables {
            let cells = self.cells_in(variable, &made.coordinates, &made.dimensions, 0)?;
            variable.cells = cells;
            if let Some(new) = other.variables.iter().find(|new| new.name == variable.name) {
                let cells = other.cells_in(new, &made.coordinates, &made.dimensions, files)?;
                if cells.len() != variable.cells.len() {
                    let message =
                        format!("variable {} has other dimensions than in the store", variable.name);
                    return Err(Error::unsupported(message));
                }
                let fill = |(own, new): (&mut Option<FieldPlace>, Option<FieldPlace>)| *own = new.or(*own);
                variable.cells.iter_mut().zip(cells).for_each(fill);
            }
        }
        Ok(made)
    }

    /// The cells of a variable of this hypercube, placed by their coordinates into one of more values.
    fn cells_in(
        &self,
        variable: &Variable,
        coordinates: &[Coordinate],
        dimensions: &[(String, u64)],
        files: usize,
    ) -> Result<Vec<Option<FieldPlace>>, Error> {
        // Of each dimension, the places of its values among the new ones, and how many these are.
        let mut axes = Vec::with_capacity(variable.dimensions.len());
        for number in &variable.dimensions {
            let (name, _) = self.dimensions.get(*number).ok_or_else(lost)?;
            let of = |all: &[Coordinate]| -> Option<Vec<f64>> {
                all.iter().find(|coordinate| coordinate.name == *name).map(|found| found.values.clone())
            };
            let (own, new) = (of(&self.coordinates).ok_or_else(lost)?, of(coordinates).ok_or_else(lost)?);
            if !dimensions.iter().any(|(dimension, _)| dimension == name) {
                return Err(lost());
            }
            let places = own.iter().map(|value| new.iter().position(|new| new == value));
            axes.push((places.collect::<Option<Vec<usize>>>().ok_or_else(lost)?, new.len()));
        }
        let count = axes.iter().map(|(_, len)| len).product();
        let mut cells = vec![None; count];
        for (number, cell) in variable.cells.iter().enumerate() {
            let (mut rest, mut stride, mut place) = (number, 1, 0);
            for (places, len) in axes.iter().rev() {
                place += places[rest % places.len()] * stride;
                rest /= places.len();
                stride *= len;
            }
            let behind = |field: FieldPlace| FieldPlace { file: field.file + files, ..field };
            cells[place] = cell.map(behind);
        }
        Ok(cells)
    }

    /// Works out again when fields are valid.
    fn renew_valid_time(&mut self) {
        let values = |axis: usize| {
            let found = self.coordinates.iter().find(|coordinate| coordinate.name == AXES[axis]);
            found.map(|coordinate| coordinate.seconds(axis))
        };
        let kept: Vec<String> = self.dimensions.iter().map(|(name, _)| name.clone()).collect();
        if let (Some(times), Some(steps)) = (values(TIME), values(STEP)) {
            let renewed = Coordinate::valid_time(&times, &steps, &kept);
            if let Some(own) = self.coordinates.iter_mut().find(|own| own.name == VALID_TIME) {
                *own = renewed;
            }
        }
    }
}

impl Coordinate {
    /// Adds the values of another coordinate that are behind the last one.
    fn grow(&mut self, other: &Coordinate) -> Result<(), Error> {
        let is_down = self.attributes.get("stored_direction").is_some();
        for value in &other.values {
            if self.values.contains(value) {
                continue;
            }
            let is_behind =
                self.values.last().is_none_or(|last| if is_down { value < last } else { last < value });
            if !is_behind {
                let last = self.values.last().copied().unwrap_or(f64::NAN);
                let message = format!("{} {value} is before the last one that is stored, {last}", self.name);
                return Err(Error::unsupported(message));
            }
            self.values.push(*value);
        }
        Ok(())
    }
}
