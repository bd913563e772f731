//! A sharded, compressed, satellite-like array, written once to a folder of its own.

use std::path::Path;
use swath::codecs::{Chain, ChunkLayout, Codec, Element, Scratch};

/// Elements along time, channel, y and x.
pub const SHAPE: [u64; 4] = [24, 10, 1024, 1024];
/// Elements of an inner chunk along y and x.
pub const INNER: u64 = 64;

/// Writes the array below `folder`, unless it is there: shards of one time, inner chunks of 64 x 64 int16.
pub fn prepare(folder: &Path) -> std::io::Result<()> {
    let document = folder.join("zarr.json");
    if document.exists() {
        return Ok(());
    }
    let codecs = serde_json::json!([
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "blosc", "configuration":
            {"cname": "lz4", "clevel": 5, "shuffle": "bitshuffle", "typesize": 2, "blocksize": 0}},
    ]);
    let parsed: Vec<Codec> = codecs
        .as_array()
        .into_iter()
        .flatten()
        .map(|codec| Codec::from_v3(codec["name"].as_str().unwrap_or_default(), &codec["configuration"]))
        .collect::<Result<_, _>>()
        .map_err(std::io::Error::other)?;
    let element = Element { size_bytes: 2, swap_unit_bytes: 2 };
    let layout = ChunkLayout { shape: vec![1, 1, INNER, INNER], element };
    let chain = Chain::compile(&parsed, &layout).map_err(std::io::Error::other)?;
    for time in 0..SHAPE[0] {
        let path = folder.join(format!("c/{time}/0/0/0"));
        std::fs::create_dir_all(path.parent().expect("a chunk lies in a folder"))?;
        std::fs::write(path, shard(time, &chain)?)?;
    }
    let metadata = serde_json::json!({
        "zarr_format": 3, "node_type": "array", "shape": SHAPE, "data_type": "int16", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, SHAPE[1], SHAPE[2], SHAPE[3]]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [1, 1, INNER, INNER], "codecs": codecs, "index_location": "end",
            "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}],
    });
    std::fs::write(document, metadata.to_string())
}

/// One shard: its inner chunks in C order, then the index and its checksum.
fn shard(time: u64, chain: &Chain) -> std::io::Result<Vec<u8>> {
    let per_axis = SHAPE[2] / INNER;
    let (mut bytes, mut index) = (Vec::new(), Vec::new());
    let (mut scratch, mut stored) = (Scratch::default(), Vec::new());
    for chunk in 0..SHAPE[1] * per_axis * per_axis {
        let (channel, y, x) = (chunk / per_axis / per_axis, chunk / per_axis % per_axis, chunk % per_axis);
        let values = imagery(time, channel, y * INNER, x * INNER);
        stored.clear();
        chain.encode(&values, &mut stored, &mut scratch).map_err(std::io::Error::other)?;
        index.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        index.extend_from_slice(&(stored.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&stored);
    }
    let checksum = Codec::from_v3("crc32c", &serde_json::Value::Null).map_err(std::io::Error::other)?;
    let raw = Codec::from_v3("bytes", &serde_json::json!({"endian": "little"})).map_err(std::io::Error::other)?;
    let layout = ChunkLayout {
        shape: vec![index.len() as u64],
        element: Element { size_bytes: 1, swap_unit_bytes: 1 },
    };
    let chain = Chain::compile(&[raw, checksum], &layout).map_err(std::io::Error::other)?;
    stored.clear();
    chain.encode(&index, &mut stored, &mut scratch).map_err(std::io::Error::other)?;
    bytes.extend_from_slice(&stored);
    Ok(bytes)
}

/// Counts of 10 to 12 bits: waves that drift, and noise in the low three bits. Compresses about two to one.
fn imagery(time: u64, channel: u64, y0: u64, x0: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity((INNER * INNER * 2) as usize);
    for y in y0..y0 + INNER {
        for x in x0..x0 + INNER {
            let (u, v) = (x as f64 / 97.0 + time as f64 / 5.0, y as f64 / 71.0 - time as f64 / 7.0);
            let wave = (u.sin() * v.cos() + (u * 2.3 + channel as f64).sin() * 0.5) * 900.0 + 1500.0;
            let mut noise = (x ^ y << 20 ^ time << 40 ^ channel << 50).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            noise ^= noise >> 29;
            let count = wave as i16 + (noise.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 61) as i16;
            bytes.extend_from_slice(&count.to_le_bytes());
        }
    }
    bytes
}
