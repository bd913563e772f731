//! What variables and levels are called.

use crate::{Field, Level, Parameter};

/// A parameter's name, in words and units: as the WMO's tables and CF's standard names have them.
pub(super) struct Name {
    pub(super) short: &'static str,
    pub(super) long: &'static str,
    pub(super) units: &'static str,
}

/// Edition 2: discipline, category and number. Short names are those that forecasters use.
const TRIPLES: &[(u8, u8, u8, Name)] = &[
    (0, 0, 0, Name { short: "t", long: "Temperature", units: "K" }),
    (0, 0, 2, Name { short: "pt", long: "Potential temperature", units: "K" }),
    (0, 0, 4, Name { short: "tmax", long: "Maximum temperature", units: "K" }),
    (0, 0, 5, Name { short: "tmin", long: "Minimum temperature", units: "K" }),
    (0, 0, 6, Name { short: "d", long: "Dew point temperature", units: "K" }),
    (0, 1, 0, Name { short: "q", long: "Specific humidity", units: "kg kg-1" }),
    (0, 1, 1, Name { short: "r", long: "Relative humidity", units: "%" }),
    (0, 1, 3, Name { short: "pwat", long: "Precipitable water", units: "kg m-2" }),
    (0, 1, 7, Name { short: "prate", long: "Precipitation rate", units: "kg m-2 s-1" }),
    (0, 1, 8, Name { short: "tp", long: "Total precipitation", units: "kg m-2" }),
    (0, 1, 11, Name { short: "sd", long: "Snow depth", units: "m" }),
    (0, 2, 2, Name { short: "u", long: "Eastward wind", units: "m s-1" }),
    (0, 2, 3, Name { short: "v", long: "Northward wind", units: "m s-1" }),
    (0, 2, 8, Name { short: "w", long: "Vertical velocity", units: "Pa s-1" }),
    (0, 2, 22, Name { short: "gust", long: "Wind speed of gusts", units: "m s-1" }),
    (0, 3, 0, Name { short: "pres", long: "Pressure", units: "Pa" }),
    (0, 3, 1, Name { short: "prmsl", long: "Pressure reduced to mean sea level", units: "Pa" }),
    (0, 3, 4, Name { short: "z", long: "Geopotential", units: "m2 s-2" }),
    (0, 3, 5, Name { short: "gh", long: "Geopotential height", units: "gpm" }),
    (0, 6, 1, Name { short: "tcc", long: "Total cloud cover", units: "%" }),
    (0, 7, 6, Name { short: "cape", long: "Convective available potential energy", units: "J kg-1" }),
    (2, 0, 0, Name { short: "lsm", long: "Land cover", units: "1" }),
];

/// Edition 1: table 128 of ECMWF and the WMO's table 2, by table and indicator.
const INDICATORS: &[(u8, u8, Name)] = &[
    (128, 129, Name { short: "z", long: "Geopotential", units: "m2 s-2" }),
    (128, 130, Name { short: "t", long: "Temperature", units: "K" }),
    (128, 131, Name { short: "u", long: "Eastward wind", units: "m s-1" }),
    (128, 132, Name { short: "v", long: "Northward wind", units: "m s-1" }),
    (128, 133, Name { short: "q", long: "Specific humidity", units: "kg kg-1" }),
    (128, 134, Name { short: "sp", long: "Surface pressure", units: "Pa" }),
    (128, 151, Name { short: "msl", long: "Mean sea level pressure", units: "Pa" }),
    (128, 157, Name { short: "r", long: "Relative humidity", units: "%" }),
    (128, 165, Name { short: "u10", long: "10 metre eastward wind", units: "m s-1" }),
    (128, 166, Name { short: "v10", long: "10 metre northward wind", units: "m s-1" }),
    (128, 167, Name { short: "t2m", long: "2 metre temperature", units: "K" }),
    (128, 168, Name { short: "d2m", long: "2 metre dew point temperature", units: "K" }),
    (128, 228, Name { short: "tp", long: "Total precipitation", units: "m" }),
    (2, 1, Name { short: "pres", long: "Pressure", units: "Pa" }),
    (2, 2, Name { short: "prmsl", long: "Pressure reduced to mean sea level", units: "Pa" }),
    (2, 11, Name { short: "t", long: "Temperature", units: "K" }),
    (2, 33, Name { short: "u", long: "Eastward wind", units: "m s-1" }),
    (2, 34, Name { short: "v", long: "Northward wind", units: "m s-1" }),
    (2, 52, Name { short: "r", long: "Relative humidity", units: "%" }),
];

/// Centres' own tables begin here; below it they are the WMO's. ECMWF's is 128.
const ECMWF: u16 = 98;

/// Numbers from here on are a centre's own.
const LOCAL: u8 = 192;

/// What a field's parameter is called, where swath knows it.
pub(super) fn name(field: &Field) -> Option<&'static Name> {
    match field.parameter {
        Parameter::Triple { discipline, category, number } => {
            let same = |row: &&(u8, u8, u8, Name)| (row.0, row.1, row.2) == (discipline, category, number);
            TRIPLES.iter().find(same).map(|row| &row.3).filter(|_| number < LOCAL)
        }
        Parameter::Indicator { table, indicator } => {
            let is_known = table < 128 || field.centre == ECMWF || field.subcentre == ECMWF;
            // Tables 1 to 3 of the WMO agree in what is listed here.
            let table = if (1..=3).contains(&table) { 2 } else { table };
            let same = |row: &&(u8, u8, Name)| (row.0, row.1) == (table, indicator);
            INDICATORS.iter().find(same).map(|row| &row.2).filter(|_| is_known)
        }
    }
}

/// A name for a variable: the parameter's, with the height that it is usually meant at, or its numbers.
pub(super) fn short_name(field: &Field) -> String {
    let known = name(field).map(|name| name.short);
    let height = field.level.filter(|level| level.second.is_none() && level.first.kind == height_kind(field));
    match (known, height.and_then(|level| level.first.value), field.parameter) {
        (Some("t"), Some(2.0), _) => "t2m".to_owned(),
        (Some("d"), Some(2.0), _) => "d2m".to_owned(),
        (Some("u"), Some(10.0), _) => "u10".to_owned(),
        (Some("v"), Some(10.0), _) => "v10".to_owned(),
        (Some(short), ..) => short.to_owned(),
        (None, _, Parameter::Triple { discipline, category, number }) => {
            format!("parameter_{discipline}_{category}_{number}")
        }
        (None, _, Parameter::Indicator { table, indicator }) => format!("parameter_{table}_{indicator}"),
    }
}

/// The type of a height above the ground.
fn height_kind(field: &Field) -> u8 {
    if field.edition == 1 { 105 } else { 103 }
}

/// What a type of level is called, as a dimension, and the units of its values.
pub(super) fn level_name(edition: u8, level: &Level) -> (String, &'static str) {
    let plain = match (edition, level.first.kind, level.second.map(|second| second.kind)) {
        (_, 1, None) => Some(("surface", "1")),
        (1, 100, None) => Some(("isobaricInhPa", "hPa")),
        (2, 100, None) => Some(("isobaricInPa", "Pa")),
        (1, 102, None) | (2, 101, None) => Some(("meanSea", "1")),
        (1, 105, None) | (2, 103, None) => Some(("heightAboveGround", "m")),
        (1, 109, None) | (2, 105 | 118, None) => Some(("hybrid", "1")),
        (2, 104, None) | (1, 107, None) => Some(("sigma", "1")),
        (2, 106, Some(106)) => Some(("depthBelowLandLayer", "m")),
        (2, 10, None) | (1, 200, None) => Some(("atmosphereSingleLayer", "1")),
        (_, 6, None) => Some(("maxWind", "1")),
        (_, 7, None) => Some(("tropopause", "1")),
        _ => None,
    };
    match (plain, level.second) {
        (Some((name, units)), _) => (name.to_owned(), units),
        (None, None) => (format!("level_{}", level.first.kind), "1"),
        (None, Some(second)) => (format!("layer_{}_{}", level.first.kind, second.kind), "1"),
    }
}

/// What was done with the values of an interval, or over members, as the end of a name.
pub(super) fn statistic_name(statistic: u8) -> String {
    match statistic {
        0 => "mean".to_owned(),
        1 => "accumulation".to_owned(),
        2 => "maximum".to_owned(),
        3 => "minimum".to_owned(),
        4 => "difference".to_owned(),
        other => format!("statistic_{other}"),
    }
}
