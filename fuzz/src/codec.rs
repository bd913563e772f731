//! One codec at a time, over bytes that may be anything.

use arbitrary::Arbitrary;
use serde_json::{Value, json};
use swath_codecs::{Chain, ChunkLayout, Codec, Element, Error, ErrorKind, Scratch};

/// Elements along an axis at most: chunks of up to 64 KiB, so that a run makes many.
const AXIS_MAX: u16 = 64;

/// A bounded layout and bytes.
#[derive(Debug, Arbitrary)]
pub struct Case<'a> {
    /// Elements along two axes, cut to `AXIS_MAX`.
    pub shape: [u16; 2],
    /// Chooses the element.
    pub element: u8,
    /// Chooses among the codec's settings.
    pub setting: u8,
    /// Whether `bytes` are encoded first and then damaged, to come further than bytes that are nothing.
    pub is_content: bool,
    /// Where to damage, and by what.
    pub damage: [(u16, u8); 3],
    /// Stored bytes, or a part of a chunk.
    pub bytes: &'a [u8],
}

impl Case<'_> {
    fn layout(&self) -> ChunkLayout {
        let elements = [(1, 1), (2, 2), (4, 4), (8, 8), (16, 8), (3, 1)];
        let (size_bytes, swap_unit_bytes) = elements[usize::from(self.element) % elements.len()];
        let shape = self.shape.iter().map(|length| u64::from(length % (AXIS_MAX + 1))).collect();
        ChunkLayout { shape, element: Element::opaque(size_bytes, swap_unit_bytes) }
    }
}

/// The configuration of a codec's `setting`-th setting.
pub fn configuration(name: &str, setting: u8) -> Value {
    let level = i64::from(setting % 10);
    match name {
        "bytes" => json!({"endian": if setting % 2 == 0 { "little" } else { "big" }}),
        "transpose" => json!({"order": if setting % 2 == 0 { [1, 0] } else { [0, 1] }}),
        "gzip" | "zlib" => json!({"level": level}),
        "bz2" => json!({"level": 1 + level % 9}),
        "lzma" => json!({"preset": level % 2}),
        "shuffle" => json!({"elementsize": 1 + setting % 16}),
        "zstd" => json!({"level": level - 4, "checksum": setting % 2 == 0}),
        "blosc" => {
            let compressors = ["lz4", "zstd", "zlib", "blosclz", "lz4hc"];
            json!({
                "cname": compressors[usize::from(setting) % compressors.len()],
                "shuffle": setting / 5 % 3,
                // Low levels: at high ones zstd's optimal parser runs, where gcc's AddressSanitizer reports a table at an
                // address within the executable, not on the stack, as a stack variable out of scope (zstd_opt.c:899).
                "clevel": 1 + setting / 15 % 3,
                "blocksize": if setting < 128 { 0 } else { 600 },
            })
        }
        _ => Value::Null,
    }
}

/// Compiles a chain of the codec alone, decodes the case's bytes, and checks what comes of it.
pub fn decode(name: &str, case: &Case<'_>) {
    let layout = case.layout();
    let codec = Codec::from_v3(name, &configuration(name, case.setting)).expect("a sound configuration");
    let bytes = |codec: &Codec| match codec {
        Codec::Bytes(_) => None,
        _ => Codec::from_v3("bytes", &json!({"endian": "little"})).ok(),
    };
    let codecs = match (&codec, bytes(&codec)) {
        (_, None) => vec![codec],
        (Codec::Transpose(_), Some(bytes)) => vec![codec, bytes],
        (_, Some(bytes)) => vec![bytes, codec],
    };
    let chain = Chain::compile(&codecs, &layout).expect("a sound chain");
    let mut scratch = Scratch::default();
    let stored = if case.is_content {
        let chunk = chunk_from(case.bytes, chain.decoded_len());
        let mut stored = Vec::new();
        let encoded = chain.encode(&chunk, &mut stored, &mut scratch);
        // A shuffle wants whole elements of its own.
        if name == "shuffle" && encoded.as_ref().is_err_and(|error| error.kind() == ErrorKind::Invalid) {
            return;
        }
        encoded.expect("a chunk of the right length encodes");
        assert!(stored.len() as u64 <= chain.encoded_len_max());
        let mut decoded = vec![0xA5; chunk.len()];
        chain.decode_into(&stored, &mut decoded, &mut scratch).expect("what was encoded decodes");
        assert_eq!(decoded, chunk);
        damage(&mut stored, &case.damage);
        stored
    } else {
        case.bytes.to_vec()
    };
    let decoded = decode_both(&chain, &stored, &mut scratch);
    if let (Ok(decoded), "blosc") = (decoded, name) {
        equals_c_blosc(&stored, &decoded);
    }
}

/// Repeats `bytes` to a chunk, each time with another value added.
pub fn chunk_from(bytes: &[u8], length: usize) -> Vec<u8> {
    match bytes.len() {
        0 => vec![7; length],
        period => (0..length).map(|at| bytes[at % period].wrapping_add((at / period / 3) as u8)).collect(),
    }
}

/// Overwrites some bytes.
pub fn damage(stored: &mut [u8], damage: &[(u16, u8)]) {
    let length = stored.len().max(1);
    for (at, value) in damage {
        if let Some(byte) = stored.get_mut(usize::from(*at) % length) {
            *byte ^= *value;
        }
    }
}

/// Decodes to a target and to a view: both succeed or both fail, and only as stored bytes can.
pub fn decode_both(chain: &Chain, stored: &[u8], scratch: &mut Scratch) -> Result<Vec<u8>, Error> {
    let mut target = vec![0x5A; chain.decoded_len()];
    let result = chain.decode_into(stored, &mut target, scratch);
    let view = chain.decode_view(stored, scratch);
    assert_eq!(view.is_ok(), result.is_ok());
    if let Ok(view) = view {
        assert_eq!(view.bytes.len(), target.len());
        assert!(!chain.decodes_in_place() || view.bytes == target);
    }
    if let Err(error) = &result {
        assert!(
            matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Checksum | ErrorKind::Unsupported),
            "{error}"
        );
    }
    result.map(|()| target)
}

/// What our decoder accepts, c-blosc decodes to the same bytes.
fn equals_c_blosc(stored: &[u8], decoded: &[u8]) {
    let mut target = vec![0; decoded.len()];
    // SAFETY: our decoder has checked that the header's stored length lies within `stored` and that its decoded length
    // is the target's.
    let written = unsafe {
        blosc_src::blosc_decompress_ctx(stored.as_ptr().cast(), target.as_mut_ptr().cast(), target.len(), 1)
    };
    let written = usize::try_from(written).ok();
    // c-blosc is built without snappy, and zlib refuses distances past the window that a stream states, which
    // libdeflate does not.
    let may_refuse = matches!(stored[2] >> 5, 2 | 3);
    assert!(written == Some(decoded.len()) || may_refuse, "c-blosc: {written:?}");
    assert!(written != Some(decoded.len()) || target == decoded, "other bytes than c-blosc");
}

/// Reads text as a v3 and a v2 entry; what is read writes an entry that reads as the same.
pub fn metadata(text: &str) {
    let Ok(entry) = serde_json::from_str::<Value>(text) else { return };
    let mut codecs = Vec::from_iter(Codec::from_v2(&entry));
    if let Some(name) = entry["name"].as_str() {
        codecs.extend(Codec::from_v3(name, &entry["configuration"]));
    }
    for codec in codecs {
        let written = codec.to_v3();
        let name = written["name"].as_str().expect("a name");
        let again = Codec::from_v3(name, &written["configuration"]).expect("what was written reads");
        assert_eq!(again, codec);
        assert!(!codec.describe().is_empty());
    }
}
