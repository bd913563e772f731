//! Scans of the shared sample files against what ecCodes lists of them.

use crate::corpus;
use serde_json::{Value, json};
use swath_convert::{Bitmap, DamageKind, Field, Grid, GridKind, Parameter, ScanOptions};
use swath_ioengine::{FileAccess, LocalFiles, ObjectRef};

#[test]
fn every_sample_field_is_listed_as_ec_codes_lists_it() {
    let Some(root) = corpus::root() else { return };
    let expected = corpus::expected(&root);
    let local = LocalFiles::open(&root, FileAccess::default()).unwrap();
    let files: Vec<ObjectRef> = expected.iter().map(|(name, _)| local.object(name)).collect();
    let mut count = 0;
    for head_bytes in [None, Some(16), Some(100_000)] {
        let options = ScanOptions { head_bytes, ..ScanOptions::default() };
        let found = corpus::found_in(&files, &options).unwrap();
        for ((name, wanted), found) in expected.iter().zip(found) {
            let (fields, damages) = corpus::parted(found);
            // Bulletins have headings of some forty letters.
            let all_stray =
                damages.iter().all(|damage| damage.kind == DamageKind::Stray && damage.span.len <= 80);
            assert!(
                all_stray && (damages.is_empty() || name == "grib_pygrib/ds.maxt.bin"),
                "{name}: {damages:?}"
            );
            let messages = wanted["messages"].as_array().unwrap();
            assert_eq!(fields.len(), messages.len(), "{name}");
            for (field, message) in fields.iter().zip(messages) {
                check(name, field, message);
            }
            count += fields.len();
        }
    }
    assert_eq!(count, 3 * 1309);
}

fn check(name: &str, field: &Field, wanted: &Value) {
    let place = format!("{name} at {} field {}", field.message.offset, field.number);
    let equal = |key: &str, found: Value| assert_eq!(found, wanted[key], "{place}: {key}");
    equal("offset", json!(field.message.offset));
    equal("length", json!(field.message.len));
    equal("field_in_message", json!(field.number));
    equal("edition", json!(field.edition));
    equal("bitsPerValue", json!(field.packing.bits));
    equal("bitmapPresent", json!(i32::from(field.bitmap != Bitmap::None)));
    let time = field.time;
    let date = u32::from(time.year) * 10_000 + u32::from(time.month) * 100 + u32::from(time.day);
    equal("dataDate", json!(date));
    equal("dataTime", json!(u32::from(time.hour) * 100 + u32::from(time.minute)));
    equal("stepRange", json!(step_range(field)));
    if let Parameter::Triple { discipline, category, number } = field.parameter {
        equal("discipline", json!(discipline));
        equal("parameterCategory", json!(category));
        equal("parameterNumber", json!(number));
        equal("gridDefinitionTemplateNumber", json!(field.grid.template));
    }
    equal("gridType", json!(grid_type(&field.grid)));
    if wanted["packingType"] != json!("grid_second_order") {
        equal("packingType", json!(packing_type(field)));
    }
    if !matches!(field.grid.kind, GridKind::SphericalHarmonics) {
        equal("Nj", json!(field.grid.rows));
        // Of one field ecCodes cannot tell it.
        if !wanted["n"].is_null() {
            equal("n", json!(field.grid.points));
        }
        let columns = field.grid.columns.map_or(json!(i32::MAX), |columns| json!(columns));
        assert!(wanted["Ni"].is_null() || wanted["Ni"] == columns, "{place}: {columns} columns");
        let scan = field.grid.scanning.0;
        if !wanted["scan"][0].is_null() {
            equal("scan", json!([scan >> 7 & 1, scan >> 6 & 1, scan >> 5 & 1, scan >> 4 & 1]));
        }
    }
    // There ecCodes takes the sign of the value for a bit of it.
    if wanted["typeOfLevel"] == json!("potentialVorticity") {
        return;
    }
    equal("level", json!(level(field, wanted["typeOfLevel"].as_str().unwrap())));
}

/// The level as ecCodes tells it: an integer, pressures in hPa.
fn level(field: &Field, kind: &str) -> i64 {
    let level = field.level.unwrap();
    let value = level.first.value.unwrap_or(0.0);
    let value = if field.edition == 2 && kind == "isobaricInhPa" { value / 100.0 } else { value };
    format!("{value:.0}").parse().unwrap()
}

fn step_range(field: &Field) -> String {
    let step = field.step.unwrap();
    let (start, end) = (step.start.seconds().unwrap(), step.end_seconds().unwrap());
    let sizes = [(3600, ""), (60, "m"), (1, "s")];
    let unit = step.start.unit.seconds().unwrap();
    let (size, suffix) = *sizes.iter().find(|(size, _)| *size <= unit).unwrap();
    let text = |seconds: i64| format!("{}{suffix}", seconds / size);
    match step.interval {
        Some(_) if start != end => format!("{}-{}", text(start), text(end)),
        _ => text(start),
    }
}

fn grid_type(grid: &Grid) -> String {
    let kind = match grid.kind {
        GridKind::LatLon(_) => "ll",
        GridKind::Gaussian { .. } => "gg",
        GridKind::Lambert { .. } => return "lambert".into(),
        GridKind::PolarStereographic { .. } => return "polar_stereographic".into(),
        GridKind::Mercator { .. } => return "mercator".into(),
        GridKind::SphericalHarmonics => return "sh".into(),
        _ => return format!("ncep_{}", grid.template),
    };
    match (grid.row_lengths.is_some(), grid.rotation.is_some()) {
        (true, true) => format!("reduced_rotated_{kind}"),
        (true, false) => format!("reduced_{kind}"),
        (false, true) => format!("rotated_{kind}"),
        (false, false) => format!("regular_{kind}"),
    }
}

fn packing_type(field: &Field) -> String {
    match field.packing.kind.name() {
        "jpeg2000" => "grid_jpeg".into(),
        "spectral" => "spectral_complex".into(),
        name => format!("grid_{name}"),
    }
}
