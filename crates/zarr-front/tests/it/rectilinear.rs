//! Arrays whose chunks have lengths of their own, against plain indexing.

use crate::oracle::{engine, narrow_engine};
use crate::picks::{Numbers, Wanted, mask, orthogonal, points};
use crate::writing::{Dice, Oracle, seeds, selection};
use crate::writing_picks::{numbers, picked};
use proptest::prelude::*;
use serde_json::{Value, json};
use swath_codecs::{Chain, ChunkLayout, Codec, Element, NumberType, Scratch};
use swath_ioengine::MemoryMedium;
use swath_zarr_front::{
    Array, ArrayBuilder, AxisChunks, CopyOptions, DataType, DecodedCache, Elements, ErrorKind, Selection,
    Store, ValidateOptions, WriteOptions,
};

/// An array of 16-bit numbers, each the number of its element but for those that are not stored.
struct Case {
    shape: Vec<u64>,
    /// Lengths of all chunks, by axis.
    lengths: Vec<Vec<u64>>,
    elements: Vec<u16>,
    memory: MemoryMedium,
}

fn number(at: &[u64], shape: &[u64]) -> usize {
    usize::try_from(at.iter().zip(shape).fold(0, |number, (at, length)| number * length + at)).unwrap()
}

/// Every combination of numbers below these.
fn each(counts: &[u64], mut call: impl FnMut(&[u64])) {
    crate::written::odometer(counts, |at| call(at));
}

/// Lengths as metadata may say them.
fn lengths_json(lengths: &[u64], form: u64) -> Value {
    match form {
        0 => json!(lengths),
        _ => json!(lengths.chunk_by(|a, b| a == b).map(|run| json!([run[0], run.len()])).collect::<Vec<_>>()),
    }
}

impl Case {
    fn new(lengths: Vec<Vec<u64>>, codecs: &Value, numbers: &mut Numbers) -> Case {
        let full: Vec<u64> = lengths.iter().map(|lengths| lengths.iter().sum()).collect();
        // The last chunk of an axis may reach past its end.
        let shape: Vec<u64> = full
            .iter()
            .zip(&lengths)
            .map(|(length, lengths)| length - numbers.below(lengths.last().copied().unwrap_or(1)))
            .collect();
        let mut elements = vec![0; usize::try_from(shape.iter().product::<u64>()).unwrap()];
        let memory = MemoryMedium::new();
        let forms: Vec<Value> =
            lengths.iter().map(|lengths| lengths_json(lengths, numbers.below(2))).collect();
        let document = json!({
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint16", "fill_value": 7,
            "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": forms}},
            "chunk_key_encoding": {"name": "default"}, "codecs": codecs,
        });
        memory.put("zarr.json", document.to_string().into_bytes());
        let chain: Vec<Codec> = codecs
            .as_array()
            .unwrap()
            .iter()
            .map(|codec| Codec::from_v3(codec["name"].as_str().unwrap(), &codec["configuration"]).unwrap())
            .collect();
        let counts: Vec<u64> = lengths.iter().map(|lengths| lengths.len() as u64).collect();
        each(&counts, |chunk| {
            let is_stored = numbers.below(5) != 0;
            let place = |axis: usize| usize::try_from(chunk[axis]).unwrap();
            let start: Vec<u64> =
                (0..chunk.len()).map(|axis| lengths[axis][..place(axis)].iter().sum()).collect();
            let extents: Vec<u64> = (0..chunk.len()).map(|axis| lengths[axis][place(axis)]).collect();
            let mut decoded = Vec::new();
            each(&extents, |within| {
                let at: Vec<u64> = start.iter().zip(within).map(|(start, within)| start + within).collect();
                let is_inside = at.iter().zip(&shape).all(|(at, length)| at < length);
                let value = if is_inside { u16::try_from(number(&at, &shape)).unwrap() } else { 9999 };
                decoded.extend(value.to_ne_bytes());
                if is_inside {
                    elements[number(&at, &shape)] = if is_stored { value } else { 7 };
                }
            });
            if is_stored {
                let layout = ChunkLayout { shape: extents, element: Element::number(NumberType::UInt16) };
                let mut stored = Vec::new();
                let chain = Chain::compile(&chain, &layout).unwrap();
                chain.encode(&decoded, &mut stored, &mut Scratch::default()).unwrap();
                let key: String = chunk.iter().map(|at| format!("/{at}")).collect();
                memory.put(&format!("c{key}"), stored);
            }
        });
        Case { shape, lengths, elements, memory }
    }

    fn blocks(&self, numbers: &mut Numbers) -> Wanted {
        let (mut axes, mut taken) = (Vec::new(), Vec::new());
        for (length, lengths) in self.shape.iter().zip(&self.lengths) {
            let count = lengths.len() as u64;
            let start = numbers.below(count);
            let stop = start + numbers.below(count + 1 - start);
            let edge = |chunk: u64| lengths[..usize::try_from(chunk).unwrap()].iter().sum::<u64>();
            axes.push((start..stop).into());
            taken.push((edge(start)..edge(stop).min(*length)).collect::<Vec<u64>>());
        }
        let shape = taken.iter().map(|taken| taken.len() as u64).collect();
        Wanted { selection: Selection::blocks(axes), shape, elements: crate::picks::combined(&taken) }
    }

    fn check(&self, array: &Array, wanted: &[Wanted]) -> Result<(), TestCaseError> {
        let selections: Vec<Selection> = wanted.iter().map(|wanted| wanted.selection.clone()).collect();
        let many = array.read_many(&selections).map_err(|error| TestCaseError::fail(error.to_string()))?;
        for (read, wanted) in many.iter().zip(wanted) {
            let found = read.as_slice::<u16>().map_err(|error| TestCaseError::fail(error.to_string()))?;
            let expected: Vec<u16> =
                wanted.elements.iter().map(|at| self.elements[number(at, &self.shape)]).collect();
            prop_assert_eq!(found, &expected[..], "{:?} of {:?}", wanted.selection, self.lengths);
            prop_assert_eq!(read.shape(), &wanted.shape[..]);
        }
        Ok(())
    }
}

fn codecs(kind: u64, rank: usize) -> Value {
    let bytes = |order: &str| json!({"name": "bytes", "configuration": {"endian": order}});
    let zstd = json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}});
    let order: Vec<usize> = (0..rank).rev().collect();
    let transpose = json!({"name": "transpose", "configuration": {"order": order}});
    match kind {
        0 => json!([bytes("little")]),
        1 => json!([bytes("big"), zstd]),
        2 => json!([transpose, bytes("little"), json!({"name": "crc32c"})]),
        _ => json!([transpose, bytes("little"), zstd]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_grid_reads_as_indexing_says(
        lengths in prop::collection::vec(prop::collection::vec(1u64..6, 1..5), 1..4),
        seed: u64, kind in 0u64..4,
    ) {
        let mut numbers = Numbers(seed);
        let rank = lengths.len();
        let case = Case::new(lengths, &codecs(kind, rank), &mut numbers);
        let array = Array::open_in(&Store::memory(&case.memory), "").unwrap();
        for axis in 0..rank {
            let extents: Vec<u64> = array.metadata().chunk_extents(axis).collect();
            prop_assert_eq!(extents.len() as u64, array.stored_grid()[axis]);
            prop_assert_eq!(extents.iter().sum::<u64>(), case.shape[axis]);
        }
        let mut wanted = vec![mask(&case.shape, &mut numbers), case.blocks(&mut numbers)];
        for _ in 0..3 {
            wanted.push(orthogonal(&case.shape, &mut numbers));
            wanted.extend(points(&case.shape, &mut numbers));
        }
        case.check(&array.with_engine(engine()), &wanted)?;
        case.check(&array.with_engine(narrow_engine()), &wanted)?;
        let cached = array.with_engine(engine()).with_decoded_cache(&DecodedCache::new(1 << 20));
        case.check(&cached, &wanted)?;
        case.check(&cached, &wanted)?;
    }
}

fn grid(chunk_shapes: &Value, codecs: &Value, shape: &[u64]) -> MemoryMedium {
    let memory = MemoryMedium::new();
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "string", "fill_value": "-",
        "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": chunk_shapes}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs,
    });
    memory.put("zarr.json", document.to_string().into_bytes());
    memory
}

#[test]
fn strings_of_uneven_chunks_are_read_whichever_way() {
    let memory = grid(&json!([[1, [3, 2]]]), &json!(["vlen-utf8"]), &[6]);
    memory.put("c/0", &b"\x01\0\0\0\x01\0\0\0a"[..]);
    memory.put("c/1", &b"\x03\0\0\0\x01\0\0\0b\x01\0\0\0c\x01\0\0\0d"[..]);
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    let read = |selection: &str| {
        let read = array.read_variable(&selection.parse().unwrap()).unwrap();
        read.strings().unwrap().concat()
    };
    assert_eq!(read(":"), "abcd--");
    assert_eq!(read("::-1"), "--dcba");
    assert_eq!(read("4::-2"), "-ca");
    assert_eq!(read("1:3"), "bc");
    assert_eq!((array.chunk_shape(), array.stored_grid()), (&[3][..], &[3][..]));
    assert!(!array.metadata().has_regular_grid());
    assert_eq!(array.metadata().chunk_extents(0).collect::<Vec<_>>(), [1, 3, 2]);
}

#[test]
fn grids_that_turn_out_regular_are_regular() {
    let memory = grid(&json!([[[2, 3]], 4]), &json!(["vlen-utf8"]), &[5, 4]);
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    assert!(array.metadata().has_regular_grid());
    assert_eq!((array.chunk_shape(), array.stored_grid()), (&[2, 4][..], &[3, 1][..]));
    assert_eq!(array.metadata().chunk_extents(0).collect::<Vec<_>>(), [2, 2, 1]);
}

#[test]
fn what_no_grid_is_is_refused() {
    let open = |memory: &MemoryMedium| Array::open_in(&Store::memory(memory), "").map(|_| ()).unwrap_err();
    let codecs = json!(["vlen-utf8"]);
    for shapes in [json!([[3, 2]]), json!([[3, 0, 3]]), json!([[[3, 0], 6]]), json!([3, 3]), json!(null)] {
        assert_eq!(open(&grid(&shapes, &codecs, &[6])).kind(), ErrorKind::Invalid, "{shapes}");
    }
    let sharded = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [1], "codecs": codecs, "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]);
    let error = open(&grid(&json!([[2, 4]]), &sharded, &[6]));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("rectilinear"), "{error}");
    let mut halves = sharded;
    halves[0]["configuration"]["chunk_shape"] = json!([2]);
    let error = open(&grid(&json!([[4, 3, 2]]), &halves, &[9]));
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("multiples of 2 elements along axis 0"), "{error}");
    // Billions of chunks take no memory until some are read.
    let memory = grid(&json!([[[1, 1_u64 << 60], 2]]), &codecs, &[1 << 60]);
    let array = Array::open_in(&Store::memory(&memory), "").unwrap();
    assert_eq!(array.read_variable(&"1000000000000".parse().unwrap()).unwrap().strings().unwrap(), ["-"]);
}

#[test]
fn what_is_written_into_uneven_chunks_is_read() {
    for seed in seeds(300) {
        let mut dice = Dice::new(seed);
        let memory = MemoryMedium::new();
        let store = Store::memory(&memory);
        let rank = usize::try_from(1 + dice.below(3)).unwrap();
        // Inner chunks, where these are shards.
        let inner: Vec<u64> = (0..rank).map(|_| 1 + dice.below(3)).collect();
        let is_sharded = dice.one_in(2);
        let unit = |axis: usize| if is_sharded { inner[axis] } else { 1 };
        let lengths: Vec<Vec<u64>> = (0..rank)
            .map(|axis| (0..1 + dice.below(4)).map(|_| unit(axis) * (1 + dice.below(5))).collect())
            .collect();
        let shape: Vec<u64> = lengths
            .iter()
            .map(|lengths| lengths.iter().sum::<u64>() - dice.below(*lengths.last().unwrap()))
            .collect();
        let builder = ArrayBuilder::new(&shape, DataType::UInt16);
        let axes = lengths.iter().cloned().map(AxisChunks::Listed);
        let builder = match is_sharded {
            true => builder.chunk_shape(&inner).axis_shards(axes),
            false => builder.axis_chunks(axes),
        };
        let builder = match dice.below(3) {
            0 => builder.compressors([]),
            1 => {
                let order: Vec<usize> = (0..rank).rev().collect();
                builder.filters([json!({"name": "transpose", "configuration": {"order": order}})])
            }
            _ => builder,
        };
        let array = builder.create(&store, "a").unwrap();
        let (numbers, mut oracle) = (numbers(&array), Oracle::of(&array));
        for round in 0..1 + dice.below(4) {
            let selection = match dice.one_in(2) {
                true => picked(&mut dice, array.shape(), &[0]),
                false => selection(&mut dice, array.shape()),
            };
            let read = numbers.read(&selection).unwrap();
            let (words, _) = read.as_bytes().as_chunks();
            let places: Vec<usize> =
                words.iter().map(|word| usize::try_from(u64::from_ne_bytes(*word)).unwrap()).collect();
            let value =
                |number: usize| u16::try_from(1 + number % 60_000).unwrap() + u16::try_from(round).unwrap();
            let data: Vec<u8> = (0..places.len()).flat_map(|number| value(number).to_ne_bytes()).collect();
            let elements = Elements::new(&data, read.shape(), 2).unwrap();
            array.write_from(&selection, &elements, &WriteOptions::default()).unwrap();
            for (number, place) in places.into_iter().enumerate() {
                oracle.bytes[2 * place..][..2].copy_from_slice(&value(number).to_ne_bytes());
            }
            let found = array.read(&Selection::all()).unwrap();
            assert!(
                found.as_bytes() == oracle.bytes,
                "seed {seed}: {selection} of {lengths:?} and {shape:?}"
            );
        }
        let mut damages = 0;
        let validated = array.validate(&ValidateOptions::default(), &mut |_| damages += 1).unwrap();
        assert_eq!((damages, validated.damages), (0, 0), "seed {seed}");
        let mut added = array.shape().to_vec();
        added[0] = 1 + dice.below(5);
        let data = vec![1; 2 * usize::try_from(added.iter().product::<u64>()).unwrap()];
        let elements = Elements::new(&data, &added, 2).unwrap();
        let grown = array.append(0, &elements, &WriteOptions::default()).unwrap();
        oracle.bytes.extend(&data);
        assert!(grown.read(&Selection::all()).unwrap().as_bytes() == oracle.bytes, "seed {seed}");
        let zeros: String = (0..rank).map(|_| "/0").collect();
        memory.put(&format!("a/c{zeros}"), &b"x"[..]);
        let validated = grown.validate(&ValidateOptions::default(), &mut |_| damages += 1).unwrap();
        assert_eq!((damages, validated.damages), (1, 1), "seed {seed}");
    }
}

#[test]
fn uneven_shards_keep_their_inner_chunks() {
    let store = Store::memory(&MemoryMedium::new());
    let shards = [AxisChunks::Listed(vec![2, 4]), AxisChunks::Every(5)];
    let builder = ArrayBuilder::new(&[6, 5], DataType::UInt16).chunk_shape(&[2, 5]).axis_shards(shards);
    let array = builder.create(&store, "uneven").unwrap();
    let data: Vec<u8> = (0..30u16).flat_map(u16::to_ne_bytes).collect();
    let elements = Elements::new(&data, &[6, 5], 2).unwrap();
    array.write_from(&Selection::all(), &elements, &WriteOptions::default()).unwrap();
    assert_eq!(array.common_chunk_shape(), Some(vec![2, 5]));
    let copy = array.copy_to(&store, "even", &CopyOptions::default()).unwrap();
    assert_eq!((copy.chunk_shape(), copy.shard_shape()), (&[2, 5][..], Some(&[4, 5][..])));
    assert_eq!(copy.read(&Selection::all()).unwrap().as_bytes(), data);
    let uneven = ArrayBuilder::new(&[6], DataType::UInt16).axis_chunks([AxisChunks::Listed(vec![2, 4])]);
    assert_eq!(uneven.create(&store, "chunks").unwrap().common_chunk_shape(), None);
}
