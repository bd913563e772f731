//! The bytes of a field, read from its file.

use crate::{Error, Field, Span};
use std::sync::{Mutex, PoisonError};
use swath_ioengine::{ByteRange, Engine, ObjectRef, RangeRead, RunOptions};

/// What a field's values are made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldBytes {
    /// The bits of its bitmap, where it has one.
    pub bitmap: Option<Vec<u8>>,
    /// Its packed values.
    pub data: Vec<u8>,
}

/// What came of one read.
type ReadBytes = Result<Vec<u8>, swath_ioengine::Error>;

/// Reads a field's bitmap and packed values, as one batch. At most the message's own bytes are in memory.
///
/// # Errors
///
/// Those of the file.
pub fn read_field(engine: &Engine, file: &ObjectRef, field: &Field) -> Result<FieldBytes, Error> {
    let range = |span: Span| ByteRange::Bounded { offset: span.offset, len: span.len };
    let spans = [Some(field.place.data), field.place.bitmap];
    let reads: Vec<RangeRead> =
        spans.into_iter().flatten().map(|span| RangeRead { object: 0, range: range(span) }).collect();
    let found: Mutex<[Option<ReadBytes>; 2]> = Mutex::default();
    let keep = |number: usize, result: Result<&[u8], swath_ioengine::Error>| {
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = found.get_mut(number) {
            *slot = Some(result.map(<[u8]>::to_vec));
        }
    };
    engine.read_ranges(std::slice::from_ref(file), &reads, keep, &RunOptions::default())?;
    let [data, bitmap] = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    let lost = || Error::new(crate::ErrorKind::Internal, "a read was never delivered");
    Ok(FieldBytes { data: data.ok_or_else(lost)??, bitmap: bitmap.transpose()? })
}
