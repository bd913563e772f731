//! Whole reads of arrays whose metadata and bytes anyone may have written.

use std::sync::OnceLock;

use arbitrary::Arbitrary;
use serde_json::{Value, json};
use swath_ioengine::{Engine, EngineConfig, Limits, MemoryMedium};
use swath_zarr_front::{Array, AxisSelection, ErrorKind, Selection, Store};

/// Elements of a result at most: more is a matter of memory, not of sound reading.
const ELEMENTS_MAX: u64 = 1 << 16;

/// Elements of a decoded chunk at most, for the same reason.
const CHUNK_ELEMENTS_MAX: u64 = 1 << 16;

/// Tiles along an axis at most: plans hold each.
const TILES_MAX: u64 = 1 << 12;

/// Metadata from a template, objects of any bytes, and selections.
#[derive(Debug, Arbitrary)]
pub struct Case<'a> {
    /// Elements along each axis, and those of a chunk of each level, outermost first, as a power of two and a number
    /// by which it is a little off.
    pub axes: Vec<[(u8, u8); 4]>,
    /// Levels of sharding.
    pub depth: u8,
    /// Chooses among codecs, byte orders, places of indexes, formats.
    pub flags: [u8; 6],
    /// Objects at small coordinates.
    pub objects: Vec<([u8; 4], &'a [u8])>,
    /// Selections: for each axis a start, a length and a step.
    pub selections: Vec<[(u8, u8, i8); 4]>,
}

/// A number near a power of two, zero and the largest of all included.
fn near((power, off): (u8, u8)) -> u64 {
    let power = 1u64.checked_shl(u32::from(power) % 66).unwrap_or(u64::MAX);
    power.wrapping_add(u64::from(off % 5)).wrapping_sub(2)
}

fn leaf_codecs(flags: &[u8; 6]) -> Vec<Value> {
    let endian = if flags[0] % 2 == 0 { "little" } else { "big" };
    let mut codecs = vec![json!({"name": "bytes", "configuration": {"endian": endian}})];
    match flags[1] % 5 {
        1 => codecs.push(json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}})),
        2 => codecs.push(json!({"name": "gzip", "configuration": {"level": 1}})),
        3 => codecs.push(json!({"name": "crc32c"})),
        4 => codecs.push(json!({"name": "blosc", "configuration": {
            "cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0}})),
        _ => {}
    }
    codecs
}

/// The shape of each level: each a divisor of the one around it, where the numbers allow.
fn shapes(case: &Case<'_>, rank: usize, depth: usize) -> Vec<Vec<u64>> {
    let mut shapes: Vec<Vec<u64>> = Vec::new();
    for level in 0..=depth {
        let shape = (0..rank).map(|axis| {
            let wanted = near(case.axes[axis][1 + level % 3]).max(1);
            match shapes.last().map(|outer: &Vec<u64>| outer[axis]) {
                Some(outer) if case.flags[2] % 4 != 0 && outer % wanted != 0 => 1,
                _ => wanted,
            }
        });
        let shape = shape.collect();
        shapes.push(shape);
    }
    shapes
}

fn document(case: &Case<'_>) -> Value {
    let rank = case.axes.len().min(4);
    let depth = usize::from(case.depth % 4);
    let shapes = shapes(case, rank, depth);
    let mut codecs = leaf_codecs(&case.flags);
    for (level, shape) in shapes.iter().enumerate().skip(1).rev() {
        let mut index_codecs = vec![json!({"name": "bytes", "configuration": {"endian": "little"}})];
        if case.flags[3] >> level & 1 == 1 {
            index_codecs.push(json!({"name": "crc32c"}));
        }
        let location = if case.flags[4] >> level & 1 == 1 { "start" } else { "end" };
        let sharding = json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": shape, "codecs": codecs, "index_codecs": index_codecs, "index_location": location}});
        let order: Vec<usize> = (0..rank).rev().collect();
        let transpose = json!({"name": "transpose", "configuration": {"order": order}});
        codecs = if case.flags[5] >> level & 1 == 1 { vec![transpose, sharding] } else { vec![sharding] };
    }
    let shape: Vec<u64> = case.axes.iter().take(rank).map(|axis| near(axis[0])).collect();
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint16", "fill_value": 7,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shapes[0]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs,
    })
}

fn selection(array: &Array, numbers: &[(u8, u8, i8); 4]) -> Selection {
    let axes = array.shape().iter().zip(numbers).map(|(length, (start, len, step))| {
        // Near either end of the axis: those are the objects that there are, and the numbers that overflow.
        let start = i64::from(*start as i8);
        let stop =
            start.saturating_add(i64::from(*len % 64)).saturating_mul(i64::from(step.unsigned_abs().max(1)));
        match (len % 7, std::num::NonZeroI64::new(i64::from(*step))) {
            (0, _) if *length != 0 => AxisSelection::Index(if start < 0 { -1 } else { 0 }),
            (1, Some(step)) => AxisSelection::Slice { start: None, stop: None, step },
            (_, Some(step)) => AxisSelection::Slice { start: Some(start), stop: Some(stop), step },
            (_, None) => {
                AxisSelection::Slice { start: Some(start), stop: None, step: std::num::NonZeroI64::MIN }
            }
        }
    });
    Selection::new(axes.collect())
}

/// Whether a read of this is small enough to be made many times a second.
fn is_small(array: &Array, selection: &Selection) -> bool {
    let Ok(resolved) = array.resolve(selection) else { return true };
    let tiles = resolved.axes.iter().zip(array.chunk_shape()).map(|(axis, extent)| {
        let step = axis.step.unsigned_abs().max(1);
        axis.count.min((axis.count.saturating_mul(step) / extent).saturating_add(2))
    });
    let elements = resolved.element_count();
    tiles.fold(0u64, u64::saturating_add) <= TILES_MAX && elements.is_ok_and(|count| count <= ELEMENTS_MAX)
}

/// Opens the array and reads it: right or an error, and never an error that says that swath is wrong.
pub fn read(case: &Case<'_>) {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    let limits =
        Limits { lanes: 1, inline_reads_max: u64::MAX, inline_bytes_max: u64::MAX, ..Limits::default() };
    let engine = ENGINE.get_or_init(|| Engine::new(EngineConfig { limits, ..EngineConfig::default() }));
    let memory = MemoryMedium::new();
    memory.put("zarr.json", document(case).to_string());
    let rank = case.axes.len().min(4);
    for (at, bytes) in &case.objects {
        let at = at.iter().take(rank).zip(&case.axes).map(|(at, axis)| match at % 4 {
            // From the end of the axis.
            3 => (near(axis[0]).div_ceil(near(axis[1]).max(1))).saturating_sub(1).to_string(),
            at => at.to_string(),
        });
        let key: Vec<String> = std::iter::once("c".to_owned()).chain(at).collect();
        memory.put(&key.join("/"), bytes.to_vec());
    }
    let array = match Array::open_in(&Store::memory(&memory), "") {
        Ok(array) => array.with_engine(engine.clone()),
        Err(error) => return assert_ne!(error.kind(), ErrorKind::Internal, "{error}"),
    };
    let chunk = array.chunk_shape().iter().try_fold(1u64, |count, extent| count.checked_mul(*extent));
    if chunk.is_none_or(|chunk| CHUNK_ELEMENTS_MAX < chunk) {
        return;
    }
    let mut selections: Vec<Selection> =
        case.selections.iter().take(6).map(|numbers| selection(&array, numbers)).collect();
    selections.push(Selection::all());
    selections.retain(|selection| is_small(&array, selection));
    for selection in &selections {
        check(&array, std::slice::from_ref(selection));
    }
    check(&array, &selections);
}

fn check(array: &Array, selections: &[Selection]) {
    match array.read_many(selections) {
        Ok(read) => {
            for (read, selection) in read.iter().zip(selections) {
                assert_eq!(read.shape(), array.resolve(selection).expect("it was read").output_shape());
            }
        }
        Err(error) => assert_ne!(error.kind(), ErrorKind::Internal, "{error}"),
    }
}
