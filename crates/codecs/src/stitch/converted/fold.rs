//! Sums of elements that become one.

use crate::conversion::Working;

/// Adds `values` to the sums of their blocks of `factor` elements, of which `first` lie before them; where NaN is left out,
/// counts the others.
pub(super) fn fold<W: Working>(
    values: &[W],
    first: usize,
    factor: usize,
    sums: &mut [f64],
    counts: Option<&mut [f64]>,
) {
    match counts {
        None => fold_by(values, first, factor, sums, |value| value),
        Some(counts) => {
            fold_by(values, first, factor, sums, |value| if value.is_nan() { 0.0 } else { value });
            fold_by(values, first, factor, counts, |value| if value.is_nan() { 0.0 } else { 1.0 });
        }
    }
}

fn fold_by<W: Working>(
    values: &[W],
    first: usize,
    factor: usize,
    sums: &mut [f64],
    term: impl Fn(f64) -> f64 + Copy,
) {
    let Some(mut sums) = sums.get_mut(first / factor..) else { return };
    let mut values = values;
    let before = first % factor;
    if before != 0 {
        let (head, rest) = values.split_at((factor - before).min(values.len()));
        add(sums, head, term);
        values = rest;
        sums = sums.get_mut(1..).unwrap_or_default();
    }
    match factor {
        1 => fold_exactly::<1, W>(values, sums, term),
        2 => fold_exactly::<2, W>(values, sums, term),
        3 => fold_exactly::<3, W>(values, sums, term),
        4 => fold_exactly::<4, W>(values, sums, term),
        8 => fold_exactly::<8, W>(values, sums, term),
        _ => {
            for (block, values) in values.chunks(factor).enumerate() {
                add(sums.get_mut(block..).unwrap_or_default(), values, term);
            }
        }
    }
}

/// Adds the values of one block to the first of the sums.
#[inline(always)]
fn add<W: Working>(sums: &mut [f64], values: &[W], term: impl Fn(f64) -> f64) {
    if let Some(sum) = sums.first_mut() {
        *sum += values.iter().fold(0.0, |sum, value| sum + term(value.to_f64()));
    }
}

/// Blocks of `N`, the last of which may have fewer.
fn fold_exactly<const N: usize, W: Working>(
    values: &[W],
    sums: &mut [f64],
    term: impl Fn(f64) -> f64 + Copy,
) {
    let (blocks, rest) = values.as_chunks::<N>();
    for (sum, block) in sums.iter_mut().zip(blocks) {
        *sum += block.iter().fold(0.0, |sum, value| sum + term(value.to_f64()));
    }
    if !rest.is_empty() {
        add(sums.get_mut(blocks.len()..).unwrap_or_default(), rest, term);
    }
}
