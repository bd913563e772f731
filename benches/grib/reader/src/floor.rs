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

/// zstd's level in what `swath convert` writes.
const LEVEL: i32 = 3;

/// Reads every field of a file, unpacks it to `f32`, compresses it with zstd and writes it to `target`, on one thread.
pub(crate) fn floor(path: &str, target: &str) -> Result<Value, Failure> {
    let fields = fields(Path::new(path))?;
    let source = File::open(path)?;
    let mut out = BufWriter::new(File::create(target)?);
    let (mut read, mut decode, mut encode, mut write) = (0.0, 0.0, 0.0, 0.0);
    let mut compressor = zstd_safe::CCtx::create();
    let (mut values, mut bytes, mut packed) = (Vec::new(), Vec::new(), Vec::new());
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
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        packed.clear();
        packed.reserve(zstd_safe::compress_bound(bytes.len()));
        let begun = Instant::now();
        compressor.compress(&mut packed, &bytes, LEVEL).map_err(zstd_safe::get_error_name)?;
        encode += begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        out.write_all(&packed)?;
        write += begun.elapsed().as_secs_f64();
    }
    let begun = Instant::now();
    out.flush()?;
    write += begun.elapsed().as_secs_f64();
    Ok(json!({ "read_s": read, "decode_s": decode, "encode_s": encode, "write_s": write, "count": fields.len() }))
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
    found.into_iter().map(|one| match one {
        Found::Field(field) => Ok(*field),
        Found::Damage(damage) => Err(damage.to_string().into()),
    }).collect()
}
