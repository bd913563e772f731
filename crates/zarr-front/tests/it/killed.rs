//! Writers that are killed at random moments: whatever they were at, every object is whole, the old one or the new one.

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use swath_zarr_front::{
    Array, ArrayBuilder, AxisSelection, DataType, Elements, Existing, Selection, Severity, Store,
    ValidateOptions, WriteOptions,
};

/// Names what a child of this program writes, and where.
const TASK: &str = "SWATH_KILLED_TASK";
const PLACE: &str = "SWATH_KILLED_PLACE";

/// What writers are killed at, each in its turn.
const TASKS: [&str; 5] = ["plain", "sharded", "partial", "resize", "append"];

/// What a child says once it writes.
const WRITING: &str = "killed: writing";

/// Starts this program again, to write until it is killed.
fn writer(task: &str, place: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "killed::a_writer", "--nocapture"]);
    command.env(TASK, task).env(PLACE, place).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(WRITING)), "the writer of {task} came to an end");
    child
}

/// What the child does. Does nothing where this is none.
#[test]
fn a_writer() {
    let Ok(task) = std::env::var(TASK) else { return };
    let store = Store::directory(std::env::var_os(PLACE).unwrap()).unwrap();
    let mut array = Array::open_in(&store, &task).unwrap();
    let first = last_value(&task, &array);
    println!("{WRITING}");
    for value in (1..=250).cycle().skip(usize::from(first)) {
        array = write(&task, array, value);
    }
}

/// The value that is to be followed: appended rows count on.
fn last_value(task: &str, array: &Array) -> u8 {
    let Some(last) = array.shape()[0].checked_sub(1).filter(|_| task == "append") else { return 0 };
    array.read(&format!("{last}").parse().unwrap()).unwrap().as_bytes()[0]
}

const ROWS: u64 = 64;
const COLUMNS: u64 = 48;

/// Rows that are written in part, of objects that are larger.
const PART: &str = "8:40";

/// Rows that are appended at a time.
const APPENDED: u64 = 3;

/// The shorter length of the array that is resized: where objects meet, as what lies beyond it shows again.
const SHORT: u64 = 32;

fn write(task: &str, array: Array, value: u8) -> Array {
    let fill = |selection: &str| {
        let selection: Selection = selection.parse().unwrap();
        array.write_from(&selection, &Elements::one(&[value]), &WriteOptions::default()).unwrap();
    };
    match task {
        "partial" => fill(PART),
        "resize" => {
            let length = if value.is_multiple_of(2) { ROWS } else { SHORT };
            let array = array.resize(&[length, COLUMNS]).unwrap();
            array.write_from(&Selection::all(), &Elements::one(&[value]), &WriteOptions::default()).unwrap();
            return array;
        }
        "append" => {
            let rows = vec![value; usize::try_from(APPENDED * COLUMNS).unwrap()];
            let rows = Elements::new(&rows, &[APPENDED, COLUMNS], 1).unwrap();
            // Not for ever: the array shall not fill the disk.
            let array = if 3000 < array.shape()[0] { array.resize(&[0, COLUMNS]).unwrap() } else { array };
            return array.append(0, &rows, &WriteOptions::default()).unwrap();
        }
        _ => fill("..."),
    }
    array
}

fn create(task: &str, store: &Store) {
    let length = if task == "append" { 0 } else { ROWS };
    let array = ArrayBuilder::new(&[length, COLUMNS], DataType::UInt8).existing(Existing::Replace);
    let array = match task {
        "plain" => array.chunk_shape(&[16, 16]),
        // Appended rows end anywhere in these.
        "resize" | "append" => array.chunk_shape(&[8, 16]).shard_shape(&[16, 32]),
        _ => array.chunk_shape(&[8, 16]).shard_shape(&[32, 32]),
    };
    let array = array.create(store, task).unwrap();
    if length != 0 {
        array.write_from(&Selection::all(), &Elements::one(&[251]), &WriteOptions::default()).unwrap();
    }
}

/// What a writer left is whole: every stored object decodes, and holds what one write left of it.
fn check(task: &str, store: &Store) {
    let array = Array::open_in(store, task).unwrap();
    let mut damage = Vec::new();
    array.validate(&ValidateOptions::default(), &mut |finding| damage.push(finding)).unwrap();
    // What lies beyond the shape is no damage: the writer was killed before it had given or taken that.
    damage.retain(|finding| finding.severity == Severity::Damage);
    assert!(damage.is_empty(), "{task}: {damage:?}");
    let uniform = |selection: &Selection| {
        let read = array.read(selection).unwrap();
        let values: std::collections::BTreeSet<u8> = read.as_bytes().iter().copied().collect();
        assert!(values.len() <= 1, "{task}, {selection}: {values:?} in {:?}", array.shape());
        values.first().copied()
    };
    if task == "append" {
        // As many rows as whole appends, each of the value behind the one before it.
        assert_eq!(array.shape()[0] % APPENDED, 0);
        for first in (0..array.shape()[0]).step_by(3) {
            let value = uniform(&format!("{first}:{}", first + APPENDED).parse().unwrap()).unwrap();
            let before = first
                .checked_sub(1)
                .map_or(value, |before| uniform(&before.to_string().parse().unwrap()).unwrap() % 250 + 1);
            assert_eq!(value, before, "row {first}");
        }
        return;
    }
    let grid = array.stored_grid().to_vec();
    for row in 0..grid[0] {
        for column in 0..grid[1] {
            let block = [row, column].map(|at| AxisSelection::Index(i64::try_from(at).unwrap()));
            let block = Selection::blocks(block.to_vec());
            if task == "partial" {
                check_part(&array, &block, row);
            } else {
                uniform(&block);
            }
        }
    }
    assert!(task != "resize" || [SHORT, ROWS].contains(&array.shape()[0]), "{:?}", array.shape());
}

/// Of an object that was written in part: the part is one write's, and the rest what it was.
fn check_part(array: &Array, block: &Selection, row: u64) {
    let read = array.read(block).unwrap();
    let width = usize::try_from(read.shape()[1]).unwrap();
    let mut written = std::collections::BTreeSet::<u8>::new();
    for (number, values) in (row * 32..).zip(read.as_bytes().chunks(width)) {
        match (8..40).contains(&number) {
            true => written.extend(values),
            false => assert!(values.iter().all(|value| *value == 251), "row {number}: {values:?}"),
        }
    }
    assert_eq!(written.len(), 1, "{written:?}");
}

/// `SWATH_KILLS` says how many writers are killed, `SWATH_SEED` when.
#[test]
fn killed_writers_leave_whole_objects() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (kills, seed) = (number("SWATH_KILLS").unwrap_or(12), number("SWATH_SEED").unwrap_or(1));
    println!("SWATH_SEED={seed}");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let folder = tempfile::tempdir().unwrap();
    let store = Store::directory(folder.path()).unwrap();
    TASKS.iter().for_each(|task| create(task, &store));
    for (_, task) in (0..kills).zip(TASKS.iter().cycle()) {
        let mut writer = writer(task, folder.path());
        // The moment of death, not something that is waited for.
        std::thread::sleep(Duration::from_micros(random.next_u64() % 30_000));
        writer.kill().unwrap();
        writer.wait().unwrap();
        check(task, &store);
    }
}
