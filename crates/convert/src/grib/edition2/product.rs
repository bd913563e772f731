//! Product definition sections: what a field is of, at which level, when, and of which member.

use crate::Error;
use crate::grib::level::Level;
use crate::grib::octets::Octets;
use crate::grib::product::{Ensemble, Parameter};
use crate::grib::timing::{Duration, Step, TimeUnit};

/// What a product definition section says.
pub(super) struct Product {
    category: u8,
    number: u8,
    pub(super) level: Option<Level>,
    pub(super) step: Option<Step>,
    pub(super) ensemble: Ensemble,
}

impl Product {
    pub(super) fn parameter(&self, discipline: u8) -> Parameter {
        Parameter::Triple { discipline, category: self.category, number: self.number }
    }
}

/// How a template goes on behind what template 4.0 has.
#[derive(Clone, Copy)]
struct Layout {
    /// Octets that stand before the generating process, as for chemical constituents.
    inserted: usize,
    /// What follows the surfaces.
    part: Part,
    /// The first octet of the end of the interval, not counting those inserted; 0 for a moment.
    interval: usize,
}

/// Which part of an ensemble.
#[derive(Clone, Copy)]
enum Part {
    None,
    Member,
    Derived,
    Percentile,
    Probability,
}

/// The layout of a template, where it is one of those that go on from template 4.0.
fn layout(template: u16) -> Option<Layout> {
    let (inserted, part, interval) = match template {
        0 | 7 | 15 => (0, Part::None, 0),
        1 | 60 => (0, Part::Member, 0),
        2..=4 => (0, Part::Derived, 0),
        5 => (0, Part::Probability, 0),
        6 => (0, Part::Percentile, 0),
        8 => (0, Part::None, 35),
        9 => (0, Part::Probability, 48),
        10 => (0, Part::Percentile, 36),
        11 => (0, Part::Member, 38),
        12 => (0, Part::Derived, 37),
        40 => (2, Part::None, 0),
        41 => (2, Part::Member, 0),
        42 => (2, Part::None, 35),
        43 => (2, Part::Member, 38),
        48 => (24, Part::None, 0),
        61 => (0, Part::Member, 45),
        _ => return None,
    };
    Some(Layout { inserted, part, interval })
}

pub(super) fn read(octets: Octets<'_>) -> Result<Product, Error> {
    let (template, category, number) = (octets.u16(8)?, octets.u8(10)?, octets.u8(11)?);
    let Some(layout) = layout(template) else {
        return Ok(Product { category, number, level: None, step: None, ensemble: Ensemble::None });
    };
    let at = |octet: usize| octet + layout.inserted;
    let start =
        Duration { unit: TimeUnit::of_edition2(octets.u8(at(18))?), count: i64::from(octets.i32(at(19))?) };
    let mut step = Step { start, interval: None, statistic: None };
    if layout.interval != 0 {
        // Seven octets of the end, one of the number of intervals, four of missing values, then the outermost interval.
        let interval = at(layout.interval);
        step.statistic = Some(octets.u8(interval + 12)?);
        let unit = TimeUnit::of_edition2(octets.u8(interval + 14)?);
        step.interval = Some(Duration { unit, count: i64::from(octets.u32(interval + 15)?) });
    }
    Ok(Product {
        category,
        number,
        level: Some(Level::of_edition2(octets, at(23))?),
        step: Some(step),
        ensemble: ensemble(octets, layout.part, at(35))?,
    })
}

fn ensemble(octets: Octets<'_>, part: Part, first: usize) -> Result<Ensemble, Error> {
    Ok(match part {
        Part::None => Ensemble::None,
        Part::Member => Ensemble::Member {
            kind: Some(octets.u8(first)?),
            number: u16::from(octets.u8(first + 1)?),
            size: u16::from(octets.u8(first + 2)?),
        },
        Part::Derived => Ensemble::Derived { kind: octets.u8(first)?, size: octets.u8(first + 1)? },
        Part::Percentile => Ensemble::Percentile(octets.u8(first)?),
        Part::Probability => Ensemble::Probability {
            kind: octets.u8(first + 2)?,
            lower: octets.scaled(first + 3)?,
            upper: octets.scaled(first + 8)?,
        },
    })
}
