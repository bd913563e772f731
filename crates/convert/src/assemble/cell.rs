//! Where in a variable a field belongs.

use super::naming;
use super::time::epoch_seconds;
use crate::{Ensemble, Error, Field, Parameter};

/// What fields of one variable have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    parameter: (u8, u8, u8, u8),
    level: (u8, Option<u8>),
    statistic: Option<u8>,
    ensemble: (u8, u8, String),
}

/// Coordinates of a field within its variable, in the order of dimensions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell(pub(super) [f64; AXES.len()]);

/// The dimensions before latitude and longitude. A level's is named by its type.
pub(super) const AXES: [&str; 4] = ["time", "step", "number", "level"];

/// The place of levels in [`AXES`].
pub(super) const LEVEL: usize = 3;

impl Kind {
    pub(super) fn of(field: &Field) -> Kind {
        let parameter = match field.parameter {
            Parameter::Indicator { table, indicator } => (1, table, 0, indicator),
            Parameter::Triple { discipline, category, number } => (2, discipline, category, number),
        };
        let ensemble = match field.ensemble {
            Ensemble::None => (0, 0, String::new()),
            // Control runs are members too.
            Ensemble::Member { .. } => (1, 0, String::new()),
            Ensemble::Derived { kind, .. } => (2, kind, String::new()),
            Ensemble::Percentile(percentile) => (3, percentile, String::new()),
            Ensemble::Probability { kind, lower, upper } => (4, kind, format!("{lower:?} {upper:?}")),
        };
        let level = field
            .level
            .map_or((u8::MAX, None), |level| (level.first.kind, level.second.map(|second| second.kind)));
        Kind { parameter, level, statistic: field.step.and_then(|step| step.statistic), ensemble }
    }

    /// What tells this variable from others of the same parameter.
    pub(super) fn suffix(&self) -> Option<String> {
        let (kind, number, _) = self.ensemble;
        match (kind, self.statistic) {
            (2, _) => Some(format!("derived_{number}")),
            (3, _) => Some(format!("percentile_{number}")),
            (4, _) => Some(format!("probability_{number}")),
            (_, Some(statistic)) => Some(naming::statistic_name(statistic)),
            _ => None,
        }
    }
}

impl Cell {
    /// Seconds since 1970, hours after them, the member, the level.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a step in months, or of a product template that swath does not know; `Corrupt` for a time that is none.
    pub(super) fn of(field: &Field) -> Result<Cell, Error> {
        let step = field.step.ok_or_else(|| Error::unsupported("a product template of unknown steps"))?;
        let seconds = step.end_seconds().ok_or_else(|| Error::unsupported("a step in months or years"))?;
        let number = match field.ensemble {
            Ensemble::Member { number, .. } => f64::from(number),
            _ => 0.0,
        };
        let level = field.level.and_then(|level| level.first.value).unwrap_or(0.0);
        // Seconds of all calendars of two octets are exact in 64 bits.
        Ok(Cell([epoch_seconds(field.time)? as f64, seconds as f64 / 3600.0, number, level]))
    }
}
