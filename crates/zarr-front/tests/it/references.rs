//! Reference sets: keys that are byte ranges of other files, on any medium.

use crate::block_on::block_on;
use crate::contained::specs;
use crate::corpus;
use crate::written::{Spec, Written, rng};
use proptest::prelude::Rng;
use serde_json::{Map, Value, json};
use std::path::Path;
use swath_ioengine::{CloudOptions, MemoryMedium};
use swath_zarr_front::{Array, Error, ErrorKind, Group, ReferenceTargets, Selection, Store};

/// An array whose objects lie in a few files, one behind the other with gaps, and the references to them.
struct Scattered {
    files: Vec<Vec<u8>>,
    references: Map<String, Value>,
}

const FILES: usize = 3;

/// Scatters the objects of an array; metadata documents are texts of their own. `url` names a file.
fn scatter(written: &Written, seed: u64, url: impl Fn(usize) -> String) -> Scattered {
    let mut random = rng(seed);
    let mut scattered = Scattered { files: vec![Vec::new(); FILES], references: Map::new() };
    let mut below = |bound: u64| usize::try_from(random.next_u64() % bound).unwrap();
    for (key, bytes) in &written.objects {
        let reference = match (key.starts_with('.') || key.ends_with(".json"), below(10)) {
            (true, _) => json!(String::from_utf8(bytes.clone()).unwrap()),
            (_, 0) => json!(format!("base64:{}", base64(bytes))),
            (_, 1) => {
                scattered.files.push(bytes.clone());
                json!([url(scattered.files.len() - 1)])
            }
            _ => {
                let number = below(FILES as u64);
                let gap = below(50);
                let file = &mut scattered.files[number];
                file.extend(std::iter::repeat_n(0xee, gap));
                let offset = file.len();
                file.extend(bytes);
                json!([url(number), offset, bytes.len()])
            }
        };
        scattered.references.insert(key.clone(), reference);
    }
    scattered
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encode = |group: &[u8]| -> Vec<char> {
        let len = group.len();
        let bits = (0..3).fold(0u32, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        let digit = |at: usize| match at <= len {
            true => char::from(DIGITS[usize::try_from(bits >> (18 - 6 * at) & 63).unwrap()]),
            false => '=',
        };
        (0..4).map(digit).collect()
    };
    let groups: Vec<Vec<char>> = bytes.chunks(3).map(encode).collect();
    groups.concat().into_iter().collect()
}

fn open(references: &Value, targets: ReferenceTargets) -> Result<Array, Error> {
    let store = Store::references(references.to_string().as_bytes(), targets, "refs")?;
    Array::open_in(&store, "")
}

fn check(array: &Array, written: &Written, what: &str) {
    let texts = [":", "1:5, 3:9", "::-2, 5", "7, 15"];
    let selections: Vec<Selection> = texts.iter().map(|text| text.parse().unwrap()).collect();
    for selection in &selections {
        let read = array.read(selection).unwrap_or_else(|error| panic!("{what}: [{selection}]: {error}"));
        assert_eq!(read.as_bytes(), written.select(selection), "{what}: [{selection}]");
    }
    let read = block_on(array.read_async(&Selection::all())).unwrap();
    assert_eq!(read.as_bytes(), written.select(&Selection::all()), "{what}: async");
}

fn write(folder: &Path, scattered: &Scattered) {
    for (number, bytes) in scattered.files.iter().enumerate() {
        std::fs::write(folder.join(format!("file {number}.bin")), bytes).unwrap();
    }
}

#[test]
fn ranges_of_local_files_are_read() {
    for (number, spec) in specs().into_iter().enumerate() {
        let written = spec.write();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap().to_owned();
        let urls: [&dyn Fn(usize) -> String; 3] =
            [&|file| format!("file {file}.bin"), &|file| format!("{root}/file {file}.bin"), &|file| {
                format!("file://{root}/file {file}.bin")
            }];
        for (seed, url) in (0u64..).zip(urls) {
            let what = format!("spec {number}, {}", url(0));
            let scattered = scatter(&written, seed, url);
            write(folder.path(), &scattered);
            let document = json!({"version": 1, "refs": scattered.references});
            for document in [Value::Object(scattered.references.clone()), document] {
                let file = folder.path().join("refs.json");
                std::fs::write(&file, document.to_string()).unwrap();
                check(&Array::open(&file).unwrap(), &written, &what);
                check(&Array::open_in(&Store::path(&file).unwrap(), "").unwrap(), &written, &what);
                let targets = ReferenceTargets::new().with_folder(&root);
                check(&open(&document, targets).unwrap(), &written, &what);
            }
        }
    }
}

#[test]
fn ranges_of_other_media_are_read() {
    let memory = MemoryMedium::named("references").unwrap();
    for spec in specs() {
        let written = spec.write();
        let scattered = scatter(&written, 9, |file| format!("memory://references/{{{{dir}}}}/{file}"));
        for (number, bytes) in scattered.files.iter().enumerate() {
            memory.put(&format!("data/{number}"), bytes.clone());
        }
        let document = json!({"version": 1, "templates": {"dir": "data"}, "refs": scattered.references});
        check(&open(&document, ReferenceTargets::default()).unwrap(), &written, "memory");
        memory.put("refs.json", document.to_string());
        let store = Store::open("memory://references/refs.json", &CloudOptions::new()).unwrap();
        check(&Array::open_in(&store, "").unwrap(), &written, "memory, by URL");
        memory.put("refs", document.to_string());
        let store = Store::open("reference::memory://references/refs", &CloudOptions::new()).unwrap();
        check(&Array::open_in(&store, "").unwrap(), &written, "memory, by scheme");
        let relative = scatter(&written, 9, |file| format!("data/{file}"));
        memory.put("beside.json", Value::Object(relative.references).to_string());
        let store = Store::open("memory://references/beside.json", &CloudOptions::new()).unwrap();
        check(&Array::open_in(&store, "").unwrap(), &written, "memory, relative");
    }
}

/// Chunks of one file are planned together, so that neighbours are one read.
#[test]
fn neighbours_in_a_file_are_merged() {
    use swath_ioengine::{Engine, EngineConfig};
    let written = Spec { compressor: Some("zstd"), ..Spec::plain(&[64, 64], &[4, 4]) }.write();
    let (mut file, mut references) = (Vec::new(), Map::new());
    for (key, bytes) in &written.objects {
        let offset = file.len();
        file.extend(bytes);
        references.insert(key.clone(), json!(["a.bin", offset, bytes.len()]));
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.bin"), file).unwrap();
    let targets = ReferenceTargets::new().with_folder(folder.path().to_str().unwrap());
    let engine = Engine::new(EngineConfig::default());
    let array = open(&Value::Object(references), targets).unwrap().with_engine(engine.clone());
    let read = array.read(&Selection::all()).unwrap();
    assert_eq!(read.as_bytes(), written.elements);
    let stats = engine.stats();
    assert_eq!(stats.logical_reads, 256);
    assert_eq!(stats.windows, 2, "128 chunks each");
}

#[test]
fn generators_make_keys() {
    let written = Spec::plain(&[8, 16], &[2, 4]).write();
    let memory = MemoryMedium::named("generated").unwrap();
    let chunk = |row: usize, column: usize| written.objects[&format!("c/{row}/{column}")].clone();
    for row in 0..4 {
        memory
            .put(&format!("row_{row}"), (0..4).map(|column| chunk(row, column)).collect::<Vec<_>>().concat());
    }
    let document = json!({
        "version": 1,
        "templates": {"file": "memory://generated/row_{{number}}"},
        "gen": [{
            "key": "c/{{row}}/{{column}}", "url": "{{file(number=row)}}",
            "offset": "{{ column * 16 }}", "length": "16",
            "dimensions": {"row": {"stop": 4}, "column": [0, 1, 2, 3]},
        }],
        "refs": {"zarr.json": serde_json::from_slice::<Value>(&written.objects["zarr.json"]).unwrap()},
    });
    check(&open(&document, ReferenceTargets::default()).unwrap(), &written, "generated");
}

#[test]
fn what_is_not_there_is_an_error_and_not_a_fill_value() {
    let written = Spec::plain(&[8, 16], &[8, 16]).write();
    let document = String::from_utf8(written.objects["zarr.json"].clone()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("short"), [0; 10]).unwrap();
    let root = folder.path().to_str().unwrap();
    let sharded = Spec::sharded(&[8, 16], &[8, 16], &[&[2, 4]]).write();
    let sharded = String::from_utf8(sharded.objects["zarr.json"].clone()).unwrap();
    for document in [document, sharded] {
        for (url, kind) in [
            ("none", ErrorKind::Io),
            ("short", ErrorKind::Corrupt),
            ("memory://references/none", ErrorKind::Io),
            ("ftp://host/a", ErrorKind::Unsupported),
            ("zip://a::b.zip", ErrorKind::Unsupported),
        ] {
            let references = json!({"zarr.json": document, "c/0/0": [url, 0, 256]});
            let targets = ReferenceTargets::new().with_folder(root);
            let error = open(&references, targets).unwrap().read(&Selection::all()).unwrap_err();
            assert_eq!(error.kind(), kind, "{url}: {error}");
        }
        let array = open(&json!({"zarr.json": document}), ReferenceTargets::default()).unwrap();
        let read = array.read(&"0, :2".parse().unwrap()).unwrap();
        assert_eq!(read.as_bytes(), [7, 0, 7, 0]);
    }
}

/// Whatever stands where in a document.
#[test]
fn documents_of_every_form_are_read() {
    let written = Spec::plain(&[8, 16], &[8, 16]).write();
    let metadata = String::from_utf8(written.objects["zarr.json"].clone()).unwrap();
    let tree: Value = serde_json::from_str(&metadata).unwrap();
    MemoryMedium::named("forms").unwrap().put("a", written.objects["c/0/0"].clone());
    let targets = || ReferenceTargets::new().with_default("memory://forms/a");
    let len = written.elements.len();
    for document in [
        json!({"refs": {"zarr.json": tree, "c/0/0": ["{{u}}/a"]}, "templates": {"u": "memory://forms"}, "version": 1}),
        json!({"version": 1, "refs": {"zarr.json": metadata, "c/0/0": [null, 0, len]}, "source": 5, "other": ["?"]}),
        json!({"version": 1, "templates": null, "gen": null, "refs": {"zarr.json": metadata, "c/0/0": [null]}}),
        json!({"zarr.json": tree, "c/0/0": ["memory://forms/a", 0, len]}),
        json!({"refs": {"zarr.json": tree, "c/0/0": ["memory://forms/a", 0, len]}}),
    ] {
        check(&open(&document, targets()).unwrap(), &written, &document.to_string());
    }
    let text = format!(
        "\u{feff}{{\"a\": \"first\", \"zarr.json\": {metadata}, \"c/0/0\": [null, 0, {len}], \"a\": {{\"x\": NaN}}}}"
    );
    let store = Store::references(text.as_bytes(), targets(), "refs").unwrap();
    check(&Array::open_in(&store, "").unwrap(), &written, "bare NaN, a key twice");
}

/// A few hundred bytes do not make memory or time run out.
#[test]
fn what_documents_ask_for_is_bounded() {
    let long = "x".repeat(1000);
    let calls = "{{f(a=1)}}".repeat(60);
    let name = "n".repeat(100_000);
    for document in [
        json!({"version": 1, "gen": [{"key": "a", "url": "u", "dimensions": {name: [1], "i": {"stop": 1 << 22}}}]}),
        json!({"version": 1, "gen": [{"key": "{{i}}", "url": "u", "dimensions": {"i": {"stop": 1 << 30}, "j": []}}]}),
        json!({"version": 1, "gen": [{"key": "{{i}}", "url": "u", "dimensions": {"i": {"stop": 1 << 23}}}]}),
        json!({"version": 1, "gen": [
            {"key": format!("{long}{{{{i}}}}"), "url": "u", "dimensions": {"i": {"stop": 1 << 22}}},
        ]}),
        json!({"version": 1, "templates": {"f": format!("{long}{{{{a}}}}")}, "gen": [
            {"key": "{{i}}", "url": calls, "dimensions": {"i": {"stop": 1 << 20}}},
        ]}),
    ] {
        match Store::references(document.to_string().as_bytes(), ReferenceTargets::default(), "refs") {
            // One of the dimensions has nothing.
            Ok(_) => assert!(document.to_string().contains("\"j\":[]")),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
        }
    }
}

/// References lead to files and not to references: a document that names itself is bytes like any other.
#[test]
fn references_to_themselves_end() {
    let memory = MemoryMedium::named("cycle").unwrap();
    let metadata = Spec::plain(&[8, 16], &[8, 16]).write().objects["zarr.json"].clone();
    let metadata = String::from_utf8(metadata).unwrap();
    let document = json!({"zarr.json": metadata, "c/0/0": ["memory://cycle/refs.json", 0, 256]});
    memory.put("refs.json", document.to_string());
    let store = Store::open("memory://cycle/refs.json", &CloudOptions::new()).unwrap();
    let read = Array::open_in(&store, "").unwrap().read(&Selection::all()).unwrap();
    assert_eq!(read.as_bytes()[..5], document.to_string().as_bytes()[..5]);
    let document = json!({"zarr.json": ["memory://cycle/whole.json"]});
    memory.put("whole.json", document.to_string());
    let store = Store::open("memory://cycle/whole.json", &CloudOptions::new()).unwrap();
    assert_eq!(Array::open_in(&store, "").unwrap_err().kind(), ErrorKind::Invalid);
}

/// Local files are not for publishers of references to choose.
#[test]
fn references_at_a_url_lead_to_no_local_file() {
    let metadata = Spec::plain(&[8, 16], &[8, 16]).write().objects["zarr.json"].clone();
    let metadata = String::from_utf8(metadata).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, [1; 256]).unwrap();
    let memory = MemoryMedium::named("published").unwrap();
    let path = file.to_str().unwrap();
    for url in
        [path.to_owned(), format!("file://{path}"), format!("local://{path}"), format!("FILE://{path}")]
    {
        let document = json!({"zarr.json": metadata, "c/0/0": [url, 0, 256]});
        memory.put("refs.json", document.to_string());
        let place = "memory://published/refs.json";
        let store = Store::open(place, &CloudOptions::new()).unwrap();
        let error = Array::open_in(&store, "").unwrap().read(&Selection::all()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{url}: {error}");
        let targets = ReferenceTargets::new().with_scheme("file");
        let store = Store::open_references(place, &CloudOptions::new(), targets).unwrap();
        let read = Array::open_in(&store, "").unwrap().read(&Selection::all());
        assert_eq!(read.is_ok(), !url.starts_with("local"), "{url}");
    }
}

/// A document that nothing stands before is as far as any other, and so is one for which a local folder is named.
#[test]
fn references_at_the_root_of_a_url_lead_to_no_local_file() {
    let metadata = Spec::plain(&[8, 16], &[8, 16]).write().objects["zarr.json"].clone();
    let metadata = String::from_utf8(metadata).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), [1; 256]).unwrap();
    let root = folder.path().to_str().unwrap();
    let memory = MemoryMedium::named("rooted").unwrap();
    memory.put("data", vec![2; 256]);
    let read = |url: &str, folder: Option<&str>| {
        memory.put("", json!({"zarr.json": metadata, "c/0/0": [url, 0, 256]}).to_string());
        let targets = folder.into_iter().fold(ReferenceTargets::new(), ReferenceTargets::with_folder);
        let store = Store::open_references("reference::memory://rooted", &CloudOptions::new(), targets)?;
        Ok(Array::open_in(&store, "")?.read(&Selection::all())?.as_bytes()[0])
    };
    let refused = |read: Result<u8, Error>| read.unwrap_err().kind();
    for url in [format!("{root}/secret"), format!("file://{root}/secret"), format!("file:{root}/secret")] {
        for folder in [None, Some(root), Some(&*format!("file://{root}")), Some("")] {
            assert_eq!(refused(read(&url, folder)), ErrorKind::Unsupported, "{url} from {folder:?}");
        }
    }
    for folder in [root.to_owned(), format!("file://{root}")] {
        assert_eq!(refused(read("secret", Some(&folder))), ErrorKind::Unsupported, "{folder}");
        let document = json!({"zarr.json": metadata, "c/0/0": ["secret", 0, 256]});
        for url in ["secret", &*format!("{root}/secret")] {
            let document = json!({"zarr.json": metadata, "c/0/0": [url, 0, 256]});
            let array = open(&document, ReferenceTargets::new().with_folder(&folder)).unwrap();
            assert_eq!(array.read(&Selection::all()).unwrap().as_bytes()[0], 1, "{url} from {folder}");
        }
        memory.put("", document.to_string());
        let targets = ReferenceTargets::new().with_folder(&folder).with_scheme("file");
        let store = Store::open_references("reference::memory://rooted", &CloudOptions::new(), targets);
        let read = Array::open_in(&store.unwrap(), "").unwrap().read(&Selection::all()).unwrap();
        assert_eq!(read.as_bytes()[0], 1, "{folder}, told that targets are files");
    }
    assert_eq!(read("data", None).unwrap(), 2);
}

/// What is opened again from a recipe reads the same targets.
#[test]
fn references_of_told_targets_have_no_recipe() {
    let memory = MemoryMedium::named("recipes").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("refs.json");
    memory.put("refs.json", "{}");
    std::fs::write(&file, "{}").unwrap();
    let mut options = CloudOptions::new();
    options.set("region", "x").unwrap();
    for url in ["memory://recipes/refs.json", file.to_str().unwrap()] {
        let open = |targets| Store::open_references(url, &CloudOptions::new(), targets).unwrap();
        assert_eq!(open(ReferenceTargets::new()).recipe().unwrap().url, url);
        for told in [
            ReferenceTargets::new().with_folder("memory://elsewhere"),
            ReferenceTargets::new().with_scheme("memory"),
            ReferenceTargets::new().with_default("memory://elsewhere/a"),
            ReferenceTargets::new().with_options(options.clone()),
        ] {
            assert_eq!(open(told).recipe(), None, "{url}");
        }
    }
}

#[test]
fn what_are_no_references_is_refused() {
    let refused = |document: &Value| {
        let text = document.to_string();
        Store::references(text.as_bytes(), ReferenceTargets::default(), "refs").unwrap_err().kind()
    };
    let generator = |dimensions: Value| json!({"version": 1, "gen": [{"key": "{{i}}", "url": "u", "dimensions": dimensions}], "refs": {}});
    for document in [
        json!([]),
        json!({"a": 1}),
        json!({"a": []}),
        json!({"a": ["u", 1]}),
        json!({"a": ["u", -1, 2]}),
        json!({"a": ["u", u64::MAX, 1]}),
        json!({"a": "base64:?"}),
        json!({"version": 1, "refs": []}),
        json!({"version": 1, "templates": {"u": 1}}),
        json!({"version": 1, "templates": {"u": "x"}, "refs": {"a": ["{{v}}"]}}),
        json!({"version": 1, "gen": [{"key": "a", "url": "u"}]}),
        json!({"version": 1, "gen": [{"key": "a", "url": "u", "offset": "1", "dimensions": {}}]}),
        generator(json!({"i": {"stop": 3, "step": 0}})),
        generator(json!({"i": {"start": 3}})),
    ] {
        assert_eq!(refused(&document), ErrorKind::Invalid, "{document}");
    }
    for document in [
        json!({"version": 2, "refs": {}}),
        json!({"version": 1, "templates": {"u": "x"}, "refs": {"a": ["{{u | upper}}"]}}),
        generator(json!({"i": {"stop": i64::MAX}})),
        generator(json!({"i": {"stop": 10_000}, "j": {"stop": 10_000}})),
    ] {
        assert_eq!(refused(&document), ErrorKind::Unsupported, "{document}");
    }
}

/// The sample sets of others: every node opens or says why not, and what they hold themselves reads.
#[test]
fn the_samples_of_others_open() {
    let Some(root) = corpus::root() else { return };
    let mut nodes = 0;
    for file in corpus::files(&root.join("kerchunk_refs/xarray_data")) {
        let group = Group::open(&file).unwrap();
        for (name, node) in group.walk().unwrap() {
            match node {
                Ok(_) => nodes += 1,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}: {error}"),
            }
        }
        let time = group.array("time").unwrap().read(&Selection::all()).unwrap();
        assert_ne!(time.as_slice::<i64>().unwrap(), [0]);
    }
    assert!(0 < nodes);
}
