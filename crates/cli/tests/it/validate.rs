//! `swath validate`.

use crate::stored::{array_v3, hierarchy, put};
use crate::swath::run;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use swath::{Array, ArrayBuilder, DataType, Existing, Group, Store, ZarrFormat};

/// An array of 40 by 30 in shards of 20 by 30 of chunks of 10 by 10, every stored byte of it under a checksum.
fn sharded(folder: &Path, name: &str) -> Array {
    let store = Store::directory(folder).unwrap();
    let array = ArrayBuilder::new(&[40, 30], DataType::UInt16)
        .chunk_shape(&[10, 10])
        .shard_shape(&[20, 30])
        .compressors([
            json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}}),
            json!({"name": "crc32c"}),
        ])
        .create(&store, name)
        .unwrap();
    // The chunk at (0, 2) stays what it was: it is not stored.
    let values: Vec<u8> = (0..40_u16)
        .flat_map(|row| {
            (0..30_u16).map(move |column| if row < 10 && 20 <= column { 0 } else { row * 30 + column })
        })
        .flat_map(u16::to_ne_bytes)
        .collect();
    array.write(&"...".parse().unwrap(), &values).unwrap();
    array
}

fn validate(folder: &Path, path: &str) -> Value {
    let ran = run(folder, &["validate", path, "--json"]);
    assert_eq!(ran.stderr, "");
    let value: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let is_sound = value["damages"] == 0;
    assert_eq!(ran.code, Some(if is_sound { 0 } else { 1 }), "{value}");
    value
}

#[test]
fn what_is_sound_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    sharded(folder.path(), "a");
    let text = run(folder.path(), &["validate", "a"]).text();
    assert!(
        text.starts_with("1 array, 11 chunks in 2 objects of ") && text.ends_with(": all sound\n"),
        "{text}"
    );
    let value = validate(folder.path(), ".");
    assert_eq!((&value["groups"], &value["arrays"], &value["findings"]), (&json!(1), &json!(1), &json!([])));
}

#[test]
fn every_flipped_byte_of_a_shard_is_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    sharded(folder.path(), "a");
    let path = folder.path().join("a/c/1/0");
    let sound = fs::read(&path).unwrap();
    // Some bytes of each chunk, and of the index: 6 entries of 16 bytes, and a checksum.
    let index = sound.len() - 100;
    for at in (0..sound.len()).step_by(17).chain([index, index + 9, sound.len() - 1]) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, bytes).unwrap();
        let value = validate(folder.path(), "a");
        assert_eq!(value["damages"], 1, "byte {at}: {value}");
        let finding = &value["findings"][0];
        assert_eq!(finding["object"], "a/c/1/0");
        let message = finding["message"].as_str().unwrap();
        assert_eq!(finding["chunk"].is_null(), index <= at, "byte {at}: {message}");
        assert!(message.contains("wanted") || message.contains("corrupt"), "{message}");
    }
    fs::write(&path, &sound[..sound.len() / 2]).unwrap();
    assert_eq!(validate(folder.path(), "a")["findings"][0]["object"], "a/c/1/0");
}

#[test]
fn every_damaged_chunk_is_named_and_the_rest_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::directory(folder.path()).unwrap();
    let array = ArrayBuilder::new(&[6, 4], DataType::Int16).chunk_shape(&[2, 2]).create(&store, "a").unwrap();
    let values: Vec<u8> = (1..=24_i16).flat_map(i16::to_ne_bytes).collect();
    array.write(&"...".parse().unwrap(), &values).unwrap();
    put(folder.path(), "a/c/1/0", "no zstd");
    put(folder.path(), "a/c/2/1", "");
    put(folder.path(), "a/c/7/0", "beyond the shape");
    put(folder.path(), "a/c/0/0.txt", "no chunk");
    put(folder.path(), "a/extra/file", "no chunk");
    let text = run(folder.path(), &["validate", "a"]).found();
    let lines: Vec<&str> = text.lines().collect();
    for (start, count) in
        [("damage  a/c/1/0 chunk (1, 0): ", 1), ("damage  a/c/2/1 chunk (2, 1): ", 1), ("note  ", 3)]
    {
        assert_eq!(lines.iter().filter(|line| line.starts_with(start)).count(), count, "{text}");
    }
    assert!(text.contains("a/c/7/0: found a chunk beyond the array's shape"), "{text}");
    assert!(
        text.contains("\n1 array, 6 chunks in 6 objects of ") && text.ends_with(": 2 damages, 3 notes\n"),
        "{text}"
    );
}

#[test]
fn raw_chunks_of_a_wrong_length_are_damage_even_where_nobody_reads_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "zarr.json", array_v3("uint8", &[5], &[4], json!(0)).to_string());
    put(folder.path(), "c/0", [1; 4]);
    // One element of the second chunk is within the array; three are not.
    put(folder.path(), "c/1", [1; 2]);
    let value = validate(folder.path(), ".");
    assert_eq!((&value["damages"], &value["findings"][0]["chunk"]), (&json!(1), &json!([1])));
    put(folder.path(), "c/1", [1; 4]);
    assert_eq!(validate(folder.path(), ".")["damages"], 0);
}

#[test]
fn nodes_that_cannot_be_opened_are_damage() {
    let folder = hierarchy();
    let text = run(folder.path(), &["validate", "."]).found();
    assert!(text.contains("damage  ./broken/zarr.json: invalid: "), "{text}");
    assert!(text.contains("damage  ./odd/zarr.json: not supported: codec `imaginary`"), "{text}");
    assert!(text.ends_with(": 2 damages\n"), "{text}");
    let line = run(folder.path(), &["validate", "nowhere"]).error(1);
    assert!(line.starts_with("nowhere: not found"), "{line}");
}

/// A file, written to so many days ago.
fn leave(folder: &Path, name: &str, days: u64) -> PathBuf {
    put(folder, name, "unfinished");
    let path = folder.join(name);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_hours(24 * days)).unwrap();
    path
}

#[test]
fn what_killed_writers_left_is_noted_and_removed_once_nobody_can_be_writing_it() {
    let folder = tempfile::tempdir().unwrap();
    sharded(folder.path(), "a");
    let old = leave(folder.path(), "a/c/1/.swath-part-17-0", 2);
    let partial = leave(folder.path(), "a/c/1/0.0123456789abcdef0123456789abcdef.partial", 2);
    let new = leave(folder.path(), "a/c/0/.swath-part-17-1", 0);
    let text = run(folder.path(), &["validate", "a"]).text();
    assert_eq!(text.matches("killed writer left").count(), 3, "{text}");
    let value = run(folder.path(), &["validate", "a", "--repair", "--json"]).json();
    assert_eq!(value["repaired"].as_array().map(Vec::len), Some(2), "{value}");
    assert!(!old.exists() && !partial.exists() && new.exists());
    assert_eq!(run(folder.path(), &["validate", "a", "--json"]).json()["notes"], 1);
}

#[test]
fn a_lock_that_is_held_is_left_alone_however_old_its_file_is() {
    let folder = tempfile::tempdir().unwrap();
    sharded(folder.path(), "a");
    let path = leave(folder.path(), "a/.swath-part-lock-zarr.json", 2);
    let held = fs::File::open(&path).unwrap();
    held.try_lock().unwrap();
    let value = run(folder.path(), &["validate", "a", "--repair", "--json"]).json();
    assert_eq!((&value["repaired"], &value["notes"]), (&json!([]), &json!(0)), "{value}");
    assert!(path.exists());
    // Whoever held it was killed.
    drop(held);
    assert_eq!(run(folder.path(), &["validate", "a", "--json"]).json()["notes"], 1);
    let value = run(folder.path(), &["validate", "a", "--repair", "--json"]).json();
    assert_eq!(value["repaired"].as_array().map(Vec::len), Some(1), "{value}");
    assert!(!path.exists());
}

fn consolidated(zarr_format: ZarrFormat) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::directory(folder.path()).unwrap();
    let group = Group::create(&store, "", zarr_format, &Map::new(), Existing::Refuse).unwrap();
    let builder = ArrayBuilder::new(&[4], DataType::UInt8).zarr_format(zarr_format);
    builder.create(&store, "a").unwrap();
    builder.create(&store, "in/b").unwrap();
    group.consolidate().unwrap();
    assert_eq!(validate(folder.path(), ".")["damages"], 0);

    builder.create(&store, "c").unwrap();
    let a = Array::open_in(&store, "a").unwrap();
    a.change_attributes(|attributes| {
        attributes.insert("units".to_owned(), json!("K"));
        Ok(())
    })
    .unwrap();
    let value = validate(folder.path(), ".");
    assert_eq!(value["damages"], 2, "{value}");
    let text = run(folder.path(), &["validate", ".", "--repair"]).text();
    assert!(text.contains("repair  .: consolidated metadata written anew"), "{text}");
    let again = Group::open_in(&store, "").unwrap();
    assert_eq!(again.names().unwrap(), ["a", "c", "in"]);
    assert_eq!(again.array("a").unwrap().metadata().attributes()["units"], "K");

    // A node whose only document is the consolidated one would be lost: nothing is written.
    for name in ["c/zarr.json", "c/.zarray", "c/.zattrs"] {
        let _ = fs::remove_file(folder.path().join(name));
    }
    let text = run(folder.path(), &["validate", ".", "--repair"]).found();
    assert!(text.contains("damage  ./c: ") && !text.contains("repair"), "{text}");
}

#[test]
fn consolidated_metadata_that_is_out_of_date_is_rewritten_where_nothing_is_lost() {
    consolidated(ZarrFormat::V3);
    consolidated(ZarrFormat::V2);
}

/// Archives of other writers, where the checkout has them beside it.
#[test]
fn archives_of_others_are_sound() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !data.is_dir() {
        println!("skipped: no archives at {}", data.display());
        return;
    }
    for (path, arrays, chunks) in [
        ("zarr_v3/zarrita_js.zarr", 45, 191),
        ("zarr_v3/webknossos_4d_mag2.zarr", 1, 147),
        ("zarr_v2/ocf_ukv_nwp.zarr", 6, 193),
        ("zarr_v2/zarr_implementations.zarr", 4, 432),
    ] {
        let value = validate(&data, path);
        assert_eq!((&value["arrays"], &value["chunks"]), (&json!(arrays), &json!(chunks)), "{path}");
        assert_eq!(value["findings"], json!([]), "{path}");
    }
}
