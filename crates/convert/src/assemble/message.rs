//! The values of a field from its whole message.

use super::plan::FieldPlace;
use crate::unpack::unpack_rows;
use crate::{Error, ErrorKind, Field, Found, Grid, Span, Walk};
use std::sync::{Arc, Mutex, PoisonError};
use swath_ioengine::{ByteRange, Engine, ObjectRef, RangeRead, RunOptions};

/// Messages of up to so many bytes that are in the page cache are read by the thread that wants them: as many threads ask as there are
/// processors, and the field is unpacked on the one that encodes it (docs/decisions/0027). Longer ones are read in parts, at once.
const INLINE_BYTES_MAX: u64 = 16 << 20;

/// Reads a message, and gives its field and its bytes to `take`, on whichever thread read them.
///
/// # Errors
///
/// Those of the file and of `take`; `Corrupt` where there is no such field any more.
pub(super) fn with_field<T: Send>(
    engine: &Engine,
    files: &[ObjectRef],
    place: &FieldPlace,
    take: impl Fn(&Field, &[u8]) -> Result<T, Error> + Send + Sync,
) -> Result<T, Error> {
    let lost = || Error::new(ErrorKind::Invalid, "the plan names a file that was not given");
    let file = files.get(place.file).ok_or_else(lost)?;
    let range = ByteRange::Bounded { offset: place.offset, len: place.len };
    let taken: Mutex<Option<Result<T, Error>>> = Mutex::new(None);
    let sink = |_: usize, read: Result<&[u8], swath_ioengine::Error>| {
        let result = read.map_err(Error::from).and_then(|bytes| take(&field(bytes, place.number)?, bytes));
        *taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    };
    let reads = [RangeRead { object: 0, range }];
    let options = RunOptions { inline_bytes_max: Some(INLINE_BYTES_MAX), ..RunOptions::default() };
    engine.read_ranges(std::slice::from_ref(file), &reads, sink, &options)?;
    let taken = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
    taken.unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "a read was never delivered")))
}

/// A field of a message, by its number there. Places are from the beginning of the message.
fn field(message: &[u8], number: u32) -> Result<Field, Error> {
    let size = swath_ioengine::storage_len(message.len());
    let mut walk = Walk::new(size, size);
    let mut fields = Vec::new();
    let mut damage = None;
    let mut keep = |found| match found {
        Found::Field(field) => fields.push(*field),
        Found::Damage(found) => damage = damage.take().or(Some(found)),
    };
    while let Some(Span { offset, len }) = walk.wanted() {
        let (start, len) = (swath_ioengine::memory_len(offset)?, swath_ioengine::memory_len(len)?);
        let bytes = message.get(start..start.saturating_add(len)).unwrap_or_default();
        walk.feed(bytes, &mut keep);
    }
    let found = fields.into_iter().find(|field| field.number == number);
    found.ok_or_else(|| match damage {
        Some(damage) => Error::corrupt(damage.to_string()),
        None => Error::corrupt(format!("no field {number} is here any more: the file has changed")),
    })
}

/// The grid of a field.
///
/// # Errors
///
/// As [`with_field`].
pub(super) fn grid(engine: &Engine, files: &[ObjectRef], place: &FieldPlace) -> Result<Arc<Grid>, Error> {
    with_field(engine, files, place, |field, _| Ok(Arc::clone(&field.grid)))
}

/// Fills `target`, which has room for each point, with a field's values, row by row where its grid has rows. `room` is memory that
/// is used again from one field to the next.
///
/// # Errors
///
/// Those of unpacking; `Corrupt` where the field has other points than there is room for.
pub(super) fn values(
    field: &Field,
    message: &[u8],
    room: &mut Vec<f32>,
    target: &mut [f32],
) -> Result<(), Error> {
    let points = swath_ioengine::memory_len(field.grid.points)?;
    if points != target.len() {
        let message = format!("{points} points, and {} were planned: the file has changed", target.len());
        return Err(Error::corrupt(message));
    }
    unpack_rows(field, message, room, target)
}
