//! Where points of projected, rotated and reduced grids are, against ecCodes: see `tests/data/make_points.py`.

use crate::corpus;
use serde_json::Value;
use std::path::PathBuf;
use swath_convert::{GridLayout, Points, layout};

#[test]
fn points_are_where_ec_codes_has_them() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let list: Value = serde_json::from_slice(&std::fs::read(folder.join("points.json")).unwrap()).unwrap();
    let samples = corpus::root();
    let (mut count, mut farthest) = (0, 0.0f64);
    for (name, wanted) in list.as_object().unwrap() {
        let place = match (name.strip_prefix("points/"), &samples) {
            (Some(_), _) => folder.join(name),
            (None, Some(root)) => root.join(name),
            (None, None) => continue,
        };
        let (fields, _) = corpus::scanned(std::fs::read(place).unwrap());
        let grid = &fields[0].grid;
        let points = Points::of(grid).unwrap_or_else(|error| panic!("{name}: {error}"));
        for wanted in wanted.as_array().unwrap() {
            let number = usize::try_from(wanted[0].as_u64().unwrap()).unwrap();
            let found = match (&points, layout(grid)) {
                (Points::Listed(places), GridLayout::Points(_)) => places[number],
                (Points::Plane(plane), GridLayout::Plane { rows, columns }) => {
                    assert_eq!((plane.y.len() as u64, plane.x.len() as u64), (rows, columns));
                    plane.place(plane.x[number % plane.x.len()], plane.y[number / plane.x.len()])
                }
                (points, layout) => panic!("{name}: {layout:?} and {points:?}"),
            };
            let (latitude, longitude) = (wanted[1].as_f64().unwrap(), wanted[2].as_f64().unwrap());
            let east = (found.longitude - longitude + 180.0).rem_euclid(360.0) - 180.0;
            // At a pole every longitude is right.
            let east = if 90.0 - latitude.abs() < 1e-7 { 0.0 } else { east };
            let apart = (found.latitude - latitude).abs().max(east.abs());
            // ecCodes rounds what it turns back to a millionth of a degree in 32 bits.
            let near = if grid.rotation.is_some() { 1e-5 } else { 1e-6 };
            assert!(apart <= near, "{name}: point {number} is {found:?}, not {latitude}, {longitude}");
            if grid.rotation.is_none() {
                farthest = farthest.max(apart);
            }
        }
        count += 1;
    }
    println!("{count} grids, at most {farthest:.1e} degrees apart");
    let made = list.as_object().unwrap().keys().filter(|name| name.starts_with("points/")).count();
    assert_eq!(count, if samples.is_some() { list.as_object().unwrap().len() } else { made });
}
