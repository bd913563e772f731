//! What `swath stats` knows of the elements of one group, gathered in one pass.

use crate::histogram::Histogram;
use crate::number::{Extreme, Number};
use crate::statistics::{BLOCK_ELEMENTS, Moments, fold};
use swath::DataType;
use swath::ioengine::storage_len;

/// Counts, extremes, sums and a histogram of elements that arrive in any order.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    data_type: DataType,
    /// Elements, missing ones included.
    pub(crate) count: u64,
    /// Elements that are missing.
    pub(crate) missing: u64,
    /// Elements that are infinite: they count in mean and extremes, and are in no bin.
    pub(crate) infinite: u64,
    /// The least and the greatest of those not missing; `None` for types without an order.
    pub(crate) extremes: Option<(Extreme, Extreme)>,
    /// The exact sum of integers not missing; `None` of other types, and beyond 128 bits.
    sum: Option<i128>,
    moments: Moments,
    pub(crate) histogram: Histogram,
}

impl Summary {
    /// Of no element yet.
    pub(crate) fn new(data_type: &DataType, bins_max: usize) -> Summary {
        let of_integers = !matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64);
        Summary {
            data_type: data_type.clone(),
            count: 0,
            missing: 0,
            infinite: 0,
            extremes: None,
            sum: of_integers.then_some(0),
            moments: Moments::default(),
            histogram: Histogram::new(bins_max, of_integers),
        }
    }

    /// Bytes of an element.
    pub(crate) fn element_bytes(&self) -> usize {
        self.data_type.size_bytes().max(1)
    }

    /// Adds whole elements in native byte order, and whether each is missing.
    pub(crate) fn add(&mut self, bytes: &[u8], missing: &[u8]) {
        match self.data_type {
            DataType::Bool => self.numbers(bytes, missing, |[byte]: [u8; 1]| byte != 0),
            DataType::Int8 => self.numbers(bytes, missing, i8::from_ne_bytes),
            DataType::Int16 => self.numbers(bytes, missing, i16::from_ne_bytes),
            DataType::Int32 => self.numbers(bytes, missing, i32::from_ne_bytes),
            DataType::Int64 | DataType::DateTime64(_) | DataType::TimeDelta64(_) => {
                self.numbers(bytes, missing, i64::from_ne_bytes);
            }
            DataType::UInt8 => self.numbers(bytes, missing, u8::from_ne_bytes),
            DataType::UInt16 => self.numbers(bytes, missing, u16::from_ne_bytes),
            DataType::UInt32 => self.numbers(bytes, missing, u32::from_ne_bytes),
            DataType::UInt64 => self.numbers(bytes, missing, u64::from_ne_bytes),
            DataType::Float16 => self.numbers(bytes, missing, |two| half::f16::from_ne_bytes(two).to_f32()),
            DataType::Float32 => self.numbers(bytes, missing, f32::from_ne_bytes),
            DataType::Float64 => self.numbers(bytes, missing, f64::from_ne_bytes),
            // Complex numbers have no order and no bins; of opaque bytes nothing more can be said.
            _ => self.count_only(missing),
        }
    }

    /// Adds what another one has of the same type.
    pub(crate) fn merge(&mut self, other: &Summary) {
        self.count += other.count;
        self.missing += other.missing;
        self.infinite += other.infinite;
        if let Some((least, greatest)) = other.extremes {
            self.widen(least, greatest);
        }
        self.sum = self.sum.zip(other.sum).and_then(|(own, other)| own.checked_add(other));
        self.moments.merge(other.moments);
        self.histogram.merge(&other.histogram);
    }

    /// Elements that are not missing.
    pub(crate) fn valid(&self) -> u64 {
        self.count - self.missing
    }

    /// The mean of the elements not missing: of integers their exact sum divided once.
    pub(crate) fn mean(&self) -> Option<f64> {
        let has_any = self.moments.count != 0.0;
        let exact = self.sum.map(|sum| divided(sum, self.valid()));
        has_any.then(|| exact.unwrap_or(self.moments.mean))
    }

    /// The standard deviation (of the population, as NumPy's `std`) of the elements not missing.
    pub(crate) fn deviation(&self) -> Option<f64> {
        (self.moments.count != 0.0).then(|| (self.moments.spread / self.moments.count).sqrt())
    }

    /// The exact sum, of integers.
    pub(crate) fn sum(&self) -> Option<i128> {
        self.sum.filter(|_| self.moments.count != 0.0)
    }

    fn count_only(&mut self, missing: &[u8]) {
        self.count += storage_len(missing.len());
        self.missing += missing.iter().map(|flag| u64::from(*flag)).sum::<u64>();
        self.sum = None;
    }

    fn numbers<T: Number, const N: usize>(
        &mut self,
        bytes: &[u8],
        missing: &[u8],
        decode: impl Fn([u8; N]) -> T,
    ) {
        let (mut block, mut reals) = (Vec::with_capacity(BLOCK_ELEMENTS), Vec::with_capacity(BLOCK_ELEMENTS));
        let elements = bytes.as_chunks::<N>().0;
        for (elements, missing) in elements.chunks(BLOCK_ELEMENTS).zip(missing.chunks(BLOCK_ELEMENTS)) {
            block.clear();
            if missing.iter().all(|flag| *flag == 0) {
                block.extend(elements.iter().map(|element| decode(*element)));
            } else {
                let valid = elements.iter().zip(missing).filter(|(_, flag)| **flag == 0);
                block.extend(valid.map(|(element, _)| decode(*element)));
            }
            self.count += storage_len(elements.len());
            self.missing += storage_len(elements.len() - block.len());
            self.block(&block, &mut reals);
        }
    }

    fn block<T: Number>(&mut self, block: &[T], reals: &mut Vec<f64>) {
        let Some(first) = block.first().copied() else { return };
        let lesser = |one: T, other: T| if other < one { other } else { one };
        let greater = |one: T, other: T| if one < other { other } else { one };
        let (least, greatest) = (fold(block, first, lesser, lesser), fold(block, first, greater, greater));
        self.widen(least.extreme(), greatest.extreme());
        self.moments.merge(Moments::of(block));
        if let Some(sum) = &mut self.sum {
            let add = |sum: i128, value: T| sum + value.to_integer().unwrap_or_default();
            let of_block = fold(block, 0, add, |one, other| one + other);
            self.sum = sum.checked_add(of_block);
        }
        reals.clear();
        reals.extend(block.iter().map(|value| value.to_f64()));
        if !(least.to_f64().is_finite() && greatest.to_f64().is_finite()) {
            reals.retain(|value| value.is_finite());
            self.infinite += storage_len(block.len() - reals.len());
        }
        self.histogram.add(reals);
    }

    fn widen(&mut self, least: Extreme, greatest: Extreme) {
        let (before_least, before_greatest) = self.extremes.unwrap_or((least, greatest));
        self.extremes = Some((
            if least < before_least { least } else { before_least },
            if before_greatest < greatest { greatest } else { before_greatest },
        ));
    }
}

/// The quotient, rounded about once: whole and rest are divided apart, as a sum may have more bits than a double.
fn divided(sum: i128, count: u64) -> f64 {
    let count = i128::from(count.max(1));
    let (whole, rest) = (sum.div_euclid(count), sum.rem_euclid(count));
    whole as f64 + rest as f64 / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[i64], missing: &[u8]) -> Summary {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let mut summary = Summary::new(&DataType::Int64, 16);
        summary.add(&bytes, missing);
        summary
    }

    #[test]
    fn sums_of_integers_are_exact() {
        let summary = of(&[i64::MAX, i64::MAX, 3, i64::MIN, 5], &[0, 0, 0, 0, 1]);
        assert_eq!(summary.sum(), Some(i128::from(i64::MAX) * 2 + 3 + i128::from(i64::MIN)));
        assert_eq!((summary.count, summary.missing), (5, 1));
        // In doubles, 2^53 + 1 and neighbours are lost; the mean of exact sums is not.
        let big = (1 << 53) + 1;
        assert_eq!(of(&[big, -big, 1, 3], &[0; 4]).mean(), Some(1.0));
    }

    #[test]
    fn parts_merge_to_the_whole() {
        let values: Vec<i64> = (0..9000).map(|number| number * number % 777 - 300).collect();
        let whole = of(&values, &vec![0; 9000]);
        let mut parts = of(&values[..100], &[0; 100]);
        parts.merge(&of(&values[100..7000], &[0; 6900]));
        parts.merge(&of(&[], &[]));
        parts.merge(&of(&values[7000..], &[0; 2000]));
        assert_eq!((parts.sum(), parts.extremes, parts.count), (whole.sum(), whole.extremes, 9000));
        assert!((parts.deviation().unwrap() - whole.deviation().unwrap()).abs() < 1e-9);
        assert!(parts.histogram.bins().eq(whole.histogram.bins()));
    }

    #[test]
    fn what_is_infinite_is_in_no_bin() {
        let values = [1.0_f64, f64::INFINITY, f64::NAN, 2.0];
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        let mut summary = Summary::new(&DataType::Float64, 16);
        summary.add(&bytes, &[0, 0, 1, 0]);
        assert_eq!((summary.count, summary.missing, summary.infinite), (4, 1, 1));
        assert_eq!(summary.histogram.bins().map(|bin| bin.2).sum::<u64>(), 2);
        assert_eq!((summary.sum(), summary.mean()), (None, Some(f64::INFINITY)));
    }
}
