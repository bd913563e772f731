//! Files by the schema of the crate `icechunk-format`.
//!
//! Nothing of a file is trusted: it is decompressed up to a bound, its tables are verified with bounds that its size sets, and
//! only what the crate generated from the schema looks into them. The crate's own types above that panic where a file is not
//! what they expect, or bound nothing.
//!
//! Source: the Icechunk specification, versions 1 and 2, and the schema in `icechunk-format` 2.3.

mod manifests;
mod repositories;
mod snapshots;

pub(in crate::catalog::icechunk) use manifests::manifest;
pub(in crate::catalog::icechunk) use repositories::repository;
pub(in crate::catalog::icechunk) use snapshots::snapshot;

use super::ObjectId;
use crate::{Error, ErrorKind};
use flatbuffers::{Follow, Verifiable, VerifierOptions, root_with_opts};
use icechunk_format::SnapshotId;
use icechunk_format::format_constants::{
    CompressionAlgorithmBin, FileTypeBin, ICECHUNK_FILE_HEADER_LEN, parse_file_header,
};
use std::fmt::Display;
use zstd_safe::{DCtx, DStream, InBuffer, OutBuffer, get_error_name};

/// The name of a snapshot, a manifest or a chunk as files are named by it.
pub(in crate::catalog::icechunk) fn id_text(id: &ObjectId) -> String {
    String::from(&SnapshotId::new(*id))
}

/// What a file of a kind holds, decompressed.
///
/// # Errors
///
/// `Corrupt` for what is no such file, `Unsupported` for one of a newer format, or of more than `len_max` bytes.
fn content(file: &[u8], kind: FileTypeBin, len_max: usize) -> Result<Vec<u8>, Error> {
    let header = parse_file_header(file).map_err(|error| corrupt(&error.kind))?;
    if header.file_type != kind {
        return Err(corrupt(&format!("wanted a file of kind {kind:?}, found {:?}", header.file_type)));
    }
    let body = file.get(ICECHUNK_FILE_HEADER_LEN..).unwrap_or_default();
    match header.compression {
        CompressionAlgorithmBin::Zstd => decompressed(body, len_max),
        CompressionAlgorithmBin::None if body.len() <= len_max => Ok(body.to_vec()),
        CompressionAlgorithmBin::None => Err(too_long(len_max)),
    }
}

fn too_long(len_max: usize) -> Error {
    Error::unsupported(format!("a file of an Icechunk repository of more than {len_max} bytes"))
}

fn corrupt(what: &impl Display) -> Error {
    Error::new(ErrorKind::Corrupt, format!("wanted a file of an Icechunk repository, found: {what}"))
}

/// What a zstd stream holds: it does not say how much that is.
fn decompressed(body: &[u8], len_max: usize) -> Result<Vec<u8>, Error> {
    let mut context = DCtx::try_create().ok_or_else(|| Error::new(ErrorKind::Internal, "no zstd context"))?;
    let mut input = InBuffer::around(body);
    let mut found = Vec::new();
    let mut block = vec![0; DStream::out_size()];
    loop {
        let mut output = OutBuffer::around(&mut block[..]);
        let left = context
            .decompress_stream(&mut output, &mut input)
            .map_err(|code| corrupt(&format!("zstd: {}", get_error_name(code))))?;
        let written = output.as_slice();
        if len_max - found.len() < written.len() {
            return Err(too_long(len_max));
        }
        found.extend_from_slice(written);
        let (is_written, is_all) = (!written.is_empty(), body.len() <= input.pos());
        match (left, is_all) {
            (0, true) => return Ok(found),
            (0, false) => {}
            // What was read is not all that there should be.
            (_, true) if !is_written => return Err(corrupt(&"a zstd stream that ends early")),
            _ => {}
        }
    }
}

/// The root table of verified bytes. Verifying follows no more tables, and no more bytes, than what was written by anybody
/// honest of that length can have: tables that are pointed to again and again are counted each time.
fn root<'a, T: Follow<'a> + Verifiable + 'a>(bytes: &'a [u8]) -> Result<T::Inner, Error> {
    let options = VerifierOptions {
        max_depth: 64,
        max_tables: bytes.len() / 4 + 16,
        max_apparent_size: bytes.len().saturating_mul(4).saturating_add(1 << 16),
        ignore_missing_null_terminator: true,
    };
    root_with_opts::<T>(&options, bytes).map_err(|error| {
        // Its first line says what is wrong; the others where.
        corrupt(&error.to_string().lines().next().unwrap_or_default())
    })
}
