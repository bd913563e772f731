//! Coordinates of rows and columns against those of ecCodes: see `tests/data/make_axes.py`.

use crate::corpus;
use serde_json::Value;
use std::path::PathBuf;
use swath_convert::axes;

#[test]
fn rows_and_columns_are_where_ec_codes_has_them() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let list: Value = serde_json::from_slice(&std::fs::read(folder.join("axes.json")).unwrap()).unwrap();
    let samples = corpus::root();
    let mut count = 0;
    for (name, wanted) in list.as_object().unwrap() {
        let place = match name.strip_prefix("axes/") {
            Some(_) => folder.join(name),
            None => match &samples {
                Some(root) => root.join(name),
                None => continue,
            },
        };
        let (fields, _) = corpus::scanned(std::fs::read(place).unwrap());
        let found = axes(&fields[0].grid).unwrap();
        for (axis, values) in [("latitudes", &found.latitudes), ("longitudes", &found.longitudes)] {
            let wanted = wanted[axis].as_array().unwrap();
            let last = wanted.last().unwrap()[0].as_u64().unwrap();
            assert_eq!(values.len() as u64, last + 1, "{name}: {axis}");
            for pair in wanted {
                let place = usize::try_from(pair[0].as_u64().unwrap()).unwrap();
                let wanted = pair[1].as_f64().unwrap();
                // Longitudes may differ by whole turns.
                let distance = (values[place] - wanted + 180.0).rem_euclid(360.0) - 180.0;
                assert!(distance.abs() <= 1e-6, "{name}: {axis} {place} is {}, not {wanted}", values[place]);
            }
        }
        count += 1;
    }
    assert_eq!(count, if samples.is_some() { list.as_object().unwrap().len() } else { 14 });
}
