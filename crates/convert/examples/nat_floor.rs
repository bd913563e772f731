//! The least that a conversion of a whole .nat image to chunks of counts takes: reading it, unpacking ten bits, compressing, and a
//! file for each shard; nothing is checked, described or listed.
//!
//! `nat_floor FILE.nat FOLDER` prints the seconds. The file has product headers and all channels of the whole disc.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a program that prints what it measured")]

use std::fs::File;
use std::io::{Error, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use swath_zarr_front::{ArrayMetadata, ChunkCodec};

const LINES: u64 = 3712;
const BAND: u64 = 232;
const CHUNK: usize = 232;
const DATA: u64 = 450_400;
const HEAD: usize = 65;
/// Pixels of a line, and the packets of a record: eleven, and three of the broad channel.
const PACKETS: [(usize, usize); 2] = [(3712, 11), (5568, 3)];

const METADATA: &str = r#"{"zarr_format": 3, "node_type": "array", "shape": [232, 232], "data_type": "uint16",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [232, 232]}},
    "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "blosc", "configuration":
    {"cname": "lz4", "clevel": 5, "shuffle": "bitshuffle", "typesize": 2, "blocksize": 32768}}]}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, folder] = &arguments[..] else { return Err("wanted a file and a folder".into()) };
    std::fs::create_dir_all(folder)?;
    let codec = ChunkCodec::new(&ArrayMetadata::parse_v3(METADATA.as_bytes(), "floor")?)?;
    let threads = std::thread::available_parallelism()?.get();
    let begun = Instant::now();
    let next = AtomicU64::new(0);
    let done: Vec<Result<u64, Error>> = std::thread::scope(|scope| {
        let work = || worker(Path::new(file), Path::new(folder), &codec, &next);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(Error::other("panicked"))))
            .collect()
    });
    let bytes: u64 = done.into_iter().collect::<Result<Vec<_>, _>>()?.iter().sum();
    println!("{} {bytes}", begun.elapsed().as_secs_f64());
    Ok(())
}

/// Takes one band after the other; gives how many bytes it wrote.
fn worker(file: &Path, folder: &Path, codec: &ChunkCodec, next: &AtomicU64) -> Result<u64, Error> {
    let mut file = File::open(file)?;
    let record: usize = PACKETS.iter().map(|(pixels, count)| (HEAD + pixels / 4 * 5) * count).sum();
    let mut band = vec![0; record * CHUNK];
    let mut written = 0;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if LINES / BAND <= number {
            return Ok(written);
        }
        file.seek(SeekFrom::Start(DATA + number * band.len() as u64))?;
        file.read_exact(&mut band)?;
        let mut start = 0;
        for (pixels, count) in PACKETS {
            let packet = HEAD + pixels / 4 * 5;
            let mut rows = vec![0u16; pixels * CHUNK];
            for one in 0..count {
                // A shard of the broad channel has a third of the band's lines of it: as many rows.
                for (line, row) in rows.chunks_exact_mut(pixels).enumerate() {
                    let at = if count == 3 {
                        let line = one * CHUNK + line;
                        line / 3 * record + start + line % 3 * packet
                    } else {
                        line * record + start + one * packet
                    };
                    let octets = band.get(at + HEAD..at + packet).unwrap_or_default();
                    unpack(octets, row);
                }
                let shard = compressed(&rows, pixels, codec)?;
                written += shard.len() as u64;
                let name = format!("{number}-{pixels}-{one}");
                File::create(folder.join(name))?.write_all(&shard)?;
            }
            start += packet * count;
        }
    }
}

/// Four numbers of five octets, the last first.
fn unpack(octets: &[u8], row: &mut [u16]) {
    for (group, four) in octets.chunks_exact(5).zip(row.rchunks_exact_mut(4)) {
        let [a, b, c, d, e] = [group[0], group[1], group[2], group[3], group[4]].map(u16::from);
        four[3] = a << 2 | b >> 6;
        four[2] = (b & 63) << 4 | c >> 4;
        four[1] = (c & 15) << 6 | d >> 2;
        four[0] = (d & 3) << 8 | e;
    }
}

/// The chunks of rows, one behind the other; those of zeros are left out.
fn compressed(rows: &[u16], pixels: usize, codec: &ChunkCodec) -> Result<Vec<u8>, Error> {
    let (mut shard, mut chunk) = (Vec::new(), Vec::with_capacity(CHUNK * CHUNK * 2));
    for column in (0..pixels).step_by(CHUNK) {
        chunk.clear();
        for row in rows.chunks_exact(pixels) {
            chunk
                .extend_from_slice(bytemuck::cast_slice(row.get(column..column + CHUNK).unwrap_or_default()));
        }
        if chunk.iter().any(|octet| *octet != 0) {
            let encoded = codec.encode_many(&[&chunk]).map_err(|error| Error::other(error.to_string()))?;
            shard.extend(encoded.into_iter().flatten());
        }
    }
    Ok(shard)
}
