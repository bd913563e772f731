//! Messages of edition 1: five sections of one field, in a fixed order.

mod grid;
mod product;

use super::field::{Bitmap, DataPlace, Field, Span};
use super::grid::{Grid, GridKind, ScanningMode};
use super::message::{GridCache, SECTION_LEN_MAX};
use super::octets::Octets;
use super::packing::{Packing, PackingKind};
use super::reading::{Reading, Stop};
use crate::Error;
use product::Product;
use std::sync::Arc;
use swath_ioengine::storage_len;

/// Octets of the indicator section.
const INDICATOR_LEN: u64 = 8;

/// Octets of a data section before its packed values.
const DATA_HEAD_LEN: u64 = 11;

/// Octets of a bitmap section before its bits.
const BITMAP_HEAD_LEN: u64 = 6;

/// The last section.
const END: &[u8] = b"7777";

/// Set in the length of a message that 24 bits have no room for.
const LARGE: u32 = 0x80_0000;

/// A message, up to the section that comes next.
pub(crate) struct Message {
    span: Span,
    /// Whether the length counts 120 octets each, so that the data section has to say by how much it is too long.
    is_large: bool,
    /// Where the next section begins.
    at: u64,
    product: Option<Product>,
    grid: Option<Arc<Grid>>,
    bitmap: Option<(Bitmap, Option<Span>)>,
    /// Everything, once the data section began.
    field: Option<Box<Field>>,
}

impl Message {
    pub(crate) fn begin(offset: u64, indicator: Octets<'_>) -> Result<Message, Error> {
        let len = indicator.u24(5)?;
        let is_large = len & LARGE != 0;
        let len = if is_large { u64::from(len & !LARGE) * 120 } else { u64::from(len) };
        let least = INDICATOR_LEN + storage_len(END.len());
        if len < least {
            return Err(Error::corrupt(format!(
                "a message of {len} bytes, and no message has less than {least}"
            )));
        }
        let at = offset.saturating_add(INDICATOR_LEN);
        let span = Span { offset, len };
        Ok(Message { span, is_large, at, product: None, grid: None, bitmap: None, field: None })
    }

    pub(crate) fn span(&self) -> Span {
        self.span
    }

    pub(crate) fn advance(
        &mut self,
        reading: Reading<'_>,
        grids: &mut GridCache,
    ) -> Result<Vec<Field>, Stop> {
        if self.field.is_none() {
            self.read_product(reading)?;
            self.read_grid(reading, grids)?;
            self.read_bitmap(reading)?;
            self.read_data(reading)?;
        }
        if reading.get(self.at, END.len())? != END {
            return Err(Error::corrupt("the message does not end with 7777").into());
        }
        Ok(self.field.take().map(|field| *field).into_iter().collect())
    }

    fn read_product(&mut self, reading: Reading<'_>) -> Result<(), Stop> {
        if self.product.is_none() {
            let section = self.section("product definition", reading)?;
            self.product = Some(product::read(Octets::new(whole(section, reading)?, "product definition"))?);
            self.at = section.end();
        }
        Ok(())
    }

    fn read_grid(&mut self, reading: Reading<'_>, grids: &mut GridCache) -> Result<(), Stop> {
        if self.grid.is_none() && self.product.as_ref().is_some_and(|product| product.has_grid) {
            let section = self.section("grid definition", reading)?;
            self.grid = Some(grids.grid(whole(section, reading)?, grid::read)?);
            self.at = section.end();
        }
        Ok(())
    }

    fn read_bitmap(&mut self, reading: Reading<'_>) -> Result<(), Stop> {
        if self.bitmap.is_none() && self.product.as_ref().is_some_and(|product| product.has_bitmap) {
            let section = self.section("bitmap", reading)?;
            self.bitmap = Some(stored_bitmap(section, reading)?);
            self.at = section.end();
        }
        Ok(())
    }

    fn read_data(&mut self, reading: Reading<'_>) -> Result<(), Stop> {
        let data = self.data_section(reading)?;
        let head = head(data, reading)?;
        let Some(product) = self.product.take() else {
            return Err(Error::corrupt("no product definition section").into());
        };
        let packing = packing(data, head, product.decimal_scale)?;
        let grid = self.grid.take().map_or_else(|| catalogued(&product, &packing), Ok)?;
        let (bitmap, bitmap_place) = self.bitmap.take().unwrap_or((Bitmap::None, None));
        let stored = if bitmap == Bitmap::None { packing.values } else { None };
        let grid = part_of_rows(grid, stored);
        let packed = Span { offset: data.offset + DATA_HEAD_LEN, len: data.len - DATA_HEAD_LEN };
        self.at = data.end();
        self.span.len = data.end() + storage_len(END.len()) - self.span.offset;
        self.field = Some(Box::new(Field {
            message: self.span,
            number: 0,
            edition: 1,
            centre: product.centre,
            subcentre: product.subcentre,
            parameter: product.parameter,
            level: Some(product.level),
            time: product.time,
            step: Some(product.step),
            ensemble: product.ensemble,
            grid,
            packing,
            bitmap,
            place: DataPlace { bitmap: bitmap_place, data: packed },
        }));
        Ok(())
    }

    /// Where the next section lies.
    fn section(&self, name: &'static str, reading: Reading<'_>) -> Result<Span, Stop> {
        let offset = self.at;
        let left = (self.span.end() - storage_len(END.len())).saturating_sub(offset);
        if left < 3 {
            return Err(Error::corrupt(format!("the message ends before its {name} section")).into());
        }
        let len = u64::from(Octets::new(reading.get(offset, 3)?, name).u24(1)?);
        if len < 3 || left < len {
            let message = format!("the {name} section is {len} bytes long, and the message has {left} left");
            return Err(Error::corrupt(message).into());
        }
        Ok(Span { offset, len })
    }

    /// Where the data section lies. In a message that counts by 120 octets its length is what the message's is too long by.
    fn data_section(&self, reading: Reading<'_>) -> Result<Span, Stop> {
        let offset = self.at;
        let end_len = storage_len(END.len());
        let stored = if self.is_large {
            let len = u64::from(Octets::new(reading.get(offset, 3)?, "data").u24(1)?);
            Some(len).filter(|len| *len < 120)
        } else {
            None
        };
        let data = match stored {
            None => self.section("data", reading)?,
            Some(excess) => {
                let end = (self.span.end() + end_len).saturating_sub(excess);
                let len = end.saturating_sub(end_len).saturating_sub(offset);
                Span { offset, len }
            }
        };
        if data.len < DATA_HEAD_LEN {
            return Err(Error::corrupt(format!("a data section of {} bytes", data.len)).into());
        }
        Ok(data)
    }
}

/// A section that is read whole.
fn whole<'a>(section: Span, reading: Reading<'a>) -> Result<&'a [u8], Stop> {
    let len = usize::try_from(section.len).ok().filter(|len| *len <= SECTION_LEN_MAX).ok_or_else(|| {
        Error::unsupported(format!("a section of {} bytes, where swath reads {SECTION_LEN_MAX}", section.len))
    })?;
    reading.get(section.offset, len)
}

fn stored_bitmap(section: Span, reading: Reading<'_>) -> Result<(Bitmap, Option<Span>), Stop> {
    if section.len < BITMAP_HEAD_LEN {
        return Err(Error::corrupt(format!("a bitmap section of {} bytes", section.len)).into());
    }
    let head = Octets::new(reading.get(section.offset, 6)?, "bitmap");
    Ok(match head.u16(5)? {
        0 => {
            let len = section.len - BITMAP_HEAD_LEN;
            (Bitmap::Stored, Some(Span { offset: section.offset + BITMAP_HEAD_LEN, len }))
        }
        number => (Bitmap::Predefined(number), None),
    })
}

/// The data section's octets up to the flags of second-order packing, as far as there are so many.
fn head<'a>(data: Span, reading: Reading<'a>) -> Result<Octets<'a>, Stop> {
    let len = usize::try_from(data.len.min(14)).unwrap_or(14);
    Ok(Octets::new(reading.get(data.offset, len)?, "data"))
}

fn packing(data: Span, octets: Octets<'_>, decimal_scale: i32) -> Result<Packing, Error> {
    let (flags, bits) = (octets.u8(4)?, octets.u8(11)?);
    let (is_spectral, is_second_order) = (flags & 0x80 != 0, flags & 0x40 != 0);
    // A further octet of flags, of which one says that each point has several values.
    let is_matrix = flags & 0x10 != 0 && !is_spectral && octets.u8(14)? & 0x40 != 0;
    let kind = match (is_spectral, is_second_order) {
        (true, _) => PackingKind::Spectral,
        _ if is_matrix => PackingKind::Matrix,
        (false, true) => PackingKind::SecondOrder,
        (false, false) => PackingKind::Simple,
    };
    let unused = u64::from(flags & 0x0f);
    let stored = (data.len - DATA_HEAD_LEN) * 8;
    let values = match kind {
        PackingKind::Simple if bits != 0 => Some(stored.saturating_sub(unused) / u64::from(bits)),
        _ => None,
    };
    Ok(Packing { kind, reference: octets.ibm(7)?, binary_scale: octets.i16(5)?, decimal_scale, bits, values })
}

/// A grid whose rows are listed as they go round the whole Earth, where only the values of an area are stored: how many points it
/// has, the values say alone.
fn part_of_rows(grid: Arc<Grid>, stored: Option<u64>) -> Arc<Grid> {
    match stored {
        Some(points) if grid.row_lengths.is_some() && points < grid.points => {
            Arc::new(Grid { points, ..Grid::clone(&grid) })
        }
        _ => grid,
    }
}

/// The grid of a message that has only the number of one in its centre's catalogue.
fn catalogued(product: &Product, packing: &Packing) -> Result<Arc<Grid>, Error> {
    let points = packing.values.ok_or_else(|| {
        Error::unsupported(format!(
            "grid {} of the centre's catalogue, and no grid definition",
            product.grid_number
        ))
    })?;
    Ok(Arc::new(Grid {
        template: u16::from(product.grid_number),
        kind: GridKind::Other,
        points,
        columns: None,
        rows: None,
        row_lengths: None,
        rotation: None,
        scanning: ScanningMode(0),
    }))
}
