//! Messages of edition 2: sections of any number of fields, each with its length and number in front.

mod grid;
mod packing;
mod product;

use super::field::{Bitmap, DataPlace, Field, Span};
use super::grid::Grid;
use super::message::{GridCache, INDICATOR_LEN, SECTION_LEN_MAX};
use super::octets::Octets;
use super::packing::Packing;
use super::reading::{Reading, Stop};
use super::timing::DateTime;
use crate::Error;
use product::Product;
use std::sync::Arc;
use swath_ioengine::storage_len;

/// Octets of a section's length and number.
const HEAD_LEN: usize = 5;

/// The last section.
const END: &[u8] = b"7777";

/// Fields of one message. Real ones have some hundreds at most.
const FIELDS_MAX: usize = 1 << 14;

/// A message, up to the section that comes next.
pub(crate) struct Message {
    span: Span,
    /// Where the next section begins.
    at: u64,
    discipline: u8,
    origin: Option<Origin>,
    grid: Option<Arc<Grid>>,
    product: Option<Product>,
    packing: Option<Packing>,
    bitmap: Option<(Bitmap, Option<Span>)>,
    /// The last bitmap that was stored, which later fields may name.
    stored_bitmap: Option<Span>,
    fields: Vec<Field>,
}

/// What the identification section says.
#[derive(Clone, Copy)]
struct Origin {
    centre: u16,
    subcentre: u16,
    time: DateTime,
}

impl Message {
    pub(crate) fn begin(offset: u64, indicator: Octets<'_>) -> Result<Message, Error> {
        let len = u64::from_be_bytes(indicator.array(9)?);
        let least = storage_len(INDICATOR_LEN + END.len());
        if len < least {
            return Err(Error::corrupt(format!(
                "a message of {len} bytes, and no message has less than {least}"
            )));
        }
        let at = offset.saturating_add(storage_len(INDICATOR_LEN));
        Ok(Message {
            span: Span { offset, len },
            at,
            discipline: indicator.u8(7)?,
            origin: None,
            grid: None,
            product: None,
            packing: None,
            bitmap: None,
            stored_bitmap: None,
            fields: Vec::new(),
        })
    }

    pub(crate) fn span(&self) -> Span {
        self.span
    }

    pub(crate) fn advance(
        &mut self,
        reading: Reading<'_>,
        grids: &mut GridCache,
    ) -> Result<Vec<Field>, Stop> {
        let end = self.span.end() - storage_len(END.len());
        while self.at < end {
            if end - self.at < storage_len(HEAD_LEN) {
                return Err(Error::corrupt(format!(
                    "a section of less than {HEAD_LEN} bytes before the end"
                ))
                .into());
            }
            let head = Octets::new(reading.get(self.at, HEAD_LEN)?, "next");
            let (len, number) = (head.u32(1)?, head.u8(5)?);
            let section = Span { offset: self.at, len: u64::from(len) };
            if section.len < storage_len(HEAD_LEN) || end < section.end() {
                let left = end - self.at;
                let message =
                    format!("section {number} is {len} bytes long, and the message has {left} left");
                return Err(Error::corrupt(message).into());
            }
            self.section(number, section, reading, grids)?;
            self.at = section.end();
        }
        if reading.get(end, END.len())? != END {
            return Err(Error::corrupt("the message does not end with 7777").into());
        }
        Ok(self.take_fields())
    }

    /// The fields that were found so far.
    pub(crate) fn take_fields(&mut self) -> Vec<Field> {
        std::mem::take(&mut self.fields)
    }

    fn section(
        &mut self,
        number: u8,
        section: Span,
        reading: Reading<'_>,
        grids: &mut GridCache,
    ) -> Result<(), Stop> {
        match number {
            1 => self.origin = Some(origin(Octets::new(whole(section, reading)?, "identification"))?),
            2 => {}
            3 => {
                self.grid = Some(grids.grid(whole(section, reading)?, grid::read)?);
                // A bitmap is of its grid.
                self.stored_bitmap = None;
            }
            4 => {
                self.product =
                    Some(product::read(Octets::new(whole(section, reading)?, "product definition"))?)
            }
            5 => {
                let octets = Octets::new(whole(section, reading)?, "data representation");
                self.packing = Some(packing::read(octets)?);
            }
            6 => self.bitmap = Some(self.read_bitmap(section, reading)?),
            7 => self.end_field(section)?,
            other => return Err(Error::corrupt(format!("a section of number {other}")).into()),
        }
        Ok(())
    }

    fn read_bitmap(&mut self, section: Span, reading: Reading<'_>) -> Result<(Bitmap, Option<Span>), Stop> {
        let octets = Octets::new(reading.get(section.offset, HEAD_LEN + 1)?, "bitmap");
        match octets.u8(6)? {
            255 => Ok((Bitmap::None, None)),
            0 => {
                self.stored_bitmap = Some(content(section, HEAD_LEN + 1)?);
                Ok((Bitmap::Stored, self.stored_bitmap))
            }
            254 if self.stored_bitmap.is_some() => Ok((Bitmap::Stored, self.stored_bitmap)),
            254 => Err(Error::corrupt("the bitmap is said to be an earlier one, and there is none").into()),
            number => Ok((Bitmap::Predefined(u16::from(number)), None)),
        }
    }

    /// Everything of a field has been seen once its data section begins.
    fn end_field(&mut self, section: Span) -> Result<(), Error> {
        let missing =
            |name: &str| Error::corrupt(format!("a data section without a {name} section before it"));
        let origin = self.origin.ok_or_else(|| missing("identification"))?;
        let grid = self.grid.clone().ok_or_else(|| missing("grid definition"))?;
        let product = self.product.as_ref().ok_or_else(|| missing("product definition"))?;
        let packing = self.packing.clone().ok_or_else(|| missing("data representation"))?;
        let (bitmap, bitmap_place) = self.bitmap.ok_or_else(|| missing("bitmap"))?;
        if self.fields.len() == FIELDS_MAX {
            return Err(Error::unsupported(format!("a message of more than {FIELDS_MAX} fields")));
        }
        self.fields.push(Field {
            message: self.span,
            number: u32::try_from(self.fields.len()).unwrap_or(u32::MAX),
            edition: 2,
            centre: origin.centre,
            subcentre: origin.subcentre,
            parameter: product.parameter(self.discipline),
            level: product.level,
            time: origin.time,
            step: product.step,
            ensemble: product.ensemble,
            grid,
            packing,
            bitmap,
            place: DataPlace { bitmap: bitmap_place, data: content(section, HEAD_LEN)? },
        });
        Ok(())
    }
}

/// A section that is read whole.
fn whole<'a>(section: Span, reading: Reading<'a>) -> Result<&'a [u8], Stop> {
    let len = usize::try_from(section.len).ok().filter(|len| *len <= SECTION_LEN_MAX).ok_or_else(|| {
        Error::unsupported(format!("a section of {} bytes, where swath reads {SECTION_LEN_MAX}", section.len))
    })?;
    reading.get(section.offset, len)
}

/// What a section has behind its head.
fn content(section: Span, head: usize) -> Result<Span, Error> {
    let head = storage_len(head);
    let len =
        section.len.checked_sub(head).ok_or_else(|| Error::corrupt("a section shorter than its head"))?;
    Ok(Span { offset: section.offset + head, len })
}

fn origin(octets: Octets<'_>) -> Result<Origin, Error> {
    Ok(Origin { centre: octets.u16(6)?, subcentre: octets.u16(8)?, time: DateTime::read(octets, 13)? })
}
