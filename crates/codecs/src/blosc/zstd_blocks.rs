//! Encodes a blosc buffer whose blocks zstd compresses: each is arranged, and compressed while it is in the core's caches, by one
//! context for all. c-blosc makes a context a block, and its shuffles know SSE2 alone (docs/decisions/0003).
//!
//! The bytes are those that c-blosc comes to: `blosc_c` and `serial_blosc` of its blosc.c, for blocks that are one stream.

use super::NAME;
use super::encode::arrange;
use super::ffi::Settings;
use super::header::{HEADER_BYTES, zstd_header};
use crate::error::Error;
use crate::scratch::{Contexts, room};
use zstd_safe::CCtx;

/// Bytes of a number: of where a block starts, and of how long it is.
const NUMBER_BYTES: usize = 4;

/// Encodes `source` in blocks of so many bytes, and puts it behind what `target` holds. The settings arrange blocks by kernels of
/// ours, or not at all, and compress.
///
/// # Errors
///
/// `Internal` where there is no memory.
pub(super) fn encode(
    settings: &Settings,
    block_bytes: usize,
    source: &[u8],
    target: &mut Vec<u8>,
    contexts: &mut Contexts,
) -> Result<(), Error> {
    let context = match &mut contexts.zstd_compressor {
        Some(context) => context,
        none => none.insert(CCtx::try_create().ok_or_else(no_memory)?),
    };
    let (arranged, compressed) = room(&mut contexts.block, 2 * block_bytes)?.split_at_mut(block_bytes);
    // What is not shorter than the source is stored as it is.
    let most = source.len() + HEADER_BYTES;
    target.try_reserve(most).map_err(|_| no_memory())?;
    let start = target.len();
    target.resize(start + HEADER_BYTES + source.len().div_ceil(block_bytes) * NUMBER_BYTES, 0);
    let mut is_stored = false;
    for (number, block) in source.chunks(block_bytes).enumerate() {
        let at = target.len() - start;
        set_number(target, start + HEADER_BYTES + number * NUMBER_BYTES, at);
        let block = match settings.shuffle {
            0 => block,
            _ => {
                let arranged = &mut arranged[..block.len()];
                arrange(settings, block, arranged);
                &*arranged
            }
        };
        let left = most.saturating_sub(at + NUMBER_BYTES);
        let compressed = &mut compressed[..block.len().min(left)];
        let found = match compressed.is_empty() {
            true => None,
            // What does not fit, or has become no shorter, is kept as it is, as far as there is room.
            false => match context.compress(&mut *compressed, block, level(settings)) {
                Ok(len) if len != 0 && len != block.len() => compressed.get(..len),
                _ => Some(block).filter(|block| block.len() <= left),
            },
        };
        let Some(found) = found else {
            is_stored = true;
            break;
        };
        let len = target.len();
        target.resize(len + NUMBER_BYTES, 0);
        set_number(target, len, found.len());
        target.extend_from_slice(found);
    }
    if is_stored {
        target.truncate(start + HEADER_BYTES);
        target.extend_from_slice(source);
    }
    let lengths = [source.len(), block_bytes, target.len() - start];
    let header = zstd_header(settings.shuffle, is_stored, settings.element_bytes, lengths);
    target[start..start + HEADER_BYTES].copy_from_slice(&header);
    Ok(())
}

/// zstd's level of blosc's: `zstd_wrap_compress` of blosc.c.
fn level(settings: &Settings) -> i32 {
    if settings.level < 9 { settings.level * 2 - 1 } else { zstd_safe::max_c_level() }
}

/// Puts a number that fits blosc's buffers, which are shorter than 2^31 bytes.
fn set_number(target: &mut [u8], at: usize, number: usize) {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    target[at..at + NUMBER_BYTES].copy_from_slice(&number.to_le_bytes());
}

#[cold]
fn no_memory() -> Error {
    Error::internal(NAME, "wanted memory to compress in, found none")
}
