//! References to GRIB messages, against what a conversion of them writes.

use crate::{corpus, made};
use serde_json::{Value, json};
use std::path::Path;
use swath_convert::{
    GribCodec, Plan, PlanOptions, PlannedFile, References, Source, WritePlanOptions, register_grib_codecs,
};
use swath_ioengine::{Engine, FileAccess, LocalFiles, MemoryMedium, ObjectRef};
use swath_zarr_front::{Array, ErrorKind, Group, Node, ReferenceTargets, Selection, Store};

/// What files hold: the plan, and its sources.
pub(crate) fn planned(files: &[ObjectRef]) -> (Plan, Vec<Source>) {
    let found = corpus::found_in(files, &swath_convert::ScanOptions::default()).unwrap();
    let mut sources = Vec::new();
    for (file, found) in found.into_iter().enumerate() {
        let (fields, _) = corpus::parted(found);
        sources.extend(fields.into_iter().map(|field| Source { file, field }));
    }
    let named = |file: &ObjectRef| PlannedFile { name: file.key.to_string(), ..PlannedFile::default() };
    let planned = Plan::of(files.iter().map(named).collect(), &sources, &PlanOptions::default()).unwrap();
    (planned.plan, sources)
}

/// A store of references to files called `names` in a folder.
pub(crate) fn opened(references: &References, names: &[String], folder: &Path) -> Store {
    register_grib_codecs();
    let document = references.to_json(names).unwrap().to_string();
    let targets = ReferenceTargets::new().with_folder(folder.to_str().unwrap());
    Store::references(document.as_bytes(), targets, "test").unwrap()
}

/// Adds the paths of all arrays at or below a path.
fn add_arrays(store: &Store, path: &str, found: &mut Vec<String>) {
    match Node::open_in(store, path).unwrap() {
        Node::Array(_) => found.push(path.to_owned()),
        Node::Group(group) => {
            for name in group.names().unwrap() {
                let below = if path.is_empty() { name } else { format!("{path}/{name}") };
                add_arrays(store, &below, found);
            }
        }
    }
}

pub(crate) fn all_arrays(store: &Store) -> Vec<String> {
    let mut found = Vec::new();
    add_arrays(store, "", &mut found);
    found.sort();
    found
}

pub(crate) fn values(store: &Store, path: &str) -> Vec<u8> {
    Array::open_in(store, path).unwrap().read(&Selection::all()).unwrap().as_bytes().to_vec()
}

/// Compares all of two stores: names, shapes, types, dimensions, attributes and the bits of all elements. Returns how many chunks'
/// worth of elements there were.
fn check_same(referenced: &Store, written: &Store, name: &str) -> usize {
    let paths = all_arrays(written);
    assert_eq!(all_arrays(referenced), paths, "{name}");
    for path in &paths {
        let [found, wanted] = [referenced, written].map(|store| Array::open_in(store, path).unwrap());
        let told = |array: &Array| {
            let metadata = array.metadata();
            let names = metadata.dimension_names().map(<[_]>::to_vec);
            (array.shape().to_vec(), array.data_type().clone(), names)
        };
        assert_eq!(told(&found), told(&wanted), "{name}: {path}");
        let mut attributes = found.metadata().attributes().clone();
        attributes.remove("_ARRAY_DIMENSIONS");
        assert_eq!(&attributes, wanted.metadata().attributes(), "{name}: {path}");
        let is_same = values(referenced, path) == values(written, path);
        assert!(is_same, "{name}: values of {path}");
    }
    for group in paths.iter().filter_map(|path| path.rsplit_once('/')).map(|(group, _)| group).chain([""]) {
        let [found, wanted] = [referenced, written].map(|store| Group::open_in(store, group).unwrap());
        assert_eq!(found.metadata().attributes(), wanted.metadata().attributes(), "{name}: {group}");
    }
    paths.len()
}

/// Files whose fields swath cannot unpack: the conversion has gaps there too.
const NOT_UNPACKED: [&str; 1] = ["grib_cfgrib_samples/spherical_harmonics.grib"];

#[test]
fn references_to_every_sample_file_read_as_the_conversion_writes() {
    let Some(root) = corpus::root() else { return };
    let local = LocalFiles::open(&root, FileAccess::default()).unwrap();
    let (mut files, mut count, mut own) = (0, 0, Vec::new());
    for (name, _) in corpus::expected(&root) {
        let objects = [local.object(&name)];
        let (plan, sources) = planned(&objects);
        let references = plan.references(&sources).unwrap();
        assert_eq!(references.left_out.is_empty(), !NOT_UNPACKED.contains(&name.as_str()), "{name}");
        assert_eq!(references.left_out.len() + references.chunks(), plan.fields() + places(&references));
        let written = Store::memory(&MemoryMedium::new());
        let failures =
            plan.write(&Engine::global(), &objects, &written, &WritePlanOptions::default()).unwrap();
        assert_eq!(failures.len(), references.left_out.len(), "{name}");
        let document = references.to_json(&[&name]).unwrap();
        if document.to_string().contains("swath_grib") {
            own.push(name.clone());
        }
        count += check_same(&opened(&references, std::slice::from_ref(&name), &root), &written, &name);
        files += 1;
    }
    assert_eq!(files, 45);
    println!("{files} files, {count} arrays; with codec swath_grib: {own:?}");
    // Those of rows to and fro, and of messages of several fields. All others are read by kerchunk's codec too.
    assert_eq!(
        own,
        [
            "grib2/2024101012_Milton_Adv22_e70_cum_dat.grb",
            "grib_cfgrib_samples/alternate-scanning.grib",
            "grib_pygrib/ds.maxt.bin",
            "grib_pygrib/eta.grb"
        ]
    );
}

/// How many chunks are places of points.
fn places(references: &References) -> usize {
    let document = references.to_json(&["a"]).unwrap();
    let is_place = |key: &&String| {
        let name = key.rsplit('/').nth(1).unwrap_or_default();
        ["latitude", "longitude"].contains(&name)
    };
    let keys = document["refs"].as_object().unwrap();
    keys.iter().filter(|(key, value)| value.is_array() && is_place(key)).count()
}

/// A message of two fields on 3 by 2 points in the order of `scanning`, at 850 and 500 hPa.
pub(crate) fn two_fields(scanning: u8, hours: u32, first: u8) -> Vec<u8> {
    let field = |pascals: u32, first: u8| {
        let values: Vec<u8> = (first..first + 6).collect();
        [made::product(pascals, hours), made::simple(6, 8), made::no_bitmap(), made::section(7, &values)]
            .concat()
    };
    let fields = [field(85_000, first), field(50_000, first + 10)];
    made::message(&[made::identification(), made::grid(3, 2, scanning), fields.concat()])
}

/// Files of a folder of their own, and the folder.
pub(crate) fn in_folder(files: &[Vec<u8>]) -> (tempfile::TempDir, Vec<String>, Vec<ObjectRef>) {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..files.len()).map(|number| format!("{number}.grib2")).collect();
    for (name, bytes) in names.iter().zip(files) {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let local = LocalFiles::open(folder.path(), FileAccess::default()).unwrap();
    let objects = names.iter().map(|name| local.object(name)).collect();
    (folder, names, objects)
}

fn codecs_of(document: &Value, path: &str) -> Value {
    let array: Value =
        serde_json::from_str(document["refs"][format!("{path}/.zarray")].as_str().unwrap()).unwrap();
    array["filters"].clone()
}

#[test]
fn fields_of_one_message_are_chunks_each_and_gaps_are_no_chunks() {
    // The message of the third file has one field: there is a gap.
    let files = [[vec![0; 7], two_fields(0, 24, 1)].concat(), two_fields(0, 48, 101), {
        let values: Vec<u8> = (201..207).collect();
        made::message(&[
            made::identification(),
            made::grid(3, 2, 0),
            made::product(85_000, 72),
            made::simple(6, 8),
            made::no_bitmap(),
            made::section(7, &values),
        ])
    }];
    let (folder, names, objects) = in_folder(&files);
    let (plan, sources) = planned(&objects);
    let references = plan.references(&sources).unwrap();
    let document = references.to_json(&names).unwrap();
    let keys = document["refs"].as_object().unwrap();
    let len = |number: usize| files[number].len() as u64;
    // The beginning of the message up to the end of its first field, which 53 octets of another and four of the end follow.
    let behind = 34 + 21 + 6 + 11 + 4;
    assert_eq!(keys["t/0.0.0.0"], json!(["0.grib2", 7, len(0) - 7 - behind]));
    assert_eq!(keys["t/1.1.0.0"], json!(["1.grib2", 0, len(1) - 4]));
    assert_eq!(keys["t/2.0.0.0"], json!(["2.grib2", 0, len(2)]));
    assert!(!keys.contains_key("t/2.1.0.0"));
    assert_eq!(codecs_of(&document, "t"), json!([{"id": "swath_grib", "var": "t", "dtype": "float32"}]));
    let written = Store::memory(&MemoryMedium::new());
    plan.write(&Engine::global(), &objects, &written, &WritePlanOptions::default()).unwrap();
    let referenced = opened(&references, &names, folder.path());
    assert_eq!(check_same(&referenced, &written, "two fields"), 7);
    let crop = Array::open_in(&referenced, "t").unwrap().read(&"1:, 1, 1, ::-1".parse().unwrap()).unwrap();
    assert_eq!(crop.as_slice::<f32>().unwrap()[..3], [116.0, 115.0, 114.0]);
    assert!(crop.as_slice::<f32>().unwrap()[3..].iter().all(|value| value.is_nan()));
}

#[test]
fn fields_in_other_orders_than_rows_have_the_codec_that_turns_them() {
    for scanning in [0x20, 0x10, 0x30, 0xe0] {
        let values: Vec<u8> = (1..7).collect();
        let message = made::message(&[
            made::identification(),
            made::grid(3, 2, scanning),
            made::product(85_000, 24),
            made::simple(6, 8),
            made::no_bitmap(),
            made::section(7, &values),
        ]);
        let (folder, names, objects) = in_folder(&[message]);
        let (plan, sources) = planned(&objects);
        let references = plan.references(&sources).unwrap();
        let document = references.to_json(&names).unwrap();
        assert_eq!(codecs_of(&document, "t")[0]["id"], "swath_grib");
        let written = Store::memory(&MemoryMedium::new());
        plan.write(&Engine::global(), &objects, &written, &WritePlanOptions::default()).unwrap();
        check_same(&opened(&references, &names, folder.path()), &written, "turned");
    }
}

/// A set as kerchunk's `scan_grib` writes it, of one message of [`made::small`] behind some bytes.
fn kerchunk_set(filter: &Value, dtype: &str, chunks: &[u64], reference: Value) -> Value {
    let array = json!({
        "zarr_format": 2, "shape": chunks, "chunks": chunks, "dtype": dtype, "compressor": null, "fill_value": null,
        "filters": [filter], "order": "C",
    });
    let key: Vec<&str> = chunks.iter().map(|_| "0").collect();
    json!({
        "version": 1,
        "templates": {"u": "0.grib2"},
        "refs": {".zgroup": "{\"zarr_format\": 2}", "t/.zarray": array.to_string(), format!("t/{}", key.join(".")): reference},
    })
}

fn read_set(set: &Value, folder: &Path) -> Result<Vec<u8>, swath_zarr_front::Error> {
    register_grib_codecs();
    let targets = ReferenceTargets::new().with_folder(folder.to_str().unwrap());
    let store = Store::references(set.to_string().as_bytes(), targets, "kerchunk.json").unwrap();
    Ok(Array::open_in(&store, "t")?.read(&Selection::all())?.as_bytes().to_vec())
}

#[test]
fn sets_of_kerchunk_are_read() {
    let message = made::small();
    let len = message.len();
    let (folder, ..) = in_folder(&[[b"heading".to_vec(), message].concat()]);
    let part = || json!(["{{u}}", 7, len]);
    let numbers = |values: &[f64]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
    let codec = |var: &str, dtype: &str| json!({"id": "grib", "var": var, "dtype": dtype});
    let values = kerchunk_set(&codec("t", "float64"), "<f8", &[2, 3], part());
    let wanted = numbers(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(read_set(&values, folder.path()).unwrap(), wanted);
    // Combined ones have dimensions before those of the grid.
    let combined = kerchunk_set(&codec("t", "float64"), "<f8", &[1, 1, 2, 3], part());
    assert_eq!(read_set(&combined, folder.path()).unwrap(), wanted);
    let two = two_fields(0, 24, 1);
    std::fs::write(folder.path().join("two.grib2"), &two).unwrap();
    let first = kerchunk_set(&codec("t", "float64"), "<f8", &[2, 3], json!(["two.grib2", 0, two.len()]));
    assert_eq!(read_set(&first, folder.path()).unwrap(), wanted);
    let latitudes = kerchunk_set(&codec("latitude", "float64"), "<f8", &[2, 3], part());
    assert_eq!(read_set(&latitudes, folder.path()).unwrap(), numbers(&[60.0, 60.0, 60.0, 59.0, 59.0, 59.0]));
    let longitudes = kerchunk_set(&json!({"id": "grib", "var": "longitude"}), "<f8", &[2, 3], part());
    assert_eq!(
        read_set(&longitudes, folder.path()).unwrap(),
        numbers(&[350.0, 351.0, 352.0, 350.0, 351.0, 352.0])
    );
}

#[test]
fn what_does_not_fit_is_an_error_that_names_the_chunk_and_its_bytes() {
    let small = made::small();
    let mut broken = small.clone();
    let data = broken.len() - 4 - 11;
    // A data section that says it is longer than the message.
    broken[data + 3] = 200;
    let starts = [0, small.len(), 2 * small.len()];
    let file = [small.clone(), two_fields(0, 24, 1)[..small.len()].to_vec(), broken].concat();
    let (folder, ..) = in_folder(&[file]);
    let refused = |id: &str, dtype: &str, chunks: &[u64], start: usize, len: usize| {
        let codec = json!({"id": id, "var": "t", "dtype": "float64"});
        let set = kerchunk_set(&codec, dtype, chunks, json!(["{{u}}", start, len]));
        let error = read_set(&set, folder.path()).unwrap_err();
        (error.kind(), error.to_string())
    };
    for (id, dtype, chunks, start, len, wanted) in [
        (
            "grib",
            "<f8",
            &[3, 2][..],
            0,
            small.len(),
            "wanted a field of shape [3, 2], found one of 2 rows of 3 points",
        ),
        ("grib", "<f8", &[2, 2, 3], 0, small.len(), "wanted a field of shape [2, 2, 3]"),
        ("grib", "<f8", &[7], 0, small.len(), "wanted a field of shape [7]"),
        ("grib", "<f4", &[2, 3], 0, small.len(), "wanted `dtype` to be the array's"),
        ("grib", "<i4", &[2, 3], 0, small.len(), "wanted float32 or float64"),
        ("grib", "<f8", &[2, 3], 1, small.len(), "which begins with GRIB"),
        ("grib", "<f8", &[2, 3], starts[1], small.len(), "of them"),
        ("swath_grib", "<f8", &[2, 3], 0, small.len() - 5, "of them"),
        ("grib", "<f8", &[2, 3], starts[2], small.len(), "section 7 is 200 bytes long"),
    ] {
        let (kind, message) = refused(id, dtype, chunks, start, len);
        assert_eq!(kind, ErrorKind::Corrupt, "{message}");
        println!("{message}");
        assert!(message.contains(wanted), "{message}");
        assert!(message.contains("0.grib2") && message.contains(&format!("bytes {start}..")), "{message}");
    }
}

#[test]
fn every_damage_of_a_message_is_an_error_or_other_values() {
    let codec = |id: &str, var: &str| {
        GribCodec::from_entry(&json!({"id": id, "var": var, "dtype": "float64"})).unwrap().unwrap()
    };
    let codecs = [codec("grib", "t"), codec("swath_grib", "t"), codec("grib", "latitude")];
    let mut decoded = 0;
    for message in [made::small(), two_fields(0x30, 24, 1), made::edition1(&[1, 2, 3, 4, 5, 6])] {
        let mut check = |bytes: &[u8]| {
            for codec in codecs {
                let mut target = [0.0f64; 6];
                decoded += usize::from(codec.decode(bytes, Some(&[1, 2, 3]), &mut target).is_ok());
            }
        };
        check(&message);
        (0..message.len()).for_each(|len| check(&message[..len]));
        for at in 0..message.len() {
            for change in [0x01, 0x80, 0xff] {
                let mut damaged = message.clone();
                damaged[at] ^= change;
                check(&damaged);
            }
        }
    }
    // Most bytes say what is not looked at here: of which parameter, level and time the field is.
    println!("{decoded} decoded");
    assert!(500 < decoded);
}
