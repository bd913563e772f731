//! Filling tiles whose elements are converted.

use super::super::copy::{Loop, RANK_MAX};
use super::super::rows::{Rows, TileMemory};
use super::super::tile::Tile;
use super::nest::{Place, Strided};
use super::stored::{Spaced, Stored};
use crate::chain::DecodedChunk;
use crate::conversion::{BLOCK, Blocks, ChannelRow, CompiledConversion, ROWS_MAX, Steps, StoredRows};
use crate::error::Error;

impl Tile<'_> {
    /// [`Tile::write`] through a conversion.
    #[inline(never)]
    pub(in super::super) fn write_converted(
        self,
        chunk: &DecodedChunk<'_>,
        conversion: &CompiledConversion,
    ) -> Result<(), Error> {
        let size = conversion.source.size_bytes();
        if let Some(unit) = chunk.swap_unit_bytes.filter(|unit| *unit != size) {
            let message =
                format!("wanted elements of {size} bytes to convert, found a unit of {unit} to swap");
            return Err(Error::internal("output", message));
        }
        match (&conversion.steps, conversion.has_means()) {
            (Steps::Integers(integers), _) => {
                self.convert_rows(chunk, conversion, |stored, _, targets, _| {
                    integers.convert(stored, targets)
                })
            }
            (Steps::Single(floats), false) => {
                let mut blocks = Blocks::default();
                self.convert_rows(chunk, conversion, |stored, channel, targets, count| {
                    floats.convert(stored, channel, &mut blocks, targets, count);
                })
            }
            (Steps::Double(floats), false) => {
                let mut blocks = Blocks::default();
                self.convert_rows(chunk, conversion, |stored, channel, targets, count| {
                    floats.convert(stored, channel, &mut blocks, targets, count);
                })
            }
            (Steps::Single(floats), true) => self.write_means(chunk, conversion, floats),
            (Steps::Double(floats), true) => self.write_means(chunk, conversion, floats),
        }
    }

    /// [`Tile::fill`] through a conversion, by an element as chunks have it.
    pub(in super::super) fn fill_converted(
        self,
        element: &[u8],
        conversion: &CompiledConversion,
    ) -> Result<(), Error> {
        let size = conversion.source.size_bytes();
        if element.len() != size {
            let message = format!("wanted a fill value of {size} bytes, found {}", element.len());
            return Err(Error::internal("output", message));
        }
        // A chunk in which every element is the same one: all strides are zero.
        let strides = [0usize; RANK_MAX];
        let strides = &strides[..self.axes.len()];
        self.write_converted(
            &DecodedChunk { bytes: element, start: 0, strides, swap_unit_bytes: None },
            conversion,
        )
    }

    /// Converts the tile some rows at a time, at most [`BLOCK`] elements: `convert` gets rows of stored elements, by what they
    /// are normalised, the memory of as many rows of the result, and how many elements a row has.
    #[expect(unsafe_code, reason = "writes to the claimed bytes")]
    fn convert_rows(
        self,
        chunk: &DecodedChunk<'_>,
        conversion: &CompiledConversion,
        mut convert: impl FnMut(&StoredRows<'_>, ChannelRow, &mut [&mut [u8]], usize),
    ) -> Result<(), Error> {
        let mut stored = Stored::new(chunk, conversion.source.size_bytes());
        let (mut targets, mut memory) = (Rows::new(self.output), TileMemory::new(self.output));
        let mut converted = Vec::new();
        let size = self.output.element_bytes;
        let mut convert_some = |at: Place, rows: Strided, row: Strided| {
            let each = Spaced { count: row.count, stride: row.source };
            let elements = stored.rows(at.source, Spaced { count: rows.count, stride: rows.source }, each)?;
            let channel = ChannelRow { first: at.channel, step: row.channel };
            if row.target == size || row.count == 1 {
                let lines = Loop { count: rows.count, source_stride: 0, target_stride: rows.target };
                // SAFETY: the rows' elements are the tile's, which this claim alone may touch, and are handed out once.
                return unsafe {
                    targets.hand_out((0, at.target), lines, row.count * size, &mut |_, _, targets| {
                        convert(&elements, channel, targets, row.count);
                        Ok(())
                    })
                };
            }
            converted.resize(row.count * size, 0);
            convert(&elements, channel, &mut [&mut converted], row.count);
            for (number, element) in converted.chunks_exact(size).enumerate() {
                let target = at.after(number, &row).target;
                // SAFETY: the element is the tile's, which this claim alone may touch.
                unsafe { memory.bytes(target, size) }.copy_from_slice(element);
            }
            Ok(())
        };
        self.converted_rows(chunk.strides, conversion.channels.as_ref(), &mut |place, rows, row| {
            let is_one = row.target != size && row.count != 1;
            each_block(place, rows, row, is_one, &mut convert_some)
        })
    }
}

/// Cuts rows into pieces that are converted at once: at most [`BLOCK`] elements, of one row where `is_one`, or where rows are
/// normalised by different numbers.
fn each_block(
    place: Place,
    rows: Strided,
    row: Strided,
    is_one: bool,
    convert: &mut impl FnMut(Place, Strided, Strided) -> Result<(), Error>,
) -> Result<(), Error> {
    let at_once = match is_one || rows.channel != 0 {
        true => 1,
        false => (BLOCK / row.count.max(1)).clamp(1, ROWS_MAX),
    };
    let mut done = 0;
    while done < rows.count {
        let count = at_once.min(rows.count - done);
        let first = place.after(done, &rows);
        let mut done_of_row = 0;
        while done_of_row < row.count {
            let len = BLOCK.min(row.count - done_of_row);
            let at = first.after(done_of_row, &row);
            convert(at, Strided { count, ..rows }, Strided { count: len, ..row })?;
            done_of_row += len;
        }
        done += count;
    }
    Ok(())
}
