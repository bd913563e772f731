//! Sums of elements that become one.

use crate::conversion::{LANES, Loop, Vectors, Working, run_loop};
use std::marker::PhantomData;

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

/// The means of blocks of 2 x 2 values, each two rows one of blocks, from the value of number `first` of every row on. They
/// are those of [`fold`] and [`average`]; where `is_exact`, sums are the same in `W`.
pub(super) fn pair_means<W: Working>(
    rows: &[&mut [W]],
    first: usize,
    is_exact: bool,
    means: &mut [&mut [W]],
) {
    match is_exact {
        true => run_loop(PairMeans::<W, W> { rows, first, means, sum: PhantomData }),
        false => run_loop(PairMeans::<W, f64> { rows, first, means, sum: PhantomData }),
    }
}

struct PairMeans<'a, 'v, 'm, W, S> {
    rows: &'a [&'v mut [W]],
    first: usize,
    means: &'a mut [&'m mut [W]],
    sum: PhantomData<S>,
}

impl<W: Working, S: Working> Loop for PairMeans<'_, '_, '_, W, S> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        let quarter = S::of(0.25f32);
        let mean = |(upper, lower): (&[W; 2], &[W; 2])| {
            let sum = |[left, right]: [W; 2]| S::ZERO + S::of(left) + S::of(right);
            W::of((S::ZERO + sum(*upper) + sum(*lower)) * quarter)
        };
        for (rows, means) in self.rows.as_chunks::<2>().0.iter().zip(self.means) {
            let [upper, lower] = rows.each_ref().map(|row| row.get(self.first..).unwrap_or_default());
            let (upper, lower) = (upper.as_chunks::<2>().0, lower.as_chunks::<2>().0);
            map_pairs(upper, lower, means, mean);
        }
    }
}

/// Has each of `target` be what `of` makes of two. Those that do not fill lanes at the end are done once more with those before
/// them: rows are short.
#[inline(always)]
fn map_pairs<A, B: Copy>(upper: &[A], lower: &[A], target: &mut [B], of: impl Fn((&A, &A)) -> B) {
    let len = target.len().min(upper.len()).min(lower.len());
    let mut at = 0;
    while at < len {
        let from = if len < LANES { at } else { at.min(len - LANES) };
        let (upper, lower) = (&upper[from..len], &lower[from..len]);
        let sources = (upper.first_chunk::<LANES>(), lower.first_chunk::<LANES>());
        match (sources, target[from..len].first_chunk_mut::<LANES>()) {
            ((Some(upper), Some(lower)), Some(target)) => {
                let mut made = [of((&upper[0], &lower[0])); LANES];
                for (made, pair) in made.iter_mut().zip(upper.iter().zip(lower)) {
                    *made = of(pair);
                }
                *target = made;
                at = from + LANES;
            }
            _ => {
                target[from] = of((&upper[0], &lower[0]));
                at += 1;
            }
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
