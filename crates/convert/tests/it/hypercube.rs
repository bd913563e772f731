//! Fields put together and written to Zarr.

use crate::{corpus, made};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use swath_convert::{
    Access, ErrorKind, Failure, Journal, LayoutOptions, OnFailure, Piece, Plan, PlanOptions, PlannedFile,
    Source, WritePlanOptions,
};
use swath_ioengine::{Engine, MemoryMedium, ObjectRef};
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

fn planned_with(files: &[Vec<u8>], options: &PlanOptions) -> Result<Plan, swath_convert::Error> {
    let mut sources = Vec::new();
    for (file, bytes) in files.iter().enumerate() {
        let (fields, damages) = corpus::scanned(bytes.clone());
        assert_eq!(damages, []);
        sources.extend(fields.into_iter().map(|field| Source { file, field }));
    }
    let named =
        (0..files.len()).map(|file| PlannedFile { name: format!("{file}.grib"), ..PlannedFile::default() });
    let planned = Plan::of(named.collect(), &sources, options)?;
    assert!(planned.unplanned.is_empty());
    // What is written is what comes of the plan's JSON.
    let carried = Plan::from_json(serde_json::from_str(&planned.plan.to_json()?.to_string()).unwrap())?;
    let bare = |plan: &Plan| {
        let mut plan = plan.clone();
        plan.groups.iter_mut().for_each(|group| group.grid = None);
        plan
    };
    assert_eq!(carried, bare(&planned.plan));
    Ok(carried)
}

fn planned(files: &[Vec<u8>]) -> Result<Plan, swath_convert::Error> {
    planned_with(files, &PlanOptions::default())
}

fn objects(files: &[Vec<u8>]) -> Vec<ObjectRef> {
    files.iter().map(|bytes| corpus::object(bytes.clone())).collect()
}

fn written(
    files: &[Vec<u8>],
    options: &WritePlanOptions<'_>,
) -> Result<(Store, Vec<Failure>), swath_convert::Error> {
    let plan = planned(files)?;
    let store = Store::memory(&MemoryMedium::new());
    let failures = plan.write(&Engine::global(), &objects(files), &store, options)?;
    Ok((store, failures))
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

fn integers(store: &Store, path: &str) -> Vec<i64> {
    let array = Array::open_in(store, path).unwrap();
    array.read(&"...".parse().unwrap()).unwrap().as_slice::<i64>().unwrap().to_vec()
}

fn run(first: u8) -> impl Iterator<Item = f32> {
    (first..first + 6).map(f32::from)
}

/// Equal, as NaN is to itself.
fn same(found: &[f32], wanted: &[f32]) -> bool {
    let is_same = |(one, other): (&f32, &f32)| one == other || one.is_nan() && other.is_nan();
    found.len() == wanted.len() && found.iter().zip(wanted).all(is_same)
}

#[test]
fn fields_of_two_files_become_one_variable_with_a_gap() {
    let files = [[field(85_000, 24, 1, 0), field(50_000, 24, 11, 0)].concat(), field(85_000, 48, 21, 0)];
    let done = AtomicUsize::new(0);
    let count = |fields: usize| {
        done.fetch_add(fields, Ordering::Relaxed);
    };
    let options = WritePlanOptions { progress: Some(&count), ..WritePlanOptions::default() };
    let (store, failures) = written(&files, &options).unwrap();
    assert_eq!((failures.len(), done.into_inner()), (0, 3));
    let names = Group::open_in(&store, "").unwrap().names().unwrap();
    assert_eq!(names, ["isobaricInhPa", "latitude", "longitude", "step", "t", "time", "valid_time"]);
    let (shape, values) = floats(&store, "t");
    assert_eq!(shape, [2, 2, 2, 3]);
    // Pressures are stored downwards.
    let wanted: Vec<f32> = run(1).chain(run(11)).chain(run(21)).chain([f32::NAN; 6]).collect();
    assert!(same(&values, &wanted), "{values:?}");
    assert_eq!(coordinate(&store, "isobaricInhPa"), [850.0, 500.0]);
    assert_eq!(coordinate(&store, "step"), [24.0, 48.0]);
    let time = integers(&store, "time")[0];
    assert_eq!(integers(&store, "valid_time"), [time + 86_400, time + 2 * 86_400]);
    assert_eq!(coordinate(&store, "latitude"), [60.0, 59.0]);
    assert_eq!(coordinate(&store, "longitude"), [350.0, 351.0, 352.0]);
    let array = Array::open_in(&store, "t").unwrap();
    let attributes = array.metadata().attributes();
    assert_eq!(attributes["coordinates"], json!("time valid_time"));
    assert_eq!((&attributes["units"], &attributes["GRIB_paramId"]), (&json!("K"), &json!(130)));
}

#[test]
fn fields_of_several_grids_become_groups() {
    let files = [[field(85_000, 24, 1, 0), field(50_000, 24, 11, 0)].concat(), field(85_000, 48, 21, 0x20)];
    let (store, failures) = written(&files, &WritePlanOptions::default()).unwrap();
    assert_eq!(failures, []);
    let names = Group::open_in(&store, "").unwrap().names().unwrap();
    assert_eq!(names, ["isobaricInhPa", "isobaricInhPa_850"]);
    assert_eq!(floats(&store, "isobaricInhPa/t").0, [2, 2, 3]);
    assert_eq!(floats(&store, "isobaricInhPa_850/t"), (vec![2, 3], vec![21.0, 23.0, 25.0, 22.0, 24.0, 26.0]));
}

/// Eight hours at two levels, each of another value.
fn eight_hours() -> Vec<Vec<u8>> {
    let first = |hour: u32, level: u32| u8::try_from(hour * 20 + level * 10).unwrap();
    let hour =
        |hour: u32| [field(85_000, hour, first(hour, 0), 0), field(50_000, hour, first(hour, 1), 0)].concat();
    (1..9).map(hour).collect()
}

#[test]
fn pieces_of_every_layout_make_the_same_values() {
    let files = eight_hours();
    let wanted = floats(&written(&files, &WritePlanOptions::default()).unwrap().0, "t");
    assert_eq!(wanted.0, [8, 2, 2, 3]);
    let extents =
        |given: &[(&str, u64)]| Some(given.iter().map(|(name, len)| ((*name).to_owned(), *len)).collect());
    let layouts = [
        LayoutOptions { access: Access::TrainingFields, ..LayoutOptions::default() },
        LayoutOptions { access: Access::Crops, ..LayoutOptions::default() },
        LayoutOptions { access: Access::TimeSeries, ..LayoutOptions::default() },
        LayoutOptions {
            chunks: extents(&[("step", 1), ("longitude", 2)]),
            shards: extents(&[("step", 3)]),
            ..LayoutOptions::default()
        },
    ];
    for layout in layouts {
        let plan =
            planned_with(&files, &PlanOptions { layout: layout.clone(), ..PlanOptions::default() }).unwrap();
        for count in [1, 2, 3, 7] {
            let store = Store::memory(&MemoryMedium::new());
            let mut fields = 0;
            for number in (0..count).rev() {
                let piece = Piece::new(number, count).unwrap();
                let options = WritePlanOptions { piece: Some(piece), ..WritePlanOptions::default() };
                fields += plan.fields_of(piece);
                assert_eq!(plan.write(&Engine::global(), &objects(&files), &store, &options).unwrap(), []);
            }
            assert_eq!(fields, 16);
            assert_eq!(floats(&store, "t"), wanted, "{layout:?} in {count} pieces");
        }
    }
}

/// Fields of a shard are unpacked one after the other to the same memory.
#[test]
fn gaps_and_failures_in_a_shard_hold_nothing_of_other_fields() {
    let broken = made::message(&[
        made::identification(),
        made::grid(3, 2, 0),
        made::product(85_000, 5),
        made::simple(6, 8),
        made::no_bitmap(),
        made::section(7, &[1, 2, 3]),
    ]);
    let mut files = eight_hours();
    let len = files[0].len() / 2;
    files[2].truncate(len);
    files[4].splice(..len, broken);
    let layout = LayoutOptions { access: Access::TrainingFields, ..LayoutOptions::default() };
    let plan = planned_with(&files, &PlanOptions { layout, ..PlanOptions::default() }).unwrap();
    let store = Store::memory(&MemoryMedium::new());
    let options = WritePlanOptions::default();
    assert_eq!(plan.write(&Engine::global(), &objects(&files), &store, &options).unwrap().len(), 1);
    let missing = |hour: u8, level: u8| [(3, 1), (5, 0)].contains(&(hour, level));
    let fields = (1..9).flat_map(|hour| [(hour, 0), (hour, 1)]);
    let wanted: Vec<f32> = fields
        .flat_map(|(hour, level)| match missing(hour, level) {
            true => vec![f32::NAN; 6],
            false => run(hour * 20 + level * 10).collect(),
        })
        .collect();
    let array = Array::open_in(&store, "t").unwrap();
    assert_eq!((array.shard_shape(), array.chunk_shape()), (Some(&[8, 2, 2, 3][..]), &[1, 1, 2, 3][..]));
    assert!(same(&floats(&store, "t").1, &wanted), "{:?}", floats(&store, "t").1);
}

#[test]
fn a_journal_knows_what_is_done() {
    let files = eight_hours();
    let plan = planned(&files).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("a.zarr.journal");
    let store = Store::memory(&MemoryMedium::new());
    let journal = Journal::create(&place, &plan).unwrap();
    assert!(Journal::create(&place, &plan).unwrap_err().message().contains("a journal already"));
    let asked = AtomicUsize::new(0);
    let interrupt = || 5 < asked.fetch_add(1, Ordering::Relaxed);
    let options = WritePlanOptions {
        interrupt: Some(&interrupt),
        journal: Some(&journal),
        ..WritePlanOptions::default()
    };
    let error = plan.write(&Engine::global(), &objects(&files), &store, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    // Half a line, of a writer that was killed.
    std::fs::write(place.join("done-8-9.jsonl"), b"{\"slab\": 15, \"fail").unwrap();
    let (journal, again) = Journal::open(&place).unwrap();
    assert_eq!(again, plan);
    let finished = journal.finished().unwrap();
    assert!(finished.slabs.len() <= 6, "{finished:?}");
    // The files that are done are gone by now: nobody reads them again, but for the grid, which is of the first one.
    let mut left = objects(&files);
    for (file, object) in left.iter_mut().enumerate().skip(1) {
        if finished.slabs.contains_key(&(2 * file)) && finished.slabs.contains_key(&(2 * file + 1)) {
            *object = corpus::object(Vec::new());
        }
    }
    let options = WritePlanOptions { journal: Some(&journal), ..WritePlanOptions::default() };
    assert_eq!(again.write(&Engine::global(), &left, &store, &options).unwrap(), []);
    let wanted = floats(&written(&files, &WritePlanOptions::default()).unwrap().0, "t");
    assert_eq!(floats(&store, "t"), wanted);
    assert_eq!(journal.finished().unwrap().slabs.len(), 16);
}

#[test]
fn values_are_rounded_where_that_is_asked_for() {
    let options = PlanOptions { mantissa_bits: Some(2), ..PlanOptions::default() };
    let files = [field(85_000, 24, 17, 0)];
    let plan = planned_with(&files, &options).unwrap();
    let store = Store::memory(&MemoryMedium::new());
    plan.write(&Engine::global(), &objects(&files), &store, &WritePlanOptions::default()).unwrap();
    assert_eq!(floats(&store, "t").1, [16.0, 16.0, 20.0, 20.0, 20.0, 24.0]);
    let array = Array::open_in(&store, "t").unwrap();
    assert_eq!(array.metadata().attributes()["mantissa_bits"], json!(2));
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
    let files = [[field(85_000, 24, 1, 0), broken].concat()];
    let (store, failures) = written(&files, &WritePlanOptions::default()).unwrap();
    assert_eq!((failures.len(), failures[0].place.file, failures[0].place.number), (1, 0, 0));
    assert_eq!(failures[0].place.offset, field(85_000, 24, 1, 0).len() as u64);
    let (_, values) = floats(&store, "t");
    assert_eq!(values[..6], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert!(values[6..].iter().all(|value| value.is_nan()));
    let strict = WritePlanOptions { on_failure: OnFailure::Stop, ..WritePlanOptions::default() };
    assert_eq!(written(&files, &strict).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn fields_that_make_no_hypercube_become_several() {
    let twice = planned(&[[field(85_000, 24, 1, 0), field(85_000, 24, 11, 0)].concat()]).unwrap();
    let paths: Vec<&str> = twice.groups.iter().map(|group| group.path.as_str()).collect();
    assert_eq!(paths, ["isobaricInhPa_850", "isobaricInhPa_850_2"]);
    assert_eq!(planned(&[]).unwrap_err().message(), "no fields: nothing to write");
    let diagonal: Vec<u8> = (1..41u32).flat_map(|number| field(1000 * number, number, 1, 0)).collect();
    let plan = planned(&[diagonal]).unwrap();
    assert_eq!((plan.groups.len(), plan.fields()), (40, 40));
}

#[test]
fn what_is_no_plan_is_refused() {
    let plan = planned(&eight_hours()).unwrap().to_json().unwrap();
    let refused = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = plan.clone();
        change(&mut value);
        Plan::from_json(value).unwrap_err().message().to_owned()
    };
    assert!(refused(&|plan| plan["format"] = json!("other")).contains("wanted a plan of format"));
    assert!(refused(&|plan| plan["files"] = json!([])).contains("has no grid"));
    assert!(
        refused(&|plan| plan["groups"][0]["variables"][0]["dimensions"] = json!([7])).contains("dimension")
    );
    assert!(refused(&|plan| plan["groups"][0]["variables"][0]["cells"] = json!([])).contains("cells"));
    assert!(
        refused(&|plan| plan["groups"][0]["variables"][0]["chunks"] = json!([0, 1, 2, 3])).contains("chunks")
    );
    assert!(refused(&|plan| plan["groups"] = json!(3)).contains("no plan"));
}

#[test]
fn an_interrupt_ends_the_writing() {
    let asked = AtomicBool::new(false);
    let interrupt = || asked.swap(true, Ordering::Relaxed);
    let options = WritePlanOptions { interrupt: Some(&interrupt), ..WritePlanOptions::default() };
    let files: Vec<u8> = (1..9u32).flat_map(|hours| field(85_000, hours, 1, 0)).collect();
    assert_eq!(written(&[files], &options).unwrap_err().kind(), ErrorKind::Cancelled);
}
