//! Kernels for x86-64 machines with AVX2, and GFNI where it is there, chosen when they run.
//!
//! All rest on one network: `log2(N)` rounds of unpacking interleave N registers of bytes, and four rounds take elements
//! of N bytes apart. Loads and stores go through references to arrays, so that every bound is checked by slicing; `unsafe`
//! is only the calls across the feature boundary and the two instructions that take pointers. Guarded by the tests of
//! `arrange` and `blosc`.

#![expect(unsafe_code, reason = "vector loads and stores, and calls of functions that need AVX2")]

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_gf2p8affine_epi64_epi8, _mm256_loadu_si256, _mm256_permute2x128_si256,
    _mm256_set1_epi64x, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_unpackhi_epi8,
    _mm256_unpacklo_epi8, _mm256_xor_si256,
};

/// Bytes of a register.
const REGISTER: usize = 32;

/// Whether there are kernels for this machine.
pub(super) fn is_there() -> bool {
    is_x86_feature_detected!("avx2")
}

/// Writes elements from planes, as many as fill registers; returns how many.
pub(super) fn interleave(
    element_bytes: usize,
    planes: &[u8],
    plane_stride: usize,
    target: &mut [u8],
) -> usize {
    if !is_x86_feature_detected!("avx2") {
        return 0;
    }
    match element_bytes {
        // SAFETY: AVX2 is there, checked above.
        2 => unsafe { interleave_of::<2>(planes, plane_stride, target) },
        // SAFETY: AVX2 is there, checked above.
        4 => unsafe { interleave_of::<4>(planes, plane_stride, target) },
        // SAFETY: AVX2 is there, checked above.
        8 => unsafe { interleave_of::<8>(planes, plane_stride, target) },
        // SAFETY: AVX2 is there, checked above.
        16 => unsafe { interleave_of::<16>(planes, plane_stride, target) },
        _ => 0,
    }
}

/// Writes planes from elements, as many as fill registers; returns how many.
pub(super) fn deinterleave(
    element_bytes: usize,
    elements: &[u8],
    planes: &mut [u8],
    plane_stride: usize,
) -> usize {
    if !is_x86_feature_detected!("avx2") {
        return 0;
    }
    match element_bytes {
        // SAFETY: AVX2 is there, checked above.
        2 => unsafe { deinterleave_of::<2>(elements, planes, plane_stride) },
        // SAFETY: AVX2 is there, checked above.
        4 => unsafe { deinterleave_of::<4>(elements, planes, plane_stride) },
        // SAFETY: AVX2 is there, checked above.
        8 => unsafe { deinterleave_of::<8>(elements, planes, plane_stride) },
        // SAFETY: AVX2 is there, checked above.
        16 => unsafe { deinterleave_of::<16>(elements, planes, plane_stride) },
        _ => 0,
    }
}

/// Writes one byte per element from eight rows of bits, as many as fill registers; returns how many groups of eight.
pub(super) fn bits_to_bytes(rows: &[u8], row_bytes: usize, plane: &mut [u8]) -> usize {
    if !is_x86_feature_detected!("avx2") {
        return 0;
    }
    if is_x86_feature_detected!("gfni") {
        // SAFETY: AVX2 and GFNI are there, checked above.
        unsafe { bits_to_bytes_by_gfni(rows, row_bytes, plane) }
    } else {
        // SAFETY: AVX2 is there, checked above.
        unsafe { bits_to_bytes_by_avx2(rows, row_bytes, plane) }
    }
}

/// Writes eight rows of bits from one byte per element, as many as fill registers; returns how many groups of eight.
pub(super) fn bytes_to_bits(plane: &[u8], rows: &mut [u8], row_bytes: usize) -> usize {
    if !is_x86_feature_detected!("avx2") {
        return 0;
    }
    if is_x86_feature_detected!("gfni") {
        // SAFETY: AVX2 and GFNI are there, checked above.
        unsafe { bytes_to_bits_by_gfni(plane, rows, row_bytes) }
    } else {
        // SAFETY: AVX2 is there, checked above.
        unsafe { bytes_to_bits_by_avx2(plane, rows, row_bytes) }
    }
}

#[target_feature(enable = "avx2")]
fn interleave_of<const N: usize>(planes: &[u8], plane_stride: usize, target: &mut [u8]) -> usize {
    let batches = target.len() / (N * REGISTER);
    for (batch, elements) in target.chunks_exact_mut(N * REGISTER).enumerate() {
        let mut registers = [_mm256_set1_epi64x(0); N];
        for (byte, register) in registers.iter_mut().enumerate() {
            *register = load(planes, byte * plane_stride + batch * REGISTER);
        }
        store_interleaved(unpack(registers, N.ilog2()), elements);
    }
    batches * REGISTER
}

#[target_feature(enable = "avx2")]
fn deinterleave_of<const N: usize>(elements: &[u8], planes: &mut [u8], plane_stride: usize) -> usize {
    let (batches, _) = elements.as_chunks::<REGISTER>().0.as_chunks::<N>();
    for (batch, elements) in batches.iter().enumerate() {
        let registers = unpack(load_halves(elements), TAKE_APART);
        for (byte, register) in registers.into_iter().enumerate() {
            store(register, planes, byte * plane_stride + batch * REGISTER);
        }
    }
    batches.len() * REGISTER
}

#[target_feature(enable = "avx2")]
fn bits_to_bytes_by_avx2(rows: &[u8], row_bytes: usize, plane: &mut [u8]) -> usize {
    let batches = plane.len() / (8 * REGISTER);
    for (batch, bytes) in plane.chunks_exact_mut(8 * REGISTER).enumerate() {
        let mut registers = [_mm256_set1_epi64x(0); 8];
        for (row, register) in registers.iter_mut().enumerate() {
            *register = load(rows, row * row_bytes + batch * REGISTER);
        }
        let mut registers = unpack(registers, 8u32.ilog2());
        for register in &mut registers {
            *register = transpose_bits(*register);
        }
        store_interleaved(registers, bytes);
    }
    batches * REGISTER
}

/// The same with one instruction for the 18 of [`transpose_bits`].
///
/// GF2P8AFFINEQB multiplies bytes by a matrix of bits whose last byte is its first row; times the bytes 1, 2, 4, ... it
/// gives the matrix's columns. So the rows are loaded last first.
#[target_feature(enable = "avx2,gfni")]
fn bits_to_bytes_by_gfni(rows: &[u8], row_bytes: usize, plane: &mut [u8]) -> usize {
    let unit_bytes = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let batches = plane.len() / (8 * REGISTER);
    for (batch, bytes) in plane.chunks_exact_mut(8 * REGISTER).enumerate() {
        let mut registers = [_mm256_set1_epi64x(0); 8];
        for (row, register) in registers.iter_mut().rev().enumerate() {
            *register = load(rows, row * row_bytes + batch * REGISTER);
        }
        let mut registers = unpack(registers, 8u32.ilog2());
        for register in &mut registers {
            *register = _mm256_gf2p8affine_epi64_epi8::<0>(unit_bytes, *register);
        }
        store_interleaved(registers, bytes);
    }
    batches * REGISTER
}

#[target_feature(enable = "avx2")]
fn bytes_to_bits_by_avx2(plane: &[u8], rows: &mut [u8], row_bytes: usize) -> usize {
    let (batches, _) = plane.as_chunks::<REGISTER>().0.as_chunks::<8>();
    for (batch, bytes) in batches.iter().enumerate() {
        let mut registers = load_halves(bytes);
        for register in &mut registers {
            *register = transpose_bits(*register);
        }
        for (row, register) in unpack(registers, TAKE_APART).into_iter().enumerate() {
            store(register, rows, row * row_bytes + batch * REGISTER);
        }
    }
    batches.len() * REGISTER
}

/// The same with two instructions for the 18 of [`transpose_bits`].
///
/// The columns that GF2P8AFFINEQB gives, see [`bits_to_bytes_by_gfni`], have their bits last first; the bytes 1, 2, 4, ...
/// as a matrix turn them round.
#[target_feature(enable = "avx2,gfni")]
fn bytes_to_bits_by_gfni(plane: &[u8], rows: &mut [u8], row_bytes: usize) -> usize {
    let unit_bytes = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let (batches, _) = plane.as_chunks::<REGISTER>().0.as_chunks::<8>();
    for (batch, bytes) in batches.iter().enumerate() {
        let mut registers = load_halves(bytes);
        for register in &mut registers {
            let columns = _mm256_gf2p8affine_epi64_epi8::<0>(unit_bytes, *register);
            *register = _mm256_gf2p8affine_epi64_epi8::<0>(columns, unit_bytes);
        }
        for (row, register) in unpack(registers, TAKE_APART).into_iter().enumerate() {
            store(register, rows, row * row_bytes + batch * REGISTER);
        }
    }
    batches.len() * REGISTER
}

/// Rounds of [`unpack`] after which the bytes of elements of as many bytes as there are registers lie each in its own: with
/// the `log2(N)` that interleave, a byte's place in register and half, of `log2(N) + 4` bits, has been turned once round.
const TAKE_APART: u32 = 4;

/// Interleaves the bytes of `N` registers, within each half of them.
///
/// Each round unpacks register `i` with register `i + N / 2`; after `log2(N)` rounds half-register `i` of the low halves
/// is the `i`-th run of 16 bytes, and the high halves follow the low ones.
#[target_feature(enable = "avx2")]
fn unpack<const N: usize>(mut registers: [__m256i; N], rounds: u32) -> [__m256i; N] {
    for _ in 0..rounds {
        let from = registers;
        for index in 0..N / 2 {
            registers[2 * index] = _mm256_unpacklo_epi8(from[index], from[index + N / 2]);
            registers[2 * index + 1] = _mm256_unpackhi_epi8(from[index], from[index + N / 2]);
        }
    }
    registers
}

/// Stores what [`unpack`] made: all low halves, then all high halves.
#[target_feature(enable = "avx2")]
fn store_interleaved<const N: usize>(registers: [__m256i; N], target: &mut [u8]) {
    for index in 0..N / 2 {
        let (even, odd) = (registers[2 * index], registers[2 * index + 1]);
        store(_mm256_permute2x128_si256::<0x20>(even, odd), target, index * REGISTER);
        store(_mm256_permute2x128_si256::<0x31>(even, odd), target, (index + N / 2) * REGISTER);
    }
}

/// Loads what [`store_interleaved`] would have stored: all low halves, then all high halves.
#[target_feature(enable = "avx2")]
fn load_halves<const N: usize>(source: &[[u8; REGISTER]; N]) -> [__m256i; N] {
    let mut registers = [_mm256_set1_epi64x(0); N];
    for index in 0..N / 2 {
        let (low, high) = (load(&source[index], 0), load(&source[index + N / 2], 0));
        registers[2 * index] = _mm256_permute2x128_si256::<0x20>(low, high);
        registers[2 * index + 1] = _mm256_permute2x128_si256::<0x31>(low, high);
    }
    registers
}

/// Transposes the four 8 x 8 matrices of bits in a register (Hacker's Delight, 7-3).
#[target_feature(enable = "avx2")]
fn transpose_bits(matrices: __m256i) -> __m256i {
    let matrices = swap_bits::<7>(matrices, 0x00AA_00AA_00AA_00AA);
    let matrices = swap_bits::<14>(matrices, 0x0000_CCCC_0000_CCCC);
    swap_bits::<28>(matrices, 0x0000_0000_F0F0_F0F0)
}

/// Swaps the bits under `mask` with those `SHIFT` higher.
#[target_feature(enable = "avx2")]
fn swap_bits<const SHIFT: i32>(matrices: __m256i, mask: i64) -> __m256i {
    let differing = _mm256_xor_si256(matrices, _mm256_srli_epi64::<SHIFT>(matrices));
    let moved = _mm256_and_si256(differing, _mm256_set1_epi64x(mask));
    _mm256_xor_si256(matrices, _mm256_xor_si256(moved, _mm256_slli_epi64::<SHIFT>(moved)))
}

#[target_feature(enable = "avx2")]
fn load(source: &[u8], at: usize) -> __m256i {
    let bytes: &[u8] = &source[at..at + REGISTER];
    // SAFETY: the slice above has the 32 bytes that are read; the instruction needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
fn store(register: __m256i, target: &mut [u8], at: usize) {
    let bytes: &mut [u8] = &mut target[at..at + REGISTER];
    // SAFETY: the slice above has the 32 bytes that are written; the instruction needs no alignment.
    unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), register) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Machines with GFNI would otherwise never run the kernel of those without.
    #[test]
    fn bits_become_bytes_alike_by_every_kernel() {
        if !is_x86_feature_detected!("avx2") {
            println!("SKIPPED: this machine has no AVX2");
            return;
        }
        let rows: Vec<u8> = (0..8 * 70u32).map(|index| (index * index / 3).to_le_bytes()[0]).collect();
        let mut plane = [0; 70 * 8];
        // SAFETY: AVX2 is there, checked above.
        let done = unsafe { bits_to_bytes_by_avx2(&rows, 70, &mut plane) };
        assert_eq!(done, 64);
        for (element, byte) in plane[..64 * 8].iter().enumerate() {
            let bits = (0..8).map(|row| (rows[row * 70 + element / 8] >> (element % 8) & 1) << row);
            assert_eq!(*byte, bits.sum::<u8>(), "{element}");
        }
        if is_x86_feature_detected!("gfni") {
            let mut other = [0; 70 * 8];
            // SAFETY: AVX2 and GFNI are there, checked above.
            let done = unsafe { bits_to_bytes_by_gfni(&rows, 70, &mut other) };
            assert_eq!((done, other), (64, plane));
        }
    }

    #[test]
    fn bytes_become_bits_alike_by_every_kernel() {
        if !is_x86_feature_detected!("avx2") {
            println!("SKIPPED: this machine has no AVX2");
            return;
        }
        let plane: Vec<u8> = (0..600u32).map(|index| (index * index / 3).to_le_bytes()[0]).collect();
        let mut rows = [0; 8 * 75];
        // SAFETY: AVX2 is there, checked above.
        let done = unsafe { bytes_to_bits_by_avx2(&plane, &mut rows, 75) };
        assert_eq!(done, 64);
        for (element, byte) in plane[..64 * 8].iter().enumerate() {
            let bits = (0..8).map(|row| (rows[row * 75 + element / 8] >> (element % 8) & 1) << row);
            assert_eq!(*byte, bits.sum::<u8>(), "{element}");
        }
        if is_x86_feature_detected!("gfni") {
            let mut other = [0; 8 * 75];
            // SAFETY: AVX2 and GFNI are there, checked above.
            let done = unsafe { bytes_to_bits_by_gfni(&plane, &mut other, 75) };
            assert_eq!((done, other), (64, rows));
        }
    }
}
