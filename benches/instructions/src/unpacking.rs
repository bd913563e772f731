//! GRIB fields of 128 x 64 values, unpacked. `messages/README.md` says what they are.

use crate::{Failure, Round};
use swath::convert::{FieldBytes, Found, Span, Walk, unpack};

/// A message of one field, and the numbers that its values are.
const SIMPLE_12: &[u8] = include_bytes!("../messages/simple12.grib");
const SIMPLE_16: &[u8] = include_bytes!("../messages/simple16.grib");
const CCSDS: &[u8] = include_bytes!("../messages/ccsds16.grib");
const COMPLEX: &[u8] = include_bytes!("../messages/complex16.grib");
const DIFFERENCES: &[u8] = include_bytes!("../messages/differences16.grib");

/// Simple packing of 12 bits. One operation is one field, as in all of these.
pub(crate) fn simple_12() -> Result<Round, Failure> {
    round(SIMPLE_12)
}

/// Simple packing of 16 bits.
pub(crate) fn simple_16() -> Result<Round, Failure> {
    round(SIMPLE_16)
}

/// Entropy-coded numbers.
pub(crate) fn ccsds() -> Result<Round, Failure> {
    round(CCSDS)
}

/// Groups of numbers.
pub(crate) fn complex() -> Result<Round, Failure> {
    round(COMPLEX)
}

/// Groups of differences of the second order.
pub(crate) fn differences() -> Result<Round, Failure> {
    round(DIFFERENCES)
}

/// Columns and rows of the fields.
const SHAPE: [u16; 2] = [128, 64];

fn round(message: &'static [u8]) -> Result<Round, Failure> {
    let mut walk = Walk::new(message.len() as u64, 1024);
    let mut found = None;
    while let Some(span) = walk.wanted() {
        walk.feed(part(message, span)?, &mut |next| found = Some(next));
    }
    let Some(Found::Field(field)) = found else { return Err(format!("no field, but {found:?}").into()) };
    let bytes = FieldBytes { bitmap: None, data: part(message, field.place.data)?.to_vec() };
    let mut values = vec![0.0f32; usize::from(SHAPE[0]) * usize::from(SHAPE[1])];
    unpack(&field, &bytes, &mut values)?;
    check(&values)?;
    Ok(Box::new(move || {
        unpack(&field, &bytes, &mut values)?;
        Ok(1)
    }))
}

fn part(message: &[u8], span: Span) -> Result<&[u8], Failure> {
    let range = usize::try_from(span.offset)?..usize::try_from(span.end())?;
    Ok(message.get(range).ok_or("a place outside the message")?)
}

/// Compares values with the waves that `messages/make.py` packed: 12 bits of their range of 50 are a 0.02.
fn check(values: &[f32]) -> Result<(), Failure> {
    let [columns, _] = SHAPE.map(usize::from);
    for (place, value) in values.iter().enumerate() {
        let (x, y) = ((place % columns) as f32, (place / columns) as f32);
        let wanted = 280.0 + 20.0 * (x / 9.0).sin() * (y / 13.0).cos() + 0.3 * (x * 1.7 + y * 2.3).sin();
        if 0.02 < (value - wanted).abs() {
            return Err(format!("value {place} is {value}, and {wanted} was packed").into());
        }
    }
    Ok(())
}
