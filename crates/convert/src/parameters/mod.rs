//! What parameters are called: by the tables that `tests/data/make_parameters.py` makes of ecCodes' definitions
//! (Apache License 2.0, ECMWF).

use crate::grib::{Field, Parameter, Surface};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Rows of edition 1: centre, conditions, number, short name, name of a variable, units, standard name, name in words.
const EDITION1: &str = include_str!("edition1.tsv");

/// Rows of edition 2.
const EDITION2: &str = include_str!("edition2.tsv");

/// A parameter's names, as ecCodes and so cfgrib have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// ECMWF's number of it.
    pub(crate) id: u32,
    /// What forecasters call it, such as `2t`.
    pub(crate) short: &'static str,
    /// What a variable of it is called, such as `t2m`.
    pub(crate) variable: &'static str,
    /// Its units, as ecCodes writes them.
    pub(crate) units: &'static str,
    /// CF's name, where it has one.
    pub(crate) standard: Option<&'static str>,
    /// Its name in words.
    pub(crate) long: &'static str,
}

/// A name, and what a field has to be to have it.
struct Row {
    /// The centre whose own name this is.
    centre: Option<u16>,
    conditions: Vec<Condition>,
    name: Name,
}

/// What a field has to be.
#[derive(Clone, Copy)]
enum Condition {
    /// The type of its first surface, or of its second one: 255 for none.
    Kind(usize, u8),
    /// The value of that surface; `None` where it must not have one.
    Value(usize, Option<f64>),
    /// The statistic over its interval.
    Statistic(u8),
}

/// Parameters of one number.
type Rows = HashMap<(u8, u8, u8), Vec<Row>>;

static ROWS1: LazyLock<Rows> = LazyLock::new(|| rows(EDITION1));
static ROWS2: LazyLock<Rows> = LazyLock::new(|| rows(EDITION2));

/// What a field's parameter is called: of all names whose conditions it meets, the one with the most of them.
pub(crate) fn name(field: &Field) -> Option<Name> {
    let (rows, key) = match field.parameter {
        Parameter::Indicator { table, indicator } => (&*ROWS1, (table, indicator, 0)),
        Parameter::Triple { discipline, category, number } => (&*ROWS2, (discipline, category, number)),
    };
    let is_met = |row: &&Row| {
        row.centre.is_none_or(|centre| centre == field.centre)
            && row.conditions.iter().all(|condition| condition.is_met(field))
    };
    // The last of several, as in ecCodes, where the WMO's are behind the centres'.
    rows.get(&key)?.iter().filter(is_met).max_by_key(|row| row.weight()).map(|row| row.name)
}

impl Row {
    /// How many of ecCodes' keys the conditions ask for: values are two of them.
    fn weight(&self) -> usize {
        self.conditions
            .iter()
            .map(|condition| 1 + usize::from(matches!(condition, Condition::Value(..))))
            .sum()
    }
}

impl Condition {
    /// A letter and a number.
    fn parse(token: &str) -> Option<Condition> {
        let (letter, number) = token.split_at_checked(1)?;
        let value = || if number == "-" { Some(None) } else { number.parse().ok().map(Some) };
        Some(match letter {
            "a" => Condition::Kind(0, number.parse().ok()?),
            "b" => Condition::Kind(1, number.parse().ok()?),
            "A" => Condition::Value(0, value()?),
            "B" => Condition::Value(1, value()?),
            "s" => Condition::Statistic(number.parse().ok()?),
            _ => return None,
        })
    }

    fn is_met(self, field: &Field) -> bool {
        let surface = |number: usize| -> Option<Surface> {
            let level = field.level?;
            if number == 0 { Some(level.first) } else { level.second }
        };
        match self {
            Condition::Kind(number, kind) => surface(number).map_or(255, |surface| surface.kind) == kind,
            // Edition 1 has a number for every level.
            Condition::Value(number, Some(wanted)) if field.edition == 1 => {
                surface(number).is_some_and(|surface| surface.value.unwrap_or(0.0) == wanted)
            }
            Condition::Value(number, wanted) => surface(number).and_then(|surface| surface.value) == wanted,
            Condition::Statistic(statistic) => {
                field.step.is_some_and(|step| step.interval.is_some() && step.statistic == Some(statistic))
            }
        }
    }
}

fn rows(table: &'static str) -> Rows {
    let mut rows = Rows::new();
    for (key, row) in table.lines().filter_map(row) {
        rows.entry(key).or_default().push(row);
    }
    rows
}

/// A line of a table, and the numbers of its parameter.
fn row(line: &'static str) -> Option<((u8, u8, u8), Row)> {
    let mut cells = line.split('\t');
    let mut next = || cells.next();
    let (centre, conditions) = (next()?, next()?);
    let (id, short, variable) = (next()?.parse().ok()?, next()?, next()?);
    let (units, standard, long) = (next()?, next()?, next()?);
    let mut tokens = conditions.split(' ');
    let numbers: Vec<u8> = tokens.next()?.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    let key = (*numbers.first()?, *numbers.get(1)?, numbers.get(2).copied().unwrap_or(0));
    let name = Name {
        id,
        short,
        variable: if variable.is_empty() { short } else { variable },
        units,
        standard: Some(standard).filter(|standard| !standard.is_empty()),
        long,
    };
    let centre = if centre.is_empty() { None } else { Some(centre.parse().ok()?) };
    Some((key, Row { centre, conditions: tokens.map(Condition::parse).collect::<Option<_>>()?, name }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_tables_is_understood() {
        for table in [EDITION1, EDITION2] {
            assert!(table.lines().all(|line| row(line).is_some()));
        }
        let two_metres = &ROWS2[&(0, 0, 0)].iter().find(|row| row.name.short == "2t").unwrap();
        assert_eq!((two_metres.name.variable, two_metres.name.id, two_metres.weight()), ("t2m", 167, 3));
    }
}
