//! `swath copy`.

use crate::stored::hierarchy;
use crate::swath::{command, run};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use swath::{Array, ArrayBuilder, DataType, Group, Node, Store, ZarrFormat};

/// An array of 12 MB: 60 times, 5 channels, 100 by 100 places, in chunks of one time and channel.
fn series(folder: &Path, name: &str) -> Array {
    let array = ArrayBuilder::new(&[60, 5, 100, 100], DataType::Float32)
        .chunk_shape(&[1, 1, 100, 100])
        .dimension_names(["time", "channel", "y", "x"].map(|name| Some(name.to_owned())))
        .attributes(json!({"units": "K"}).as_object().unwrap().clone())
        .create(&Store::create_directory(folder).unwrap(), name)
        .unwrap();
    let mut state = 5_u32;
    let values = (0..60 * 5 * 100 * 100_u32).map(|number| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number / 10_000) as f32 + (state >> 24) as f32 / 256.0
    });
    let bytes: Vec<u8> = values.flat_map(f32::to_ne_bytes).collect();
    array.write(&"...".parse().unwrap(), &bytes).unwrap();
    array
}

fn read(path: &Path) -> Vec<u8> {
    Array::open(path).unwrap().read(&"...".parse().unwrap()).unwrap().into_bytes()
}

#[test]
fn an_array_is_copied_into_other_chunks_shards_and_codecs() {
    let folder = tempfile::tempdir().unwrap();
    let array = series(folder.path(), "a");
    let text = run(
        folder.path(),
        &[
            "copy",
            "a",
            "b",
            "--chunks",
            "1,all,50,50",
            "--shards",
            "10,5,100,100",
            "--codec",
            "blosc:3",
            "--verify",
        ],
    )
    .text();
    assert!(
        text.starts_with("copied 1 array, 12.0 MB of elements, in ")
            && text.ends_with(", read back and compared\n"),
        "{text}"
    );
    let copy = Array::open(folder.path().join("b")).unwrap();
    assert_eq!((copy.chunk_shape(), copy.shard_shape()), (&[1, 5, 50, 50][..], Some(&[10, 5, 100, 100][..])));
    assert_eq!(copy.codecs()[1..], ["blosc(zstd, shuffle, level 3)"]);
    assert_eq!(copy.metadata().attributes(), array.metadata().attributes());
    assert_eq!(copy.metadata().dimension_names(), array.metadata().dimension_names());
    assert!(read(&folder.path().join("a")) == read(&folder.path().join("b")));
    assert_eq!(run(folder.path(), &["diff", "a", "b"]).text(), "");
    assert_eq!(run(folder.path(), &["validate", "b", "--json"]).json()["findings"], json!([]));
    let refused = run(folder.path(), &["copy", "a", "b"]).error(1);
    assert!(refused.contains("wanted to copy to where nothing is"), "{refused}");
    run(folder.path(), &["copy", "a", "b", "--overwrite"]).text();
    assert_eq!(Array::open(folder.path().join("b")).unwrap().shard_shape(), None);
}

#[test]
fn formats_are_changed_there_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let array = series(folder.path(), "a");
    run(folder.path(), &["copy", "a", "old", "--zarr-format", "2", "--codec", "blosc"]).text();
    let old = Array::open(folder.path().join("old")).unwrap();
    assert_eq!(
        (old.zarr_format(), old.metadata().dimension_names()),
        (ZarrFormat::V2, array.metadata().dimension_names())
    );
    let attributes: Value =
        serde_json::from_slice(&fs::read(folder.path().join("old/.zattrs")).unwrap()).unwrap();
    assert_eq!(attributes, json!({"units": "K", "_ARRAY_DIMENSIONS": ["time", "channel", "y", "x"]}));
    run(folder.path(), &["copy", "old", "new", "--zarr-format", "3"]).text();
    let new = Array::open(folder.path().join("new")).unwrap();
    assert_eq!((new.zarr_format(), new.codecs()), (ZarrFormat::V3, old.codecs()));
    assert_eq!(new.metadata().attributes(), array.metadata().attributes());
    assert_eq!(run(folder.path(), &["diff", "a", "new"]).text(), "");
}

#[test]
fn a_region_is_copied_with_its_steps() {
    let folder = tempfile::tempdir().unwrap();
    let array = series(folder.path(), "a");
    run(folder.path(), &["copy", "a", "part", "--region", "7:50:3, 1:3, 10:95, ::-7"]).error(1);
    run(folder.path(), &["copy", "a", "part", "--region", "7:50:3, 1:3, 10:95, ::7", "--chunks", "4,2,30,8"])
        .text();
    let wanted = array.read(&"7:50:3, 1:3, 10:95, ::7".parse().unwrap()).unwrap();
    assert!(read(&folder.path().join("part")) == wanted.into_bytes());
}

#[test]
fn what_memory_does_not_hold_at_once_goes_by_an_intermediate_array() {
    let folder = tempfile::tempdir().unwrap();
    series(folder.path(), "a");
    let arguments = ["copy", "a", "b", "--chunks", "all,5,4,4", "--memory", "3MB", "--scratch", "scratch"];
    let plan = run(folder.path(), &[&arguments[..], &["--plan", "--json"]].concat()).json();
    assert_eq!(plan[0]["stages"].as_array().map(Vec::len), Some(2), "{plan}");
    assert_eq!(plan[0]["intermediate_bytes"], json!(12_000_000));
    assert!(!folder.path().join("b").exists());
    let text = run(folder.path(), &[&arguments[..], &["--verify"]].concat()).text();
    assert!(
        text.contains(", by an intermediate array of 12.0 MB") && text.contains(" of memory at most"),
        "{text}"
    );
    assert_eq!(run(folder.path(), &["diff", "a", "b"]).text(), "");
    assert_eq!(fs::read_dir(folder.path().join("scratch")).unwrap().count(), 0);
    let line =
        run(folder.path(), &["copy", "a", "c", "--chunks", "all,all,all,all", "--memory", "9MB"]).error(1);
    assert!(line.contains("wanted memory for objects of 12000000 bytes"), "{line}");
    assert!(!folder.path().join("c/zarr.json").exists());
}

/// What a process of `swath` has beside what a copy takes: its program, and the allocator's heaps of small blocks.
#[cfg(target_os = "linux")]
const PROCESS_BYTES: u64 = 24_000_000;

/// 100 MB, in frames, in channels of some times, and in few large chunks, within 32 MB.
#[cfg(target_os = "linux")]
#[test]
fn a_copy_stays_within_its_memory() {
    const MEMORY_BYTES: u64 = 32_000_000;
    let folder = tempfile::tempdir().unwrap();
    let shape = [48, 4, 512, 512];
    let mut state = 7_u64;
    let mut values = vec![0_u8; 100_663_296];
    for two in values.chunks_exact_mut(2) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Noise in the low bits, so that chunks have sizes as those of images.
        two.copy_from_slice(&[(state >> 60).to_le_bytes()[0], 1]);
    }
    for (name, chunks, target, stages) in [
        ("frames", [1, 4, 512, 512], "48,1,32,32", 2),
        ("channels", [8, 1, 512, 512], "1,4,512,512", 1),
        ("large", [48, 1, 256, 512], "6,4,128,128", 1),
    ] {
        let store = Store::create_directory(folder.path()).unwrap();
        let builder = ArrayBuilder::new(&shape, DataType::UInt16).chunk_shape(&chunks);
        let lz4 = json!({"name": "blosc", "configuration":
            {"cname": "lz4", "clevel": 1, "shuffle": "shuffle", "typesize": 2, "blocksize": 0}});
        let array = builder.compressors([lz4]).create(&store, name).unwrap();
        array.write(&"...".parse().unwrap(), &values).unwrap();
        let copy = ["copy", name, "b", "--chunks", target, "--memory", "32MB", "--json"];
        let plan = run(folder.path(), &[&copy[..], &["--plan"]].concat()).json();
        assert_eq!(plan[0]["stages"].as_array().map(Vec::len), Some(stages), "{plan}");
        let done = run(folder.path(), &copy).json();
        assert_eq!(done["intermediate_bytes"], plan[0]["intermediate_bytes"]);
        let peak = done["peak_memory_bytes"].as_u64().unwrap();
        assert!(peak <= MEMORY_BYTES + PROCESS_BYTES, "{name}: {done}");
        assert!(read(&folder.path().join("b")) == values, "{name}");
        fs::remove_dir_all(folder.path().join(name)).unwrap();
        fs::remove_dir_all(folder.path().join("b")).unwrap();
    }
}

#[test]
fn groups_are_copied_with_what_can_be_copied() {
    let folder = hierarchy();
    let target = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["copy", ".", target.path().to_str().unwrap(), "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""));
    let value: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let failed: Vec<&str> =
        value["failed"].as_array().unwrap().iter().map(|failed| failed["path"].as_str().unwrap()).collect();
    assert_eq!((failed, &value["arrays"], &value["groups"]), (vec!["broken", "odd"], &json!(3), &json!(2)));
}

#[test]
fn consolidated_groups_stay_consolidated_in_the_other_format() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create_directory(folder.path().join("a")).unwrap();
    let builder = ArrayBuilder::new(&[6], DataType::Int16).chunk_shape(&[4]);
    builder.create(&store, "x/y").unwrap().write(&"2:".parse().unwrap(), &[1; 8]).unwrap();
    let Node::Group(group) = Node::open_in(&store, "").unwrap() else { return };
    group.consolidate().unwrap();
    run(folder.path(), &["copy", "a", "b", "--zarr-format", "2"]).text();
    assert!(folder.path().join("b/.zmetadata").is_file() && folder.path().join("b/x/y/.zarray").is_file());
    assert_eq!(run(folder.path(), &["diff", "a", "b"]).text(), "");
    assert_eq!(Group::open(folder.path().join("b")).unwrap().zarr_format(), ZarrFormat::V2);
    assert_eq!(run(folder.path(), &["validate", "b", "--json"]).json()["findings"], json!([]));
}

/// Times that a copy is killed.
const KILLS: u32 = 8;

/// Kills a copy again and again, and has it go on, until it is done.
#[test]
fn a_copy_that_is_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    series(folder.path(), "a");
    let arguments =
        ["copy", "a", "b", "--chunks", "1,5,10,10", "--codec", "gzip:9", "--memory", "16MB", "--resume"];
    let written = || fs::read_dir(folder.path().join("b/c")).map_or(0, Iterator::count);
    let (mut killed, mut seen) = (0, 0);
    loop {
        let mut child = command(folder.path(), &arguments).spawn().unwrap();
        // Until something more was written, or all was.
        while child.try_wait().unwrap().is_none() && (written() <= seen || killed == KILLS) {
            std::thread::yield_now();
        }
        seen = written();
        if child.try_wait().unwrap().is_some_and(|status| status.success()) {
            break;
        }
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            break;
        }
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        killed += 1;
        assert!(folder.path().join("b/.swath-copy.json").exists());
        let value: Value =
            serde_json::from_slice(&run(folder.path(), &["validate", "b", "--json"]).stdout).unwrap();
        // Every object is whole; the copy is not.
        assert_eq!(value["damages"], 1, "{value}");
    }
    assert!(0 < killed, "it was never killed");
    assert!(!folder.path().join("b/.swath-copy.json").exists());
    assert_eq!(run(folder.path(), &["diff", "a", "b"]).text(), "");
    // What is complete is not written again.
    let key = folder.path().join("b/c/0/0/0/0");
    let before = fs::metadata(&key).unwrap().modified().unwrap();
    run(folder.path(), &arguments).text();
    assert_eq!(fs::metadata(&key).unwrap().modified().unwrap(), before);
    let other = ["copy", "a", "b", "--chunks", "1,5,20,10", "--resume"];
    assert!(run(folder.path(), &other).error(1).contains("an array with other metadata"));
}

#[test]
fn boxes_that_a_journal_counts_are_not_written_again() {
    let folder = tempfile::tempdir().unwrap();
    series(folder.path(), "a");
    let arguments = ["copy", "a", "b", "--chunks", "1,5,100,100", "--memory", "16MB", "--resume"];
    run(folder.path(), &arguments).text();
    let plan = run(folder.path(), &[&arguments[..], &["--plan", "--json"]].concat()).json();
    let boxes = plan[0]["stages"][0]["boxes"].as_u64().unwrap();
    assert!(1 < boxes, "{plan}");
    assert!(run(folder.path(), &["copy", "b", "b"]).error(1).contains("to itself"));
    // A journal of another copy is no journal of this one.
    fs::write(
        folder.path().join("b/.swath-copy.json"),
        json!({"boxes_done": boxes, "subject": {}}).to_string(),
    )
    .unwrap();
    assert!(run(folder.path(), &arguments).error(1).contains("that of another"));
}

#[test]
fn nothing_is_copied_over_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let array = series(folder.path(), "a.zarr/inner");
    let before = array.read(&"...".parse().unwrap()).unwrap();
    for (source, target) in [
        ("a.zarr/inner", "a.zarr/inner"),
        ("a.zarr/inner", "./a.zarr/inner/"),
        ("a.zarr/inner", "a.zarr"),
        ("a.zarr/inner", "a.zarr/inner/below"),
        ("a.zarr/inner", "."),
    ] {
        for more in [&[][..], &["--overwrite"], &["--overwrite", "--verify"]] {
            let line = run(folder.path(), &[&["copy", source, target], more].concat()).error(1);
            assert!(line.contains("to itself"), "{target}: {line}");
            assert_eq!(array.read(&"...".parse().unwrap()).unwrap(), before, "{target}");
        }
    }
}

#[test]
fn wrong_arguments_are_told() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, part) in [
        (&["copy", "a", "b", "--chunks", "1,0"][..], "at least 1, or `all`"),
        (&["copy", "a", "b", "--codec", "zstd:fast"], "wanted a level"),
        (&["copy", "a", "b", "--codec", "[{"], "no JSON"),
        (&["copy", "a", "b", "--zarr-format", "4"], "wanted 2 or 3"),
        (&["copy", "a", "b", "--resume", "--overwrite"], "--overwrite"),
        (&["copy", "a"], "<TARGET>"),
    ] {
        let line = run(folder.path(), arguments).error(2);
        assert!(line.contains(part), "{line}");
    }
}
