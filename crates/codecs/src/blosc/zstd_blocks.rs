//! Encodes a blosc buffer whose blocks zstd compresses: each is arranged, and compressed while it is in the core's caches, by one
//! context for all. c-blosc makes a context a block, and its shuffles know SSE2 alone (docs/decisions/0003).
//!
//! The bytes are those that c-blosc comes to: `blosc_c` and `serial_blosc` of its blosc.c, for blocks that are one stream.

use super::NAME;
use super::encode::arrange;
use super::ffi::Settings;
use super::header::{HEADER_BYTES, zstd_header};
use super::room_behind::RoomBehind;
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
    let arranged = room(&mut contexts.block, block_bytes)?;
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
        let number_at = target.len();
        target.resize(number_at + NUMBER_BYTES, 0);
        let left = most.saturating_sub(at + NUMBER_BYTES);
        let behind = target.len();
        let mut room = RoomBehind::new(target, block.len().min(left)).ok_or_else(no_memory)?;
        match context.compress(&mut room, block, level(settings)) {
            Ok(len) if len != 0 && len != block.len() => {}
            // What does not fit, or has become no shorter, is kept as it is, as far as there is room.
            _ if block.len() <= left => {
                target.truncate(behind);
                target.extend_from_slice(block);
            }
            _ => {
                is_stored = true;
                break;
            }
        }
        let len = target.len() - behind;
        set_number(target, number_at, len);
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
