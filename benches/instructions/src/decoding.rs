//! Chunks of 8 KiB, decoded and encoded: 64 x 64 `int16` of a smooth field with noise.

use crate::{Failure, Round};
use serde_json::{Value, json};
use swath::codecs::{Chain, ChunkLayout, Codec, Element, NumberType, Scratch};

/// Chunks of one round, all different.
const CHUNKS: u64 = 8;

const SIDE: u64 = 64;

/// lz4 with bitshuffle, as blosc stores it. One operation is one chunk.
pub(crate) fn blosc() -> Result<Round, Failure> {
    decode("blosc", &blosc_configuration())
}

/// The same, made of what is stored. One operation is one chunk.
pub(crate) fn encode_blosc() -> Result<Round, Failure> {
    let chain = chain("blosc", &blosc_configuration())?;
    let chunks: Vec<Vec<u8>> = (0..CHUNKS).map(field).collect();
    let (mut scratch, mut decoded, mut stored) =
        (Scratch::default(), vec![0; chain.decoded_len()], Vec::new());
    for chunk in &chunks {
        chain.encode(chunk, &mut stored, &mut scratch)?;
        chain.decode_into(&stored, &mut decoded, &mut scratch)?;
        if decoded != *chunk {
            return Err("blosc decodes to other values".into());
        }
    }
    Ok(Box::new(move || {
        for chunk in &chunks {
            chain.encode(chunk, &mut stored, &mut scratch)?;
        }
        Ok(CHUNKS)
    }))
}

fn blosc_configuration() -> Value {
    json!({"cname": "lz4", "clevel": 5, "shuffle": "bitshuffle", "typesize": 2, "blocksize": 0})
}

/// zstd at level 1. One operation is one chunk.
pub(crate) fn zstd() -> Result<Round, Failure> {
    decode("zstd", &json!({"level": 1, "checksum": false}))
}

fn chain(name: &str, configuration: &Value) -> Result<Chain, Failure> {
    let layout = ChunkLayout { shape: vec![SIDE, SIDE], element: Element::number(NumberType::UInt16) };
    let codecs =
        [Codec::from_v3("bytes", &json!({"endian": "little"}))?, Codec::from_v3(name, configuration)?];
    Ok(Chain::compile(&codecs, &layout)?)
}

fn decode(name: &str, configuration: &Value) -> Result<Round, Failure> {
    let chain = chain(name, configuration)?;
    let mut scratch = Scratch::default();
    let mut decoded = vec![0; chain.decoded_len()];
    let mut stored = Vec::new();
    for number in 0..CHUNKS {
        let (values, mut bytes) = (field(number), Vec::new());
        chain.encode(&values, &mut bytes, &mut scratch)?;
        chain.decode_into(&bytes, &mut decoded, &mut scratch)?;
        if decoded != values {
            return Err(format!("{name} decodes to other values").into());
        }
        stored.push(bytes);
    }
    Ok(Box::new(move || {
        for bytes in &stored {
            chain.decode_into(bytes, &mut decoded, &mut scratch)?;
        }
        Ok(CHUNKS)
    }))
}

/// A slope along both axes, and noise of 4 bits.
fn field(number: u64) -> Vec<u8> {
    let value = |at: u64| {
        let noise = (number * SIDE * SIDE + at).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
        number * 100 + at / SIDE * 16 + at % SIDE * 8 + noise
    };
    // Less than 2^13: no more than the two low bytes.
    (0..SIDE * SIDE).flat_map(|at| value(at).to_le_bytes().into_iter().take(2)).collect()
}
