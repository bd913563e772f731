//! Whole chains.

use arbitrary::Arbitrary;
use swath_codecs::{Chain, ChunkLayout, Codec, Element, ErrorKind, Scratch};

use crate::codec::{chunk_from, configuration, damage, decode_both};

const COMPRESSORS: [&str; 8] = ["blosc", "zstd", "gzip", "zlib", "lz4", "bz2", "fletcher32", "crc32c"];
/// bytes->bytes codecs at most.
const COMPRESSORS_MAX: usize = 3;

/// A layout, a chain and content.
#[derive(Debug, Arbitrary)]
pub struct Case<'a> {
    /// Elements along three axes, cut to 40.
    pub shape: [u8; 3],
    /// Chooses the element.
    pub element: u8,
    /// Sorted into an order of the axes.
    pub order: [u8; 3],
    /// Chooses the byte order.
    pub order_of_bytes: u8,
    /// Chooses codecs and their settings.
    pub compressors: Vec<(u8, u8)>,
    /// Where to damage, and by what.
    pub damage: [(u16, u8); 2],
    /// A part of the chunk.
    pub bytes: &'a [u8],
}

/// Encodes, decodes and compares; then damages and decodes.
pub fn round_trip(case: &Case<'_>) {
    let elements = [(1, 1), (2, 2), (4, 4), (8, 8), (16, 8), (4, 2), (5, 1)];
    let (size_bytes, swap_unit_bytes) = elements[usize::from(case.element) % elements.len()];
    let layout = ChunkLayout {
        shape: case.shape.iter().map(|length| u64::from(length % 41)).collect(),
        element: Element::opaque(size_bytes, swap_unit_bytes),
    };
    let mut order = [0, 1, 2];
    order.sort_by_key(|&axis: &usize| case.order[axis]);
    let transpose = Codec::from_v3("transpose", &serde_json::json!({"order": order}));
    let bytes = Codec::from_v3("bytes", &configuration("bytes", case.order_of_bytes));
    let compressors = case.compressors.iter().take(COMPRESSORS_MAX).map(|&(name, setting)| {
        let name = COMPRESSORS[usize::from(name) % COMPRESSORS.len()];
        Codec::from_v3(name, &configuration(name, setting))
    });
    let codecs: Result<Vec<Codec>, _> = [transpose, bytes].into_iter().chain(compressors).collect();
    let chain = Chain::compile(&codecs.expect("sound configurations"), &layout).expect("a sound chain");

    let chunk = chunk_from(case.bytes, chain.decoded_len());
    let mut scratch = Scratch::default();
    let mut stored = Vec::new();
    chain.encode(&chunk, &mut stored, &mut scratch).expect("a chunk of the right length encodes");
    assert!(stored.len() as u64 <= chain.encoded_len_max());
    assert_eq!(decode_both(&chain, &stored, &mut scratch).expect("what was encoded decodes"), chunk);

    damage(&mut stored, &case.damage);
    match decode_both(&chain, &stored, &mut scratch) {
        Ok(decoded) => assert_eq!(decoded.len(), chunk.len()),
        Err(error) => assert_ne!(error.kind(), ErrorKind::Internal),
    }
}
