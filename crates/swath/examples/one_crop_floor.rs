//! What one small crop costs without swath: a positioned read of each chunk that it touches, the bare codec, and a copy
//! of the rows that it takes. Shards are open and their indexes known. Beside it, the same crop by `Array::read_into`.
//!
//! `one_crop_floor ARRAY CROP ORIGINS`: a 2-D sharded array of one-byte elements, the crop's extent along both axes, and
//! a file with a line `y x` for each crop. Prints the median of each in nanoseconds: `floor FLOOR rust RUST`.
//! `crates/bindings-py/benches/one_crop.py` runs it.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;
use swath::codecs::{Chain, ChunkLayout, Scratch};
use swath::{Array, ArrayCodecs, Selection};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, crop, origins] = arguments.as_slice() else {
        return Err("wanted ARRAY CROP ORIGINS".into());
    };
    let crop: usize = crop.parse()?;
    let array = Array::open(path)?;
    let origins: Vec<[usize; 2]> = std::fs::read_to_string(origins)?
        .lines()
        .map(|line| line.split_once(' ').and_then(|(y, x)| Some([y.parse().ok()?, x.parse().ok()?])))
        .collect::<Option<_>>()
        .ok_or("a line that is not `y x`")?;
    let selections: Vec<Selection> =
        origins.iter().map(|[y, x]| Selection::from((*y..y + crop, *x..x + crop))).collect();
    let mut floor = Floor::open(path.as_ref(), &array)?;
    let (mut by_floor, mut by_swath) = (vec![0u8; crop * crop], vec![0u8; crop * crop]);
    for (origin, selection) in origins.iter().zip(&selections) {
        floor.crop(*origin, crop, &mut by_floor)?;
        array.read_into(selection, &mut by_swath)?;
        assert_eq!(by_floor, by_swath, "the floor reads what swath reads");
    }
    let (mut floor_ns, mut rust_ns) = (Vec::new(), Vec::new());
    for (origin, selection) in origins.iter().zip(&selections) {
        let start = Instant::now();
        floor.crop(*origin, crop, black_box(&mut by_floor))?;
        floor_ns.push(start.elapsed().as_nanos());
        let start = Instant::now();
        array.read_into(selection, black_box(&mut by_swath))?;
        rust_ns.push(start.elapsed().as_nanos());
    }

    let line = format!("floor {} rust {}\n", median(floor_ns), median(rust_ns));
    io::stdout().write_all(line.as_bytes())?;
    Ok(())
}

fn median(mut times: Vec<u128>) -> u128 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

/// An open file, and where its chunks lie in it: offset and length.
struct Shard {
    file: File,
    index: Vec<[u64; 2]>,
}

/// The shards of an array, open, with their indexes.
struct Floor {
    shards: HashMap<[usize; 2], Shard>,
    shard: usize,
    chunk: usize,
    chain: Chain,
    scratch: Scratch,
    stored: Vec<u8>,
    decoded: Vec<u8>,
}

impl Floor {
    fn open(path: &Path, array: &Array) -> Result<Floor, Box<dyn Error>> {
        let (chunk_shape, [rows, columns]) = (array.chunk_shape().to_vec(), array.stored_grid()) else {
            return Err("wanted an array of two dimensions".into());
        };
        let ArrayCodecs::Sharding(sharding) = array.metadata().codecs() else {
            return Err("wanted a sharded array".into());
        };
        let ArrayCodecs::Chain(codecs) = &sharding.codecs else { return Err("nested shards".into()) };
        let (shard, chunk) = (array.metadata().chunk_shape()[0], chunk_shape[0]);
        let mut shards = HashMap::new();
        for y in 0..*rows {
            for x in 0..*columns {
                let opened = Shard::open(&path.join(format!("c/{y}/{x}")), (shard / chunk).pow(2))?;
                shards.insert([usize::try_from(y)?, usize::try_from(x)?], opened);
            }
        }
        let element = array.data_type().element();
        let chain = Chain::compile(codecs, &ChunkLayout { shape: chunk_shape, element })?;
        let (shard, chunk) = (usize::try_from(shard)?, usize::try_from(chunk)?);
        let (stored, decoded) = (Vec::new(), vec![0; chunk * chunk]);
        Ok(Floor { shards, shard, chunk, chain, scratch: Scratch::default(), stored, decoded })
    }

    fn crop(&mut self, [y, x]: [usize; 2], crop: usize, target: &mut [u8]) -> Result<(), Box<dyn Error>> {
        let (chunk, per_shard) = (self.chunk, self.shard / self.chunk);
        for row in y / chunk..=(y + crop - 1) / chunk {
            for column in x / chunk..=(x + crop - 1) / chunk {
                let shard = self.shards.get(&[row / per_shard, column / per_shard]).ok_or("no such shard")?;
                let [offset, len] = shard.index[row % per_shard * per_shard + column % per_shard];
                self.stored.resize(usize::try_from(len)?, 0);
                shard.file.read_exact_at(&mut self.stored, offset)?;
                self.chain.decode_into(&self.stored, &mut self.decoded, &mut self.scratch)?;
                let (left, right) = ((column * chunk).max(x), ((column + 1) * chunk).min(x + crop));
                for line in (row * chunk).max(y)..((row + 1) * chunk).min(y + crop) {
                    let source = (line - row * chunk) * chunk;
                    let source = &self.decoded[source + left - column * chunk..][..right - left];
                    target[(line - y) * crop + left - x..][..right - left].copy_from_slice(source);
                }
            }
        }
        Ok(())
    }
}

impl Shard {
    /// Reads the index, which lies at the end of the file with a checksum behind it.
    fn open(path: &Path, entries: u64) -> Result<Shard, Box<dyn Error>> {
        let file = File::open(path)?;
        let mut bytes = vec![0; usize::try_from(entries)? * 16];
        file.read_exact_at(&mut bytes, file.metadata()?.len() - entries * 16 - 4)?;
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        Ok(Shard { file, index: words.as_chunks().0.to_vec() })
    }
}
