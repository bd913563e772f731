//! blosc's byte and bit shuffle, done ([`forward`]) and undone (here).
//!
//! Plain Rust for every machine, and kernels of [`simd`] that do most of the work where the machine has them: each
//! says how far it came, and the plain loops do the rest. On 8 KiB of 4-byte elements in the first-level cache (Sapphire
//! Rapids, AVX2) the kernels are several times as fast as c-blosc's SSE2 ones; docs/decisions/0003 has the numbers.

#[cfg_attr(target_arch = "x86_64", path = "avx2.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "none.rs")]
mod simd;

mod forward;
pub(crate) use forward::shuffle;
pub(super) use forward::{bitshuffle, has_kernels};

/// Elements whose planes are untangled at a time: a tile of 16-byte elements is 4 KiB, and stays in the first-level
/// cache with its source and target.
const TILE_ELEMENTS: usize = 256;
/// The largest element that goes through a tile.
const TILE_ELEMENT_BYTES_MAX: usize = 16;

/// Puts shuffled bytes back in order: byte `j` of all elements came before byte `j + 1` of any.
///
/// Bytes after the last whole element are copied. Both slices have one length; `element_bytes` is at least 1.
pub(crate) fn unshuffle(element_bytes: usize, source: &[u8], target: &mut [u8]) {
    let count = source.len() / element_bytes;
    let (elements, rest) = target.split_at_mut(count * element_bytes);
    rest.copy_from_slice(&source[count * element_bytes..]);
    interleave(element_bytes, source, count, elements);
}

/// Puts bit-shuffled bytes back in order: bit `k` of byte `j` of all elements came before bit `k + 1` of any.
///
/// Bytes after the last whole element are copied; so is all where the number of elements is no multiple of eight, as
/// c-blosc has it. Both slices have one length; `element_bytes` is at least 1.
pub(super) fn unbitshuffle(element_bytes: usize, source: &[u8], target: &mut [u8]) {
    let count = source.len() / element_bytes;
    if !count.is_multiple_of(8) {
        return target.copy_from_slice(source);
    }
    let (elements, rest) = target.split_at_mut(count * element_bytes);
    rest.copy_from_slice(&source[count * element_bytes..]);
    let row_bytes = count / 8;
    if TILE_ELEMENT_BYTES_MAX < element_bytes {
        return unbitshuffle_large(element_bytes, source, row_bytes, elements);
    }
    let mut tile = [0; TILE_ELEMENTS * TILE_ELEMENT_BYTES_MAX];
    for (index, elements) in elements.chunks_mut(TILE_ELEMENTS * element_bytes).enumerate() {
        let count = elements.len() / element_bytes;
        for (byte, plane) in tile.chunks_exact_mut(TILE_ELEMENTS).take(element_bytes).enumerate() {
            let rows = &source[byte * 8 * row_bytes + index * (TILE_ELEMENTS / 8)..];
            bits_to_bytes(rows, row_bytes, &mut plane[..count]);
        }
        interleave(element_bytes, &tile, TILE_ELEMENTS, elements);
    }
}

/// Writes elements from planes of `plane_stride` bytes: byte `j` of element `i` is byte `i` of plane `j`.
fn interleave(element_bytes: usize, planes: &[u8], plane_stride: usize, target: &mut [u8]) {
    let done = simd::interleave(element_bytes, planes, plane_stride, target);
    match element_bytes {
        1 => target.copy_from_slice(&planes[..target.len()]),
        2 => interleave_plain::<2>(planes, plane_stride, target, done),
        4 => interleave_plain::<4>(planes, plane_stride, target, done),
        8 => interleave_plain::<8>(planes, plane_stride, target, done),
        16 => interleave_plain::<16>(planes, plane_stride, target, done),
        _ => {
            for (index, element) in target.chunks_exact_mut(element_bytes).enumerate().skip(done) {
                for (byte, slot) in element.iter_mut().enumerate() {
                    *slot = planes[byte * plane_stride + index];
                }
            }
        }
    }
}

fn interleave_plain<const N: usize>(planes: &[u8], plane_stride: usize, target: &mut [u8], done: usize) {
    let (elements, _) = target.as_chunks_mut::<N>();
    let count = elements.len();
    if count <= done {
        return;
    }
    let planes: [&[u8]; N] =
        std::array::from_fn(|byte| &planes[byte * plane_stride..byte * plane_stride + count]);
    for (index, element) in elements.iter_mut().enumerate().skip(done) {
        for (slot, plane) in element.iter_mut().zip(planes) {
            *slot = plane[index];
        }
    }
}

/// Writes one byte per element from eight rows of `row_bytes` with a bit per element each.
fn bits_to_bytes(rows: &[u8], row_bytes: usize, plane: &mut [u8]) {
    let done = simd::bits_to_bytes(rows, row_bytes, plane);
    for (group, bytes) in plane.as_chunks_mut::<8>().0.iter_mut().enumerate().skip(done) {
        *bytes = group_of_rows(rows, row_bytes, group);
    }
}

/// The bytes of eight elements: column `group` of eight rows, transposed as a matrix of bits.
fn group_of_rows(rows: &[u8], row_bytes: usize, group: usize) -> [u8; 8] {
    let column: [u8; 8] = std::array::from_fn(|row| rows[row * row_bytes + group]);
    transpose_bits(u64::from_le_bytes(column)).to_le_bytes()
}

/// Transposes an 8 x 8 matrix of bits (Hacker's Delight, 7-3).
fn transpose_bits(mut matrix: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00AA_00AA_00AA_00AA), (14, 0x0000_CCCC_0000_CCCC), (28, 0x0000_0000_F0F0_F0F0)]
    {
        let moved = (matrix ^ (matrix >> shift)) & mask;
        matrix ^= moved ^ (moved << shift);
    }
    matrix
}

/// Without a tile, for elements that do not fit one.
fn unbitshuffle_large(element_bytes: usize, source: &[u8], row_bytes: usize, target: &mut [u8]) {
    for (group, elements) in target.chunks_exact_mut(8 * element_bytes).enumerate() {
        for byte in 0..element_bytes {
            let bytes = group_of_rows(&source[byte * 8 * row_bytes..], row_bytes, group);
            for (slot, value) in elements.iter_mut().skip(byte).step_by(element_bytes).zip(bytes) {
                *slot = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1u32;
        (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect()
    }

    fn unshuffle_slowly(element_bytes: usize, source: &[u8]) -> Vec<u8> {
        let count = source.len() / element_bytes;
        let mut target = source.to_vec();
        for index in 0..count {
            for byte in 0..element_bytes {
                target[index * element_bytes + byte] = source[byte * count + index];
            }
        }
        target
    }

    fn unbitshuffle_slowly(element_bytes: usize, source: &[u8]) -> Vec<u8> {
        let count = source.len() / element_bytes;
        let mut target = source.to_vec();
        if !count.is_multiple_of(8) {
            return target;
        }
        target[..count * element_bytes].fill(0);
        for bit in 0..count * element_bytes * 8 {
            let (row, element) = (bit / count, bit % count);
            let value = source[bit / 8] >> (bit % 8) & 1;
            target[element * element_bytes + row / 8] |= value << (row % 8);
        }
        target
    }

    #[test]
    fn every_element_and_length_equals_the_slow_way() {
        for element_bytes in (1..=20).chain([32, 255]) {
            for count in [0, 1, 7, 8, 16, 31, 32, 33, 64, 100, 256, 264, 511, 512, 520, 1000] {
                for rest in [0, element_bytes - 1] {
                    let source = noise(count * element_bytes + rest);
                    let mut target = vec![0x5A; source.len()];
                    unshuffle(element_bytes, &source, &mut target);
                    assert_eq!(target, unshuffle_slowly(element_bytes, &source), "{element_bytes} {count}");
                    target.fill(0x5A);
                    unbitshuffle(element_bytes, &source, &mut target);
                    assert_eq!(
                        target,
                        unbitshuffle_slowly(element_bytes, &source),
                        "{element_bytes} {count}"
                    );
                }
            }
        }
    }

    #[test]
    fn plain_loops_alone_equal_the_slow_way() {
        for (element_bytes, count) in [(2, 264), (4, 264), (8, 264), (16, 264)] {
            let source = noise(count * element_bytes);
            let mut target = vec![0; source.len()];
            match element_bytes {
                2 => interleave_plain::<2>(&source, count, &mut target, 0),
                4 => interleave_plain::<4>(&source, count, &mut target, 0),
                8 => interleave_plain::<8>(&source, count, &mut target, 0),
                _ => interleave_plain::<16>(&source, count, &mut target, 0),
            }
            assert_eq!(target, unshuffle_slowly(element_bytes, &source));
            unbitshuffle_large(element_bytes, &source, count / 8, &mut target);
            assert_eq!(target, unbitshuffle_slowly(element_bytes, &source));
        }
    }
}
