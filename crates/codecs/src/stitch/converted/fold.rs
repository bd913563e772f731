//! Sums of elements that become one.

use crate::conversion::{Loop, Vectors, Working, run_loop};

/// Adds rows of values to the sums of their blocks of `factor` elements, of which `first` lie before them; where NaN is left
/// out, counts the others.
pub(super) fn fold<W: Working>(
    rows: &[&mut [W]],
    first: usize,
    factor: usize,
    sums: &mut [f64],
    counts: Option<&mut [f64]>,
) {
    run_loop(Folding { rows, first, factor, sums, counts });
}

struct Folding<'a, 'v, W> {
    rows: &'a [&'v mut [W]],
    first: usize,
    factor: usize,
    sums: &'a mut [f64],
    counts: Option<&'a mut [f64]>,
}

impl<W: Working> Loop for Folding<'_, '_, W> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        let Folding { rows, first, factor, sums, counts } = self;
        let Some(counts) = counts else {
            for values in rows {
                fold_by(values, first, factor, sums, |value| value);
            }
            return;
        };
        for values in rows {
            fold_by(values, first, factor, sums, |value| if value.is_nan() { 0.0 } else { value });
            fold_by(values, first, factor, counts, |value| if value.is_nan() { 0.0 } else { 1.0 });
        }
    }
}

/// The means of sums: of as many elements as `counts` says, else of `full`.
pub(super) fn average<W: Working>(sums: &[f64], counts: Option<&[f64]>, full: f64, values: &mut [W]) {
    run_loop(Averaging { sums, counts, full, values });
}

struct Averaging<'a, W> {
    sums: &'a [f64],
    counts: Option<&'a [f64]>,
    full: f64,
    values: &'a mut [W],
}

impl<W: Working> Loop for Averaging<'_, W> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        let Averaging { sums, counts, full, values } = self;
        match counts {
            None => {
                for (value, sum) in values.iter_mut().zip(sums) {
                    *value = W::of(*sum / full);
                }
            }
            Some(counts) => {
                for ((value, sum), count) in values.iter_mut().zip(sums).zip(counts) {
                    *value = W::of(*sum / *count);
                }
            }
        }
    }
}

#[inline(always)]
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
#[inline(always)]
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
