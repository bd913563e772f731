//! Images in EUMETSAT's native format, written to Zarr.

use crate::corpus::object;
use crate::nat::{DATA, file};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use swath_convert::nat::{
    Channel, CoefficientSet, Conversion, ConversionOptions, ConversionPlan, Header, Journal, LineFailure,
    PixelLayout, Quantity, WriteOptions,
};
use swath_convert::{DamageKind, Error, ErrorKind, Extents, PlannedFile};
use swath_ioengine::{Engine, MemoryMedium};
use swath_zarr_front::{Array, ArrayData, DataType, Group, Selection, Store};

fn planned(files: &[Vec<u8>], quantity: Quantity, channels: &[Channel]) -> Result<Conversion, Error> {
    let headers = files.iter().map(|bytes| Header::of_bytes(bytes)).collect::<Result<_, _>>()?;
    let options = ConversionOptions { quantity, channels: channels.to_vec(), ..ConversionOptions::default() };
    Conversion::new(headers, &options)
}

fn written(
    files: &[Vec<u8>],
    quantity: Quantity,
    channels: &[Channel],
    options: &WriteOptions<'_>,
) -> Result<(Store, Vec<LineFailure>), Error> {
    let objects: Vec<_> = files.iter().map(|bytes| object(bytes.clone())).collect();
    let store = Store::memory(&MemoryMedium::new());
    let conversion = planned(files, quantity, channels)?;
    let failures = conversion.write(&Engine::global(), &objects, &store, options)?;
    Ok((store, failures))
}

fn read(store: &Store, path: &str) -> ArrayData {
    Array::open_in(store, path).unwrap().read(&Selection::all()).unwrap()
}

/// The same file a quarter of an hour later: by the planned times of its header.
fn later(mut bytes: Vec<u8>) -> Vec<u8> {
    for at in [60_135, 60_155] {
        let at = 5114 + 38 + at + 2;
        let time = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) + 900_000;
        bytes[at..at + 4].copy_from_slice(&time.to_be_bytes());
    }
    bytes
}

/// Counts of a channel as they are read from the file.
fn counts(bytes: &[u8], channel: Channel) -> Vec<u16> {
    let header = Header::of_bytes(bytes).unwrap();
    let object = object(bytes.to_vec());
    header.read_region(&Engine::global(), &object, &header.whole(channel)).unwrap().counts
}

#[test]
fn files_are_written_along_time() {
    let mut damaged = later(file("part"));
    // The line's packet of the third channel, in the second record from the south: row 6.
    let at = DATA + 3 * 90 + 3 * 135 + 2 * 90 + 18;
    damaged[at..at + 4].fill(0);
    let files = [damaged, file("part")];
    let done = AtomicUsize::new(0);
    let count = |number: usize| {
        done.fetch_max(number, Ordering::Relaxed);
    };
    let options = WriteOptions { progress: Some(&count), ..WriteOptions::default() };
    let (store, failures) = written(&files, Quantity::Counts, &[], &options).unwrap();
    assert_eq!(done.into_inner(), 2);
    assert_eq!(failures.len(), 1);
    assert_eq!((failures[0].file, failures[0].channel, failures[0].row), (0, Channel::Ir108, 6));
    assert_eq!(failures[0].damage.kind, DamageKind::Corrupt);

    let time = read(&store, "time").as_slice::<i64>().unwrap().to_vec();
    assert_eq!(time, [1_610_625_600, 1_610_626_500]);
    let found = read(&store, "counts");
    assert_eq!(found.shape(), [2, 3, 8, 20]);
    let channels = [Channel::Vis006, Channel::Ir039, Channel::Ir108];
    let wanted: Vec<u16> = [&files[1], &files[0]]
        .into_iter()
        .flat_map(|bytes| channels.into_iter().flat_map(|channel| counts(bytes, channel)))
        .collect();
    assert_eq!(found.as_slice::<u16>().unwrap(), wanted);
    let broad = read(&store, "counts_hrv");
    assert_eq!(broad.shape(), [2, 24, 56]);
    let wanted: Vec<u16> =
        [&files[1], &files[0]].into_iter().flat_map(|bytes| counts(bytes, Channel::Hrv)).collect();
    assert_eq!(broad.as_slice::<u16>().unwrap(), wanted);

    let validity = read(&store, "line_validity");
    assert_eq!(validity.shape(), [2, 3, 8]);
    let flags = validity.as_slice::<u8>().unwrap();
    let lost: Vec<usize> = (0..48).filter(|line| flags[*line] != 1).collect();
    assert_eq!((lost, flags[46]), (vec![46], 255));
    let acquired = read(&store, "acquisition_time_hrv");
    assert_eq!(acquired.shape(), [2, 24]);
    assert!(
        acquired
            .as_slice::<i64>()
            .unwrap()
            .iter()
            .all(|time| (1_610_625_600_000..1_610_626_500_000).contains(time))
    );
    let names = Group::open_in(&store, "").unwrap().names().unwrap();
    for name in
        ["x", "y", "x_hrv", "y_hrv", "geostationary", "channel", "wavelength", "scan_start", "satellite"]
    {
        assert!(names.iter().any(|found| found == name), "{name} of {names:?}");
    }
    let slopes = read(&store, "calibration_slope");
    assert_eq!(slopes.as_slice::<f64>().unwrap()[..3], [0.0236, 0.00366, 0.2053]);
    let gsics = read(&store, "gsics_slope").as_slice::<f64>().unwrap().to_vec();
    assert!(gsics[0].is_nan() && (gsics[2] - 0.2071).abs() < 1e-6, "{gsics:?}");
}

#[test]
fn calibrated_channels_are_grouped_by_their_units() {
    let files = [file("part")];
    let options = WriteOptions::default();
    let (store, _) = written(&files, Quantity::ReflectanceOrTemperature, &[], &options).unwrap();
    let header = Header::of_bytes(&files[0]).unwrap();
    let shapes = ["reflectance", "brightness_temperature", "reflectance_hrv"]
        .map(|name| read(&store, name).shape().to_vec());
    assert_eq!(shapes, [vec![1, 1, 8, 20], vec![1, 2, 8, 20], vec![1, 24, 56]]);
    let table = header
        .calibrated(Channel::Ir039, Quantity::ReflectanceOrTemperature, CoefficientSet::Nominal)
        .unwrap();
    let wanted: Vec<u32> =
        counts(&files[0], Channel::Ir039).iter().map(|count| table[usize::from(*count)].to_bits()).collect();
    let found = read(&store, "brightness_temperature");
    let found: Vec<u32> =
        found.as_slice::<f32>().unwrap()[..160].iter().map(|value| value.to_bits()).collect();
    assert_eq!(found, wanted);
    let (store, _) = written(&files, Quantity::Radiance, &[Channel::Ir108], &options).unwrap();
    assert_eq!(read(&store, "radiance").shape(), [1, 1, 8, 20]);
    assert!(Array::open_in(&store, "radiance_hrv").is_err());
}

/// Radiances by GSICS of the one channel that has its coefficients, by the nominal ones of the others; numbers by hand.
#[test]
fn channels_are_calibrated_by_gsics_where_it_has_coefficients() {
    let files = [file("part")];
    let planned = |quantity, coefficients| {
        let header = Header::of_bytes(&files[0]).unwrap();
        let channels = vec![Channel::Ir039, Channel::Ir108];
        let options = ConversionOptions { quantity, coefficients, channels, ..ConversionOptions::default() };
        Conversion::new(vec![header], &options)
    };
    let conversion = planned(Quantity::Radiance, CoefficientSet::Gsics).unwrap();
    let store = Store::memory(&MemoryMedium::new());
    let objects = [object(files[0].clone())];
    conversion.write(&Engine::global(), &objects, &store, &WriteOptions::default()).unwrap();
    let found = read(&store, "radiance").as_slice::<f32>().unwrap().to_vec();
    for (place, channel, slope, dark) in
        [(0, Channel::Ir039, 0.00366, 51.0), (1, Channel::Ir108, f64::from(0.2071f32), f64::from(50.6f32))]
    {
        for (count, value) in counts(&files[0], channel).iter().zip(&found[place * 160..]) {
            let wanted = ((f64::from(*count) - dark) * slope).max(0.0);
            assert!((f64::from(*value) - wanted).abs() < 1e-5, "{channel:?} {count}: {value} {wanted}");
        }
    }
    let attributes = Array::open_in(&store, "radiance").unwrap().metadata().attributes().clone();
    assert_eq!(attributes["calibration_coefficients"], "GSICS where there are, or nominal");
    let plan = ConversionPlan::of(&conversion, &names(1)).unwrap();
    let document = plan.to_json().unwrap();
    assert_eq!(document["coefficients"], "gsics");
    assert_eq!(ConversionPlan::from_json(document).unwrap(), plan);
    let error = planned(Quantity::Counts, CoefficientSet::Gsics).unwrap_err();
    assert!(error.message().contains("counts, which are not calibrated"), "{error}");
}

/// Wide lines are cut into chunks, and the broad channel's windows lie where they were on the disc.
#[test]
fn windows_of_the_whole_width_are_placed() {
    let files = [file("split")];
    let (store, failures) = written(&files, Quantity::Counts, &[], &WriteOptions::default()).unwrap();
    assert_eq!(failures, []);
    let found = read(&store, "counts_hrv");
    assert_eq!(found.shape(), [1, 9, 11_136]);
    assert_eq!(found.as_slice::<u16>().unwrap(), counts(&files[0], Channel::Hrv));
    let row = |row: usize| &found.as_slice::<u16>().unwrap()[row * 11_136..][..11_136];
    // Columns from the west: the upper window in the three northern rows, the lower one below.
    for (number, window) in [(0, 2268..7836), (2, 2268..7836), (3, 3608..9176), (8, 3608..9176)] {
        let filled: Vec<usize> = (0..11_136).filter(|column| row(number)[*column] != 0).collect();
        assert_eq!((filled[0], filled[filled.len() - 1] + 1), (window.start, window.end), "row {number}");
    }
}

#[test]
fn truncated_files_are_written_as_far_as_they_go() {
    let whole = file("part");
    let cut = whole[..DATA + 3 * (3 * 90 + 3 * 135) + 100].to_vec();
    let (store, failures) = written(&[cut], Quantity::Counts, &[], &WriteOptions::default()).unwrap();
    // Five of eight records are not whole, each with three channels and three lines of the broad one.
    assert_eq!(failures.len(), 5 * 6);
    assert!(failures.iter().all(|failure| failure.damage.kind == DamageKind::Truncated));
    let wanted: Vec<u16> = counts(&whole, Channel::Vis006);
    let found = read(&store, "counts");
    assert_eq!(found.as_slice::<u16>().unwrap()[100..160], wanted[100..160]);
    assert!(found.as_slice::<u16>().unwrap()[..100].iter().all(|count| *count == 0));
}

/// Chunks of any shape hold the same pixels, and shards of several channels are written whole where one of these is lacking.
#[test]
fn every_layout_holds_the_same_pixels() {
    let named = |extents: &[(&str, u64)]| -> Option<Extents> {
        Some(extents.iter().map(|(name, extent)| ((*name).to_owned(), *extent)).collect())
    };
    let layouts = [
        (named(&[("channel", 0), ("y", 4), ("x", 7)]), None),
        (named(&[("channel", 2), ("y", 3), ("y_hrv", 5), ("x_hrv", 9)]), named(&[])),
        (named(&[("y", 2)]), named(&[("y", 4), ("channel", 0), ("y_hrv", 0), ("x", 0)])),
        (named(&[("y", 1), ("x", 1), ("y_hrv", 6)]), named(&[("x", 5), ("y_hrv", 12)])),
    ];
    let all = [Channel::Vis006, Channel::Ir039, Channel::Ir108, Channel::Hrv];
    for quantity in [Quantity::Counts, Quantity::Radiance] {
        for files in [vec![file("part"), later(file("part"))], vec![file("part"), later(lacking_a_channel())]]
        {
            let (whole, _) = written(&files, quantity, &all, &WriteOptions::default()).unwrap();
            for (chunks, shards) in layouts.clone() {
                let layout = PixelLayout { chunks, shards, ..PixelLayout::default() };
                let (store, failures) = laid_out(&files, quantity, &all, &layout).unwrap();
                assert_eq!(failures, []);
                assert_eq!(contents(&store), contents(&whole), "{layout:?}");
            }
        }
    }
}

/// The same file without its second channel.
fn lacking_a_channel() -> Vec<u8> {
    let mut bytes = file("part");
    let packet = 65 + 25;
    let record = 3 * packet + 3 * 135;
    for line in (0..8).rev() {
        let at = DATA + line * record + packet;
        bytes.drain(at..at + packet);
    }
    // The selected channels, by a letter each.
    bytes[3674 + 80 * 9 + 30 + 3] = b'-';
    bytes
}

fn laid_out(
    files: &[Vec<u8>],
    quantity: Quantity,
    channels: &[Channel],
    layout: &PixelLayout,
) -> Result<(Store, Vec<LineFailure>), Error> {
    let store = Store::memory(&MemoryMedium::new());
    let failures = laid_out_in(&store, files, quantity, channels, layout)?;
    Ok((store, failures))
}

fn laid_out_in(
    store: &Store,
    files: &[Vec<u8>],
    quantity: Quantity,
    channels: &[Channel],
    layout: &PixelLayout,
) -> Result<Vec<LineFailure>, Error> {
    let layout = layout.clone();
    let options =
        ConversionOptions { quantity, channels: channels.to_vec(), layout, ..ConversionOptions::default() };
    let headers = files.iter().map(|bytes| Header::of_bytes(bytes)).collect::<Result<_, _>>()?;
    let conversion = Conversion::new(headers, &options)?;
    let objects: Vec<_> = files.iter().map(|bytes| object(bytes.clone())).collect();
    conversion.write(&Engine::global(), &objects, store, &WriteOptions::default())
}

#[test]
fn counts_are_packed() {
    let files = [file("part"), later(file("part"))];
    let (whole, _) = written(&files, Quantity::Counts, &[], &WriteOptions::default()).unwrap();
    let layout = PixelLayout::default().with_codec("packbits", Quantity::Counts).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create_directory(folder.path().join("packed.zarr")).unwrap();
    laid_out_in(&store, &files, Quantity::Counts, &[], &layout).unwrap();
    assert_eq!(contents(&store), contents(&whole));
    let array = Array::open_in(&store, "counts").unwrap();
    let chunk = std::fs::read(folder.path().join("packed.zarr/counts/c/1/2/0/0")).unwrap();
    // 8 rows of 20 counts of ten bits, the first one in the lowest bits.
    assert_eq!(chunk.len(), 8 * 20 * 10 / 8);
    let wanted = counts(&files[1], Channel::Ir108);
    let bits = |at: usize| u16::from(chunk[at / 8] >> (at % 8) & 1);
    for (place, count) in wanted.iter().enumerate() {
        let found: u16 = (0..10).map(|bit| bits(place * 10 + bit) << bit).sum();
        assert_eq!(found, *count, "{place}");
    }
    assert_eq!(array.shape(), [2, 3, 8, 20]);
    let error = laid_out(&files, Quantity::Radiance, &[], &layout).map(|_| ()).unwrap_err();
    assert!(error.message().contains("wanted counts"), "{error}");
}

#[test]
fn layouts_are_kept_in_plans() {
    let files = quarters(2);
    let layout = PixelLayout { chunks: Some(vec![("y".to_owned(), 4)]), ..PixelLayout::default() };
    let layout = layout.with_codec("gzip:9", Quantity::Counts).unwrap();
    let headers = || files.iter().map(|bytes| Header::of_bytes(bytes).unwrap()).collect::<Vec<_>>();
    let options = ConversionOptions { layout: layout.clone(), ..ConversionOptions::default() };
    let conversion = Conversion::new(headers(), &options).unwrap();
    let plan = ConversionPlan::of(&conversion, &names(2)).unwrap();
    let document = plan.to_json().unwrap();
    let again = ConversionPlan::from_json(document.clone()).unwrap();
    assert_eq!((&again, &again.layout), (&plan, &layout));
    let line =
        "counts (time 2, channel 3, y 8, x 20) uint16, chunks (1, 1, 4, 20), shards (1, 1, 8, 20): VIS006";
    assert!(plan.to_string().starts_with(line), "{plan}");
    assert_eq!(Conversion::of_plan(&again, headers()).unwrap(), conversion);
    let mut changed = document;
    changed["layout"]["chunks"] = json!([["time", 2]]);
    assert_eq!(ConversionPlan::from_json(changed).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn what_makes_no_one_group_is_refused() {
    let told = |files: &[Vec<u8>], channels: &[Channel]| {
        planned(files, Quantity::Counts, channels).map(|_| ()).unwrap_err().to_string()
    };
    let same = told(&[file("part"), file("part")], &[]);
    assert_eq!(same, "not supported: two files of one time, 1610625600 seconds since 1970: 0 and 1");
    let other = told(&[file("part"), file("old")], &[]);
    assert!(other.contains("another projection"), "{other}");
    let mut moved = later(file("part"));
    moved[3674 + 80 * 10 + 30..][..4].copy_from_slice(b"1002");
    assert!(told(&[file("part"), moved], &[]).contains("another part of the disc"));
    assert!(told(&[file("old")], &[Channel::Hrv]).contains("no file has the channel HRV"));
    assert!(told(&[], &[]).contains("no files"));
    let stop = || true;
    let options = WriteOptions { interrupt: Some(&stop), ..WriteOptions::default() };
    let error = written(&[file("part")], Quantity::Counts, &[], &options).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

/// Files a quarter of an hour apart, the third of them with a damaged line.
fn quarters(count: usize) -> Vec<Vec<u8>> {
    let mut files = vec![file("part")];
    while files.len() < count {
        files.push(later(files[files.len() - 1].clone()));
    }
    if let Some(third) = files.get_mut(2) {
        let at = DATA + 3 * 90 + 3 * 135 + 2 * 90 + 18;
        third[at..at + 4].fill(0);
    }
    files
}

/// What plans know files by.
fn names(count: usize) -> Vec<PlannedFile> {
    let named = |number: usize| PlannedFile { name: format!("{number}.nat"), ..PlannedFile::default() };
    (0..count).map(named).collect()
}

/// All that is in a store, by names.
fn contents(store: &Store) -> BTreeMap<String, Vec<u8>> {
    let names = Group::open_in(store, "").unwrap().names().unwrap();
    let bytes = |name: &String| match Array::open_in(store, name).unwrap() {
        array if matches!(array.data_type(), DataType::String) => {
            let texts = array.read_variable(&Selection::all()).unwrap();
            texts.strings().unwrap().join(" ").into_bytes()
        }
        array => array.read(&Selection::all()).unwrap().as_bytes().to_vec(),
    };
    names.iter().map(|name| (name.clone(), bytes(name))).collect()
}

#[test]
fn interrupted_conversions_go_on() {
    let files = quarters(6);
    let objects: Vec<_> = files.iter().map(|bytes| object(bytes.clone())).collect();
    let (whole, failures) = written(&files, Quantity::Counts, &[], &WriteOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("journal");
    let conversion = planned(&files, Quantity::Counts, &[]).unwrap();
    let plan = ConversionPlan::of(&conversion, &names(6)).unwrap();
    let journal = Journal::create(&place, &plan).unwrap();
    let store = Store::memory(&MemoryMedium::new());
    let done = AtomicUsize::new(0);
    let count = |number: usize| {
        done.fetch_max(number, Ordering::Relaxed);
    };
    let stop = || 2 <= done.load(Ordering::Relaxed);
    let options = WriteOptions {
        progress: Some(&count),
        interrupt: Some(&stop),
        journal: Some(&journal),
        ..WriteOptions::default()
    };
    let error = conversion.write(&Engine::global(), &objects, &store, &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let (journal, again) = Journal::open(&place).unwrap();
    assert_eq!(again, plan);
    let finished = journal.finished().unwrap();
    assert!((2..6).contains(&finished.slabs.len()) && !plan.is_finished(&finished), "{finished:?}");
    let headers = files.iter().map(|bytes| Header::of_bytes(bytes).unwrap()).collect();
    let conversion = Conversion::of_plan(&again, headers).unwrap();
    let options = WriteOptions { journal: Some(&journal), ..WriteOptions::default() };
    let told = conversion.write(&Engine::global(), &objects, &store, &options).unwrap();
    assert_eq!(told, failures);
    assert!(plan.is_finished(&journal.finished().unwrap()));
    assert_eq!(contents(&store), contents(&whole));
    // Once more: nothing is left to do, and what was damaged is told again.
    let told = conversion.write(&Engine::global(), &[], &store, &options).unwrap();
    assert_eq!(told, failures);
}

#[test]
fn new_images_join_behind_the_others() {
    let files = quarters(5);
    let (whole, _) = written(&files, Quantity::Radiance, &[], &WriteOptions::default()).unwrap();
    let (store, _) = written(&files[..2], Quantity::Radiance, &[], &WriteOptions::default()).unwrap();
    let conversion = planned(&files[..2], Quantity::Radiance, &[]).unwrap();
    let plan = ConversionPlan::of(&conversion, &names(2)).unwrap();
    // In whichever order.
    let headers = [4, 2, 3].map(|number: usize| Header::of_bytes(&files[number]).unwrap()).to_vec();
    let new = [4, 2, 3].map(|number: usize| names(5)[number].clone());
    let objects = [4, 2, 3].map(|number: usize| object(files[number].clone()));
    let (plan, conversion) = plan.extended(headers, &new).unwrap();
    let order: Vec<&str> = plan.files.iter().map(|image| image.file.name.as_str()).collect();
    assert_eq!(order, ["0.nat", "1.nat", "2.nat", "3.nat", "4.nat"]);
    assert_eq!(ConversionPlan::from_json(plan.to_json().unwrap()).unwrap(), plan);
    let failures = conversion.write(&Engine::global(), &objects, &store, &WriteOptions::default()).unwrap();
    assert_eq!(failures.iter().map(|failure| failure.file).collect::<Vec<_>>(), [1]);
    assert_eq!(contents(&store), contents(&whole));
    let other = Header::of_bytes(&file("old")).unwrap();
    let error = plan.extended(vec![other], &[PlannedFile::default()]).unwrap_err();
    assert!(error.message().contains("than those of the store"), "{error}");
}

#[test]
fn plans_that_contradict_themselves_are_refused() {
    let files = quarters(2);
    let plan = ConversionPlan::of(&planned(&files, Quantity::Counts, &[]).unwrap(), &names(2)).unwrap();
    let sound = plan.to_json().unwrap();
    let changes: [(&str, Value); 5] = [
        ("format", json!("swath convert plan 1")),
        ("first_new_file", json!(2)),
        ("channels", json!(["IR_108", "VIS006"])),
        ("channels", json!(["IR_109"])),
        ("files", json!([sound["files"][1], sound["files"][0]])),
    ];
    for (key, value) in changes {
        let mut changed = sound.clone();
        changed[key] = value;
        let error = ConversionPlan::from_json(changed).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{key}: {error}");
    }
    let swapped = [1, 0].map(|number: usize| Header::of_bytes(&files[number]).unwrap()).to_vec();
    assert!(Conversion::of_plan(&plan, swapped).is_err());
}
