//! Product definition sections of edition 1.

use crate::Error;
use crate::grib::level::Level;
use crate::grib::octets::Octets;
use crate::grib::product::{Ensemble, Parameter};
use crate::grib::timing::{DateTime, Duration, Step, TimeUnit};

/// What a product definition section says.
pub(super) struct Product {
    pub(super) centre: u16,
    pub(super) subcentre: u16,
    pub(super) parameter: Parameter,
    pub(super) level: Level,
    pub(super) time: DateTime,
    pub(super) step: Step,
    pub(super) ensemble: Ensemble,
    pub(super) has_grid: bool,
    pub(super) has_bitmap: bool,
    /// The grid's number in the centre's catalogue.
    pub(super) grid_number: u8,
    pub(super) decimal_scale: i32,
}

/// The European Centre for Medium-Range Weather Forecasts, whose labels of members are known.
const ECMWF: u8 = 98;

pub(super) fn read(octets: Octets<'_>) -> Result<Product, Error> {
    let [table, centre, _process, grid_number, flags, indicator] = octets.array(4)?;
    let subcentre = octets.u8(26)?;
    Ok(Product {
        centre: u16::from(centre),
        subcentre: u16::from(subcentre),
        parameter: Parameter::Indicator { table, indicator },
        level: Level::of_edition1(octets, 10)?,
        time: time(octets)?,
        step: step(octets)?,
        ensemble: if centre == ECMWF || subcentre == ECMWF { ecmwf_member(octets)? } else { Ensemble::None },
        has_grid: flags & 0x80 != 0,
        has_bitmap: flags & 0x40 != 0,
        grid_number,
        decimal_scale: octets.i16(27)?,
    })
}

/// Year of the century (1 to 100), month, day, hour and minute; the century is behind.
fn time(octets: Octets<'_>) -> Result<DateTime, Error> {
    let [year, month, day, hour, minute] = octets.array(13)?;
    let century = u16::from(octets.u8(25)?).saturating_sub(1);
    Ok(DateTime { year: century * 100 + u16::from(year), month, day, hour, minute, second: 0 })
}

fn step(octets: Octets<'_>) -> Result<Step, Error> {
    let unit = TimeUnit::of_edition1(octets.u8(18)?);
    let (first, second) = (i64::from(octets.u8(19)?), i64::from(octets.u8(20)?));
    let duration = |count| Duration { count, unit };
    let moment = |count| Step { start: duration(count), interval: None, statistic: None };
    let interval = |statistic| Step {
        start: duration(first),
        interval: Some(duration(second - first)),
        statistic: Some(statistic),
    };
    Ok(match octets.u8(21)? {
        // The analysis, whatever the periods say.
        1 => moment(0),
        2 => Step { statistic: None, ..interval(0) },
        3 => interval(0),
        4 => interval(1),
        5 => interval(4),
        10 => moment(i64::from(octets.u16(19)?)),
        _ => moment(first),
    })
}

/// The centre's local definitions of ensembles: the number of the member and how many there are, from octet 50 on.
fn ecmwf_member(octets: Octets<'_>) -> Result<Ensemble, Error> {
    if octets.len() < 51 {
        return Ok(Ensemble::None);
    }
    let (number, size) = match octets.u8(41)? {
        1 | 26 | 30 | 36 => (u16::from(octets.u8(50)?), u16::from(octets.u8(51)?)),
        15 | 16 if 51 < octets.len() => (octets.u16(50)?, 0),
        _ => return Ok(Ensemble::None),
    };
    // Forecasts of no ensemble have these labels too, and are member 0 of 0: so ecCodes tells them.
    Ok(Ensemble::Member { kind: None, number, size })
}
