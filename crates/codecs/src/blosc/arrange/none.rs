//! No kernels: the plain loops do all.

/// Elements done: none.
pub(super) fn interleave(
    _element_bytes: usize,
    _planes: &[u8],
    _plane_stride: usize,
    _target: &mut [u8],
) -> usize {
    0
}

/// Groups of eight elements done: none.
pub(super) fn bits_to_bytes(_rows: &[u8], _row_bytes: usize, _plane: &mut [u8]) -> usize {
    0
}
