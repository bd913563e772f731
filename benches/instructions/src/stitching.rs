//! Tiles: claimed, and filled from decoded chunks.

use crate::{Failure, Round};
use swath::codecs::{CutAxis, DecodedChunk, Output};

/// Results of one round of `claim`, and tiles of each along both axes.
const CLAIM_RESULTS: usize = 64;
const CLAIM_TILES: u64 = 8;

/// Claims tiles of one byte and fills them. One operation is one tile; adding its result is counted with it.
pub(crate) fn claim() -> Result<Round, Failure> {
    let tiles = CLAIM_TILES * CLAIM_TILES;
    let chunk = DecodedChunk { bytes: &[7], start: 0, strides: &[1, 1], swap_unit_bytes: None };
    let mut memory = vec![0; CLAIM_RESULTS * usize::try_from(tiles)?];
    Ok(Box::new(move || {
        let mut output = Output::new(&mut memory, 1, 2)?;
        let axis = CutAxis::new(3, CLAIM_TILES, 1, 1);
        for result in 0..CLAIM_RESULTS {
            output.push(&[axis, axis])?;
            for tile in 0..tiles {
                output.claim(result, tile).ok_or("a tile was claimed before")?.write(&chunk)?;
            }
        }
        checked(output.unclaimed() == 0)?;
        drop(output);
        checked(memory.last() == Some(&7))?;
        Ok(CLAIM_RESULTS as u64 * tiles)
    }))
}

/// Chunks along each axis of the crop that `stitch` fills.
const STITCH_CHUNKS: usize = 4;

/// Copies square chunks of `side` elements into a crop that starts `lead` elements into its first chunk, so that each of
/// its edges cuts chunks unless `lead` is 0. One operation is one tile.
pub(crate) fn stitch(side: usize, element_bytes: usize, lead: usize) -> Result<Round, Failure> {
    let chunk_bytes: Vec<u8> = (1..=251).cycle().take(side * side * element_bytes).collect();
    let strides = [side * element_bytes, element_bytes];
    let crop = side * STITCH_CHUNKS;
    let mut memory = vec![0; crop * crop * element_bytes];
    let expected = expected_crop(&chunk_bytes, side, element_bytes, lead);
    let axis = CutAxis::new(lead as u64, crop as u64, 1, side as u64);
    let tiles = axis.tile_count() * axis.tile_count();
    let mut is_checked = false;
    Ok(Box::new(move || {
        let chunk = DecodedChunk { bytes: &chunk_bytes, start: 0, strides: &strides, swap_unit_bytes: None };
        let mut output = Output::new(&mut memory, element_bytes, 2)?;
        output.push(&[axis, axis])?;
        for tile in 0..tiles {
            output.claim(0, tile).ok_or("a tile was claimed before")?.write(&chunk)?;
        }
        drop(output);
        if !is_checked {
            checked(memory == expected)?;
            is_checked = true;
        }
        Ok(tiles)
    }))
}

/// The crop, element by element: every chunk is the same.
fn expected_crop(chunk: &[u8], side: usize, element_bytes: usize, lead: usize) -> Vec<u8> {
    let crop = side * STITCH_CHUNKS;
    let places = (0..crop).flat_map(|row| (0..crop).map(move |column| (row, column)));
    let element = |(row, column)| {
        let at = (row + lead) % side * side + (column + lead) % side;
        &chunk[at * element_bytes..][..element_bytes]
    };
    places.flat_map(element).copied().collect()
}

fn checked(is_right: bool) -> Result<(), Failure> {
    if is_right { Ok(()) } else { Err("a tile was not filled as it should be".into()) }
}
