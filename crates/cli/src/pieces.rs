//! A selection cut into pieces of bounded size, in the order of its result.

use std::num::NonZeroI64;
use swath::{AxisKind, AxisSelection, ResolvedAxis, ResolvedSelection, Selection};

/// Bytes of output that are held at once. As large as the engine's default budget of bytes in flight: smaller pieces
/// would cut through the chunks of arrays with many rows a chunk, and decode those more than once.
pub(crate) const PIECE_BYTES_MAX: u64 = 256 << 20;

/// What pieces are cut along.
pub(crate) struct Cutting<'a> {
    /// Elements of a chunk along each axis.
    pub(crate) chunk_shape: &'a [u64],
    /// Bytes of an element.
    pub(crate) element_bytes: u64,
    /// Bytes that a piece may have; one element is a piece whatever its size.
    pub(crate) piece_bytes_max: u64,
}

/// Calls `visit` with each piece of `selection` and its size in bytes. Laid one behind the other, the pieces are the
/// result in C order. Slabs along the first axis end at chunk borders where at least one chunk fits; a single row that
/// is too large is cut along the next axis. A selection of nothing has no piece.
///
/// # Errors
///
/// The first that `visit` returns.
pub(crate) fn for_each_piece<E>(
    selection: &ResolvedSelection,
    cutting: &Cutting<'_>,
    visit: &mut impl FnMut(&ResolvedSelection, u64) -> Result<(), E>,
) -> Result<(), E> {
    if selection.axes.iter().any(|axis| axis.count == 0) {
        return Ok(());
    }
    let total = selection.axes.iter().map(|axis| axis.count).fold(cutting.element_bytes, u64::saturating_mul);
    let Some(axis) = selection.axes.iter().position(|axis| 1 < axis.count) else {
        return visit(selection, total);
    };
    if total <= cutting.piece_bytes_max {
        return visit(selection, total);
    }
    let whole = selection.axes[axis];
    let inner = selection.axes[axis + 1..].iter().map(|axis| axis.count);
    let row_bytes = inner.fold(cutting.element_bytes, u64::saturating_mul).max(1);
    let rows_max = (cutting.piece_bytes_max / row_bytes).max(1);
    let extent = cutting.chunk_shape.get(axis).copied().unwrap_or(1).max(1);
    let mut piece = selection.clone();
    let mut row = 0;
    while row < whole.count {
        let end = end_of_slab(&whole, row, rows_max, extent);
        piece.axes[axis] = rows(&whole, row, end);
        for_each_piece(&piece, cutting, visit)?;
        row = end;
    }
    Ok(())
}

/// The selection that gives `resolved`; `None` where an axis is longer than selections can name.
pub(crate) fn selection(resolved: &ResolvedSelection) -> Option<Selection> {
    let axes = resolved.axes.iter().map(axis_selection).collect::<Option<Vec<_>>>()?;
    Some(Selection::new(axes))
}

fn axis_selection(axis: &ResolvedAxis) -> Option<AxisSelection> {
    let start = i64::try_from(axis.start).ok()?;
    if axis.kind == AxisKind::Dropped {
        return Some(AxisSelection::Index(start));
    }
    let stop = i64::try_from(i128::from(start) + i128::from(axis.count) * i128::from(axis.step)).ok()?;
    // Backwards to the front, the stop would be negative and count from the end.
    let stop = (0 <= stop).then_some(stop);
    Some(AxisSelection::Slice { start: Some(start), stop, step: NonZeroI64::new(axis.step)? })
}

/// Rows `start..end` of those that `whole` takes.
fn rows(whole: &ResolvedAxis, start: u64, end: u64) -> ResolvedAxis {
    let first = whole.element(start).unwrap_or(whole.start);
    let count = end - start;
    ResolvedAxis { start: first, count, step: if count < 2 { 1 } else { whole.step }, kind: whole.kind }
}

/// Where a slab that begins at row `start` ends: after at most `rows_max` rows, at the last chunk border before that.
fn end_of_slab(whole: &ResolvedAxis, start: u64, rows_max: u64, extent: u64) -> u64 {
    let end = start.saturating_add(rows_max).min(whole.count);
    let Some(element) = whole.element(end) else {
        return end;
    };
    // The first row that lies in the same chunk as row `end` does.
    let chunk_start = element / extent * extent;
    let into_chunk = if whole.step < 0 {
        (extent - 1).saturating_sub(element - chunk_start)
    } else {
        element - chunk_start
    };
    let border = end - (into_chunk / whole.step.unsigned_abs()).min(end);
    if start < border { border } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(
        text: &str,
        shape: &[u64],
        chunk_shape: &[u64],
        piece_bytes_max: u64,
    ) -> Vec<ResolvedSelection> {
        let selection: Selection = text.parse().unwrap();
        let resolved = selection.resolve(shape).unwrap();
        let mut found = Vec::new();
        let cutting = Cutting { chunk_shape, element_bytes: 1, piece_bytes_max };
        for_each_piece(&resolved, &cutting, &mut |piece, bytes| {
            assert_eq!(piece.element_count().unwrap(), bytes);
            let again = super::selection(piece).unwrap().resolve(shape).unwrap();
            assert_eq!(&again, piece);
            found.push(piece.clone());
            Ok::<(), ()>(())
        })
        .unwrap();
        found
    }

    /// Every element of a selection, in C order, as an index into the array laid flat.
    fn elements(selection: &ResolvedSelection, shape: &[u64]) -> Vec<u64> {
        selection.axes.iter().zip(shape).fold(vec![0], |outer, (axis, length)| {
            let inner = |base: u64| (0..axis.count).map(move |k| base * length + axis.element(k).unwrap());
            outer.into_iter().flat_map(inner).collect()
        })
    }

    #[test]
    fn pieces_are_the_selection_in_order_and_bounded() {
        let (shape, chunk_shape) = ([7, 10, 9], [3, 4, 5]);
        for text in ["...", "1:6, ::-1", "::-2, 3, 1:", "5, ::3, ::-4", ":, 2:9:2, 4", "-1, -1, -1", "2:2"] {
            let whole = text.parse::<Selection>().unwrap().resolve(&shape).unwrap();
            for piece_bytes_max in [1, 2, 7, 20, 100, 1000] {
                let found = pieces(text, &shape, &chunk_shape, piece_bytes_max);
                let joined: Vec<u64> = found.iter().flat_map(|piece| elements(piece, &shape)).collect();
                assert_eq!(joined, elements(&whole, &shape), "{text} in pieces of {piece_bytes_max}");
                assert!(found.iter().all(|piece| piece.element_count().unwrap() <= piece_bytes_max));
            }
        }
    }

    #[test]
    fn slabs_end_at_chunk_borders() {
        let starts = |text: &str, bytes| -> Vec<(u64, u64)> {
            pieces(text, &[20, 2], &[4, 2], bytes)
                .iter()
                .map(|piece| (piece.axes[0].start, piece.axes[0].count))
                .collect()
        };
        assert_eq!(starts("2:", 14), [(2, 6), (8, 4), (12, 4), (16, 4)]);
        assert_eq!(starts("::-1", 20), [(19, 8), (11, 8), (3, 4)]);
        assert_eq!(starts("::3", 10), [(0, 4), (12, 3)]);
        assert_eq!(starts("::3", 8), [(0, 4), (12, 3)]);
        assert_eq!(starts("::3", 4), [(0, 2), (6, 2), (12, 2), (18, 1)]);
    }

    #[test]
    fn sizes_beyond_64_bits_are_cut_too() {
        let shape = [1 << 40, 1 << 40];
        let resolved = Selection::all().resolve(&shape).unwrap();
        let cutting = Cutting { chunk_shape: &[1, 1 << 20], element_bytes: 4, piece_bytes_max: 1 << 30 };
        let mut seen = 0;
        let stop = for_each_piece(&resolved, &cutting, &mut |piece, bytes| {
            assert_eq!((piece.axes[0].count, bytes), (1, 1 << 30));
            seen += 1;
            if seen < 3 { Ok(()) } else { Err("enough") }
        });
        assert_eq!(stop, Err("enough"));
    }
}
