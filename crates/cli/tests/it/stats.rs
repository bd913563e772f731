//! `swath stats`.

use crate::stored::{array_v3, put, put_whole};
use crate::swath::run;
use serde_json::{Value, json};
use std::path::Path;
use swath::{Array, ArrayBuilder, DataType, Store};

/// A group with `t2m` of 5 times, 2 channels and 3 places, 100 t + 10 c + p, with missing ones, and its coordinates.
fn group() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "zarr.json", json!({"zarr_format": 3, "node_type": "group"}).to_string());
    let mut document = array_v3("int16", &[5, 2, 3], &[2, 2, 2], json!(-1));
    document["dimension_names"] = json!(["time", "channel", null]);
    document["attributes"] = json!({"_FillValue": 110});
    put(folder.path(), "t2m/zarr.json", document.to_string());
    let array = Array::open(folder.path().join("t2m")).unwrap();
    let values = (0..30_i16).map(|number| match 100 * (number / 6) + 10 * (number / 3 % 2) + number % 3 {
        // The fill value.
        402 => -1,
        value => value,
    });
    let bytes: Vec<u8> = values.flat_map(i16::to_ne_bytes).collect();
    array.write(&"...".parse().unwrap(), &bytes).unwrap();

    // The 30th of January to the 3rd of February, in hours.
    let hours: Vec<u8> = (29..34_i64).flat_map(|day| (day * 24 + 5).to_le_bytes()).collect();
    put_whole(folder.path(), "time", "int64", &[5], json!(0), &hours);
    let mut time: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("time/zarr.json")).unwrap()).unwrap();
    time["attributes"] = json!({"units": "hours since 2024-01-01", "calendar": "standard"});
    put(folder.path(), "time/zarr.json", time.to_string());
    put_whole(folder.path(), "channel", "uint8", &[2], json!(0), &[6, 8]);
    folder
}

#[test]
fn fill_values_that_no_element_can_be_are_said_and_ignored() {
    let folder = group();
    let path = folder.path().join("t2m/zarr.json");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    // As packed data have them: of the type that they are decoded to.
    document["attributes"] = json!({"_FillValue": 1e20, "missing_value": [110, "NaN", -32769]});
    put(folder.path(), "t2m/zarr.json", document.to_string());
    let value = run(folder.path(), &["stats", "t2m", "--json"]).json();
    assert_eq!((&value["missing"], &value["max"]), (&json!(2), &json!(412)));
    let text = run(folder.path(), &["stats", "t2m"]).text();
    let rules = "(fill value -1, _FillValue 1e+20, which no int16 is, missing_value 110, missing_value \"NaN\", which no int16 is, \
                 missing_value -32769, which no int16 is)";
    assert!(text.contains(rules), "{text}");
    document["attributes"] = json!({"_FillValue": "none"});
    put(folder.path(), "t2m/zarr.json", document.to_string());
    let line = run(folder.path(), &["stats", "t2m"]).error(1);
    assert!(line.contains("wanted a int16 as _FillValue, found \"none\""), "{line}");
}

#[test]
fn statistics_leave_out_what_is_missing() {
    let folder = group();
    let text = run(folder.path(), &["stats", "t2m", "--bins", "4"]).text();
    let wanted = "\
array    t2m
shape    (5, 2, 3)
dtype    int16
count    30
missing  2 = 6.67 % (fill value -1, _FillValue 110)
min      0
max      412
mean     202.428571
";
    assert!(text.starts_with(wanted), "{text}");
    assert!(text.ends_with("  0 │██████████████████████████████████████████████████ 11\n128 │███████████████████████████▎ 6\n256 │███████████████████████████▎ 6\n384 │██████████████████████▊ 5\n"), "{text}");
    let value = run(folder.path(), &["stats", "t2m", "--json", "--fill-is-data"]).json();
    assert_eq!((&value["missing"], &value["min"], &value["sum"]), (&json!(1), &json!(-1), &json!(5667)));
    assert_eq!(
        value["histogram"]["counts"].as_array().unwrap().iter().filter_map(Value::as_u64).sum::<u64>(),
        29
    );
}

#[test]
fn truth_values_have_a_sum() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create_directory(folder.path()).unwrap();
    let array = ArrayBuilder::new(&[10], DataType::Bool).create(&store, "a").unwrap();
    array.write(&"...".parse().unwrap(), &[1, 1, 0, 1, 0, 1, 1, 0, 1, 0]).unwrap();
    let value = run(folder.path(), &["stats", "a", "--json", "--fill-is-data"]).json();
    assert_eq!((&value["count"], &value["sum"], &value["mean"]), (&json!(10), &json!(6), &json!(0.6)));
}

#[test]
fn groups_are_places_of_an_axis_and_periods_of_a_time() {
    let folder = group();
    let value = run(folder.path(), &["stats", "t2m", "--by", "channel", "--json"]).json();
    let groups = value["groups"].as_array().unwrap();
    let labels: Vec<&Value> = groups.iter().map(|group| &group["group"]["channel"]).collect();
    assert_eq!(labels, [&json!("6"), &json!("8")]);
    assert_eq!((&groups[0]["sum"], &groups[1]["sum"]), (&json!(2613), &json!(3055)));
    let by_number = run(folder.path(), &["stats", "t2m", "--by", "-2", "--json"]).json();
    assert_eq!(by_number["groups"], value["groups"]);

    let value =
        run(folder.path(), &["stats", "t2m", "--period", "month", "--by", "channel", "--json"]).json();
    let found: Vec<(String, u64, u64)> = value["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| {
            let label = format!("{} {}", group["group"]["time"], group["group"]["channel"]).replace('"', "");
            (label, group["count"].as_u64().unwrap(), group["sum"].as_u64().unwrap())
        })
        .collect();
    let wanted =
        [("2024-01 6", 6, 306), ("2024-01 8", 6, 256), ("2024-02 6", 9, 2307), ("2024-02 8", 9, 2799)];
    assert_eq!(found, wanted.map(|(label, count, sum)| (label.to_owned(), count, sum)));

    let text = run(folder.path(), &["stats", "t2m", "--period", "day"]).text();
    assert!(text.contains("\n2024-02-01") && text.lines().count() == 7, "{text}");
}

#[test]
fn what_cannot_be_grouped_is_said() {
    let folder = group();
    for (arguments, part) in [
        (
            &["stats", "t2m", "--by", "level"][..],
            "wanted an axis by its name (time, channel) or number, found level",
        ),
        (&["stats", "channel", "--period", "month"], "wanted a time coordinate"),
        (&["stats", "t2m", "--period", "month", "--by", "time"], "grouped twice"),
        (&["stats", "."], "wanted an array"),
    ] {
        let line = run(folder.path(), arguments).error(1);
        assert!(line.contains(part), "{line}");
    }
}

#[test]
fn the_mask_is_an_array_of_what_is_missing_and_the_picture_has_every_bin() {
    let folder = group();
    let more = ["--mask-out", "mask.zarr", "--svg", "a.svg", "--json", "--bins", "4"];
    let value = run(folder.path(), &[&["stats", "t2m"][..], &more].concat()).json();
    let mask = Array::open(folder.path().join("mask.zarr")).unwrap();
    assert_eq!((mask.shape(), mask.chunk_shape()), (&[5, 2, 3][..], &[2, 2, 2][..]));
    let read = mask.read(&"...".parse().unwrap()).unwrap();
    let missing: Vec<usize> = (0..30).filter(|number| read.as_bytes()[*number] != 0).collect();
    assert_eq!(missing, [9, 26]);
    assert_eq!(value["missing"], 2);
    let svg = std::fs::read_to_string(folder.path().join("a.svg")).unwrap();
    assert_eq!(svg.matches("<title>").count(), 4);
    let again = run(folder.path(), &[&["stats", "t2m"][..], &more].concat()).error(1);
    assert!(again.contains("mask.zarr") && again.contains("wanted to make a node"), "{again}");
}

/// Against two plain passes over all elements.
#[test]
fn statistics_of_archives_of_others_are_those_of_two_passes() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/zarr_v2");
    if !data.is_dir() {
        println!("skipped: no archives at {}", data.display());
        return;
    }
    let near = |found: &Value, wanted: f64| {
        let found = found.as_f64().unwrap();
        assert!((found - wanted).abs() <= 1e-9 * wanted.abs(), "{found} is not {wanted}");
    };
    let value = run(&data, &["stats", "ocf_seviri_hrv.zarr/data", "--json"]).json();
    let array = Array::open(data.join("ocf_seviri_hrv.zarr/data")).unwrap();
    let fill: i16 = i16::from_ne_bytes(array.fill_value().bytes().try_into().unwrap());
    let has_fill = !array.metadata().document()["fill_value"].is_null();
    let read = array.read(&"...".parse().unwrap()).unwrap();
    let valid: Vec<f64> = read
        .as_slice::<i16>()
        .unwrap()
        .iter()
        .filter(|value| !has_fill || **value != fill)
        .map(|value| f64::from(*value))
        .collect();
    let mean = valid.iter().sum::<f64>() / valid.len() as f64;
    let spread = valid.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / valid.len() as f64;
    assert_eq!(
        value["count"].as_u64().unwrap() - value["missing"].as_u64().unwrap(),
        u64::try_from(valid.len()).unwrap()
    );
    near(&value["mean"], mean);
    near(&value["std"], spread.sqrt());

    let value =
        run(&data, &["stats", "ocf_ukv_nwp.zarr/UKV", "--by", "init_time", "--period", "hour-of-day"]);
    assert!(value.error(1).contains("grouped twice"));
    let value =
        run(&data, &["stats", "ocf_ukv_nwp.zarr/UKV", "--by", "variable", "--period", "day", "--json"])
            .json();
    let count: u64 =
        value["groups"].as_array().unwrap().iter().filter_map(|group| group["count"].as_u64()).sum();
    assert_eq!(count, 9 * 5 * 704 * 548);
}
