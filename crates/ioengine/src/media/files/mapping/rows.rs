//! Which rows a copy takes, and where it puts them.

/// `rows` rows of `row_bytes`, which start `source_stride` bytes apart in the file and `target_stride` apart in the
/// target. A stride may be less than a row: then rows overlap, and in the target the later row wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) rows: usize,
    pub(crate) row_bytes: usize,
    pub(crate) source_stride: usize,
    pub(crate) target_stride: usize,
}

impl Rows {
    /// From the first row's first byte in the file to the last one's end; `None` where no memory is that large.
    pub(crate) fn source_bytes(&self) -> Option<usize> {
        self.span(self.source_stride)
    }

    /// As [`source_bytes`](Rows::source_bytes), in the target.
    pub(crate) fn target_bytes(&self) -> Option<usize> {
        self.span(self.target_stride)
    }

    /// Whether there is nothing to copy.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0 || self.row_bytes == 0
    }

    fn span(&self, stride: usize) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        stride.checked_mul(self.rows - 1)?.checked_add(self.row_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn spans_reach_from_the_first_byte_to_the_last() {
        let rows = Rows { rows: 3, row_bytes: 4, source_stride: 10, target_stride: 4 };
        assert_eq!((rows.source_bytes(), rows.target_bytes()), (Some(24), Some(12)));
        assert_eq!(Rows { rows: 1, source_stride: usize::MAX, ..rows }.source_bytes(), Some(4));
        assert_eq!(Rows { source_stride: usize::MAX, ..rows }.source_bytes(), None);
        assert_eq!(Rows { rows: usize::MAX, ..rows }.target_bytes(), None);
        for empty in [Rows { rows: 0, ..rows }, Rows { row_bytes: 0, ..rows }] {
            assert_eq!((empty.source_bytes(), empty.is_empty()), (Some(0), true));
        }
    }
}
