//! Several that write the same array at once: threads with engines and stores of their own, and processes.

use crate::written::{Layout, Spec};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use swath_ioengine::{
    CostModel, Engine, EngineConfig, Entry, Error, FetchRequest, Identity, Medium, MediumId, MemoryMedium,
    PutCondition, RemoteSource, RemoteStats, Reply, SimulatedConfig, SimulatedRemote,
};
use swath_zarr_front::{
    Array, ArrayBuilder, DataType, Elements, Existing, Group, Selection, Store, WriteOptions, ZarrFormat,
};

/// Names what a child of this program does, and where.
const TASK: &str = "SWATH_WRITING_TASK";
const PLACE: &str = "SWATH_WRITING_PLACE";
const NUMBER: &str = "SWATH_WRITING_NUMBER";

/// Starts this program again, to do one task in a folder.
fn child(task: &str, place: &Path, number: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "writing_together::a_task", "--nocapture"]);
    command.env(TASK, task).env(PLACE, place).env(NUMBER, number.to_string());
    command.stdout(std::process::Stdio::null()).spawn().unwrap()
}

/// What children do. Does nothing where this is none.
#[test]
fn a_task() {
    let Ok(task) = std::env::var(TASK) else { return };
    let place = std::env::var_os(PLACE).unwrap();
    let number = std::env::var(NUMBER).unwrap().parse().unwrap();
    let store = Store::directory(&place).unwrap();
    // All begin together.
    std::fs::write(Path::new(&place).join(format!("ready-{number}")), "").unwrap();
    while (0..4).any(|number| !Path::new(&place).join(format!("ready-{number}")).exists()) {
        std::thread::yield_now();
    }
    match task.as_str() {
        "append" => append_rows(&store, "a", number),
        "attributes" => add_attributes(&store, "a", number),
        "parts" => write_parts(&store, "a", number),
        other => panic!("an unknown task {other}"),
    }
}

const ROUNDS: u64 = 12;

/// Elements of one object, written one by one.
const PARTS: u64 = 480;

/// Appends rows of one number each, all through one handle.
fn append_rows(store: &Store, path: &str, number: u64) {
    let mut array = Array::open_in(store, path).unwrap();
    for round in 0..ROUNDS {
        let rows = [u8::try_from(1 + number).unwrap(); 15];
        // One to three rows of five.
        let count = 1 + (round + number) % 3;
        let rows = &rows[..usize::try_from(5 * count).unwrap()];
        let rows = Elements::new(rows, &[count, 5], 1).unwrap();
        array = array.append(0, &rows, &WriteOptions::default()).unwrap();
    }
}

fn add_attributes(store: &Store, path: &str, number: u64) {
    let array = Array::open_in(store, path).unwrap();
    for round in 0..ROUNDS {
        let change = |attributes: &mut Map<String, Value>| {
            attributes.insert(format!("{number}-{round}"), json!(round));
            Ok(())
        };
        array.change_attributes(change).unwrap();
    }
}

/// Writes every fourth element, one by one.
fn write_parts(store: &Store, path: &str, number: u64) {
    let array = Array::open_in(store, path).unwrap().with_engine(Engine::new(EngineConfig::default()));
    for place in (number..PARTS).step_by(4) {
        array.write(&place.to_string().parse().unwrap(), &[u8::try_from(place % 251 + 1).unwrap()]).unwrap();
    }
}

fn rows_of(zarr_format: ZarrFormat) -> ArrayBuilder {
    let array = ArrayBuilder::new(&[0, 5], DataType::UInt8).zarr_format(zarr_format);
    // Neither four rows nor three columns divide what is appended.
    array.chunk_shape(&[4, 3])
}

/// What four writers appended is there: as many rows of each as it appended, and every row one writer's.
fn check_rows(array: &Array) {
    let rows = array.read(&Selection::all()).unwrap();
    let mut found = [0; 5];
    for row in rows.as_bytes().chunks(5) {
        assert!(row.iter().all(|element| *element == row[0]), "{row:?}");
        found[usize::from(row[0])] += 1;
    }
    assert_eq!(found, [0, 24, 24, 24, 24]);
}

fn in_threads(stores: &[Store], task: impl Fn(&Store, u64) + Sync) {
    std::thread::scope(|scope| {
        for (number, store) in (0..4).zip(stores.iter().cycle()) {
            let task = &task;
            scope.spawn(move || task(store, number));
        }
    });
}

fn in_processes(task: &str, place: &Path) {
    let children: Vec<Child> = (0..4).map(|number| child(task, place, number)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn what_is_appended_at_once_is_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
    let stores = [
        Store::memory(&MemoryMedium::new()),
        Store::new(remote.medium(), "", "remote"),
        Store::directory(folder.path()).unwrap(),
    ];
    for store in stores {
        for (path, format) in [("v3", ZarrFormat::V3), ("v2", ZarrFormat::V2)] {
            let array = rows_of(format).create(&store, path).unwrap();
            in_threads(std::slice::from_ref(&store), |store, number| append_rows(store, path, number));
            check_rows(&Array::open_in(&store, path).unwrap());
            // A handle that knows nothing of it appends behind the last row all the same.
            let grown =
                array.append(0, &Elements::new(&[9; 5], &[1, 5], 1).unwrap(), &WriteOptions::default());
            assert_eq!(grown.unwrap().shape(), [97, 5]);
        }
    }
    let names = std::fs::read_dir(folder.path().join("v3")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with('.')), "a lock is left");
}

#[test]
fn what_processes_append_at_once_is_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::directory(folder.path()).unwrap();
    rows_of(ZarrFormat::V3).create(&store, "a").unwrap();
    in_processes("append", folder.path());
    check_rows(&Array::open_in(&store, "a").unwrap());
}

#[test]
fn what_processes_write_to_one_object_is_all_there() {
    let plain = ArrayBuilder::new(&[PARTS], DataType::UInt8);
    for array in [plain.clone().chunk_shape(&[PARTS]), plain.chunk_shape(&[40]).shard_shape(&[PARTS])] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::directory(folder.path()).unwrap();
        let array = array.create(&store, "a").unwrap();
        in_processes("parts", folder.path());
        let expected: Vec<u8> = (0..PARTS).map(|place| u8::try_from(place % 251 + 1).unwrap()).collect();
        assert_eq!(array.read(&Selection::all()).unwrap().as_bytes(), expected);
    }
}

#[test]
fn attributes_that_are_changed_at_once_are_all_there() {
    let folder = tempfile::tempdir().unwrap();
    let memory = Store::memory(&MemoryMedium::new());
    let whole = Store::directory(folder.path()).unwrap();
    for format in [ZarrFormat::V3, ZarrFormat::V2] {
        let all_there = |store: &Store| {
            let attributes = Array::open_in(store, "a").unwrap().metadata().attributes().clone();
            assert_eq!(attributes.len(), 48, "{attributes:?}");
            store.remove_node("a").unwrap();
        };
        rows_of(format).create(&memory, "a").unwrap();
        in_threads(std::slice::from_ref(&memory), |store, number| add_attributes(store, "a", number));
        all_there(&memory);
        // The array's own directory is another medium, whose keys are others.
        rows_of(format).create(&whole, "a").unwrap();
        let own = Store::directory(folder.path().join("a")).unwrap();
        in_threads(&[whole.clone(), own], |store, number| {
            let path = if store.name().ends_with("/a") { "" } else { "a" };
            add_attributes(store, path, number);
        });
        all_there(&whole);
        rows_of(format).create(&whole, "a").unwrap();
        in_processes("attributes", folder.path());
        all_there(&whole);
    }
}

/// A handle from before the array grew knows less of the chunk at the edge than is in it.
#[test]
fn handles_of_an_old_shape_drop_nothing() {
    let store = Store::memory(&MemoryMedium::new());
    let plain = ArrayBuilder::new(&[10], DataType::UInt8);
    for (path, array) in [
        ("chunk", plain.clone().chunk_shape(&[4])),
        ("shard", plain.clone().chunk_shape(&[4]).shard_shape(&[8])),
        ("one", plain.chunk_shape(&[64])),
    ] {
        let old = array.create(&store, path).unwrap();
        old.write(&Selection::all(), &[1; 10]).unwrap();
        let grown = Array::open_in(&store, path).unwrap();
        let grown =
            grown.append(0, &Elements::new(&[2; 3], &[3], 1).unwrap(), &WriteOptions::default()).unwrap();
        old.write(&"8:".parse().unwrap(), &[3; 2]).unwrap();
        let expected = [1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 2, 2, 2];
        assert_eq!(grown.read(&Selection::all()).unwrap().as_bytes(), expected, "{path}");
        old.write(&Selection::all(), &[0; 10]).unwrap();
        assert_eq!(grown.read(&"10:".parse().unwrap()).unwrap().as_bytes(), [2; 3], "{path}");
    }
}

/// A chunk at the edge that nobody can decode is replaced where all of it is written that is seen.
#[test]
fn damage_at_the_edge_is_written_over() {
    let memory = MemoryMedium::new();
    let store = Store::memory(&memory);
    let array = ArrayBuilder::new(&[3], DataType::UInt8).chunk_shape(&[4]).create(&store, "").unwrap();
    for damage in [vec![0xff; 9], vec![0xff; 100_000]] {
        memory.put("c/0", damage);
        assert!(array.write(&"1".parse().unwrap(), &[5]).is_err());
        array.write(&Selection::all(), &[1, 2, 3]).unwrap();
        assert_eq!(array.read(&Selection::all()).unwrap().as_bytes(), [1, 2, 3]);
    }
}

/// Somebody else, who is faster: puts an object just before another is put or removed.
struct Faster {
    inner: Arc<dyn RemoteSource>,
    bytes: Bytes,
    key: &'static str,
    is_done: AtomicBool,
}

impl Faster {
    fn be(&self, key: &str) {
        if key == self.key && !self.is_done.swap(true, Ordering::Relaxed) {
            self.inner.put(key, self.bytes.clone(), &PutCondition::Always).unwrap();
        }
    }
}

impl RemoteSource for Faster {
    fn id(&self) -> MediumId {
        self.inner.id()
    }
    fn describe(&self) -> String {
        self.inner.describe()
    }
    fn cost(&self) -> CostModel {
        self.inner.cost()
    }
    fn fetch(&self, request: FetchRequest, reply: Reply) {
        self.inner.fetch(request, reply);
    }
    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        self.inner.list(prefix)
    }
    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        self.be(key);
        self.inner.put(key, bytes, condition)
    }
    fn delete(&self, key: &str) -> Result<(), Error> {
        self.be(key);
        self.inner.delete(key)
    }
    fn stats(&self) -> RemoteStats {
        self.inner.stats()
    }
}

#[test]
fn a_chunk_that_became_empty_is_not_removed_with_what_others_wrote() {
    let plain = ArrayBuilder::new(&[8], DataType::UInt8).compressors([]);
    for array in [plain.clone().chunk_shape(&[8]), plain.chunk_shape(&[4]).shard_shape(&[8])] {
        let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
        let store = Store::new(remote.medium(), "", "remote");
        let array = array.create(&store, "").unwrap();
        array.write(&Selection::all(), &[0, 0, 0, 0, 0, 0, 0, 9]).unwrap();
        let theirs = Engine::global()
            .read_object(
                &swath_ioengine::ObjectRef { medium: remote.medium(), key: Arc::from("c/0") },
                swath_ioengine::ByteRange::Whole { len_max: 1 << 20 },
            )
            .unwrap();
        array.write(&Selection::all(), &[1, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        let Medium::Remote(inner) = remote.medium() else { panic!("remote") };
        let faster = Faster { inner, bytes: theirs, key: "c/0", is_done: AtomicBool::new(false) };
        let store = Store::new(Medium::Remote(Arc::new(faster)), "", "remote");
        let array = Array::open_in(&store, "").unwrap();
        // By itself it would leave nothing but the fill value.
        array.write(&"0".parse().unwrap(), &[0]).unwrap();
        assert_eq!(array.read(&Selection::all()).unwrap().as_bytes(), [0, 0, 0, 0, 0, 0, 0, 9]);
        // And where nobody was faster it does.
        array.write(&"7".parse().unwrap(), &[0]).unwrap();
        assert_eq!(array.read(&Selection::all()).unwrap().as_bytes(), [0; 8]);
    }
}

/// Another machine, that makes an array and consolidates between this one's look at what there is and its writing that down.
struct Meanwhile {
    inner: Arc<dyn RemoteSource>,
    id: MediumId,
    theirs: Store,
    is_done: AtomicBool,
}

impl RemoteSource for Meanwhile {
    fn id(&self) -> MediumId {
        self.id
    }
    fn describe(&self) -> String {
        self.inner.describe()
    }
    fn cost(&self) -> CostModel {
        self.inner.cost()
    }
    fn fetch(&self, request: FetchRequest, reply: Reply) {
        self.inner.fetch(request, reply);
    }
    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        let found = self.inner.list(prefix);
        if !self.is_done.swap(true, Ordering::Relaxed) {
            ArrayBuilder::new(&[4], DataType::UInt8).create(&self.theirs, "theirs").unwrap();
            Group::open_in(&self.theirs, "").unwrap().consolidate().unwrap();
        }
        found
    }
    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        self.inner.put(key, bytes, condition)
    }
    fn delete(&self, key: &str) -> Result<(), Error> {
        self.inner.delete(key)
    }
    fn stats(&self) -> RemoteStats {
        self.inner.stats()
    }
}

#[test]
fn what_is_consolidated_at_once_is_all_there() {
    let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
    let theirs = Store::new(remote.medium(), "", "theirs");
    Group::create(&theirs, "", ZarrFormat::V3, &Map::new(), Existing::Refuse).unwrap();
    let Medium::Remote(inner) = remote.medium() else { panic!("remote") };
    let meanwhile =
        Meanwhile { inner, id: MediumId::unique(), theirs: theirs.clone(), is_done: AtomicBool::new(false) };
    let store = Store::new(Medium::Remote(Arc::new(meanwhile)), "", "own");
    ArrayBuilder::new(&[4], DataType::UInt8).create(&store, "own").unwrap();
    Group::open_in(&store, "").unwrap().consolidate().unwrap();
    let group = Group::open_in(&theirs, "").unwrap();
    assert!(group.metadata().consolidated().is_some());
    assert!(group.get("own").is_ok() && group.get("theirs").is_ok());
}

#[test]
fn numbers_that_json_has_not_stay_what_they_were() {
    let memory = MemoryMedium::new();
    let store = Store::memory(&memory);
    Group::create(&store, "", ZarrFormat::V2, &Map::new(), Existing::Refuse).unwrap();
    memory.put(".zattrs", &br#"{"missing_value": NaN, "range": [-Infinity, Infinity], "text": "NaN"}"#[..]);
    let change = |attributes: &mut Map<String, Value>| {
        attributes.insert("units".to_owned(), json!("K"));
        Ok(())
    };
    Group::open_in(&store, "").unwrap().change_attributes(change).unwrap();
    let whole = swath_ioengine::ByteRange::Whole { len_max: 1 << 20 };
    let stored = Engine::global().read_object(&memory.object(".zattrs"), whole).unwrap();
    let stored = String::from_utf8(stored.to_vec()).unwrap();
    let plain = stored.replace([' ', '\n'], "");
    for expected in [r#""missing_value":NaN"#, "[-Infinity,Infinity]", r#""text":"NaN""#, r#""units":"K""#] {
        assert!(plain.contains(expected), "{stored}");
    }
}

/// Inner shards may be longer than all their chunks: others leave gaps between them.
#[test]
fn inner_shards_with_gaps_are_kept() {
    for seed in 1..20 {
        let spec = Spec::sharded(&[16, 16], &[16, 16], &[&[8, 8], &[2, 2]]);
        let written = Spec { layout: Layout::Random, seed, ..spec }.write();
        let array = Array::open_in(&Store::memory(&written.memory()), "").unwrap();
        let mut expected = array.read(&Selection::all()).unwrap().into_bytes();
        assert_eq!(expected, written.elements);
        array.write(&"3, 5".parse().unwrap(), &[0xab, 0xcd]).unwrap();
        expected[2 * (3 * 16 + 5)..][..2].copy_from_slice(&[0xab, 0xcd]);
        assert!(array.read(&Selection::all()).unwrap().as_bytes() == expected, "seed {seed}");
    }
}
