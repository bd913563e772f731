//! Fields put together and written to Zarr.

use crate::{corpus, made};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use swath_convert::{Error, ErrorKind, Plan, Source, WritePlanOptions};
use swath_ioengine::{Engine, MemoryMedium};
use swath_zarr_front::{Array, Group, Store};

/// A field of 3 by 2 points whose first value is `first`, in the order of `scanning`.
fn field(pascals: u32, hours: u32, first: u8, scanning: u8) -> Vec<u8> {
    let values: Vec<u8> = (first..first + 6).collect();
    made::message(&[
        made::identification(),
        made::grid(3, 2, scanning),
        made::product(pascals, hours),
        made::simple(6, 8),
        made::no_bitmap(),
        made::section(7, &values),
    ])
}

fn planned(files: &[Vec<u8>]) -> Result<Plan, Error> {
    let mut sources = Vec::new();
    for (file, bytes) in files.iter().enumerate() {
        let (fields, damages) = corpus::scanned(bytes.clone());
        assert_eq!(damages, []);
        sources.extend(fields.into_iter().map(|field| Source { file, field }));
    }
    Plan::new(sources)
}

fn written(files: &[Vec<u8>], options: &WritePlanOptions<'_>) -> Result<(Store, usize), Error> {
    let plan = planned(files)?;
    let objects: Vec<_> = files.iter().map(|bytes| corpus::object(bytes.clone())).collect();
    let store = Store::memory(&MemoryMedium::new());
    let failures = plan.write(&Engine::global(), &objects, &store, options)?;
    Ok((store, failures.len()))
}

fn floats(store: &Store, path: &str) -> (Vec<u64>, Vec<f32>) {
    let array = Array::open_in(store, path).unwrap();
    (array.shape().to_vec(), array.read(&"...".parse().unwrap()).unwrap().as_slice::<f32>().unwrap().to_vec())
}

fn coordinate(store: &Store, path: &str) -> Vec<f64> {
    Array::open_in(store, path)
        .unwrap()
        .read(&"...".parse().unwrap())
        .unwrap()
        .as_slice::<f64>()
        .unwrap()
        .to_vec()
}

#[test]
fn fields_of_two_files_become_one_variable_with_a_gap() {
    let files = [
        [field(85_000, 24, 1, 0), field(50_000, 24, 11, 0)].concat(),
        // By columns, from the file's other end.
        field(85_000, 48, 21, 0x20),
    ];
    let error = planned(&files).unwrap_err();
    assert_eq!(error.message(), "not one hypercube: the fields are of several grids");
    let files = [files[0].clone(), field(85_000, 48, 21, 0)];
    let done = AtomicUsize::new(0);
    let count = |number: usize| {
        done.fetch_max(number, Ordering::Relaxed);
    };
    let options = WritePlanOptions { progress: Some(&count), interrupt: None };
    let (store, failures) = written(&files, &options).unwrap();
    assert_eq!((failures, done.into_inner()), (0, 3));
    let group = Group::open_in(&store, "").unwrap();
    let names = group.names().unwrap();
    assert_eq!(names, ["isobaricInPa", "latitude", "longitude", "number", "step", "t", "time"]);
    let (shape, values) = floats(&store, "t");
    assert_eq!(shape, [2, 2, 2, 3]);
    let run = |first: u8| (first..first + 6).map(f32::from);
    let wanted: Vec<f32> = run(11).chain(run(1)).chain([f32::NAN; 6]).chain(run(21)).collect();
    assert!(
        values.iter().zip(&wanted).all(|(one, other)| one == other || one.is_nan() && other.is_nan()),
        "{values:?}"
    );
    assert_eq!(coordinate(&store, "isobaricInPa"), [50_000.0, 85_000.0]);
    assert_eq!(coordinate(&store, "step"), [24.0, 48.0]);
    assert_eq!(coordinate(&store, "latitude"), [60.0, 59.0]);
    assert_eq!(coordinate(&store, "longitude"), [350.0, 351.0, 352.0]);
    let array = Array::open_in(&store, "t").unwrap();
    assert_eq!(array.metadata().attributes()["coordinates"], json!("number time"));
    assert_eq!(array.metadata().attributes()["units"], json!("K"));
}

#[test]
fn columns_are_turned_to_rows() {
    let (store, _) = written(&[field(85_000, 24, 1, 0x20)], &WritePlanOptions::default()).unwrap();
    assert_eq!(floats(&store, "t"), (vec![2, 3], vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0]));
}

#[test]
fn a_field_that_cannot_be_unpacked_is_told_and_left_out() {
    let broken = made::message(&[
        made::identification(),
        made::grid(3, 2, 0),
        made::product(85_000, 48),
        made::simple(6, 8),
        made::no_bitmap(),
        made::section(7, &[1, 2, 3]),
    ]);
    let (store, failures) =
        written(&[[field(85_000, 24, 1, 0), broken].concat()], &WritePlanOptions::default()).unwrap();
    assert_eq!(failures, 1);
    let (_, values) = floats(&store, "t");
    assert_eq!(values[..6], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert!(values[6..].iter().all(|value| value.is_nan()));
}

#[test]
fn what_is_no_hypercube_says_why() {
    let twice = planned(&[[field(85_000, 24, 1, 0), field(85_000, 24, 1, 0)].concat()]).unwrap_err();
    assert_eq!(twice.message(), "variable t: two fields of the same time, step, number and level");
    assert_eq!(planned(&[]).unwrap_err().message(), "no fields: nothing to write");
    let diagonal: Vec<u8> = (0..40u32).flat_map(|number| field(1000 * (number + 1), number, 1, 0)).collect();
    let gaps = planned(&[diagonal]).unwrap_err();
    assert!(gaps.message().contains("mostly gaps") && gaps.kind() == ErrorKind::Unsupported, "{gaps}");
}

#[test]
fn an_interrupt_ends_the_writing() {
    let asked = AtomicBool::new(false);
    let interrupt = || asked.swap(true, Ordering::Relaxed);
    let options = WritePlanOptions { progress: None, interrupt: Some(&interrupt) };
    let files: Vec<u8> = (1..9u32).flat_map(|hours| field(85_000, hours, 1, 0)).collect();
    assert_eq!(written(&[files], &options).unwrap_err().kind(), ErrorKind::Cancelled);
}
