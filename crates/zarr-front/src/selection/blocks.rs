//! Selections of stored chunks.

use super::AxisSelection;
use super::resolve::{AxisKind, ResolvedAxis, outside, resolve_into};
use crate::Error;
use crate::rectilinear::Rectilinear;

/// Appends the elements of the chunks that `entries` select: the entries count stored chunks, of `extents` elements each (or
/// as `grid` has them), `objects` along each axis of an array of `shape`.
pub(crate) fn resolve_blocks(
    entries: &[AxisSelection],
    (shape, extents, objects): (&[u64], &[u64], &[u64]),
    grid: Option<&Rectilinear>,
    axes: &mut Vec<ResolvedAxis>,
) -> Result<(), Error> {
    for entry in entries {
        let is_stepped = matches!(entry, AxisSelection::Slice { step, .. } if step.get() != 1);
        if is_stepped || matches!(entry, AxisSelection::List(_) | AxisSelection::Mask(_)) {
            return Err(Error::out_of_bounds(format!(
                "wanted indices, slices without steps or `...` to select blocks, found {entry}"
            )));
        }
    }
    let (first, mut lists) = (axes.len(), Vec::new());
    let found = resolve_into(entries, objects, axes, &mut lists);
    found
        .and_then(|()| check_starts(entries, objects))
        .map_err(|error| error.with_message_prefix("blocks: "))?;
    for (number, (axis, (length, extent))) in
        axes[first..].iter_mut().zip(shape.iter().zip(extents)).enumerate()
    {
        let start_of = |chunk: u64| match grid.and_then(|grid| grid.edges(number)) {
            None => chunk.saturating_mul(*extent),
            // Behind the last chunk as where it ends.
            Some(edges) => chunk.checked_sub(1).map_or(0, |before| edges.elements(before).end),
        };
        let start = start_of(axis.start);
        let end = start_of(axis.start.saturating_add(axis.count)).min(*length);
        let count = end.saturating_sub(start);
        let start = if count == 0 { 0 } else { start };
        *axis = ResolvedAxis { start, count, step: 1, kind: AxisKind::Kept };
    }
    Ok(())
}

/// Checks that slices start at a chunk, as zarr-python does: where elements end, slices of elements are cut off.
fn check_starts(entries: &[AxisSelection], objects: &[u64]) -> Result<(), Error> {
    let ellipsis = entries.iter().position(|entry| matches!(entry, AxisSelection::Ellipsis));
    for (place, entry) in entries.iter().enumerate() {
        let AxisSelection::Slice { start: Some(start), .. } = entry else { continue };
        // Behind an ellipsis, axes count from the last.
        let is_behind = ellipsis.is_some_and(|ellipsis| ellipsis < place);
        let axis = if is_behind { (objects.len() + place).saturating_sub(entries.len()) } else { place };
        let count = objects.get(axis).copied().unwrap_or(0);
        let is_within = match u64::try_from(*start) {
            Ok(start) => start < count || start == 0,
            Err(_) => start.unsigned_abs() <= count,
        };
        if !is_within {
            return Err(outside(*start, axis, count));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn blocks(text: &str, shape: &[u64], extents: &[u64]) -> Result<Vec<(u64, u64)>, ErrorKind> {
        let selection: crate::Selection = text.parse().unwrap();
        let objects: Vec<u64> =
            shape.iter().zip(extents).map(|(length, extent)| length.div_ceil(*extent)).collect();
        let mut axes = Vec::new();
        resolve_blocks(selection.axes().unwrap(), (shape, extents, &objects), None, &mut axes)
            .map_err(|error| error.kind())?;
        assert!(axes.iter().all(|axis| axis.kind == AxisKind::Kept));
        Ok(axes.iter().map(|axis| (axis.start, axis.count)).collect())
    }

    #[test]
    fn chunks_are_taken_whole_up_to_the_edge() {
        let found = |text: &str| blocks(text, &[10, 9], &[4, 3]);
        assert_eq!(found("0"), Ok(vec![(0, 4), (0, 9)]));
        assert_eq!(found("-1, 1"), Ok(vec![(8, 2), (3, 3)]));
        assert_eq!(found("1:, -2:"), Ok(vec![(4, 6), (3, 6)]));
        assert_eq!(found("2:1, ..."), Ok(vec![(0, 0), (0, 9)]));
        assert_eq!(found("..."), Ok(vec![(0, 10), (0, 9)]));
        assert_eq!(found("3"), Err(ErrorKind::OutOfBounds));
        assert_eq!(found("..., 3:"), Err(ErrorKind::OutOfBounds));
        assert_eq!(found("-4:"), Err(ErrorKind::OutOfBounds));
        assert_eq!(found("-3:9, ..., 2:"), Ok(vec![(0, 10), (6, 3)]));
        assert_eq!(found("::2"), Err(ErrorKind::OutOfBounds));
        assert_eq!(found("0, 0, 0"), Err(ErrorKind::OutOfBounds));
        assert_eq!(blocks("...", &[], &[]), Ok(vec![]));
        assert_eq!(blocks(":", &[0], &[4]), Ok(vec![(0, 0)]));
        assert_eq!(blocks("0", &[0], &[4]), Err(ErrorKind::OutOfBounds));
    }
}
