//! `swath convert scan`.

use crate::stored::put;
use crate::swath::run;
use serde_json::{Value, json};
use std::path::Path;

/// A message of edition 2 with 3 x 2 values of 8 bits: temperature at 500 hPa, 24 hours ahead.
fn one() -> Vec<u8> {
    message(24, 1)
}

/// The same, so many hours after a day of March.
pub(crate) fn message(hours: u8, day: u8) -> Vec<u8> {
    let section = |number: u8, content: &[u8]| {
        let len = u32::try_from(content.len() + 5).unwrap();
        [&len.to_be_bytes()[..], &[number], content].concat()
    };
    let mut grid = [0u8; 67];
    (grid[4], grid[28], grid[32]) = (6, 3, 2);
    (grid[25], grid[29]) = (0, 0);
    let mut product = [255u8; 29];
    product[..17].copy_from_slice(&[0, 0, 0, 0, 0, 0, 2, 0, 128, 0, 0, 0, 1, 0, 0, 0, hours]);
    product[17..23].copy_from_slice(&[100, 0, 0, 0, 0xc3, 0x50]);
    let mut packing = [0u8; 16];
    (packing[3], packing[14]) = (6, 8);
    let sections = [
        section(1, &[0, 98, 0, 0, 2, 0, 1, 0x07, 0xe3, 3, day, 6, 0, 0, 0, 1]),
        section(3, &grid),
        section(4, &product),
        section(5, &packing),
        section(6, &[255]),
        section(7, &[1, 2, 3, 4, 5, 6]),
    ]
    .concat();
    let len = u64::try_from(sections.len() + 20).unwrap();
    [&b"GRIB\0\0\0\x02"[..], &len.to_be_bytes(), &sections, b"7777"].concat()
}

#[test]
fn fields_are_listed_in_the_order_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("b.grib"), one().repeat(2)).unwrap();
    std::fs::write(folder.path().join("a.grib"), one()).unwrap();
    let text = run(folder.path(), &["convert", "scan", "b.grib", "a.grib"]).text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 7, "{text}");
    assert_eq!((lines[1], lines[4]), ("b.grib", "a.grib"));
    let words: Vec<&str> = lines[5].split_whitespace().collect();
    let len = one().len().to_string();
    let wanted = [
        "0",
        &len,
        "0.0.0",
        "100=50000",
        "2019-03-01T06:00:00Z",
        "24h",
        "-",
        "lat_lon",
        "3x2",
        "simple",
        "8",
    ];
    assert_eq!(words, wanted);
    assert_eq!(lines[6], "3 fields in 2 files, 0 damages");
    let output = run(folder.path(), &["convert", "scan", "--json", "b.grib", "a.grib"]).text();
    let records: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 3);
    assert_eq!((&records[1]["file"], &records[1]["offset"]), (&json!("b.grib"), &json!(one().len())));
    assert_eq!(records[2]["step"], json!({"seconds": 86_400}));
}

/// A table is there when it is whole, says whether files are damaged, and nothing is printed.
#[test]
fn a_table_is_written_instead_of_a_listing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.grib"), one().repeat(3)).unwrap();
    let written = run(folder.path(), &["convert", "scan", "--parquet", "fields.parquet", "a.grib"]).text();
    assert_eq!(written, "");
    let table = std::fs::read(folder.path().join("fields.parquet")).unwrap();
    assert!(table.starts_with(b"PAR1") && table.ends_with(b"PAR1"));
    run(folder.path(), &["convert", "scan", "--parquet", "fields.parquet", "--json", "a.grib"]).error(2);
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn damages_are_listed_and_make_the_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = one().repeat(2);
    bytes.truncate(bytes.len() - 10);
    std::fs::write(folder.path().join("cut.grib"), bytes).unwrap();
    let text = run(folder.path(), &["convert", "scan", "cut.grib", "none.grib"]).found();
    assert!(text.contains(": truncated: the message has "), "{text}");
    assert!(text.contains(": unread: "), "{text}");
    assert!(text.ends_with("1 fields in 2 files, 2 damages\n"), "{text}");
    put(folder.path(), "text", "no message");
    let text = run(folder.path(), &["convert", "scan", "text"]).text();
    assert!(text.contains("10 bytes at 0: stray: no message begins here"), "{text}");
}

#[test]
fn a_file_becomes_a_group() {
    let folder = tempfile::tempdir().unwrap();
    let mut later = one();
    // The forecast's hours.
    let hours = later.windows(5).position(|octets| octets == [1, 0, 0, 0, 24]).unwrap() + 4;
    later[hours] = 48;
    std::fs::write(folder.path().join("a.grib"), [one(), later].concat()).unwrap();
    let plan = run(folder.path(), &["convert", "--plan", "a.grib", "a.zarr"]).text();
    assert!(
        plan.starts_with("t (step 2, latitude 2, longitude 3) float32, chunks (1, 2, 3), codec zstd\n"),
        "{plan}"
    );
    assert!(plan.contains("isobaricInhPa = 500\n") && !folder.path().join("a.zarr").exists(), "{plan}");
    assert!(
        plan.ends_with("1 group, 1 variable, 2 fields, 48 B before compression in up to 2 objects\n"),
        "{plan}"
    );
    let text = run(folder.path(), &["convert", "a.grib", "a.zarr"]).text();
    assert_eq!(text, "2 fields in 1 variables, 0 damages\n");
    let info = run(folder.path(), &["info", "a.zarr", "--json"]).json();
    assert!(info.to_string().contains("\"latitude\""), "{info}");
    let read = run(folder.path(), &["read", "a.zarr/t", "1, :, :", "--json"]).json();
    assert!(read.to_string().contains("\"max\":6"), "{read}");
    let again = run(folder.path(), &["convert", "a.grib", "a.zarr"]).error(1);
    assert!(again.contains("there is something already"), "{again}");
    // What is done is not done again.
    std::fs::remove_dir_all(folder.path().join("a.zarr/t/c")).unwrap();
    assert_eq!(run(folder.path(), &["convert", "--resume", "a.zarr"]).text(), text);
    assert!(!folder.path().join("a.zarr/t/c").exists());
    std::fs::write(folder.path().join("a.grib"), one()).unwrap();
    let changed = run(folder.path(), &["convert", "--resume", "a.zarr"]).error(1);
    assert!(changed.contains("changed since the plan was made") && changed.contains("a.grib"), "{changed}");
    let none = run(folder.path(), &["convert", "--resume", "none.zarr"]).error(1);
    assert!(none.contains("none.zarr.journal"), "{none}");
}

#[test]
fn pieces_of_a_plan_make_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let hours: Vec<u8> = (0..24).flat_map(|hour| message(hour, 1)).collect();
    std::fs::write(folder.path().join("a.grib"), hours).unwrap();
    let layout = ["--chunks", "step=2,longitude=2", "--shards", "step=4", "--codec", "gzip"];
    let whole = [&["convert", "a.grib", "whole.zarr"], &layout[..]].concat();
    run(folder.path(), &whole).text();
    let plan =
        run(folder.path(), &[&["convert", "--plan=plan.json", "a.grib", "b.zarr"], &layout[..]].concat());
    assert!(plan.text().contains("chunks (2, 2, 2), shards (4, 2, 4)"));
    for piece in ["2/3", "3/3", "1/3"] {
        run(folder.path(), &["convert", "--piece", piece, "plan.json", "b.zarr"]).text();
    }
    assert_eq!(run(folder.path(), &["diff", "whole.zarr", "b.zarr"]).text(), "");
    let wrong = run(folder.path(), &["convert", "--piece", "4/3", "plan.json", "b.zarr"]);
    assert_eq!(wrong.code, Some(2));
    let names = run(folder.path(), &["convert", "a.grib", "c.zarr", "--chunks", "day=2"]).error(1);
    assert!(names.contains("extents along day, and the dimensions are latitude, longitude, step"), "{names}");
}

#[test]
fn new_files_join_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let day = |day: u8| (0..6).flat_map(|hour| message(hour * 4, day)).collect::<Vec<u8>>();
    for number in 1..4 {
        std::fs::write(folder.path().join(format!("{number}.grib")), day(number)).unwrap();
    }
    let layout = ["--keep", "time", "--shards", "time=2,step=4", "--chunks", "step=2"];
    let convert = |arguments: &[&str]| {
        run(folder.path(), &[&["convert"], arguments, &layout[..]].concat()).text();
    };
    convert(&["1.grib", "2.grib", "3.grib", "whole.zarr"]);
    convert(&["1.grib", "made.zarr"]);
    // What is in the store is not read again.
    std::fs::remove_file(folder.path().join("1.grib")).unwrap();
    let appended = run(folder.path(), &["convert", "--append", "2.grib", "made.zarr"]).text();
    assert_eq!(appended, "6 fields in 1 variables, 0 damages\n");
    run(folder.path(), &["convert", "--append", "3.grib", "made.zarr"]).text();
    assert_eq!(run(folder.path(), &["diff", "whole.zarr", "made.zarr"]).text(), "");
    let again = run(folder.path(), &["convert", "--append", "3.grib", "made.zarr"]).error(1);
    assert!(again.contains("3.grib is in the store already"), "{again}");
    std::fs::write(folder.path().join("0.grib"), message(2, 1)).unwrap();
    let between = run(folder.path(), &["convert", "--append", "0.grib", "made.zarr"]).error(1);
    assert!(between.contains("step 2 is before the last one that is stored, 20"), "{between}");
    // A field of a place that is there takes it.
    let mut other = message(4, 2);
    let last = other.len() - 5;
    other[last] = 99;
    std::fs::write(folder.path().join("other.grib"), other).unwrap();
    run(folder.path(), &["convert", "--append", "other.grib", "made.zarr"]).text();
    let read = run(folder.path(), &["read", "made.zarr/t", "1, 1, :, :", "--json"]).json();
    assert!(read.to_string().contains("\"max\":99"), "{read}");
    assert_eq!(run(folder.path(), &["diff", "whole.zarr", "made.zarr"]).code, Some(1));
}

#[test]
fn a_damaged_message_is_told_and_stops_where_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let mut broken = message(48, 1);
    // The packing says that there is a value less.
    let count = broken.windows(5).position(|octets| octets == [5, 0, 0, 0, 6]).unwrap() + 4;
    broken[count] = 5;
    std::fs::write(folder.path().join("a.grib"), [one(), broken].concat()).unwrap();
    let told = run(folder.path(), &["convert", "a.grib", "a.zarr"]).found();
    let offset = format!("a.grib at {}: corrupt", one().len());
    assert!(told.contains("not written: ") && told.contains(&offset), "{told}");
    assert!(told.ends_with("1 fields in 1 variables, 1 damages\n"), "{told}");
    let strict = run(folder.path(), &["convert", "--strict", "a.grib", "b.zarr"]).error(1);
    assert!(strict.contains("corrupt"), "{strict}");
}

#[test]
fn wrong_usage_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["convert"][..], &["convert", "scan"], &["convert", "scan", "a", "--fast"]] {
        run(folder.path(), arguments).error(2);
    }
    assert_eq!(run(folder.path(), &["convert", "a.grib"]).error(1), "wanted files and a target");
    let line = run(folder.path(), &["convert", "scan", "a", "--cache", "1GB"]).error(1);
    assert!(line.contains("not for single files"), "{line}");
}

/// NetCDF files are read by any command, by what their references say, and those are a file for others.
#[test]
fn netcdf_files_are_read_and_copied_as_the_zarr_in_them() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../convert/tests/data/hdf5/dimensions.nc");
    let file = file.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let info = run(folder.path(), &["info", file, "--json"]).json();
    assert!(info.to_string().contains("\"below\""), "{info}");
    run(folder.path(), &["copy", file, "copy", "--zarr-format", "3", "--codec", "zstd"]).text();
    run(folder.path(), &["copy", &format!("{file}/below"), "below", "--chunks", "1,3"]).text();
    assert_eq!(run(folder.path(), &["diff", &format!("{file}/below"), "below"]).text(), "");
    let copied: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("copy/t/zarr.json")).unwrap()).unwrap();
    assert_eq!(copied["dimension_names"], json!(["time", "y", "x"]));
    assert_eq!(copied["attributes"]["_FillValue"], json!(-999));
    let told = run(folder.path(), &["convert", "references", file, "virtual.json"]).text();
    assert_eq!(told, "5 arrays, 12 chunks\n");
    assert_eq!(run(folder.path(), &["diff", "virtual.json", file]).text(), "");
    let refused = run(folder.path(), &["convert", file, "other"]).error(1);
    assert!(refused.contains("swath copy FILE TARGET"), "{refused}");
}

/// The messages of GRIB files, one of which is damaged, as a set that any command reads in place.
#[test]
fn references_to_grib_files_are_read_as_what_is_converted() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    std::fs::create_dir(place.join("in")).unwrap();
    put(place, "in/a.grib2", [message(24, 1), message(48, 1)].concat());
    put(place, "in/b.grib2", [message(24, 2), message(48, 2)[..100].to_vec()].concat());
    let told = run(place, &["convert", "references", "in/a.grib2", "in/b.grib2", "all.json"]).found();
    assert!(told.contains("in/b.grib2: ") && told.ends_with("7 arrays, 3 chunks\n"), "{told}");
    run(place, &["convert", "in/a.grib2", "in/b.grib2", "written"]).found();
    run(place, &["read", "all.json/t", "...", "-o", "references.npy"]).text();
    run(place, &["read", "written/t", "...", "-o", "written.npy"]).text();
    let [found, wanted] =
        ["references.npy", "written.npy"].map(|name| std::fs::read(place.join(name)).unwrap());
    assert!(found == wanted && 64 < found.len());
    let info = run(place, &["info", "all.json/t", "--json"]).json();
    assert!(info.to_string().contains("\"t\""), "{info}");
    // Messages are only read: a copy has other codecs.
    run(place, &["copy", "all.json", "copied", "--zarr-format", "3", "--codec", "zstd"]).text();
    run(place, &["read", "copied/t", "...", "-o", "copied.npy"]).text();
    assert!(std::fs::read(place.join("copied.npy")).unwrap() == wanted);
    let refused = run(place, &["copy", "all.json", "same"]).found();
    assert!(refused.contains("wanted to write no GRIB messages"), "{refused}");
    let named = |name: &str, key: &str| {
        let set: Value = serde_json::from_slice(&std::fs::read(place.join(name)).unwrap()).unwrap();
        set["refs"][key][0].as_str().unwrap().to_owned()
    };
    assert_eq!(named("all.json", "t/0.0.0.0"), place.join("in/a.grib2").to_str().unwrap());
    // What is named below the set's folder may be moved with it.
    let told = run(place, &["convert", "references", "--relative", "in/a.grib2", "in/a.json"]).text();
    assert_eq!(told, "7 arrays, 2 chunks\n");
    assert_eq!(named("in/a.json", "t/0.0.0"), "a.grib2");
    std::fs::rename(place.join("in"), place.join("moved")).unwrap();
    run(place, &["read", "moved/a.json/t", "0", "-o", "one.npy"]).text();
    let refused = run(place, &["convert", "references", "--relative", "moved/a.grib2", "written/a.json"]);
    assert!(refused.error(1).contains("--relative: wanted files below"));
}
