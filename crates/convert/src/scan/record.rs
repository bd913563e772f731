//! What a scan found as one JSON object.

use crate::grib::{Area, Ensemble, Grid, GridKind, Parameter, Place, Projected, Step, Surface, TimeUnit};
use crate::{Bitmap, Field, Found};
use serde_json::{Map, Value, json};

/// One line of a scan's listing: a field, or a damage. `file` is what the caller calls the file.
#[must_use]
pub fn record(file: &str, found: &Found) -> Value {
    match found {
        Found::Field(field) => field_record(file, field),
        Found::Damage(damage) => json!({
            "file": file,
            "offset": damage.span.offset,
            "length": damage.span.len,
            "damage": damage.kind.word(),
            "message": damage.message,
        }),
    }
}

fn field_record(file: &str, field: &Field) -> Value {
    let mut record = Map::new();
    let mut put = |name: &str, value: Value| {
        record.insert(name.to_owned(), value);
    };
    put("file", json!(file));
    put("offset", json!(field.message.offset));
    put("length", json!(field.message.len));
    put("field", json!(field.number));
    put("edition", json!(field.edition));
    put("centre", json!(field.centre));
    put("subcentre", json!(field.subcentre));
    put("parameter", parameter(field.parameter));
    let level = field.level.as_ref();
    put("level", level.map_or(Value::Null, |level| surface(level.first)));
    if let Some(second) = level.and_then(|level| level.second) {
        put("level_to", surface(second));
    }
    put("time", json!(field.time.to_string()));
    put("step", field.step.as_ref().map_or(Value::Null, step));
    match ensemble(&field.ensemble) {
        Value::Null => {}
        member => put("ensemble", member),
    }
    put("grid", grid(&field.grid));
    put("packing", json!(field.packing.kind.name()));
    put("bits", json!(field.packing.bits));
    match field.bitmap {
        Bitmap::None => {}
        Bitmap::Stored => put("bitmap", json!(true)),
        Bitmap::Predefined(number) => put("bitmap", json!(number)),
    }
    put("data_offset", json!(field.place.data.offset));
    put("data_length", json!(field.place.data.len));
    Value::Object(record)
}

fn parameter(parameter: Parameter) -> Value {
    match parameter {
        Parameter::Indicator { table, indicator } => json!({ "table": table, "indicator": indicator }),
        Parameter::Triple { discipline, category, number } => {
            json!({ "discipline": discipline, "category": category, "number": number })
        }
    }
}

fn surface(surface: Surface) -> Value {
    match surface.value {
        Some(value) => json!({ "type": surface.kind, "value": value }),
        None => json!({ "type": surface.kind }),
    }
}

/// Seconds from the reference time where all units are of fixed length, else counts of units.
fn step(step: &Step) -> Value {
    let mut record = Map::new();
    match (step.start.seconds(), step.end_seconds()) {
        (Some(start), Some(end)) => {
            record.insert("seconds".to_owned(), json!(end));
            if step.interval.is_some() {
                record.insert("from_seconds".to_owned(), json!(start));
            }
        }
        _ => {
            record.insert("from".to_owned(), json!([step.start.count, unit(step.start.unit)]));
            if let Some(interval) = step.interval {
                record.insert("for".to_owned(), json!([interval.count, unit(interval.unit)]));
            }
        }
    }
    if let Some(statistic) = step.statistic {
        record.insert("statistic".to_owned(), json!(statistic));
    }
    Value::Object(record)
}

fn unit(unit: TimeUnit) -> String {
    match unit {
        TimeUnit::Seconds(seconds) => format!("{seconds} s"),
        TimeUnit::Months(months) => format!("{months} months"),
        TimeUnit::Unknown(code) => format!("code {code}"),
    }
}

fn ensemble(ensemble: &Ensemble) -> Value {
    match ensemble {
        Ensemble::None => Value::Null,
        Ensemble::Member { kind: Some(kind), number, size } => {
            json!({ "kind": kind, "number": number, "size": size })
        }
        Ensemble::Member { kind: None, number, size } => json!({ "number": number, "size": size }),
        Ensemble::Derived { kind, size } => json!({ "derived": kind, "size": size }),
        Ensemble::Percentile(percentile) => json!({ "percentile": percentile }),
        Ensemble::Probability { kind, lower, upper } => {
            json!({ "probability": kind, "lower": lower, "upper": upper })
        }
    }
}

fn grid(grid: &Grid) -> Value {
    let mut record = Map::new();
    let mut put = |name: &str, value: Value| {
        record.insert(name.to_owned(), value);
    };
    put("kind", json!(grid.kind.name()));
    put("template", json!(grid.template));
    put("points", json!(grid.points));
    if let Some(columns) = grid.columns {
        put("columns", json!(columns));
    }
    if let Some(rows) = grid.rows {
        put("rows", json!(rows));
    }
    if grid.row_lengths.is_some() {
        put("reduced", json!(true));
    }
    match &grid.kind {
        GridKind::LatLon(area) | GridKind::Mercator { area, .. } => put("area", self::area(area)),
        GridKind::Gaussian { area, parallels } => {
            put("area", self::area(area));
            put("parallels", json!(parallels));
        }
        GridKind::Lambert { projected, .. } | GridKind::PolarStereographic { projected, .. } => {
            put("first", place(projected.first));
            put("orientation", json!(projected.orientation));
            put("steps", spacing(projected));
        }
        _ => {}
    }
    if let Some(rotation) = grid.rotation {
        put("south_pole", place(rotation.south_pole));
    }
    put("scanning", json!(grid.scanning.0));
    Value::Object(record)
}

fn place(place: Place) -> Value {
    json!([place.latitude, place.longitude])
}

fn area(area: &Area) -> Value {
    json!({ "first": place(area.first), "last": place(area.last), "steps": [area.spacing.i, area.spacing.j] })
}

fn spacing(projected: &Projected) -> Value {
    json!([projected.spacing.i, projected.spacing.j])
}
