//! numcodecs' own fixtures: what it encoded must decode to what it encoded from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use swath_codecs::{
    ByteOrder, BytesCodec, Chain, ChunkLayout, Codec, CodecClass, Element, Error, ErrorKind, NumberType,
    Scratch, VariableChain, VariableCodec, VariableElements,
};

/// Fixtures that this crate can decode: 13 blosc, 10 zstd, 6 gzip, 6 zlib, 7 lz4, 4 bz2, 5 lzma, 4 shuffle, and a setting
/// each of crc32c, crc32 and adler32; 7 arrays each. Those that take some arrays only: 5 delta, 2
/// astype, 15 fixedscaleoffset, 15 quantize, 2 packbits, 55 pcodec, 2 vlen-utf8, 2
/// vlen-bytes, 6 json2, 16 zfpy.
const COVERED: usize = (13 + 10 + 6 + 6 + 7 + 4 + 5 + 4 + 3) * 7 + 5 + 2 + 15 + 15 + 2 + 55 + 4 + 6 + 16;

fn data_folder() -> PathBuf {
    match std::env::var_os("SWATH_TEST_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
    }
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of one element of a NumPy type string: `<f8`, `|S3`, `<m8[ns]`.
fn element_bytes(dtype: &str) -> Option<usize> {
    let digits: String = dtype.get(2..)?.chars().take_while(char::is_ascii_digit).collect();
    match dtype.get(1..2)? {
        "O" => None,
        "U" => digits.parse::<usize>().ok().map(|characters| characters * 4),
        _ => digits.parse().ok(),
    }
}

fn element(dtype: &str) -> Element {
    match NumberType::from_numpy(dtype) {
        Some((number, ByteOrder::NATIVE)) => Element::number(number),
        _ => Element::opaque(element_bytes(dtype).expect("a fixed size"), 1),
    }
}

/// The chain that a v2 array with this codec alone has.
pub(crate) fn codecs_of(codec: Codec) -> Vec<Codec> {
    let order = codec.stored_order().or(Some(ByteOrder::NATIVE));
    let bytes = Codec::Bytes(BytesCodec { order });
    match codec.class() {
        CodecClass::ArrayToArray => vec![codec, bytes],
        CodecClass::ArrayToBytes => vec![codec],
        CodecClass::BytesToBytes => vec![bytes, codec],
    }
}

fn decode(fixture: &Value, stored: &[u8], scratch: &mut Scratch) -> Result<Vec<u8>, Error> {
    let codecs = codecs_of(Codec::from_v2(&fixture["codec"])?);
    let shape = fixture["shape"].as_array().unwrap().iter().map(|length| length.as_u64().unwrap()).collect();
    if let [Codec::Variable(codec)] = codecs.as_slice() {
        let width = fixture["dtype"].as_str().and_then(|dtype| dtype.strip_prefix("<U")?.parse().ok());
        return decode_variable(codec, (shape, width), stored, scratch);
    }
    let layout = ChunkLayout { shape, element: element(fixture["dtype"].as_str().unwrap()) };
    let chain = Chain::compile(&codecs, &layout)?;
    assert!(
        stored.len() as u64 <= chain.encoded_len_max(),
        "the bound must not refuse what numcodecs writes"
    );
    let mut target = vec![0xA5; chain.decoded_len()];
    chain.decode_into(stored, &mut target, scratch)?;
    assert_eq!(chain.decode_view(stored, scratch)?.bytes, target);

    let mut again = Vec::new();
    match chain.encode(&target, &mut again, scratch) {
        Ok(()) => {
            let mut decoded = vec![0x5A; target.len()];
            chain.decode_into(&again, &mut decoded, scratch)?;
            assert_eq!(decoded, target);
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
    }
    Ok(target)
}

/// Elements of any length as the list in JSON that checksums are of; as strings of a fixed width, where there is one.
fn decode_variable(
    codec: &VariableCodec,
    (shape, width): (Vec<u64>, Option<usize>),
    stored: &[u8],
    scratch: &mut Scratch,
) -> Result<Vec<u8>, Error> {
    let is_text = matches!(codec, VariableCodec::Utf8 | VariableCodec::Json);
    let kind = if is_text { VariableElements::Strings } else { VariableElements::Bytes };
    let chain = VariableChain::compile(&[Codec::Variable(codec.clone())], &shape, kind)?;
    let chunk = chain.decode(stored, scratch)?;
    if let Some(width) = width {
        let text = |place: &std::ops::Range<usize>| {
            let text = std::str::from_utf8(&chunk.content[place.clone()]).unwrap();
            text.chars().map(u32::from).chain(std::iter::repeat(0)).take(width).collect::<Vec<_>>()
        };
        return Ok(chunk.places.iter().flat_map(text).flat_map(u32::to_le_bytes).collect());
    }
    let element = |bytes: &[u8]| match kind {
        VariableElements::Strings => json!(std::str::from_utf8(bytes).unwrap()),
        _ => json!({"bytes": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()}),
    };
    let elements: Vec<Value> =
        chunk.places.iter().map(|place| element(&chunk.content[place.clone()])).collect();
    Ok(serde_json::to_vec(&elements).unwrap())
}

#[test]
fn numcodecs_fixtures_decode() {
    let folder = data_folder();
    let Ok(expected) = std::fs::read(folder.join("expected.json")) else {
        println!("SKIPPED: no expected.json in {}; set SWATH_TEST_DATA", folder.display());
        return;
    };
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let mut covered: BTreeMap<String, usize> = BTreeMap::new();
    let mut unsupported: BTreeMap<String, usize> = BTreeMap::new();
    let mut scratch = Scratch::default();
    for (path, fixture) in expected["codec_fixtures"].as_object().unwrap() {
        let stored = std::fs::read(folder.join(path)).unwrap();
        let id = fixture["codec"]["id"].as_str().unwrap().to_owned();
        match decode(fixture, &stored, &mut scratch) {
            Ok(decoded) => {
                // numcodecs' sum is missing where its own build cannot decode: then the array's.
                let wanted =
                    fixture["sha256_decoded"].as_str().or(fixture["sha256_array_memory_order"].as_str());
                // Of elements of any length there is one sum.
                let wanted = wanted.or(fixture["sha256_array"].as_str());
                assert_eq!(Some(hex(&decoded).as_str()), wanted, "{path}");
                *covered.entry(id).or_default() += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{path}: {error}");
                *unsupported.entry(id).or_default() += 1;
            }
        }
    }
    println!("covered: {covered:?}");
    println!("not supported: {unsupported:?}");
    assert_eq!(covered.values().sum::<usize>(), COVERED);
}
