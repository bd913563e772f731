//! Random chains over random layouts: encode, decode, decode to a view.

use proptest::prelude::*;
use serde_json::{Value, json};
use swath_codecs::{Chain, Checksums, ChunkLayout, Codec, DecodedChunk, Element, NumberType, Scratch};

/// A chain, its layout and a chunk.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) codecs: Vec<(String, Value)>,
    pub(crate) layout: ChunkLayout,
    pub(crate) chunk: Vec<u8>,
}

impl Case {
    pub(crate) fn chain(&self) -> Chain {
        let codecs: Vec<Codec> =
            self.codecs.iter().map(|(name, value)| Codec::from_v3(name, value).unwrap()).collect();
        Chain::compile(&codecs, &self.layout).unwrap()
    }
}

fn element() -> impl Strategy<Value = Element> {
    prop_oneof![opaque_element(), prop::sample::select(WHOLE.to_vec()).prop_map(Element::number)]
}

const WHOLE: [NumberType; 8] = [
    NumberType::Int8,
    NumberType::UInt8,
    NumberType::Int16,
    NumberType::UInt16,
    NumberType::Int32,
    NumberType::UInt32,
    NumberType::Int64,
    NumberType::UInt64,
];

/// Filters without loss, of those that such an element takes.
fn filters(element: Element) -> impl Strategy<Value = Vec<(String, Value)>> {
    let filter = (0..3).prop_map(move |choice| {
        let number = element.components().map(|(number, _)| number.numpy());
        match (choice, number) {
            (0, Some(dtype)) => ("numcodecs.delta".to_owned(), json!({"dtype": dtype, "astype": dtype})),
            (1, _) => ("reshape".to_owned(), json!({"shape": [-1]})),
            _ => ("zarrs.squeeze".to_owned(), Value::Null),
        }
    });
    prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(filter, 1..4)]
}

fn opaque_element() -> impl Strategy<Value = Element> {
    prop::sample::select(vec![
        (1, 1),
        (2, 2),
        (4, 4),
        (8, 8),
        (4, 2),
        (8, 4),
        (16, 8),
        (3, 1),
        (5, 1),
        (12, 4),
        (20, 1),
    ])
    .prop_map(|(size_bytes, swap_unit_bytes)| Element::opaque(size_bytes, swap_unit_bytes))
}

fn transpose(rank: usize) -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"order": "C"})),
        Just(json!({"order": "F"})),
        Just((0..rank).collect::<Vec<_>>()).prop_shuffle().prop_map(|order| json!({"order": order})),
    ]
}

fn compressor() -> impl Strategy<Value = (String, Value)> {
    let blosc = (
        prop::sample::select(vec!["blosclz", "lz4", "lz4hc", "zlib", "zstd"]),
        0..=9,
        -1..=2,
        prop::sample::select(vec![0, 0, 128, 256, 4096]),
        prop::option::of(1..20),
    )
        .prop_map(|(cname, clevel, shuffle, blocksize, typesize)| {
            let value = json!({
                "cname": cname, "clevel": clevel, "shuffle": shuffle, "blocksize": blocksize, "typesize": typesize,
            });
            ("blosc".to_owned(), value)
        });
    prop_oneof![
        3 => blosc,
        1 => (-5..10, any::<bool>())
            .prop_map(|(level, checksum)| ("zstd".to_owned(), json!({"level": level, "checksum": checksum}))),
        1 => (-1..=9).prop_map(|level| ("gzip".to_owned(), json!({"level": level}))),
        1 => (-1..=9).prop_map(|level| ("numcodecs.zlib".to_owned(), json!({"level": level}))),
        1 => (-1..50).prop_map(|level| ("numcodecs.lz4".to_owned(), json!({"acceleration": level}))),
        1 => Just(("crc32c".to_owned(), Value::Null)),
        1 => Just(("numcodecs.crc32c".to_owned(), json!({"location": "start"}))),
        1 => (1..=9).prop_map(|level| ("numcodecs.bz2".to_owned(), json!({"level": level}))),
        1 => (0..=2).prop_map(|preset| ("numcodecs.lzma".to_owned(), json!({"preset": preset}))),
        1 => prop::sample::select(vec!["crc32", "adler32", "fletcher32", "jenkins_lookup3"])
            .prop_map(|name| (format!("numcodecs.{name}"), Value::Null)),
    ]
}

/// Bytes that compress a little, a lot or not at all.
fn chunk(length: usize) -> impl Strategy<Value = Vec<u8>> {
    (any::<u32>(), 0..3).prop_map(move |(seed, kind)| {
        let mut state = seed | 1;
        (0..length)
            .map(|index| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                match kind {
                    0 => (state >> 24) as u8,
                    1 => (state >> 30) as u8,
                    _ => (index / 9 % 17) as u8,
                }
            })
            .collect()
    })
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    (prop::collection::vec(0..12u64, 0..5), element())
        .prop_flat_map(|(shape, element)| {
            let layout = ChunkLayout { shape, element };
            let length = layout.decoded_len().unwrap();
            let rank = layout.shape.len();
            (
                Just(layout),
                prop::collection::vec(transpose(rank), 0..3),
                filters(element),
                prop::sample::select(vec![None, Some("C"), Some("F")]),
                prop::sample::select(vec!["little", "big"]),
                prop::collection::vec(compressor(), 0..4),
                chunk(length),
            )
        })
        .prop_map(|(layout, transposes, filters, behind, endian, compressors, chunk)| {
            let mut codecs: Vec<(String, Value)> =
                transposes.into_iter().map(|value| ("transpose".to_owned(), value)).collect();
            codecs.extend(filters);
            codecs.extend(behind.map(|order| ("transpose".to_owned(), json!({"order": order}))));
            codecs.push(("bytes".to_owned(), json!({"endian": endian})));
            codecs.extend(compressors);
            Case { codecs, layout, chunk }
        })
}

/// Copies every element out of a view, one by one.
fn gather(view: &DecodedChunk<'_>, layout: &ChunkLayout) -> Vec<u8> {
    let count: u64 = layout.shape.iter().product();
    let mut target = Vec::new();
    for element in 0..count {
        let (mut rest, mut at) = (element, 0);
        for (&length, &stride) in layout.shape.iter().zip(view.strides).rev() {
            at += usize::try_from(rest % length).unwrap() * stride;
            rest /= length;
        }
        let bytes = &view.bytes[at..at + layout.element.size_bytes];
        match view.swap_unit_bytes {
            Some(unit) => target.extend(bytes.chunks(unit).flat_map(|unit| unit.iter().rev())),
            None => target.extend_from_slice(bytes),
        }
    }
    target
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_encoded_decodes(case in case()) {
        let chain = case.chain();
        // One scratch for both directions and all cases' sizes: what it held must not matter.
        let mut scratch = Scratch::default();
        let mut stored = vec![0xEE; 77];
        chain.encode(&case.chunk, &mut stored, &mut scratch).unwrap();
        prop_assert!(stored.len() as u64 <= chain.encoded_len_max());
        if let Some(fixed) = chain.encoded_len_fixed() {
            prop_assert_eq!(stored.len() as u64, fixed);
        }
        if chain.is_identity() {
            prop_assert_eq!(&stored, &case.chunk);
        }

        let mut behind = b"before".to_vec();
        chain.encode_behind(&case.chunk, &mut behind, &mut scratch).unwrap();
        prop_assert_eq!(&behind[..6], b"before");
        prop_assert_eq!(&behind[6..], &stored);

        let mut target = vec![0xA5; chain.decoded_len()];
        chain.decode_into(&stored, &mut target, &mut scratch).unwrap();
        prop_assert_eq!(&target, &case.chunk);

        let view = chain.decode_view(&stored, &mut scratch).unwrap();
        prop_assert_eq!(view.bytes.len(), chain.decoded_len());
        prop_assert_eq!(gather(&view, &case.layout), case.chunk.clone());
        if chain.decodes_in_place() {
            prop_assert_eq!(view.bytes, &case.chunk[..]);
        }

        let skipping = chain.clone().with_checksums(Checksums::Skip);
        skipping.decode_into(&stored, &mut target, &mut scratch).unwrap();
        prop_assert_eq!(&target, &case.chunk);
    }

    #[test]
    fn scratch_stays_within_the_promise(case in case()) {
        let chain = case.chain();
        let mut scratch = Scratch::default();
        let mut stored = Vec::new();
        chain.encode(&case.chunk, &mut stored, &mut Scratch::default()).unwrap();
        let mut target = vec![0; chain.decoded_len()];
        chain.decode_into(&stored, &mut target, &mut scratch).unwrap();
        let longest = usize::try_from(chain.encoded_len_max()).unwrap();
        // Two stages, one block, and the contexts of zstd and libdeflate.
        prop_assert!(scratch.allocated_bytes() <= 4 * longest + (256 << 10));
    }
}

/// Zeros are stored, or deflated to next to nothing, and that is deflated again: what lies between grows as it must.
#[test]
fn what_may_be_long_has_room_as_it_comes() {
    let length = 8 << 20;
    let layout = ChunkLayout { shape: vec![length as u64], element: Element::opaque(1, 1) };
    let gzip = |level: i32| Codec::from_v3("gzip", &json!({"level": level})).unwrap();
    for (level, least, most) in [(0, length, 10 << 20), (9, 1 << 20, (1 << 20) + (64 << 10))] {
        let codecs = [Codec::from_v3("bytes", &Value::Null).unwrap(), gzip(level), gzip(1)];
        let chain = Chain::compile(&codecs, &layout).unwrap();
        let mut stored = Vec::new();
        chain.encode(&vec![0; length], &mut stored, &mut Scratch::default()).unwrap();
        assert!(stored.len() < 1 << 20);
        let (mut scratch, mut target) = (Scratch::default(), vec![1; length]);
        for _ in 0..2 {
            chain.decode_into(&stored, &mut target, &mut scratch).unwrap();
            assert!(target.iter().all(|byte| *byte == 0));
            let held = scratch.allocated_bytes();
            assert!(least <= held && held <= most, "level {level}: {held}");
        }
        stored.truncate(stored.len() / 2);
        assert!(chain.decode_into(&stored, &mut target, &mut scratch).is_err());
    }
}

#[test]
fn identity_views_borrow_the_source() {
    let layout = ChunkLayout { shape: vec![4], element: Element::opaque(1, 1) };
    let bytes = Codec::from_v3("bytes", &Value::Null).unwrap();
    let checksum = Codec::from_v3("crc32c", &Value::Null).unwrap();
    for codecs in [vec![bytes.clone()], vec![bytes, checksum]] {
        let chain = Chain::compile(&codecs, &layout).unwrap();
        let mut stored = Vec::new();
        chain.encode(&[1, 2, 3, 4], &mut stored, &mut Scratch::default()).unwrap();
        let mut scratch = Scratch::default();
        let view = chain.decode_view(&stored, &mut scratch).unwrap();
        assert_eq!(view.bytes.as_ptr(), stored.as_ptr());
        assert_eq!(scratch.allocated_bytes(), 0);
    }
}
