//! Values of a message in memory.

use crate::Failure;
use serde_json::{Value, json};
use std::time::Instant;
use swath_convert::{Field, FieldBytes, Found, Sample, Span, Walk, unpack};

/// Decodes a file's only message `times` times.
pub(crate) fn decode(path: &str, is_narrow: bool, times: u64, out: Option<&str>) -> Result<Value, Failure> {
    let message = std::fs::read(path)?;
    if is_narrow {
        timed(&message, times, out, |value: f32| value.to_le_bytes().to_vec())
    } else {
        timed(&message, times, out, |value: f64| value.to_le_bytes().to_vec())
    }
}

/// Each time begins with the message's bytes: its sections are read, and its values put into memory that is there.
fn timed<T: Sample + Default>(
    message: &[u8],
    times: u64,
    out: Option<&str>,
    bytes: impl Fn(T) -> Vec<u8>,
) -> Result<Value, Failure> {
    let mut values = vec![T::default(); usize::try_from(field(message)?.grid.points)?];
    let begun = Instant::now();
    for _ in 0..times {
        let field = field(message)?;
        let bytes = FieldBytes {
            bitmap: field.place.bitmap.map(|span| part(message, span)).transpose()?,
            data: part(message, field.place.data)?,
        };
        unpack(&field, &bytes, &mut values)?;
    }
    let seconds = begun.elapsed().as_secs_f64() / times as f64;
    if let Some(out) = out {
        std::fs::write(out, values.iter().flat_map(|value| bytes(*value)).collect::<Vec<u8>>())?;
    }
    Ok(json!({ "seconds": seconds }))
}

fn field(message: &[u8]) -> Result<Field, Failure> {
    let mut walk = Walk::new(message.len() as u64, 1024);
    let mut found = None;
    while let Some(span) = walk.wanted() {
        walk.feed(slice(message, span)?, &mut |next| found = Some(next));
    }
    match found {
        Some(Found::Field(field)) => Ok(*field),
        other => Err(format!("wanted a field, found {other:?}").into()),
    }
}

fn part(message: &[u8], span: Span) -> Result<Vec<u8>, Failure> {
    Ok(slice(message, span)?.to_vec())
}

fn slice(message: &[u8], span: Span) -> Result<&[u8], Failure> {
    let range = usize::try_from(span.offset)?..usize::try_from(span.end())?;
    Ok(message.get(range).ok_or("a place outside the message")?)
}
