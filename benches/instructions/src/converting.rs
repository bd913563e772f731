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

/// Masks and fills chunks of `int16`, whose edges the crop cuts. One operation is one tile.
pub(crate) fn mask() -> Result<Round, Failure> {
    let values: Vec<i16> = (0..251).cycle().take(SIDE * SIDE).collect();
    let stored = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let expected = cut(move |at: usize| if values[at] == 0 { -1 } else { values[at] });
    convert(
        Conversion::to(NumberType::Int16).mask([0]).fill_nan(-1),
        NumberType::Int16,
        stored,
        (LEAD, 1),
        expected,
    )
}

/// Masks and scales chunks of `int16`, whose edges the crop cuts, to `float16`. One operation is one tile.
pub(crate) fn halve() -> Result<Round, Failure> {
    let values: Vec<i16> = (0..251).cycle().take(SIDE * SIDE).collect();
    let stored = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    // Whole numbers are exact: 0.5 * value - 3 is, of values below 2^11, and its bits are those of the number above 2^-14.
    let half = |value: f32| -> i16 {
        let bits = value.to_bits();
        let magnitude = if value == 0.0 { 0 } else { (bits >> 13 & 0x3_ffff) - (112 << 10) };
        i16::from_ne_bytes(
            (bits >> 16 & 0x8000 | magnitude).to_ne_bytes()[..2].try_into().unwrap_or_default(),
        )
    };
    let expected =
        cut(move |at: usize| if values[at] == 0 { 0x7e00 } else { half(f32::from(values[at]) * 0.5 - 3.0) });
    let conversion = Conversion::to(NumberType::Float16).mask([0]).scale(0.5).offset(-3.0);
    convert(conversion, NumberType::Int16, stored, (LEAD, 1), expected)
}

/// Masks, normalises and fills chunks of `float32`, whose edges the crop cuts. One operation is one tile.
pub(crate) fn normalise() -> Result<Round, Failure> {
    let values: Vec<f32> = (0..251u8).cycle().take(SIDE * SIDE).map(f32::from).collect();
    let stored = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let expected = cut(move |at: usize| if values[at] == 0.0 { -1.0 } else { (values[at] - 20.5) / 3.7 });
    let conversion = Conversion::to(NumberType::Float32).mask([0]).normalise(20.5, 3.7).fill_nan(-1);
    convert(conversion, NumberType::Float32, stored, (LEAD, 1), expected)
}

/// What is expected of an element of a crop from `LEAD` on, by what is of the chunk's.
fn cut<T>(of_chunk: impl Fn(usize) -> T) -> impl Fn(usize, usize) -> T {
    let lead = usize::try_from(LEAD).unwrap_or_default();
    move |row, column| of_chunk((row + lead) % SIDE * SIDE + (column + lead) % SIDE)
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

/// An element of a result; halves by their bits.
trait Element: Copy {
    fn bytes(self) -> Vec<u8>;
}

impl Element for f32 {
    fn bytes(self) -> Vec<u8> {
        self.to_ne_bytes().to_vec()
    }
}

impl Element for i16 {
    fn bytes(self) -> Vec<u8> {
        self.to_ne_bytes().to_vec()
    }
}

/// Converts a crop whose chunks are all the same.
fn convert<T: Element>(
    conversion: Conversion,
    source: NumberType,
    stored: Vec<u8>,
    (lead, factor): (u64, usize),
    expected: impl Fn(usize, usize) -> T,
) -> Result<Round, Failure> {
    let (side, crop) = (SIDE as u64, CHUNKS * SIDE);
    let shape = [(crop + SIDE) as u64; 2];
    let compiled = conversion.compile(source, &shape, &[side; 2])?.ok_or("a conversion of nothing")?;
    let (compiled, size) = (Arc::new(compiled), source.size_bytes());
    let strides = [SIDE * size, size];
    let side_out = crop / factor;
    let mut memory = vec![0; side_out * side_out * size_of::<T>()];
    let axis = CutAxis::new(lead, crop as u64, 1, side);
    let tiles = axis.tile_count() * axis.tile_count();
    let places = (0..side_out).flat_map(|row| (0..side_out).map(move |column| (row, column)));
    let expected: Vec<u8> = places.flat_map(|(row, column)| expected(row, column).bytes()).collect();
    let mut is_checked = false;
    Ok(Box::new(move || {
        let chunk = DecodedChunk { bytes: &stored, start: 0, strides: &strides, swap_unit_bytes: None };
        let output = Output::new(&mut memory, size_of::<T>(), 2)?;
        let mut output = output.with_conversion(Arc::clone(&compiled), usize::MAX, Box::new(|_| 0))?;
        output.push(&[axis, axis])?;
        for tile in 0..tiles {
            output.claim(0, tile).ok_or("a tile was claimed before")?.write(&chunk)?;
        }
        drop(output);
        if !is_checked && memory != expected {
            return Err("a tile was not converted as it should be".into());
        }
        is_checked = true;
        Ok(tiles)
    }))
}
