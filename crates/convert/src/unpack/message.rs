//! The values of a field of a message that is in memory.

use super::{Sample, unpack_sections};
use crate::coordinates::{GridLayout, layout, to_rows};
use crate::{Error, Field, Grid, Span};

/// Fills `target` with a field's values, in the order of the file, as [`unpack`](super::unpack) does. Places are from the beginning of `message`.
///
/// # Errors
///
/// Those of [`unpack`](super::unpack); `Corrupt` where a section ends behind the message.
pub(crate) fn unpack_message<T: Sample>(
    field: &Field,
    message: &[u8],
    target: &mut [T],
) -> Result<(), Error> {
    let part = |span: Span| {
        let start = swath_ioengine::memory_len(span.offset)?;
        let end = start.checked_add(swath_ioengine::memory_len(span.len)?);
        let bytes = end.and_then(|end| message.get(start..end));
        bytes.ok_or_else(|| Error::corrupt("a section ends behind its message"))
    };
    let bitmap = field.place.bitmap.map(part).transpose()?;
    unpack_sections(field, bitmap, part(field.place.data)?, target)
}

/// The same row by row, where the field's grid has rows. `room` is memory that is used again from one field to the next.
///
/// # Errors
///
/// Those of [`unpack_message`].
pub(crate) fn unpack_rows<T: Sample>(
    field: &Field,
    message: &[u8],
    room: &mut Vec<T>,
    target: &mut [T],
) -> Result<(), Error> {
    if is_by_rows(&field.grid) {
        return unpack_message(field, message, target);
    }
    room.resize(target.len(), T::MISSING);
    unpack_message(field, message, room)?;
    to_rows(&field.grid, room, target)
}

/// Whether values in the order of the file are row by row, or of points without rows.
pub(crate) fn is_by_rows(grid: &Grid) -> bool {
    let is_by_rows = !grid.scanning.is_by_columns() && !grid.scanning.is_boustrophedonic();
    is_by_rows || matches!(layout(grid), GridLayout::Points(_))
}
