//! Means of 2 x 2 short integers, straight from how they are stored.

use super::floats::Working;
use super::lanes::map_two;
use super::rows::StoredRows;
use super::simd::{self, Loop, Vectors};
use crate::number::NumberType;
use std::marker::PhantomData;

/// Means of blocks of 2 x 2 elements, each two rows one of blocks. Sums are exact, in whatever order elements are added.
pub(crate) trait PairMeans<W>: Send + Sync {
    /// The means of blocks, from element number `first` of every row on.
    fn means(&self, stored: &StoredRows<'_>, first: usize, means: &mut [&mut [W]]);

    /// The sums of the elements of number `column` of each two rows.
    fn column_sums(&self, stored: &StoredRows<'_>, column: usize, sums: &mut [f64]);
}

/// An integer of at most 16 bits, in native byte order. Two neighbours are taken as one integer and cut apart there: what
/// compilers make vectors of, where they would shuffle elements.
trait Short: Copy + Send + Sync + 'static {
    /// One element.
    type Bytes: Copy;

    /// Two neighbours.
    type Pair: Copy;

    /// The whole elements of some bytes.
    fn elements(bytes: &[u8]) -> &[Self::Bytes];

    /// Elements two by two, from number `first` on.
    fn pairs(bytes: &[u8], first: usize) -> &[Self::Pair];

    /// The value of an element.
    fn value(element: Self::Bytes) -> i32;

    /// The sum of two neighbours.
    fn sum(pair: Self::Pair) -> i32;
}

macro_rules! shorts {
    ($($type:ty, $pair:ty, $bytes:literal, $bits:literal);* $(;)?) => {
        $(impl Short for $type {
            type Bytes = [u8; $bytes];
            type Pair = [u8; 2 * $bytes];

            #[inline(always)]
            fn elements(bytes: &[u8]) -> &[Self::Bytes] {
                bytes.as_chunks().0
            }

            #[inline(always)]
            fn pairs(bytes: &[u8], first: usize) -> &[Self::Pair] {
                bytes.get(first * $bytes..).unwrap_or_default().as_chunks().0
            }

            #[inline(always)]
            fn value(element: Self::Bytes) -> i32 {
                <$type>::from_ne_bytes(element).into()
            }

            #[inline(always)]
            fn sum(pair: Self::Pair) -> i32 {
                let pair = <$pair>::from_ne_bytes(pair);
                ((pair << $bits >> $bits) + (pair >> $bits)) as i32
            }
        })*
    };
}

shorts!(i8, i16, 1, 8; u8, u16, 1, 8; i16, i32, 2, 16; u16, u32, 2, 16);

/// Means of one type.
struct Pairs<S>(PhantomData<S>);

impl<S: Short, W: Working> PairMeans<W> for Pairs<S> {
    fn means(&self, stored: &StoredRows<'_>, first: usize, means: &mut [&mut [W]]) {
        simd::run(Averaging::<S, W> { stored, first, means, source: PhantomData });
    }

    fn column_sums(&self, stored: &StoredRows<'_>, column: usize, sums: &mut [f64]) {
        let value = |row: usize| S::elements(stored.row(row)).get(column).map_or(0, |found| S::value(*found));
        for (number, sum) in sums.iter_mut().enumerate() {
            *sum = (value(2 * number) + value(2 * number + 1)).into();
        }
    }
}

struct Averaging<'a, 'm, S, W> {
    stored: &'a StoredRows<'a>,
    first: usize,
    means: &'a mut [&'m mut [W]],
    source: PhantomData<S>,
}

impl<S: Short, W: Working> Loop for Averaging<'_, '_, S, W> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        let quarter = W::of(0.25f32);
        for (number, means) in self.means.iter_mut().enumerate() {
            let [upper, lower] =
                [2 * number, 2 * number + 1].map(|row| S::pairs(self.stored.row(row), self.first));
            map_two(upper, lower, means, |upper, lower| W::of(S::sum(upper) + S::sum(lower)) * quarter);
        }
    }
}

/// What stores the means of elements of a type; `None` of one whose sums may not be exact.
pub(super) fn pairs<W: Working>(source: NumberType) -> Option<Box<dyn PairMeans<W>>> {
    use NumberType::{Bool, Int2, Int4, Int8, Int16, UInt2, UInt4, UInt8, UInt16};
    Some(match source {
        Int2 | Int4 | Int8 => Box::new(Pairs::<i8>(PhantomData)),
        Bool | UInt2 | UInt4 | UInt8 => Box::new(Pairs::<u8>(PhantomData)),
        Int16 => Box::new(Pairs::<i16>(PhantomData)),
        UInt16 => Box::new(Pairs::<u16>(PhantomData)),
        _ => return None,
    })
}
