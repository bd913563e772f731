//! `swath convert` of .nat files.

use crate::swath::run;
use std::path::Path;

/// Bytes before the first record, and of a record: one packet of eight pixels.
const DATA: usize = 450_400;
const RECORD: usize = 65 + 10;

/// A file of IR_108 so many minutes after noon, with four lines of eight pixels which are all `count`.
pub(crate) fn image(count: u8, minutes: u32) -> Vec<u8> {
    let mut file = vec![0; DATA + 4 * RECORD + 380_363];
    let mut put = |at: usize, octets: &[u8]| file[at..at + octets.len()].copy_from_slice(octets);
    put(0, b"FormatName                  : NATIVE");
    for (entry, value) in
        [(9, "--------X---"), (10, "2001"), (11, "2004"), (12, "101"), (13, "108"), (14, "4")]
    {
        put(3674 + 80 * entry + 30, value.as_bytes());
    }
    let header = 5114 + 38;
    put(header + 1, &324u16.to_be_bytes());
    for (at, minutes) in [(60_135, minutes), (60_155, minutes + 15)] {
        put(header + at, &23_024u16.to_be_bytes());
        put(header + at + 2, &(43_200_000 + minutes * 60_000).to_be_bytes());
    }
    put(header + 386_893, &[1]);
    for (grid, step) in [(386_898, 3.0f32), (386_915, 1.0)] {
        put(header + grid + 8, &[step.to_be_bytes(), step.to_be_bytes()].concat());
        put(header + grid + 16, &[2]);
    }
    put(header + 386_982, &[2; 12]);
    for channel in 0..12 {
        put(header + 387_066 + channel * 16, &[0.2f64.to_be_bytes(), (-10.2f64).to_be_bytes()].concat());
    }
    put(header + 408_145, &[2]);
    for (place, radius) in [6378.169f64, 6356.5838, 6356.5838].into_iter().enumerate() {
        put(header + 408_146 + place * 8, &radius.to_be_bytes());
    }
    for line in 0..4u32 {
        let at = DATA + line as usize * RECORD;
        put(at + 18, &(16u32 + 27 + 10 - 1).to_be_bytes());
        put(at + 51, &(2001 + line).to_be_bytes());
        put(at + 55, &[9]);
        put(at + 62, &[1, 1, 1]);
        let word = (0..4).fold(0u64, |word, _| word << 10 | u64::from(count));
        put(at + 65, &word.to_be_bytes()[3..].repeat(2));
    }
    file
}

/// Damages the third row.
pub(crate) fn damage(image: &mut [u8]) {
    image[DATA + RECORD + 55] = 3;
}

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join(name), bytes).unwrap();
}

#[test]
fn an_image_is_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.nat", &image(200, 0));
    let text = run(folder.path(), &["convert", "--plan", "a.nat", "out.zarr"]).text();
    let sums = "1 image, 1 variable, 64 B before compression in up to 1 objects";
    assert_eq!(
        text,
        format!("counts (time 1, channel 1, y 4, x 8) uint16, chunks (1, 1, 4, 8): IR_108\n{sums}\n")
    );
    let text = run(folder.path(), &["convert", "a.nat", "out.zarr"]).text();
    assert_eq!(text, "1 images in 1 variables, 0 damages\n");
    let read = ["stats", "out.zarr/counts", "--json"];
    let stats = run(folder.path(), &read).text();
    assert!(stats.contains("200"), "{stats}");
    let calibrated =
        ["convert", "--calibrate", "reflectance-or-temperature", "--channels", "ir108", "a.nat", "bt.zarr"];
    assert_eq!(run(folder.path(), &calibrated).text(), "1 images in 1 variables, 0 damages\n");
    assert!(run(folder.path(), &["info", "bt.zarr"]).text().contains("brightness_temperature"));
}

#[test]
fn damages_are_told_and_make_the_exit_code_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = image(7, 0);
    damage(&mut bytes);
    put(folder.path(), "a.nat", &bytes);
    put(folder.path(), "b.nat", b"GRIB");
    let output = run(folder.path(), &["convert", "a.nat", "b.nat", "out.zarr"]).found();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 3, "{output}");
    let named = |name: &str| format!("not written: {}: ", folder.path().join(name).display());
    assert!(lines[0].starts_with(&named("b.nat")), "{output}");
    let row = "row 2 of IR_108: 75 bytes at 450475: corrupt: ";
    assert!(lines[1].starts_with(&(named("a.nat") + row)), "{output}");
    assert_eq!(lines[2], "1 images in 1 variables, 2 damages");
    let strict = run(folder.path(), &["convert", "--strict", "a.nat", "strict.zarr"]).error(1);
    assert!(strict.contains("row 2 of IR_108"), "{strict}");
    put(folder.path(), "c.grib", b"GRIB");
    let refused = run(folder.path(), &["convert", "a.nat", "c.grib", "other.zarr"]).error(1);
    assert!(refused.contains("1 of 2 files are .nat files"), "{refused}");
}

/// What `swath stats` finds in the counts of a store: how many there are, and their sum.
fn counts(folder: &Path, store: &str) -> String {
    let stats = run(folder, &["stats", &format!("{store}/counts"), "--json"]).text();
    stats.replace(store, "")
}

#[test]
fn new_images_join_a_store() {
    let folder = tempfile::tempdir().unwrap();
    for quarter in 0..4u8 {
        put(folder.path(), &format!("{quarter}.nat"), &image(quarter + 1, 15 * u32::from(quarter)));
    }
    run(folder.path(), &["convert", "0.nat", "1.nat", "2.nat", "3.nat", "whole.zarr"]).text();
    run(folder.path(), &["convert", "1.nat", "0.nat", "made.zarr"]).text();
    // What is there already is not read again.
    std::fs::remove_file(folder.path().join("0.nat")).unwrap();
    for next in ["2.nat", "3.nat"] {
        let text = run(folder.path(), &["convert", "--append", next, "made.zarr"]).text();
        assert_eq!(text, "1 images in 1 variables, 0 damages\n");
    }
    run(folder.path(), &["diff", "whole.zarr", "made.zarr"]).text();
    assert_eq!(counts(folder.path(), "whole.zarr"), counts(folder.path(), "made.zarr"));
    let again = run(folder.path(), &["convert", "--append", "3.nat", "made.zarr"]).error(1);
    assert!(again.contains("3.nat is in the store already"), "{again}");
    put(folder.path(), "late.nat", &image(9, 20));
    let late = run(folder.path(), &["convert", "--append", "late.nat", "made.zarr"]).error(1);
    assert!(late.contains("wanted images behind the last one of the store"), "{late}");
}

#[test]
fn chunks_shards_and_codec_are_those_that_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.nat", &image(200, 0));
    let layout = ["--chunks", "y=2,x=4", "--shards", "y=4,x=4", "--codec", "blosc:9"];
    let plan =
        run(folder.path(), &[&["convert", "--plan", "a.nat", "out.zarr"], &layout[..]].concat()).text();
    let wanted =
        "counts (time 1, channel 1, y 4, x 8) uint16, chunks (1, 1, 2, 4), shards (1, 1, 4, 4): IR_108\n";
    assert!(plan.starts_with(wanted) && plan.contains("up to 2 objects"), "{plan}");
    run(folder.path(), &["convert", "a.nat", "plain.zarr"]).text();
    run(folder.path(), &[&["convert", "a.nat", "out.zarr"], &layout[..]].concat()).text();
    let metadata = std::fs::read_to_string(folder.path().join("out.zarr/counts/zarr.json")).unwrap();
    for part in ["sharding_indexed", "\"clevel\":9", "\"typesize\":2"] {
        assert!(metadata.replace([' ', '\n'], "").contains(part), "{part} of {metadata}");
    }
    assert_eq!(counts(folder.path(), "plain.zarr"), counts(folder.path(), "out.zarr"));
    run(folder.path(), &["convert", "--codec", "packbits", "a.nat", "packed.zarr"]).text();
    assert_eq!(counts(folder.path(), "plain.zarr"), counts(folder.path(), "packed.zarr"));
    // Four lines of eight counts.
    assert_eq!(std::fs::metadata(folder.path().join("packed.zarr/counts/c/0/0/0/0")).unwrap().len(), 40);
    run(folder.path(), &["validate", "packed.zarr"]).text();
}

#[test]
fn coefficients_of_gsics_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = image(200, 0);
    // The slope of IR_108 and the count without radiance that GSICS found.
    let feedback = 5114 + 38 + 386_893 + 173 + 1159 + 8 * 32;
    bytes[feedback + 20..feedback + 24].copy_from_slice(&0.25f32.to_be_bytes());
    bytes[feedback + 28..feedback + 32].copy_from_slice(&(-50.0f32).to_be_bytes());
    put(folder.path(), "a.nat", &bytes);
    // Slopes are 0.2 otherwise, and 51 counts no radiance.
    for (set, wanted) in [("nominal", "29.79999"), ("gsics", "37.5")] {
        let target = format!("{set}.zarr");
        let arguments = ["convert", "--calibrate", "radiance", "--coefficients", set, "a.nat", &target];
        run(folder.path(), &arguments).text();
        let stats = run(folder.path(), &["stats", &format!("{target}/radiance"), "--json"]).json();
        assert!(stats.to_string().contains(wanted), "{stats}");
    }
}

#[test]
fn arguments_that_mean_nothing_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.nat", &image(200, 0));
    put(folder.path(), "b.grib", b"GRIB");
    let refused = |files: &[&str], arguments: &[&str], code: i32| {
        run(folder.path(), &[&["convert"], files, &["out.zarr"], arguments].concat()).error(code)
    };
    let packed = run(folder.path(), &["convert", "--codec", "packbits", "b.grib", "out.zarr"]).error(1);
    assert!(packed.contains("packbits is of counts of .nat files"), "{packed}");
    let cases: [(&[&str], &str); 8] = [
        (&["--for", "crops"], "--for is of GRIB files: wanted of .nat files --chunks and --shards"),
        (&["--mantissa-bits", "7"], "--mantissa-bits is of GRIB files"),
        (&["--keep", "time"], "--keep is of GRIB files"),
        (&["--codec", "packbits", "--calibrate", "radiance"], "packbits keeps the ten bits of counts"),
        (&["--coefficients", "nominal"], "--coefficients of counts, which are not calibrated"),
        (&["--chunks", "time=2"], "chunks of 2 along time: wanted 1"),
        (&["--chunks", "level=2"], "extents along level, and the dimensions are channel, time, x, y"),
        (&["--chunks", "y=2", "--shards", "y=3"], "wanted whole chunks"),
    ];
    for (arguments, wanted) in cases {
        let found = refused(&["a.nat"], arguments, 1);
        assert!(found.contains(wanted), "{found}");
    }
    for (arguments, wanted) in [
        (["--calibrate", "counts"], "--calibrate"),
        (["--channels", "HRV"], "--channels"),
        (["--coefficients", "gsics"], "--coefficients"),
    ] {
        let found = refused(&["b.grib"], &arguments, 1);
        assert!(found.contains(&format!("{wanted} is of .nat files")), "{found}");
    }
    for goes_on in [&["--append", "a.nat"][..], &["--resume"], &["--piece", "1/2", "plan.json"]] {
        for arguments in [["--calibrate", "radiance"], ["--chunks", "y=2"], ["--codec", "none"]] {
            let found = refused(goes_on, &arguments, 2);
            assert!(found.contains("cannot be used with") && found.contains(arguments[0]), "{found}");
        }
    }
    let found = run(folder.path(), &["convert", "scan", "a.nat"]).error(1);
    assert!(found.contains("swath convert --plan FILES TARGET"), "{found}");
    assert!(!folder.path().join("out.zarr").exists());
}

#[test]
fn pieces_make_the_store_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    for quarter in 0..5u8 {
        put(folder.path(), &format!("{quarter}.nat"), &image(quarter + 1, 15 * u32::from(quarter)));
    }
    let files = ["0.nat", "1.nat", "2.nat", "3.nat", "4.nat"];
    run(folder.path(), &[&["convert"], &files[..], &["whole.zarr"]].concat()).text();
    run(folder.path(), &[&["convert"], &files[..], &["made.zarr", "--plan=plan.json"]].concat()).text();
    for piece in ["3/3", "1/3", "2/3"] {
        let arguments = ["convert", "--piece", piece, "plan.json", "made.zarr", "--journal", "journal"];
        run(folder.path(), &arguments).text();
    }
    run(folder.path(), &["diff", "whole.zarr", "made.zarr"]).text();
    // All is done: nothing is read any more but the headers.
    let text = run(folder.path(), &["convert", "--resume", "made.zarr", "--journal", "journal"]).text();
    assert_eq!(text, "5 images in 1 variables, 0 damages\n");
    put(folder.path(), "2.nat", &image(9, 30));
    let changed = run(folder.path(), &["convert", "--resume", "made.zarr", "--journal", "journal"]).error(1);
    assert!(changed.contains("changed since the plan was made") && changed.contains("2.nat"), "{changed}");
}
