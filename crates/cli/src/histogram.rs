//! Counts of numbers by size, in one pass and without a range that is known ahead.

/// Bins whose width is a power of two and whose borders are multiples of it. Where a number lies outside of all bins that
/// there may be, neighbours are joined: so the bins are the same in whatever order the numbers come.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    bins_max: usize,
    /// Integers have bins of at least 1.
    of_integers: bool,
    /// Bins are 2^exponent wide.
    exponent: i32,
    /// Which multiple of the width the first bin starts at.
    first: i64,
    counts: Vec<u64>,
    least: f64,
    greatest: f64,
}

/// Widths are from 2^-960 to 2^1023, whose reciprocals are numbers too.
const EXPONENTS: (i32, i32) = (-960, 1023);

/// Bits of a number that its bin's position has at most, so that positions are exact.
const POSITION_BITS: i32 = 50;

impl Histogram {
    /// Of no number yet, with so many bins at most, and at least half of them where numbers differ enough. At least 4, so that
    /// the widest bins hold all numbers.
    pub(crate) fn new(bins_max: usize, of_integers: bool) -> Histogram {
        let (least, greatest) = (f64::INFINITY, f64::NEG_INFINITY);
        Histogram {
            bins_max: bins_max.max(4),
            of_integers,
            exponent: 0,
            first: 0,
            counts: Vec::new(),
            least,
            greatest,
        }
    }

    /// Counts numbers, which must be finite.
    pub(crate) fn add(&mut self, values: &[f64]) {
        let Some(first) = values.first().copied() else { return };
        let (least, greatest) = values
            .iter()
            .fold((first, first), |(least, greatest), value| (least.min(*value), greatest.max(*value)));
        self.cover(least, greatest);
        let scale = reciprocal(self.exponent);
        for value in values {
            let bin = usize::try_from(position(*value, scale) - self.first).unwrap_or(usize::MAX);
            if let Some(count) = self.counts.get_mut(bin) {
                *count += 1;
            }
        }
    }

    /// Adds what another one counted.
    pub(crate) fn merge(&mut self, other: &Histogram) {
        if other.counts.is_empty() {
            return;
        }
        self.cover(other.least, other.greatest);
        let shift = shift_of(self.exponent - other.exponent);
        for (bin, count) in (other.first..).zip(&other.counts) {
            let bin = usize::try_from((bin >> shift) - self.first).unwrap_or(usize::MAX);
            if let Some(own) = self.counts.get_mut(bin) {
                *own += count;
            }
        }
    }

    /// The bins from the first that counted something to the last: where each starts and ends, and its count.
    pub(crate) fn bins(&self) -> impl Iterator<Item = (f64, f64, u64)> {
        let width = power(self.exponent);
        (self.first..)
            .zip(&self.counts)
            .map(move |(bin, count)| (bin as f64 * width, (bin + 1) as f64 * width, *count))
    }

    /// Makes room for numbers from `least` to `greatest`.
    fn cover(&mut self, least: f64, greatest: f64) {
        if self.least <= least && greatest <= self.greatest {
            return;
        }
        let is_first = self.counts.is_empty();
        self.least = self.least.min(least);
        self.greatest = self.greatest.max(greatest);
        let exponent = self.fitting_exponent();
        let scale = reciprocal(exponent);
        let (first, last) = (position(self.least, scale), position(self.greatest, scale));
        let mut counts = vec![0; usize::try_from(last - first + 1).unwrap_or(1).min(self.bins_max)];
        if !is_first {
            let shift = shift_of(exponent - self.exponent);
            for (bin, count) in (self.first..).zip(&self.counts) {
                let bin = usize::try_from((bin >> shift) - first).unwrap_or(usize::MAX);
                if let Some(own) = counts.get_mut(bin) {
                    *own += count;
                }
            }
        }
        (self.exponent, self.first, self.counts) = (exponent, first, counts);
    }

    /// The least exponent by which all numbers so far have bins.
    fn fitting_exponent(&self) -> i32 {
        let magnitude = self.least.abs().max(self.greatest.abs());
        let floor = if self.of_integers { 0 } else { exponent_of(magnitude) - POSITION_BITS };
        let floor = floor.max(exponent_of(magnitude) - POSITION_BITS).clamp(EXPONENTS.0, EXPONENTS.1);
        let most = i64::try_from(self.bins_max).unwrap_or(i64::MAX);
        let fits = |exponent: &i32| {
            let scale = reciprocal(*exponent);
            position(self.greatest, scale) - position(self.least, scale) < most
        };
        (floor..=EXPONENTS.1).find(fits).unwrap_or(EXPONENTS.1)
    }
}

/// Which multiple of the width a number lies at or above.
#[expect(clippy::cast_possible_truncation, reason = "the exponent keeps positions below 2^51")]
fn position(value: f64, scale: f64) -> i64 {
    (value * scale).floor() as i64
}

fn power(exponent: i32) -> f64 {
    2_f64.powi(exponent)
}

fn reciprocal(exponent: i32) -> f64 {
    2_f64.powi(-exponent)
}

/// By how many bits positions are shifted where bins become wider.
fn shift_of(wider: i32) -> u32 {
    u32::try_from(wider).unwrap_or(0).min(63)
}

/// The exponent of a finite number, as in 1.5 * 2^e; that of the least normal number for 0.
fn exponent_of(value: f64) -> i32 {
    i32::try_from((value.to_bits() >> 52) & 0x7ff).unwrap_or(0) - 1023
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64], of_integers: bool) -> Histogram {
        let mut histogram = Histogram::new(16, of_integers);
        histogram.add(values);
        histogram
    }

    #[test]
    fn integers_have_bins_of_one_where_they_fit() {
        let histogram = of(&[3.0, 5.0, 3.0, 7.0], true);
        let bins: Vec<_> = histogram.bins().collect();
        assert_eq!(bins, [(3.0, 4.0, 2), (4.0, 5.0, 0), (5.0, 6.0, 1), (6.0, 7.0, 0), (7.0, 8.0, 1)]);
    }

    #[test]
    fn the_order_and_the_cuts_do_not_matter() {
        let mut state = 7_u64;
        let values: Vec<f64> = (0..5000)
            .map(|number| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                ((state >> 40) as f64 / 1e6 - 8.0) * if number % 1000 == 999 { 1e5 } else { 1.0 }
            })
            .collect();
        let whole: Vec<_> = of(&values, false).bins().collect();
        assert!(8 <= whole.len() && whole.len() <= 16, "{whole:?}");
        assert_eq!(whole.iter().map(|bin| bin.2).sum::<u64>(), 5000);
        for (start, end, count) in &whole {
            let wanted = values.iter().filter(|value| start <= *value && *value < end).count();
            assert_eq!(*count, u64::try_from(wanted).unwrap());
        }
        let (mut pieces, mut backwards, mut merged) = (of(&[], false), of(&[], false), of(&[], false));
        for chunk in values.chunks(17) {
            pieces.add(chunk);
            merged.merge(&of(chunk, false));
        }
        values.iter().rev().for_each(|value| backwards.add(&[*value]));
        for other in [pieces, backwards, merged] {
            assert_eq!(other.bins().collect::<Vec<_>>(), whole);
        }
    }

    #[test]
    fn extreme_numbers_are_counted_without_a_panic() {
        for values in [
            &[0.0, -0.0][..],
            &[f64::MAX, f64::MIN],
            &[f64::MIN_POSITIVE, 5e-324],
            &[1e300, 1e-300, -1.0],
            &[0.1, 0.1],
            &[9.007_199_254_740_993e15, 9.007_199_254_740_995e15],
        ] {
            let count = of(values, false).bins().map(|bin| bin.2).sum::<u64>();
            assert_eq!(count, u64::try_from(values.len()).unwrap(), "{values:?}");
        }
        assert_eq!(of(&[-9.3e18, 9.3e18], true).bins().map(|bin| bin.2).sum::<u64>(), 2);
    }
}
