//! Icechunk repositories, written by icechunk (see their README), and manifests written by the crate of its formats.

use crate::block_on::block_on;
use crate::written::rng;
use icechunk_format::format_constants::{FileTypeBin, ICECHUNK_FORMAT_MAGIC_BYTES, SpecVersionBin};
use icechunk_format::manifest::{
    Checksum, ChunkInfo, ChunkPayload, ChunkRef, LocationCompressionConfig, Manifest, ManifestExtents,
    ManifestRef, SecondsSinceEpoch, VirtualChunkLocation, VirtualChunkRef,
};
use icechunk_format::repo_info::RepoInfo;
use icechunk_format::snapshot::{ArrayShape, NodeData, NodeSnapshot, Snapshot, SnapshotInfo};
use icechunk_format::{ChunkId, ChunkIndices, ManifestId, NodeId};
use proptest::prelude::Rng;
use serde_json::json;
use std::path::{Path, PathBuf};
use swath_ioengine::{CloudOptions, Engine, EngineConfig, MemoryMedium, SimulatedConfig, SimulatedRemote};
use swath_zarr_front::{
    Array, Error, ErrorKind, Group, IcechunkOptions, ReferenceTargets, Revision, Selection, Store,
};

fn folder(format: u8) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/icechunk/format_{format}"))
}

fn first_snapshot(format: u8) -> String {
    std::fs::read_to_string(folder(format).join("first.txt")).unwrap()
}

fn open(root: Store, revision: Revision) -> Result<Store, Error> {
    Store::icechunk(root, &IcechunkOptions::new().with_revision(revision), ReferenceTargets::new())
}

fn branch(name: &str) -> Revision {
    Revision::Branch(name.to_owned())
}

fn tag(name: &str) -> Revision {
    Revision::Tag(name.to_owned())
}

/// Every file of a repository and its name.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
            found.push((name, std::fs::read(path).unwrap()));
        }
    }
    found
}

pub(crate) fn copied(format: u8, change: impl Fn(&str, Vec<u8>) -> Vec<u8>) -> MemoryMedium {
    let medium = MemoryMedium::new();
    for (name, bytes) in files(&folder(format)) {
        medium.put(&format!("repo/{name}"), change(&name, bytes));
    }
    medium
}

pub(crate) fn store_of(medium: &MemoryMedium) -> Store {
    Store::new(medium.medium(), "repo", "memory")
}

/// What the second commit holds, or the first.
fn check(store: &Store, is_second: bool) {
    let group = Group::open_in(store, "").unwrap();
    assert_eq!(group.attributes()["title"], if is_second { "second" } else { "first" });
    let names: Vec<String> = group.walk().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["g", "g/inline", "g/virtual", "native", "scalar", "sharded", "split"]);
    let native: Vec<i32> = (0..12 * 20)
        .map(|number| match (number / 20, number % 20) {
            (10.., _) => -1,
            (0..5, 0..10) if is_second => -5,
            _ => number,
        })
        .collect();
    let array = group.array("native").unwrap();
    for _ in 0..2 {
        assert_eq!(array.read(&Selection::all()).unwrap().as_slice::<i32>().unwrap(), native);
    }
    let part = array.read(&"4:11:3, 8:12".parse().unwrap()).unwrap();
    let wanted = [4, 7, 10].map(|row: usize| native[row * 20 + 8..row * 20 + 12].to_vec()).concat();
    assert_eq!(part.as_slice::<i32>().unwrap(), wanted);
    let read = |path: &str| group.array(path).unwrap().read(&Selection::all()).unwrap();
    assert_eq!(read("g/inline").as_slice::<i16>().unwrap(), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(read("scalar").as_slice::<f64>().unwrap(), [2.5]);
    let last = |number: u16| if is_second && 32 <= number { 7 } else { number };
    assert_eq!(read("split").as_slice::<u16>().unwrap(), (0..36).map(last).collect::<Vec<u16>>());
    assert_eq!(read("sharded").as_slice::<u16>().unwrap(), (0..128).collect::<Vec<u16>>());
    let sharded = group.array("sharded").unwrap();
    let part = block_on(sharded.read_async(&"3, 1:15:2".parse().unwrap())).unwrap();
    assert_eq!(part.as_slice::<u16>().unwrap(), [49, 51, 53, 55, 57, 59, 61]);
}

#[test]
fn branches_tags_and_snapshots_are_read() {
    for format in [1, 2] {
        let medium = copied(format, |_, bytes| bytes);
        let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
        for (name, bytes) in files(&folder(format)) {
            remote.put(&format!("repo/{name}"), bytes);
        }
        let dev = if format == 1 { "dev" } else { "dev/two" };
        let roots = [
            Store::directory(folder(format)).unwrap(),
            store_of(&medium),
            Store::new(remote.medium(), "repo/", "remote"),
        ];
        for root in roots {
            check(&open(root.clone(), branch("main")).unwrap(), true);
            check(&open(root.clone(), branch(dev)).unwrap(), false);
            check(&open(root.clone(), tag("v1")).unwrap(), false);
            let snapshot = Revision::Snapshot(first_snapshot(format));
            check(&open(root.clone(), snapshot).unwrap(), false);
            let missing =
                [branch("none"), tag("gone"), tag("main"), branch(""), branch("../main"), tag("v1/x")];
            let snapshots = ["", "../repo", "00000000000000000000", "x"].map(str::to_owned);
            for revision in missing.into_iter().chain(snapshots.map(Revision::Snapshot)) {
                let error = open(root.clone(), revision.clone()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NotFound, "format {format}: {revision}: {error}");
            }
        }
    }
    let error = open(Store::memory(&MemoryMedium::new()), branch("main")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[test]
fn repositories_are_opened_by_url() {
    let medium = MemoryMedium::named("icechunk-urls").unwrap();
    for (name, bytes) in files(&folder(2)) {
        medium.put(&format!("a/repo/{name}"), bytes);
    }
    let options = CloudOptions::new();
    let open = |url: &str| Store::open(url, &options);
    let local = folder(2).to_str().unwrap().to_owned();
    let first = first_snapshot(2);
    check(&open(&format!("icechunk::{local}")).unwrap(), true);
    check(&open("icechunk://branch=main::memory://icechunk-urls/a/repo/").unwrap(), true);
    check(&open("ICECHUNK://branch=dev/two::memory://icechunk-urls/a/repo").unwrap(), false);
    let tagged = open("icechunk://tag=v1&virtual=file:///x/::memory://icechunk-urls/a/repo").unwrap();
    check(&tagged, false);
    let recipe = tagged.recipe().unwrap().url.clone();
    let wanted = format!("icechunk://snapshot={first}&virtual=file:///x/::memory://icechunk-urls/a/repo");
    assert_eq!(recipe, wanted);
    check(&open(&recipe).unwrap(), false);
    for wrong in ["icechunk://main::", "icechunk://tag=a&tag=b::"] {
        assert_eq!(open(&format!("{wrong}{local}")).unwrap_err().kind(), ErrorKind::Invalid, "{wrong}");
    }
    let error = open("icechunk::memory://icechunk-urls/a").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

/// A store that is open goes on with what was there when it was opened.
#[test]
fn repositories_are_not_written_and_not_listed_by_chunk() {
    let array =
        Array::open_in(&open(Store::directory(folder(2)).unwrap(), branch("main")).unwrap(), "native");
    let array = array.unwrap();
    assert_eq!(array.stored_bytes().unwrap_err().kind(), ErrorKind::Unsupported);
    let error = array.write(&Selection::all(), &[0; 960]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("Icechunk"), "{error}");
}

/// Manifests are read when something of theirs is wanted, each once, however many chunks are wanted.
#[test]
fn manifests_are_read_once_and_only_where_they_are_wanted() {
    let engine = Engine::new(EngineConfig::default());
    let store = open(Store::directory(folder(2)).unwrap(), branch("main")).unwrap();
    let array = Array::open_in(&store, "split").unwrap().with_engine(engine.clone());
    let reads = |selection: &str| {
        let before = engine.stats().logical_reads;
        array.read(&selection.parse().unwrap()).unwrap();
        engine.stats().logical_reads - before
    };
    assert_eq!(reads("0, 0:2"), 1 + 1);
    assert_eq!(reads("0:2"), 4);
    assert_eq!(reads("1:5"), 2 + 8);
    assert_eq!(reads(":"), 2 + 18);
    assert_eq!(reads(":"), 18);
}

/// A missing object is an error that names it, never a fill value.
#[test]
fn what_is_missing_is_an_error() {
    for format in [1, 2] {
        for kind in ["manifests/", "chunks/"] {
            let medium = copied(format, |_, bytes| bytes);
            for (name, _) in files(&folder(format)) {
                if name.starts_with(kind) {
                    medium.remove(&format!("repo/{name}"));
                }
            }
            let store = open(store_of(&medium), branch("main")).unwrap();
            let group = Group::open_in(&store, "").unwrap();
            for path in ["native", "sharded", "scalar"] {
                let error = group.array(path).unwrap().read(&Selection::all()).map(|_| ()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Io, "format {format}, {path}: {error}");
                assert!(error.to_string().contains("not there"), "{error}");
            }
        }
        let medium = copied(format, |_, bytes| bytes);
        for (name, _) in files(&folder(format)) {
            if name.starts_with("snapshots/") {
                medium.remove(&format!("repo/{name}"));
            }
        }
        let error = open(store_of(&medium), branch("main")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    }
}

/// Whatever byte is wrong or missing: an answer or an error, and no panic.
#[test]
fn broken_files_are_errors() {
    let seed = rng(0).next_u64();
    println!("seed {seed}");
    let mut random = rng(seed);
    let whole = Selection::all();
    let (mut errors, mut answers) = (0, 0);
    for format in [1, 2] {
        let names: Vec<String> = files(&folder(format)).into_iter().map(|(name, _)| name).collect();
        let is_broken = |name: &&String| !name.starts_with("chunks/") && *name != "first.txt";
        let names: Vec<&String> = names.iter().filter(is_broken).collect();
        for round in 0..40 * names.len() {
            let (broken, place) = (names[round % names.len()], random.next_u64());
            let medium = copied(format, |name, mut bytes| {
                if name == broken && !bytes.is_empty() {
                    let at = usize::try_from(place % bytes.len() as u64).unwrap();
                    match place >> 33 & 3 {
                        0 => bytes.truncate(at),
                        _ => bytes[at] ^= 1 << (place >> 40 & 7),
                    }
                }
                bytes
            });
            let read = open(store_of(&medium), branch("main")).and_then(|store| {
                let group = Group::open_in(&store, "")?;
                for path in ["native", "g/inline", "scalar", "split", "sharded"] {
                    group.array(path)?.read(&whole)?;
                }
                Ok(())
            });
            match read {
                Ok(()) => answers += 1,
                Err(error) => {
                    assert_ne!(error.kind(), ErrorKind::Internal, "{broken}: {error}");
                    errors += 1;
                }
            }
        }
    }
    assert!(100 < errors && 0 < answers, "{errors} errors, {answers} answers");
}

/// A file as Icechunk has it.
fn framed(kind: FileTypeBin, body: &[u8], is_compressed: bool) -> Vec<u8> {
    let mut file = ICECHUNK_FORMAT_MAGIC_BYTES.to_vec();
    file.extend_from_slice(format!("{:24}", "test-1").as_bytes());
    file.extend_from_slice(&[SpecVersionBin::V2 as u8, kind as u8, u8::from(is_compressed)]);
    match is_compressed {
        true => {
            let mut packed = Vec::with_capacity(zstd_safe::compress_bound(body.len()));
            zstd_safe::compress(&mut packed, body, 1).unwrap();
            file.extend_from_slice(&packed);
        }
        false => file.extend_from_slice(body),
    }
    file
}

const NODE: [u8; 8] = [5; 8];

/// A repository of one array `a` of bytes along one axis, in chunks of one byte, in one manifest.
fn repository(medium: &MemoryMedium, payloads: &[(u32, ChunkPayload)], containers: &[(&str, &str)]) {
    let count = payloads.iter().map(|(at, _)| at + 1).max().unwrap_or(1);
    let id = ManifestId::new([9; 12]);
    let chunk = |(at, payload): &(u32, ChunkPayload)| ChunkInfo {
        node: NodeId::new(NODE),
        coord: ChunkIndices(vec![*at]),
        payload: payload.clone(),
    };
    let compression = LocationCompressionConfig {
        min_num_chunks: 1000,
        dictionary_max_training_samples: 100,
        dictionary_max_size_bytes: 2048,
        compression_level: 3,
    };
    let manifest = Manifest::from_sorted_vec(&id, payloads.iter().map(chunk).collect(), Some(&compression));
    let manifest = manifest.unwrap().unwrap();
    assert_eq!(manifest.uses_location_compression(), 1000 <= virtual_count(payloads));
    medium.put(&format!("repo/manifests/{id}"), framed(FileTypeBin::Manifest, manifest.bytes(), true));
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [count], "data_type": "uint8", "fill_value": 255,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}],
    });
    let node = NodeSnapshot {
        id: NodeId::new(NODE),
        path: "/a".try_into().unwrap(),
        user_data: document.to_string().into_bytes().into(),
        node_data: NodeData::Array {
            shape: ArrayShape::new([(u64::from(count), count)]).unwrap(),
            dimension_names: None,
            manifests: vec![ManifestRef { object_id: id, extents: ManifestExtents::new(&[0], &[count]) }],
        },
    };
    let version = SpecVersionBin::V2;
    let snapshot =
        Snapshot::from_iter(None, None, version, "test", None, Vec::new(), None, [Ok(node)]).unwrap();
    let file = framed(FileTypeBin::Snapshot, snapshot.bytes(), false);
    medium.put(&format!("repo/snapshots/{}", snapshot.id()), file);
    let containers: serde_json::Map<String, serde_json::Value> = containers
        .iter()
        .map(|(name, prefix)| {
            (prefix.to_string(), json!({"name": name, "url_prefix": prefix, "store": "in_memory"}))
        })
        .collect();
    let info = SnapshotInfo::from_snapshot_file(&snapshot).unwrap();
    let configuration = json!({"caching": null, "virtual_chunk_containers": containers});
    let repo = RepoInfo::initial(version, info, 100, Some(&configuration), None);
    medium.put("repo/repo", framed(FileTypeBin::RepoInfo, repo.bytes(), true));
}

fn virtual_count(payloads: &[(u32, ChunkPayload)]) -> usize {
    payloads.iter().filter(|(_, payload)| matches!(payload, ChunkPayload::Virtual(_))).count()
}

fn virtual_at(url: &str, offset: u64, checksum: Option<Checksum>) -> ChunkPayload {
    let location = VirtualChunkLocation::from_url(url).unwrap();
    ChunkPayload::Virtual(VirtualChunkRef { location, offset, length: 1, checksum })
}

fn array(medium: &MemoryMedium, authorized: &[&str]) -> Array {
    let options = authorized.iter().fold(IcechunkOptions::new(), |options, prefix| options.authorize(prefix));
    let store = Store::icechunk(store_of(medium), &options, ReferenceTargets::new()).unwrap();
    Array::open_in(&store, "a").unwrap()
}

/// A hundred thousand chunks of all kinds are resolved by one read of one manifest, and neighbours are read together.
#[test]
fn many_chunks_are_resolved_in_one_pass() {
    let source = MemoryMedium::named("icechunk-source").unwrap();
    let bytes: Vec<u8> = (0..100_000u32).map(|number| u8::try_from(number % 251).unwrap()).collect();
    for file in 0..10 {
        source.put(&format!("f/data-{file}.bin"), bytes.clone());
    }
    let medium = MemoryMedium::new();
    medium.put(&format!("repo/chunks/{}", ChunkId::new([3; 12])), bytes.clone());
    let payloads: Vec<(u32, ChunkPayload)> = (0..100_000u32)
        .filter(|at| at % 1000 != 999)
        .map(|at| {
            let payload = match at % 10 {
                0 => ChunkPayload::Inline(vec![bytes[at as usize]].into()),
                1 => ChunkPayload::Ref(ChunkRef {
                    id: ChunkId::new([3; 12]),
                    offset: u64::from(at),
                    length: 1,
                }),
                _ if at % 20 < 10 => virtual_at(&format!("vcc://s/data-{}.bin", at % 7), u64::from(at), None),
                _ => {
                    let url = format!("memory://icechunk-source/f/data-{}.bin", at % 10);
                    virtual_at(&url, u64::from(at), None)
                }
            };
            (at, payload)
        })
        .collect();
    repository(&medium, &payloads, &[("s", "memory://icechunk-source/f/")]);
    let engine = Engine::new(EngineConfig::default());
    let array = array(&medium, &["memory://icechunk-source/f"]).with_engine(engine.clone());
    let read = array.read(&Selection::all()).unwrap();
    let wanted = |at: usize| if at % 1000 == 999 { 255 } else { bytes[at] };
    let wanted: Vec<u8> = (0..99_999).map(wanted).collect();
    assert_eq!(read.as_bytes(), wanted);
    let stats = engine.stats();
    assert_eq!(stats.logical_reads, 1 + payloads.len() as u64);
    let before = engine.stats().logical_reads;
    let part = array.read(&"50000:50010".parse().unwrap()).unwrap();
    assert_eq!(part.as_bytes(), &wanted[50_000..50_010]);
    assert_eq!(engine.stats().logical_reads - before, 10);
}

/// Chunks elsewhere are read from containers that the repository names and the reader authorised.
#[test]
fn virtual_chunks_need_a_container_and_a_word_of_the_reader() {
    let source = MemoryMedium::named("icechunk-containers").unwrap();
    source.put("a/x", b"A".to_vec());
    source.put("b/x", b"B".to_vec());
    let urls = ["memory://icechunk-containers/a/x", "memory://icechunk-containers/b/x", "vcc://b/x"];
    let payloads: Vec<(u32, ChunkPayload)> =
        (0u32..).zip(urls).map(|(at, url)| (at, virtual_at(url, 0, None))).collect();
    let (a, b) = ("memory://icechunk-containers/a/", "memory://icechunk-containers/b/");
    let medium = MemoryMedium::new();
    let read = |array: &Array, at: &str| {
        let read = array.read(&at.parse().unwrap());
        read.map(|read| read.as_bytes().to_vec()).map_err(|error| (error.kind(), error.to_string()))
    };
    repository(&medium, &payloads, &[("a", a), ("b", b)]);
    let both = array(&medium, &[a, b]);
    assert_eq!(read(&both, ":"), Ok(b"ABB".to_vec()));
    let one = array(&medium, &[b]);
    assert_eq!(read(&one, "1:"), Ok(b"BB".to_vec()));
    let (kind, message) = read(&one, "0").unwrap_err();
    assert_eq!(kind, ErrorKind::Unsupported);
    assert!(message.contains("authorised") && message.contains(a), "{message}");
    assert_eq!(read(&array(&medium, &[]), "1").unwrap_err().0, ErrorKind::Unsupported);
    repository(&medium, &payloads, &[("a", a)]);
    let (kind, message) = read(&array(&medium, &[a, b]), "1").unwrap_err();
    assert_eq!(kind, ErrorKind::Unsupported);
    assert!(message.contains("no container"), "{message}");
    assert_eq!(read(&array(&medium, &[a, b]), "2").unwrap_err().0, ErrorKind::Unsupported);
}

/// Local files whose version is told by their time or their tag: the right one is read, another one is an error.
#[test]
fn virtual_chunks_of_another_version_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a b.bin");
    let write = |bytes: &[u8], seconds: u64| {
        let new = folder.path().join("new");
        std::fs::write(&new, bytes).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        std::fs::File::options().write(true).open(&new).unwrap().set_modified(time).unwrap();
        std::fs::rename(&new, &path).unwrap();
    };
    write(b"0123", 1_000_000);
    let prefix = format!("file://{}/", folder.path().display());
    let url = format!("{prefix}a%20b.bin");
    let modified = |seconds| Some(Checksum::LastModified(SecondsSinceEpoch(seconds)));
    let tagged = |tag: &str| serde_json::from_value::<Checksum>(json!({"ETag": tag})).ok();
    let payloads = [
        (0, virtual_at(&url, 1, modified(1_000_000))),
        (1, virtual_at(&url, 2, modified(999_999))),
        (2, virtual_at(&url, 3, tagged("an-old-tag"))),
        (3, virtual_at(&url, 0, None)),
    ];
    let medium = MemoryMedium::new();
    repository(&medium, &payloads, &[("s", &prefix)]);
    let array = array(&medium, &[&prefix]);
    let read = |at: &str| array.read(&at.parse().unwrap()).map(|read| read.as_bytes().to_vec());
    assert_eq!(read("0").unwrap(), b"1");
    assert_eq!(read("3").unwrap(), b"0");
    for at in ["1", "2", ":"] {
        let error = read(at).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.to_string().contains("another version"), "{error}");
    }
    // Replaced after its version was looked at.
    write(b"9876", 2_000_000);
    for _ in 0..3 {
        assert_eq!(read("0").unwrap_err().kind(), ErrorKind::Io);
    }
    assert_eq!(read("3").unwrap(), b"9");
    write(b"0123", 1_000_000);
    assert_eq!(read("0").unwrap(), b"1");
    std::fs::remove_file(&path).unwrap();
    for at in ["0", "3"] {
        let error = read(at).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    }
}

/// What is said of sizes is not believed: a bomb is an error, and so are tables that are pointed to again and again.
#[test]
fn bombs_are_errors() {
    let medium = copied(2, |_, bytes| bytes);
    let bomb = framed(FileTypeBin::Manifest, &vec![0; 40 << 20], true);
    assert!(bomb.len() < 1 << 20, "{} bytes", bomb.len());
    for (name, _) in files(&folder(2)) {
        if name.starts_with("manifests/") {
            medium.put(&format!("repo/{name}"), bomb.clone());
        }
    }
    let store = open(store_of(&medium), branch("main")).unwrap();
    let error = Array::open_in(&store, "native").unwrap().read(&Selection::all()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}
