//! Filling tiles whose elements are converted.

use super::super::copy::RANK_MAX;
use super::super::rows::TileMemory;
use super::super::tile::Tile;
use super::nest::{Place, Strided};
use super::stored::Stored;
use crate::chain::DecodedChunk;
use crate::conversion::{BLOCK, Blocks, ChannelRow, CompiledConversion, Steps};
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
                self.convert_rows(chunk, conversion, |stored, _, target, _| integers.convert(stored, target))
            }
            (Steps::Single(floats), false) => {
                let mut blocks = Blocks::default();
                self.convert_rows(chunk, conversion, |stored, channel, target, count| {
                    floats.convert(stored, channel, &mut blocks, target, count);
                })
            }
            (Steps::Double(floats), false) => {
                let mut blocks = Blocks::default();
                self.convert_rows(chunk, conversion, |stored, channel, target, count| {
                    floats.convert(stored, channel, &mut blocks, target, count);
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

    /// Converts the tile row by row, at most [`BLOCK`] elements at a time: `convert` gets stored elements, by what they are
    /// normalised, the memory of as many of the result, and how many they are.
    #[expect(unsafe_code, reason = "writes to the claimed bytes")]
    fn convert_rows(
        self,
        chunk: &DecodedChunk<'_>,
        conversion: &CompiledConversion,
        mut convert: impl FnMut(&[u8], ChannelRow, &mut [u8], usize),
    ) -> Result<(), Error> {
        let mut stored = Stored::new(chunk, conversion.source.size_bytes());
        let (mut memory, mut converted) = (TileMemory::new(self.output), Vec::new());
        let size = self.output.element_bytes;
        let mut convert_row = |place: Place, row: Strided| {
            let mut done = 0;
            while done < row.count {
                let count = BLOCK.min(row.count - done);
                let at = place.after(done, &row);
                let elements = stored.elements(at.source, row.source, count)?;
                let channel = ChannelRow { first: at.channel, step: row.channel };
                if row.target == size || count == 1 {
                    // SAFETY: the row's elements are the tile's, which this claim alone may touch.
                    convert(elements, channel, unsafe { memory.bytes(at.target, count * size) }, count);
                } else {
                    converted.resize(count * size, 0);
                    convert(elements, channel, &mut converted, count);
                    for (number, element) in converted.chunks_exact(size).enumerate() {
                        let target = at.after(number, &row).target;
                        // SAFETY: as above.
                        unsafe { memory.bytes(target, size) }.copy_from_slice(element);
                    }
                }
                done += count;
            }
            Ok(())
        };
        self.converted_rows(chunk.strides, conversion.channels.as_ref(), &mut convert_row)
    }
}
