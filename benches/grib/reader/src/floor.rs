//! What a conversion cannot avoid: its bytes read, decoded, encoded and written, each timed by itself.

use crate::Failure;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use swath_convert::{Field, FieldBytes, Found, ScanOptions, Span, scan, unpack};
use swath_ioengine::{Engine, FileAccess, LocalFiles, RunOptions};
use swath_zarr_front::{ArrayMetadata, ChunkCodec};

/// The codec that `swath convert` chooses for fields whose values are a power of two apart.
fn codec(points: u64) -> Result<ChunkCodec, Failure> {
    let metadata = json!({
        "zarr_format": 3, "node_type": "array", "shape": [points], "data_type": "float32", "fill_value": "NaN",
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [points] } },
        "chunk_key_encoding": { "name": "default" },
        "codecs": [
            { "name": "bytes", "configuration": { "endian": "little" } },
            { "name": "blosc", "configuration": {
                "cname": "zstd", "clevel": 1, "shuffle": "bitshuffle", "typesize": 4, "blocksize": 256 << 10,
            } },
        ],
    });
    Ok(ChunkCodec::new(&ArrayMetadata::parse_v3(metadata.to_string().as_bytes(), "floor")?)?)
}

/// Reads every field of a file, unpacks it to `f32`, compresses it and writes it to `target`, on one thread.
pub(crate) fn floor(path: &str, target: &str) -> Result<Value, Failure> {
    let fields = fields(Path::new(path))?;
    let source = File::open(path)?;
    let mut out = BufWriter::new(File::create(target)?);
    let (mut read, mut decode, mut encode, mut write) = (0.0, 0.0, 0.0, 0.0);
    let (mut values, mut bytes) = (Vec::new(), Vec::new());
    let mut encoder: Option<(u64, ChunkCodec)> = None;
    for field in &fields {
        let begun = Instant::now();
        let read_bytes = FieldBytes {
            bitmap: field.place.bitmap.map(|span| part(&source, span)).transpose()?,
            data: part(&source, field.place.data)?,
        };
        read += begun.elapsed().as_secs_f64();
        values.resize(usize::try_from(field.grid.points)?, 0f32);
        let begun = Instant::now();
        unpack(field, &read_bytes, &mut values)?;
        decode += begun.elapsed().as_secs_f64();
        bytes.clear();
        bytes.extend(values.iter().flat_map(|value| value.to_ne_bytes()));
        let points = field.grid.points;
        let known = encoder.take().filter(|(own, _)| *own == points);
        let (_, codec) =
            encoder.insert(known.map_or_else(|| Ok((points, codec(points)?)), Ok::<_, Failure>)?);
        let begun = Instant::now();
        let packed = codec.encode_many(&[&bytes])?;
        encode += begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        for chunk in &packed {
            out.write_all(chunk)?;
        }
        write += begun.elapsed().as_secs_f64();
    }
    let begun = Instant::now();
    out.flush()?;
    write += begun.elapsed().as_secs_f64();
    Ok(
        json!({ "read_s": read, "decode_s": decode, "encode_s": encode, "write_s": write, "count": fields.len() }),
    )
}

fn part(source: &File, span: Span) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; usize::try_from(span.len)?];
    source.read_exact_at(&mut bytes, span.offset)?;
    Ok(bytes)
}

fn fields(path: &Path) -> Result<Vec<Field>, Failure> {
    let (folder, name) = (path.parent().ok_or("no folder")?, path.file_name().ok_or("no name")?);
    let files = LocalFiles::open(folder, FileAccess::default())?;
    let object = files.object(name.to_str().ok_or("a name that is no text")?);
    let found = Mutex::new(Vec::new());
    let keep = |_: usize, next: Found| found.lock().unwrap_or_else(PoisonError::into_inner).push(next);
    scan(&Engine::global(), &[object], keep, &ScanOptions::default(), &RunOptions::default())?;
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found
        .into_iter()
        .map(|one| match one {
            Found::Field(field) => Ok(*field),
            Found::Damage(damage) => Err(damage.to_string().into()),
        })
        .collect()
}
