//! No kernels: the plain loops do all.

/// Whether there are kernels for this machine: no.
pub(super) fn is_there() -> bool {
    false
}

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

/// Elements done: none.
pub(super) fn deinterleave(
    _element_bytes: usize,
    _elements: &[u8],
    _planes: &mut [u8],
    _plane_stride: usize,
) -> usize {
    0
}

/// Groups of eight elements done: none.
pub(super) fn bytes_to_bits(_plane: &[u8], _rows: &mut [u8], _row_bytes: usize) -> usize {
    0
}
