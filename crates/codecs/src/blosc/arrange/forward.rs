//! Shuffles bytes and bits of elements: see [`arrange`](super).

use super::{TILE_ELEMENT_BYTES_MAX, TILE_ELEMENTS, simd, transpose_bits};

/// Whether this machine shuffles elements of such a size by vectors; others take the plain loops.
pub(in super::super) fn has_kernels(element_bytes: usize) -> bool {
    simd::is_there() && matches!(element_bytes, 1 | 2 | 4 | 8 | 16)
}

/// Puts byte `j` of all elements before byte `j + 1` of any.
///
/// Bytes after the last whole element are copied. Both slices have one length; `element_bytes` is at least 1.
pub(crate) fn shuffle(element_bytes: usize, source: &[u8], target: &mut [u8]) {
    let count = source.len() / element_bytes;
    let (elements, rest) = source.split_at(count * element_bytes);
    target[elements.len()..].copy_from_slice(rest);
    deinterleave(element_bytes, elements, target, count);
}

/// Puts bit `k` of byte `j` of all elements before bit `k + 1` of any.
///
/// Bytes after the last whole element are copied; so is all where the number of elements is no multiple of eight, as
/// c-blosc has it. Both slices have one length; `element_bytes` is at least 1.
pub(in super::super) fn bitshuffle(element_bytes: usize, source: &[u8], target: &mut [u8]) {
    let count = source.len() / element_bytes;
    if !count.is_multiple_of(8) {
        return target.copy_from_slice(source);
    }
    let (elements, rest) = source.split_at(count * element_bytes);
    target[elements.len()..].copy_from_slice(rest);
    let row_bytes = count / 8;
    if TILE_ELEMENT_BYTES_MAX < element_bytes {
        return bitshuffle_large(element_bytes, elements, target, row_bytes);
    }
    let mut tile = [0; TILE_ELEMENTS * TILE_ELEMENT_BYTES_MAX];
    for (index, elements) in elements.chunks(TILE_ELEMENTS * element_bytes).enumerate() {
        let count = elements.len() / element_bytes;
        deinterleave(element_bytes, elements, &mut tile, TILE_ELEMENTS);
        for (byte, plane) in tile.chunks_exact(TILE_ELEMENTS).take(element_bytes).enumerate() {
            let rows = &mut target[byte * 8 * row_bytes + index * (TILE_ELEMENTS / 8)..];
            bytes_to_bits(&plane[..count], rows, row_bytes);
        }
    }
}

/// Writes planes of `plane_stride` bytes from whole elements: byte `j` of element `i` is byte `i` of plane `j`.
fn deinterleave(element_bytes: usize, elements: &[u8], planes: &mut [u8], plane_stride: usize) {
    if element_bytes == 1 {
        return planes[..elements.len()].copy_from_slice(elements);
    }
    let done = simd::deinterleave(element_bytes, elements, planes, plane_stride);
    let (rest, count) = (&elements[done * element_bytes..], elements.len() / element_bytes);
    for byte in 0..element_bytes {
        let plane = &mut planes[byte * plane_stride + done..byte * plane_stride + count];
        for (slot, value) in plane.iter_mut().zip(rest.iter().skip(byte).step_by(element_bytes)) {
            *slot = *value;
        }
    }
}

/// Writes eight rows of `row_bytes` with a bit per element each from one byte per element.
fn bytes_to_bits(plane: &[u8], rows: &mut [u8], row_bytes: usize) {
    let done = simd::bytes_to_bits(plane, rows, row_bytes);
    for (group, bytes) in plane.as_chunks::<8>().0.iter().enumerate().skip(done) {
        put_group(*bytes, rows, row_bytes, group);
    }
}

/// Writes column `group` of eight rows: the bytes of eight elements, transposed as a matrix of bits.
fn put_group(bytes: [u8; 8], rows: &mut [u8], row_bytes: usize, group: usize) {
    let column = transpose_bits(u64::from_le_bytes(bytes)).to_le_bytes();
    for (row, value) in column.into_iter().enumerate() {
        rows[row * row_bytes + group] = value;
    }
}

/// Without a tile, for elements that do not fit one.
fn bitshuffle_large(element_bytes: usize, elements: &[u8], target: &mut [u8], row_bytes: usize) {
    for (group, elements) in elements.chunks_exact(8 * element_bytes).enumerate() {
        for byte in 0..element_bytes {
            let bytes = std::array::from_fn(|element| elements[element * element_bytes + byte]);
            put_group(bytes, &mut target[byte * 8 * row_bytes..], row_bytes, group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{unbitshuffle, unshuffle};
    use super::*;

    #[test]
    fn shuffled_bytes_are_unshuffled_to_what_they_were() {
        for element_bytes in (1..=20).chain([32, 255]) {
            for count in [0, 1, 7, 8, 16, 31, 32, 33, 64, 100, 256, 264, 511, 512, 520, 1000] {
                for rest in [0, element_bytes - 1] {
                    let len = count * element_bytes + rest;
                    let source: Vec<u8> =
                        (0..len).map(|at| (at * at / 7 + at / 300usize).to_le_bytes()[0]).collect();
                    let (mut shuffled, mut found) = (vec![0x5A; len], vec![0xA5; len]);
                    shuffle(element_bytes, &source, &mut shuffled);
                    unshuffle(element_bytes, &shuffled, &mut found);
                    assert_eq!(found, source, "{element_bytes} {count}");
                    shuffled.fill(0x5A);
                    bitshuffle(element_bytes, &source, &mut shuffled);
                    unbitshuffle(element_bytes, &shuffled, &mut found);
                    assert_eq!(found, source, "{element_bytes} {count}");
                }
            }
        }
    }
}
