//! Tiles filled from decoded chunks through a conversion.

use crate::{Failure, Round};
use std::sync::Arc;
use swath::codecs::{Conversion, CutAxis, DecodedChunk, NumberType, Output};

/// Elements along each axis of a chunk, and chunks along each axis of the crop.
const SIDE: usize = 64;
const CHUNKS: usize = 4;

/// Where the crop starts within its first chunk, where its edges cut chunks.
pub(crate) const LEAD: u64 = 23;

/// Casts chunks of `float64` to `float32`. One operation is one tile.
pub(crate) fn cast() -> Result<Round, Failure> {
    let values: Vec<f64> = (0..SIDE * SIDE).map(|number| number as f64 / 7.0).collect();
    let stored = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    #[expect(clippy::cast_possible_truncation, reason = "what is counted")]
    let expected = move |row: usize, column: usize| values[row % SIDE * SIDE + column % SIDE] as f32;
    convert(Conversion::to(NumberType::Float32), NumberType::Float64, stored, (0, 1), expected)
}

/// Masks, scales and normalises chunks of `int16`, and fills what is missing, to `float32`. One operation is one tile.
pub(crate) fn decode() -> Result<Round, Failure> {
    let values: Vec<i16> = (0..251).cycle().take(SIDE * SIDE).collect();
    let stored = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let conversion =
        Conversion::to(NumberType::Float32).mask([0]).scale(0.5).offset(-3.0).normalise(20.0, 4.0);
    let expected = move |row: usize, column: usize| match values[row % SIDE * SIDE + column % SIDE] {
        0 => -1.0,
        value => (f32::from(value) * 0.5 - 3.0 - 20.0) / 4.0,
    };
    convert(conversion.fill_nan(-1.0), NumberType::Int16, stored, (0, 1), expected)
}

/// Means of 2 x 2 elements of `uint16`, as `float32`. One operation is one tile.
pub(crate) fn means(lead: u64) -> Result<Round, Failure> {
    let values: Vec<u16> = (0..251).cycle().take(SIDE * SIDE).collect();
    let stored = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let from = usize::try_from(lead)?;
    let expected = move |row: usize, column: usize| {
        let at = |row: usize, column: usize| {
            f32::from(values[(row + from) % SIDE * SIDE + (column + from) % SIDE])
        };
        let (row, column) = (2 * row, 2 * column);
        (at(row, column) + at(row, column + 1) + at(row + 1, column) + at(row + 1, column + 1)) / 4.0
    };
    let conversion = Conversion::to(NumberType::Float32).downsample(&[2, 2]);
    convert(conversion, NumberType::UInt16, stored, (lead, 2), expected)
}

/// Converts a crop whose chunks are all the same.
fn convert(
    conversion: Conversion,
    source: NumberType,
    stored: Vec<u8>,
    (lead, factor): (u64, usize),
    expected: impl Fn(usize, usize) -> f32,
) -> Result<Round, Failure> {
    let (side, crop) = (SIDE as u64, CHUNKS * SIDE);
    let shape = [(crop + SIDE) as u64; 2];
    let compiled = conversion.compile(source, &shape, &[side; 2])?.ok_or("a conversion of nothing")?;
    let (compiled, size) = (Arc::new(compiled), source.size_bytes());
    let strides = [SIDE * size, size];
    let side_out = crop / factor;
    let mut memory = vec![0; side_out * side_out * size_of::<f32>()];
    let axis = CutAxis::new(lead, crop as u64, 1, side);
    let tiles = axis.tile_count() * axis.tile_count();
    let places = (0..side_out).flat_map(|row| (0..side_out).map(move |column| (row, column)));
    let expected: Vec<u8> = places.flat_map(|(row, column)| expected(row, column).to_ne_bytes()).collect();
    let mut is_checked = false;
    Ok(Box::new(move || {
        let chunk = DecodedChunk { bytes: &stored, start: 0, strides: &strides, swap_unit_bytes: None };
        let output = Output::new(&mut memory, size_of::<f32>(), 2)?;
        let mut output = output.with_conversion(Arc::clone(&compiled), usize::MAX, Box::new(|_| 0))?;
        output.push(&[axis, axis])?;
        for tile in 0..tiles {
            output.claim(0, tile).ok_or("a tile was claimed before")?.write(&chunk)?;
        }
        output.finish_means();
        drop(output);
        if !is_checked && memory != expected {
            return Err("a tile was not converted as it should be".into());
        }
        is_checked = true;
        Ok(tiles)
    }))
}
