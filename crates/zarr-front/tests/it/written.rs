//! Arrays written for the tests, and what their elements are: a writer that shares nothing with the reader but the
//! codecs.

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use swath_codecs::{Chain, ChunkLayout, Codec, Element, NumberType, Scratch};
use swath_ioengine::{MemoryMedium, SimulatedRemote};
use swath_zarr_front::Selection;

/// One level of sharding.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// In the frame of this level.
    pub(crate) chunk_shape: Vec<u64>,
    pub(crate) at_start: bool,
    pub(crate) checksum: bool,
    /// The order of a transpose ahead of the sharding codec.
    pub(crate) order: Option<Vec<usize>>,
}

/// How inner chunks lie in their shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In any order, some with a gap before them.
    Random,
    /// In Morton order, one behind the other, as zarr-python writes them.
    Morton,
}

/// An array to be written.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) v2: bool,
    pub(crate) shape: Vec<u64>,
    pub(crate) chunk_shape: Vec<u64>,
    pub(crate) levels: Vec<Level>,
    pub(crate) element_bytes: usize,
    pub(crate) big_endian: bool,
    pub(crate) compressor: Option<&'static str>,
    /// The order of a transpose of the chunk; in v2, F order.
    pub(crate) order: Option<Vec<usize>>,
    pub(crate) separator: char,
    pub(crate) layout: Layout,
    /// Of a hundred chunks, and of a hundred objects, those that are not stored.
    pub(crate) missing_percent: u32,
    pub(crate) seed: u64,
}

pub(crate) const FILL: u8 = 7;

/// The objects of an array, and its elements.
pub(crate) struct Written {
    pub(crate) objects: BTreeMap<String, Vec<u8>>,
    /// All elements, in C order and native byte order.
    pub(crate) elements: Vec<u8>,
    /// Chunks that are stored.
    pub(crate) stored_chunks: u64,
    pub(crate) spec: Spec,
}

impl Spec {
    /// A v3 array of `uint16`, whole chunks, nothing missing.
    pub(crate) fn plain(shape: &[u64], chunk_shape: &[u64]) -> Spec {
        Spec {
            v2: false,
            shape: shape.to_vec(),
            chunk_shape: chunk_shape.to_vec(),
            levels: Vec::new(),
            element_bytes: 2,
            big_endian: false,
            compressor: None,
            order: None,
            separator: '/',
            layout: Layout::Random,
            missing_percent: 0,
            seed: 1,
        }
    }

    /// The same, sharded: `shapes` are those of the inner chunks, outermost first.
    pub(crate) fn sharded(shape: &[u64], shard_shape: &[u64], shapes: &[&[u64]]) -> Spec {
        let level = |shape: &&[u64]| Level {
            chunk_shape: shape.to_vec(),
            at_start: false,
            checksum: true,
            order: None,
        };
        Spec { levels: shapes.iter().map(level).collect(), ..Spec::plain(shape, shard_shape) }
    }

    fn leaf_codecs(&self) -> Vec<Value> {
        let mut codecs = Vec::new();
        if let Some(order) = &self.order {
            codecs.push(json!({"name": "transpose", "configuration": {"order": order}}));
        }
        let endian = if self.big_endian { "big" } else { "little" };
        codecs.push(json!({"name": "bytes", "configuration": {"endian": endian}}));
        match self.compressor {
            Some("crc32c") => codecs.push(json!({"name": "crc32c"})),
            Some("gzip") => codecs.push(json!({"name": "gzip", "configuration": {"level": 1}})),
            Some(_) => codecs.push(json!({"name": "zstd", "configuration": {"level": 1, "checksum": true}})),
            None => {}
        }
        codecs
    }

    fn codecs(&self, level: usize) -> Vec<Value> {
        let Some(this) = self.levels.get(level) else { return self.leaf_codecs() };
        let mut codecs = Vec::new();
        if let Some(order) = &this.order {
            codecs.push(json!({"name": "transpose", "configuration": {"order": order}}));
        }
        codecs.push(json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": this.chunk_shape,
            "codecs": self.codecs(level + 1),
            "index_codecs": index_codecs(this),
            "index_location": if this.at_start { "start" } else { "end" },
        }}));
        codecs
    }

    pub(crate) fn document(&self) -> (&'static str, Value) {
        if self.v2 {
            let order = if self.big_endian { ">" } else { "<" };
            let compressor = self.compressor.map(|_| json!({"id": "zstd", "level": 1}));
            let document = json!({
                "zarr_format": 2, "shape": self.shape, "chunks": self.chunk_shape, "fill_value": FILL,
                "dtype": format!("{order}u{}", self.element_bytes), "compressor": compressor, "filters": null,
                "order": if self.order.is_some() { "F" } else { "C" },
                "dimension_separator": self.separator.to_string(),
            });
            return (".zarray", document);
        }
        let document = json!({
            "zarr_format": 3, "node_type": "array", "shape": self.shape, "fill_value": FILL,
            "data_type": format!("uint{}", self.element_bytes * 8),
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": self.chunk_shape}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": self.separator.to_string()}},
            "codecs": self.codecs(0),
        });
        ("zarr.json", document)
    }

    fn key(&self, at: &[u64]) -> String {
        let parts: Vec<String> = at.iter().map(u64::to_string).collect();
        match (self.v2, parts.is_empty()) {
            (true, true) => "0".to_owned(),
            (true, false) => parts.join(&self.separator.to_string()),
            (false, _) => std::iter::once("c".to_owned())
                .chain(parts)
                .collect::<Vec<_>>()
                .join(&self.separator.to_string()),
        }
    }

    /// Writes the array.
    pub(crate) fn write(&self) -> Written {
        let layout = |shape: Vec<u64>| ChunkLayout {
            shape,
            element: Element::opaque(self.element_bytes, self.element_bytes),
        };
        let leaf_shape = self.levels.last().map_or(&self.chunk_shape, |level| &level.chunk_shape);
        let count: u64 = self.shape.iter().product();
        let mut fill = vec![0; self.element_bytes];
        fill[if cfg!(target_endian = "little") { 0 } else { self.element_bytes - 1 }] = FILL;
        let mut writer = Writer {
            spec: self,
            chain: chain(&self.leaf_codecs(), layout(leaf_shape.clone())),
            elements: fill.repeat(usize::try_from(count).unwrap()),
            rng: rng(self.seed),
            scratch: Scratch::default(),
            stored_chunks: 0,
            fill,
        };
        let (name, document) = self.document();
        let mut objects = BTreeMap::from([(name.to_owned(), document.to_string().into_bytes())]);
        let grid: Vec<u64> = self
            .shape
            .iter()
            .zip(&self.chunk_shape)
            .map(|(length, extent)| length.div_ceil(*extent))
            .collect();
        let axes: Vec<usize> = (0..self.shape.len()).collect();
        odometer(&grid, |at| {
            let origin: Vec<u64> = at.iter().zip(&self.chunk_shape).map(|(at, extent)| at * extent).collect();
            if let Some(bytes) = writer.object(0, &axes, &origin, &self.chunk_shape) {
                objects.insert(self.key(at), bytes);
            }
        });
        let Writer { elements, stored_chunks, .. } = writer;
        Written { objects, elements, stored_chunks, spec: self.clone() }
    }
}

struct Writer<'a> {
    spec: &'a Spec,
    chain: Chain,
    elements: Vec<u8>,
    fill: Vec<u8>,
    rng: TestRng,
    scratch: Scratch,
    stored_chunks: u64,
}

impl Writer<'_> {
    fn is_missing(&mut self) -> bool {
        self.rng.next_u32() % 100 < self.spec.missing_percent
    }

    /// The stored bytes of a box of the array: axis `i` of the box is axis `axes[i]` of the array.
    fn object(&mut self, depth: usize, axes: &[usize], origin: &[u64], shape: &[u64]) -> Option<Vec<u8>> {
        if self.is_missing() {
            return None;
        }
        let Some(level) = self.spec.levels.get(depth) else { return Some(self.chunk(axes, origin, shape)) };
        let order = level.order.clone().unwrap_or_else(|| (0..axes.len()).collect());
        let axes: Vec<usize> = order.iter().map(|axis| axes[*axis]).collect();
        let origin: Vec<u64> = order.iter().map(|axis| origin[*axis]).collect();
        let shape: Vec<u64> = order.iter().map(|axis| shape[*axis]).collect();
        let grid: Vec<u64> =
            shape.iter().zip(&level.chunk_shape).map(|(shard, chunk)| shard / chunk).collect();
        let entries = usize::try_from(grid.iter().product::<u64>()).unwrap();
        let mut index = vec![u64::MAX; entries * 2];
        let mut layout_shape = grid.clone();
        layout_shape.push(2);
        let index_chain = chain(
            &index_codecs(level),
            ChunkLayout { shape: layout_shape, element: Element::number(NumberType::UInt64) },
        );
        let index_len = usize::try_from(index_chain.encoded_len_max()).unwrap();
        let mut stored = vec![0xEE; if level.at_start { index_len } else { 0 }];
        let mut parts = Vec::new();
        let mut number = 0;
        odometer(&grid, |at| {
            let origin: Vec<u64> = origin
                .iter()
                .zip(at)
                .zip(&level.chunk_shape)
                .map(|((from, at), extent)| from + at * extent)
                .collect();
            if let Some(bytes) = self.object(depth + 1, &axes, &origin, &level.chunk_shape) {
                let place = match self.spec.layout {
                    Layout::Random => self.rng.next_u32(),
                    Layout::Morton => morton(at),
                };
                parts.push((place, number, bytes));
            }
            number += 1;
        });
        parts.sort();
        for (random, number, bytes) in parts {
            let has_gap = self.spec.layout == Layout::Random && random % 3 == 0;
            let gap = if has_gap { random as usize % 37 } else { 0 };
            stored.extend(std::iter::repeat_n(0xEE, gap));
            index[number * 2] = stored.len() as u64;
            index[number * 2 + 1] = bytes.len() as u64;
            stored.extend(bytes);
        }
        let words: Vec<u8> = index.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut encoded = Vec::new();
        index_chain.encode(&words, &mut encoded, &mut self.scratch).unwrap();
        match level.at_start {
            true => stored[..index_len].copy_from_slice(&encoded),
            false => stored.extend(encoded),
        }
        Some(stored)
    }

    fn chunk(&mut self, axes: &[usize], origin: &[u64], shape: &[u64]) -> Vec<u8> {
        let size = self.spec.element_bytes;
        let mut bytes = Vec::new();
        let lengths = &self.spec.shape;
        let (elements, fill, seed) = (&mut self.elements, &self.fill, self.spec.seed);
        odometer(shape, |within| {
            let mut at = vec![0; lengths.len()];
            for ((axis, from), within) in axes.iter().zip(origin).zip(within) {
                at[*axis] = from + within;
            }
            if at.iter().zip(lengths).any(|(at, length)| length <= at) {
                return bytes.extend_from_slice(fill);
            }
            let number = at.iter().zip(lengths).fold(0, |number, (at, length)| number * length + at);
            let value = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) ^ seed;
            let place = &mut elements[usize::try_from(number).unwrap() * size..][..size];
            // Few different values, so that compressors compress.
            place.copy_from_slice(&(value & 0x0703_0703_0703_0703).to_le_bytes()[..size]);
            bytes.extend_from_slice(place);
        });
        self.stored_chunks += 1;
        let mut stored = Vec::new();
        self.chain.encode(&bytes, &mut stored, &mut self.scratch).unwrap();
        stored
    }
}

impl Written {
    pub(crate) fn memory(&self) -> MemoryMedium {
        let memory = MemoryMedium::new();
        for (key, bytes) in &self.objects {
            memory.put(key, bytes.clone());
        }
        memory
    }

    pub(crate) fn put_to(&self, remote: &SimulatedRemote) {
        for (key, bytes) in &self.objects {
            remote.put(key, bytes.clone());
        }
    }

    pub(crate) fn folder(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (key, bytes) in &self.objects {
            let path = folder.path().join(key);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        folder
    }

    /// What a selection reads to, element by element.
    pub(crate) fn select(&self, selection: &Selection) -> Vec<u8> {
        let resolved = selection.resolve(&self.spec.shape).unwrap();
        let counts: Vec<u64> = resolved.axes.iter().map(|axis| axis.count).collect();
        let size = self.spec.element_bytes;
        let mut bytes = Vec::new();
        odometer(&counts, |at| {
            let number = at
                .iter()
                .zip(&resolved.axes)
                .zip(&self.spec.shape)
                .fold(0, |number, ((at, axis), length)| number * length + axis.element(*at).unwrap());
            bytes.extend_from_slice(&self.elements[usize::try_from(number).unwrap() * size..][..size]);
        });
        bytes
    }
}

/// The bits of all coordinates in turn, the last one's first.
fn morton(at: &[u64]) -> u32 {
    let bits =
        (0..32 / at.len().max(1)).flat_map(|bit| at.iter().rev().map(move |at| (at >> bit & 1) as u32));
    bits.enumerate().fold(0, |code, (place, bit)| code | bit << place)
}

fn index_codecs(level: &Level) -> Vec<Value> {
    let mut codecs = vec![json!({"name": "bytes", "configuration": {"endian": "little"}})];
    if level.checksum {
        codecs.push(json!({"name": "crc32c"}));
    }
    codecs
}

fn chain(codecs: &[Value], layout: ChunkLayout) -> Chain {
    let codec = |entry: &Value| {
        Codec::from_v3(entry["name"].as_str().unwrap(), entry.get("configuration").unwrap_or(&json!({})))
            .unwrap()
    };
    let codecs: Vec<Codec> = codecs.iter().map(codec).collect();
    Chain::compile(&codecs, &layout).unwrap()
}

pub(crate) fn rng(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

/// Calls `each` with every place of a grid, last axis fastest.
pub(crate) fn odometer(extents: &[u64], mut each: impl FnMut(&[u64])) {
    let mut at = vec![0; extents.len()];
    for number in 0..extents.iter().product::<u64>() {
        let mut rest = number;
        for (at, extent) in at.iter_mut().zip(extents).rev() {
            *at = rest % extent;
            rest /= extent;
        }
        each(&at);
    }
}
