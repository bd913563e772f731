//! Variables sorted into hypercubes: those over one grid, of one origin and type of level, whose coordinates are the same.

use super::cell::{AXES, Cell, Kind};

/// Fields that make one variable.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) kind: Kind,
    /// Values of each axis in their order; `None` where the fields have none.
    pub(super) axes: [Option<Vec<f64>>; AXES.len()],
    /// The fields by their numbers, and where they belong.
    pub(super) members: Vec<(Cell, usize)>,
}

/// Variables that share their coordinates.
#[derive(Clone, Debug)]
pub(super) struct Cube {
    /// The coordinates of all of them together.
    pub(super) axes: [Option<Vec<f64>>; AXES.len()],
    pub(super) variables: Vec<(String, Series)>,
}

/// Cells of a variable for each of its fields: with more, it is mostly gaps, and made several.
const CELLS_PER_FIELD_MAX: usize = 16;

impl Series {
    /// The series of fields of one kind: several where fields have the same place, or where one would be mostly gaps.
    pub(super) fn of(kind: &Kind, members: Vec<(Cell, usize)>, decreasing: bool) -> Vec<Series> {
        let mut made = Vec::new();
        let mut left = members;
        while !left.is_empty() {
            let mut seen = std::collections::HashSet::new();
            let (first, again): (Vec<_>, Vec<_>) = left
                .into_iter()
                .partition(|(cell, _)| seen.insert(cell.0.map(|value| value.map(f64::to_bits))));
            Series::split(kind, first, decreasing, &mut made);
            left = again;
        }
        made
    }

    /// Adds one series of fields of different places, or several by the axis that has the most values.
    fn split(kind: &Kind, members: Vec<(Cell, usize)>, decreasing: bool, made: &mut Vec<Series>) {
        let axes =
            std::array::from_fn(|axis| values(&members, axis, decreasing && axis == super::cell::LEVEL));
        let series = Series { kind: kind.clone(), axes, members };
        let most = series.members.len().saturating_mul(CELLS_PER_FIELD_MAX);
        if series.cells().is_some_and(|cells| cells <= most) {
            made.push(series);
            return;
        }
        let longest = (0..AXES.len()).max_by_key(|axis| series.axes[*axis].as_ref().map_or(0, Vec::len));
        let longest = longest.unwrap_or(0);
        for value in series.axes[longest].iter().flatten() {
            let is_here = |(cell, _): &&(Cell, usize)| cell.0[longest] == Some(*value);
            let part = series.members.iter().filter(is_here).copied().collect();
            Series::split(kind, part, decreasing, made);
        }
    }

    /// How many cells the axes make.
    pub(super) fn cells(&self) -> Option<usize> {
        self.axes.iter().flatten().try_fold(1usize, |count, values| count.checked_mul(values.len()))
    }

    /// The field of each cell, the last axis running fastest.
    pub(super) fn filled(&self) -> Vec<Option<usize>> {
        let mut cells = vec![None; self.cells().unwrap_or(0)];
        for (cell, number) in &self.members {
            if let Some(slot) = self.place(cell).and_then(|place| cells.get_mut(place)) {
                *slot = Some(*number);
            }
        }
        cells
    }

    fn place(&self, cell: &Cell) -> Option<usize> {
        let mut place = 0;
        for (values, value) in self.axes.iter().zip(cell.0) {
            let (Some(values), Some(value)) = (values, value) else { continue };
            let is_down = matches!(values[..], [first, .., last] if last < first);
            let order = |other: &f64| if is_down { value.total_cmp(other) } else { other.total_cmp(&value) };
            place = place * values.len() + values.binary_search_by(order).ok()?;
        }
        Some(place)
    }
}

/// The values of an axis, without repetition, in their order.
fn values(members: &[(Cell, usize)], axis: usize, decreasing: bool) -> Option<Vec<f64>> {
    let mut values: Vec<f64> = members.iter().filter_map(|(cell, _)| cell.0[axis]).collect();
    if values.is_empty() {
        return None;
    }
    values.sort_by(f64::total_cmp);
    values.dedup();
    if decreasing {
        values.reverse();
    }
    Some(values)
}

impl Cube {
    /// The type of level of all variables.
    pub(super) fn level(&self) -> Option<&str> {
        self.variables.first().and_then(|(_, series)| series.kind.level.as_deref())
    }

    /// Sorts series into cubes, each into the first one that it fits: in the order given.
    pub(super) fn sort(series: Vec<(String, Series)>) -> Vec<Cube> {
        let mut cubes: Vec<Cube> = Vec::new();
        // By what must be the same, so that few cubes are looked at for each series.
        let mut alike: std::collections::HashMap<String, Vec<usize>> = std::collections::HashMap::new();
        for (name, series) in series {
            let key = format!("{:?} {:?} {}", series.kind.level, series.kind.origin, series.kind.grid);
            let candidates = alike.entry(key).or_default();
            match candidates.iter().copied().find(|number| cubes[*number].takes(&name, &series)) {
                Some(number) => cubes[number].add(name, series),
                None => {
                    candidates.push(cubes.len());
                    cubes.push(Cube { axes: series.axes.clone(), variables: vec![(name, series)] });
                }
            }
        }
        cubes
    }

    fn takes(&self, name: &str, series: &Series) -> bool {
        let is_same = |(own, other): (&Option<Vec<f64>>, &Option<Vec<f64>>)| match (own, other) {
            (Some(own), Some(other)) => own == other,
            // Fields of no ensemble join those of its members.
            _ => true,
        };
        !self.variables.iter().any(|(own, _)| own == name) && self.axes.iter().zip(&series.axes).all(is_same)
    }

    fn add(&mut self, name: String, series: Series) {
        for (own, other) in self.axes.iter_mut().zip(&series.axes) {
            if own.is_none() {
                own.clone_from(other);
            }
        }
        self.variables.push((name, series));
    }
}
