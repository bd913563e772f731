//! Which variable a field belongs to, and where in it.

use super::level_type::LevelType;
use super::time::epoch_seconds;
use crate::{Ensemble, Error, Field, Parameter};

/// What fields of one variable have in common, beside their grid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    /// The type of level; `None` where the product template is not known.
    pub(super) level: Option<String>,
    /// Edition, centre, part of it.
    pub(super) origin: (u8, u16, u16),
    /// The grid, by its number among those of a plan.
    pub(super) grid: usize,
    parameter: (u8, u8, u8),
    statistic: Option<u8>,
    ensemble: (u8, u8, String),
}

/// The dimensions before those of the grid, in cfgrib's order. A level's is named by its type.
pub(super) const AXES: [&str; 4] = ["number", "time", "step", "level"];

/// The places in [`AXES`].
pub(super) const NUMBER: usize = 0;
/// The reference time, in seconds since 1970.
pub(super) const TIME: usize = 1;
/// Seconds from it to the end of the interval.
pub(super) const STEP: usize = 2;
/// The level.
pub(super) const LEVEL: usize = 3;

/// Coordinates of a field within its variable; `None` where the field has none of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell(pub(super) [Option<f64>; AXES.len()]);

impl Kind {
    /// The variable of a field, and its place there.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a step in months, or of a product template that swath does not know; `Corrupt` for a time that is none.
    pub(super) fn of(field: &Field, grid: usize) -> Result<(Kind, Cell), Error> {
        let parameter = match field.parameter {
            Parameter::Indicator { table, indicator } => (table, indicator, 0),
            Parameter::Triple { discipline, category, number } => (discipline, category, number),
        };
        let ensemble = match field.ensemble {
            Ensemble::None => (0, 0, String::new()),
            // Control runs are members too.
            Ensemble::Member { .. } => (1, 0, String::new()),
            Ensemble::Derived { kind, .. } => (2, kind, String::new()),
            Ensemble::Percentile(percentile) => (3, percentile, String::new()),
            Ensemble::Probability { kind, lower, upper } => (4, kind, limits([lower, upper])),
        };
        let level = LevelType::of(field);
        let cell = Cell::of(field, level.as_ref())?;
        let kind = Kind {
            level: level.map(|level| level.name),
            origin: (field.edition, field.centre, field.subcentre),
            grid,
            parameter,
            statistic: field.step.and_then(|step| step.interval.and(step.statistic)),
            ensemble,
        };
        Ok((kind, cell))
    }

    /// How its values came of an interval, as ecCodes calls it.
    pub(super) fn step_type(&self) -> &'static str {
        match self.statistic {
            None => "instant",
            Some(0) => "avg",
            Some(1) => "accum",
            Some(2) => "max",
            Some(3) => "min",
            Some(4) => "diff",
            Some(5) => "rms",
            Some(6) => "sd",
            Some(7) => "cov",
            Some(9) => "ratio",
            Some(_) => "unknown",
        }
    }

    /// Which statistic over the members of an ensemble this is: no variable of the members themselves.
    pub(super) fn statistic_of_members(&self) -> Option<String> {
        let (kind, number, limits) = &self.ensemble;
        match kind {
            2 => Some(format!("derived_{number}")),
            3 => Some(format!("percentile_{number}")),
            4 => Some(format!("probability_{number}_{limits}")),
            _ => None,
        }
    }
}

impl Cell {
    fn of(field: &Field, level: Option<&LevelType>) -> Result<Cell, Error> {
        let step = field.step.ok_or_else(|| Error::unsupported("a product template of unknown steps"))?;
        let seconds = step.end_seconds().ok_or_else(|| Error::unsupported("a step in months or years"))?;
        let number = match field.ensemble {
            Ensemble::Member { number, .. } => Some(f64::from(number)),
            _ => None,
        };
        // Seconds of all calendars of two octets are exact in 64 bits.
        let (time, step) = (epoch_seconds(field.time)? as f64, seconds as f64);
        Ok(Cell([number, Some(time), Some(step), level.map(|level| level.value)]))
    }
}

/// The limits of an event, as they are told in a name.
fn limits(limits: [Option<f64>; 2]) -> String {
    limits.map(|limit| limit.map_or_else(String::new, |limit| limit.to_string())).join("_")
}
