//! Attributes of groups and variables: as CF has them, and as cfgrib writes what a message says.

use super::cell::Kind;
use super::coordinate::object;
use crate::coordinates::{GridLayout, layout};
use crate::parameters::{self, Name};
use crate::{Field, Grid, GridKind, Parameter};
use serde_json::{Map, Value, json};

/// Centres by the numbers of common code table C-11, with ecCodes' abbreviations of those that write most files.
const CENTRES: &[(u16, &str, &str)] = &[
    (7, "kwbc", "US National Weather Service - NCEP"),
    (34, "rjtd", "Japanese Meteorological Agency - Tokyo"),
    (54, "cwao", "Canadian Meteorological Service - Montreal"),
    (74, "egrr", "U.K. Met Office - Exeter"),
    (78, "edzw", "Offenbach"),
    (85, "lfpw", "French Weather Service - Toulouse"),
    (98, "ecmf", "European Centre for Medium-Range Weather Forecasts"),
];

/// What a variable of a kind is called, and its attributes.
pub(super) fn variable(field: &Field, kind: &Kind) -> (String, Map<String, Value>) {
    let name = parameters::name(field);
    let mut attributes = object(json!({ "GRIB_paramId": name.map_or(0, |name| name.id) }));
    let known = name.map(|name| named(&name)).unwrap_or_default();
    attributes.extend(known);
    match field.parameter {
        Parameter::Triple { discipline, category, number } => attributes.extend(object(json!({
            "GRIB_discipline": discipline,
            "GRIB_parameterCategory": category,
            "GRIB_parameterNumber": number,
        }))),
        Parameter::Indicator { table, indicator } => attributes.extend(object(json!({
            "GRIB_table2Version": table,
            "GRIB_indicatorOfParameter": indicator,
        }))),
    }
    attributes.extend(object(json!({
        "GRIB_numberOfPoints": field.grid.points,
        "GRIB_stepType": kind.step_type(),
        "GRIB_gridType": grid_type(&field.grid),
    })));
    if let Some(level) = &kind.level {
        attributes.insert("GRIB_typeOfLevel".to_owned(), json!(level));
    }
    if let Some(member) = kind.statistic_of_members() {
        attributes.insert("GRIB_statisticOfMembers".to_owned(), json!(member));
    }
    let short = match (name, field.parameter) {
        (Some(name), _) => name.variable.to_owned(),
        (None, Parameter::Triple { discipline, category, number }) => {
            format!("parameter_{discipline}_{category}_{number}")
        }
        (None, Parameter::Indicator { table, indicator }) => format!("parameter_{table}_{indicator}"),
    };
    let suffix = kind.statistic_of_members().map(|statistic| format!("_{statistic}"));
    (short + suffix.as_deref().unwrap_or_default(), attributes)
}

fn named(name: &Name) -> Map<String, Value> {
    let mut attributes = object(json!({
        "GRIB_shortName": name.short,
        "GRIB_cfVarName": name.variable,
        "GRIB_name": name.long,
        "GRIB_units": name.units,
        "long_name": name.long,
        "units": name.units,
    }));
    if let Some(standard) = name.standard {
        attributes.insert("GRIB_cfName".to_owned(), json!(standard));
        attributes.insert("standard_name".to_owned(), json!(standard));
    }
    attributes
}

/// The attributes of a group whose fields are of one origin.
pub(super) fn group(field: &Field) -> Map<String, Value> {
    let known = CENTRES.iter().find(|row| row.0 == field.centre);
    let mut attributes = object(json!({
        "GRIB_edition": field.edition,
        "GRIB_centre": known.map_or_else(|| field.centre.to_string(), |row| row.1.to_owned()),
        "GRIB_subCentre": field.subcentre,
        "Conventions": "CF-1.11",
    }));
    if let Some((_, _, name)) = known {
        attributes.insert("GRIB_centreDescription".to_owned(), json!(name));
        attributes.insert("institution".to_owned(), json!(name));
    }
    attributes
}

/// What ecCodes calls a grid.
fn grid_type(grid: &Grid) -> String {
    let kind = match grid.kind {
        GridKind::LatLon(_) => "ll",
        GridKind::Gaussian { .. } => "gg",
        GridKind::SphericalHarmonics => return "sh".to_owned(),
        GridKind::Other if 32_768 <= grid.template => return format!("ncep_{}", grid.template),
        GridKind::Unstructured => return "unstructured_grid".to_owned(),
        _ => return grid.kind.name().to_owned(),
    };
    match (layout(grid), grid.rotation.is_some()) {
        (GridLayout::Points(_), true) => format!("reduced_rotated_{kind}"),
        (GridLayout::Points(_), false) => format!("reduced_{kind}"),
        (_, true) => format!("rotated_{kind}"),
        (_, false) => format!("regular_{kind}"),
    }
}
