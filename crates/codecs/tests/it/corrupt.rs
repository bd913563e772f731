//! Stored bytes that are not what a chain writes: an error or a whole chunk, never a panic.

use proptest::prelude::*;
use serde_json::{Value, json};
use swath_codecs::{Chain, Checksums, ChunkLayout, Codec, Element, ErrorKind, Scratch};

use crate::chains::case;

fn every_compressor() -> Vec<(&'static str, Value)> {
    let mut codecs = vec![
        ("zstd", json!({"level": 3, "checksum": false})),
        ("zstd", json!({"level": 3, "checksum": true})),
        ("gzip", json!({"level": 5})),
        ("zlib", json!({"level": 5})),
        ("lz4", json!({})),
        ("crc32c", json!({})),
    ];
    for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] {
        for shuffle in 0..3 {
            codecs
                .push(("blosc", json!({"cname": cname, "shuffle": shuffle, "clevel": 5, "blocksize": 1024})));
        }
    }
    codecs
}

fn chain_of(name: &str, configuration: &Value, elements: u64) -> Chain {
    let layout = ChunkLayout { shape: vec![elements], element: Element::opaque(4, 4) };
    let bytes = Codec::from_v3("bytes", &json!({"endian": "little"})).unwrap();
    Chain::compile(&[bytes, Codec::from_v3(name, configuration).unwrap()], &layout).unwrap()
}

fn smooth_chunk(elements: u32) -> Vec<u8> {
    (0..elements).flat_map(|element| (element * element / 300).to_le_bytes()).collect()
}

/// Decodes, and checks that what is decoded lies within the target.
fn decode(chain: &Chain, stored: &[u8], scratch: &mut Scratch) -> Result<Vec<u8>, ErrorKind> {
    const GUARD: [u8; 64] = [0x5C; 64];
    let length = chain.decoded_len();
    let mut memory = [&GUARD[..], &vec![0; length], &GUARD].concat();
    let result = chain.decode_into(stored, &mut memory[64..64 + length], scratch);
    assert_eq!((&memory[..64], &memory[64 + length..]), (&GUARD[..], &GUARD[..]), "wrote outside the target");
    let view = chain.decode_view(stored, scratch).map(|view| view.bytes.len());
    assert_eq!(view.is_ok(), result.is_ok());
    assert!(view.is_err() || view.is_ok_and(|view| view == length));
    result.map(|()| memory[64..64 + length].to_vec()).map_err(|error| {
        assert!(
            matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Checksum | ErrorKind::Unsupported),
            "{error}"
        );
        error.kind()
    })
}

#[test]
fn every_truncation_is_an_error() {
    let mut scratch = Scratch::default();
    for (name, configuration) in every_compressor() {
        let chain = chain_of(name, &configuration, 700);
        let mut stored = Vec::new();
        chain.encode(&smooth_chunk(700), &mut stored, &mut scratch).unwrap();
        for length in 0..stored.len() {
            assert!(
                decode(&chain, &stored[..length], &mut scratch).is_err(),
                "{name} {configuration} {length}"
            );
        }
        assert!(decode(&chain, &stored, &mut scratch).is_ok());
    }
}

#[test]
fn every_flipped_bit_errs_or_yields_a_chunk() {
    let mut scratch = Scratch::default();
    for (name, configuration) in every_compressor() {
        let chain = chain_of(name, &configuration, 300);
        let chunk = smooth_chunk(300);
        let mut stored = Vec::new();
        chain.encode(&chunk, &mut stored, &mut scratch).unwrap();
        let has_checksum =
            matches!(name, "gzip" | "zlib" | "crc32c") || configuration["checksum"] == json!(true);
        for bit in 0..stored.len() * 8 {
            stored[bit / 8] ^= 1 << (bit % 8);
            // A flip in a header may leave the content as it was, but never change what a checksum covers.
            if let Ok(decoded) = decode(&chain, &stored, &mut scratch) {
                assert!(!has_checksum || decoded == chunk, "{name} {configuration} bit {bit}");
            }
            stored[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(decode(&chain, &stored, &mut scratch), Ok(chunk));
    }
}

#[test]
fn chunks_of_another_length_are_corrupt_with_both_numbers() {
    let mut scratch = Scratch::default();
    for (name, configuration) in every_compressor() {
        let mut stored = Vec::new();
        chain_of(name, &configuration, 100).encode(&smooth_chunk(100), &mut stored, &mut scratch).unwrap();
        for (elements, length) in [(99, "396"), (101, "404"), (0, "0")] {
            let chain = chain_of(name, &configuration, elements);
            let error =
                chain.decode_into(&stored, &mut vec![0; chain.decoded_len()], &mut scratch).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{name} {configuration} {elements}: {error}");
            assert!(error.to_string().contains(length), "{error}");
            let found = error.to_string().contains("400") || error.to_string().contains("more than");
            assert!(found, "{error}");
        }
    }
}

#[test]
fn raw_chunks_of_another_length_are_corrupt() {
    let layout = ChunkLayout { shape: vec![3], element: Element::opaque(2, 1) };
    let chain = Chain::compile(&[Codec::from_v3("bytes", &Value::Null).unwrap()], &layout).unwrap();
    for length in [0, 5, 7] {
        assert_eq!(decode(&chain, &vec![0; length], &mut Scratch::default()), Err(ErrorKind::Corrupt));
    }
}

#[test]
fn a_wrong_checksum_is_told_apart_and_can_be_skipped() {
    let chain = chain_of("crc32c", &Value::Null, 2);
    let mut stored = Vec::new();
    chain.encode(&[1; 8], &mut stored, &mut Scratch::default()).unwrap();
    stored[0] = 2;
    assert_eq!(decode(&chain, &stored, &mut Scratch::default()), Err(ErrorKind::Checksum));
    let chain = chain.with_checksums(Checksums::Skip);
    assert_eq!(decode(&chain, &stored, &mut Scratch::default()), Ok(vec![2, 1, 1, 1, 1, 1, 1, 1]));
}

#[test]
fn callers_wrong_lengths_are_internal() {
    let chain = chain_of("zstd", &Value::Null, 2);
    let mut scratch = Scratch::default();
    let error = chain.decode_into(&[], &mut [0; 7], &mut scratch).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    let error = chain.encode(&[0; 9], &mut Vec::new(), &mut scratch).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
}

#[test]
fn a_bomb_is_an_error_and_costs_no_memory() {
    let mut scratch = Scratch::default();
    for (name, configuration) in every_compressor() {
        let mut stored = Vec::new();
        chain_of(name, &configuration, 1 << 20).encode(&vec![0; 4 << 20], &mut stored, &mut scratch).unwrap();
        let mut fresh = Scratch::default();
        assert!(decode(&chain_of(name, &configuration, 10), &stored, &mut fresh).is_err());
        assert!(fresh.allocated_bytes() < 256 << 10, "{name} {}", fresh.allocated_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_chains_err_or_yield_a_chunk(
        case in case(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let chain = case.chain();
        let mut scratch = Scratch::default();
        let mut stored = Vec::new();
        chain.encode(&case.chunk, &mut stored, &mut scratch).unwrap();
        for (at, value) in damage {
            if !stored.is_empty() {
                let at = at.index(stored.len());
                stored[at] = value;
            }
        }
        if let Some(cut) = cut {
            stored.truncate(cut.index(stored.len() + 1));
        }
        let _ = decode(&chain, &stored, &mut scratch);
    }

    #[test]
    fn noise_errs_or_yields_a_chunk(case in case(), stored in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&case.chain(), &stored, &mut Scratch::default());
    }
}
