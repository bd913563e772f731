//! From values to the elements of the target.

use super::floats::Working;
use super::half_float::{to_bfloat, to_half};
use super::simd::{self, Loop};
use std::marker::PhantomData;

/// Stores values as elements of the target.
pub(super) trait Store<W>: Send + Sync {
    /// Casts `values` to as many elements, whose bytes are all of `targets`, row by row.
    fn store(&self, values: &[&mut [W]], targets: &mut [&mut [u8]]);
}

/// A type of elements of a target.
pub(super) trait Target: Send + Sync + 'static {
    /// One element, in native byte order.
    type Bytes: Copy;

    /// The whole elements of some bytes.
    fn elements(bytes: &mut [u8]) -> &mut [Self::Bytes];

    /// The element that a value is cast to.
    fn cast<W: Working>(value: W) -> Self::Bytes;
}

/// Stores as elements of one type.
pub(super) struct Storing<T>(pub(super) PhantomData<T>);

impl<T: Target, W: Working> Store<W> for Storing<T> {
    fn store(&self, values: &[&mut [W]], targets: &mut [&mut [u8]]) {
        simd::run(Casting { cast: self, values, targets });
    }
}

struct Casting<'a, 'v, 't, T, W> {
    cast: &'a Storing<T>,
    values: &'a [&'v mut [W]],
    targets: &'a mut [&'t mut [u8]],
}

impl<T: Target, W: Working> Loop for Casting<'_, '_, '_, T, W> {
    #[inline(always)]
    fn run(self) {
        for (target, values) in self.targets.iter_mut().zip(self.values) {
            for (element, value) in T::elements(target).iter_mut().zip(values.iter()) {
                *element = self.cast.of(*value);
            }
        }
    }
}

impl<T: Target> Storing<T> {
    #[inline(always)]
    fn of<W: Working>(&self, value: W) -> T::Bytes {
        T::cast(value)
    }
}

/// IEEE 754 binary16.
pub(super) struct Half;

/// The upper half of a `float32`.
pub(super) struct BFloat;

macro_rules! targets {
    ($($target:ty, $bytes:literal, $value:ident => $cast:expr);* $(;)?) => {
        $(impl Target for $target {
            type Bytes = [u8; $bytes];

            #[inline(always)]
            fn elements(bytes: &mut [u8]) -> &mut [[u8; $bytes]] {
                bytes.as_chunks_mut().0
            }

            #[inline(always)]
            fn cast<W: Working>($value: W) -> [u8; $bytes] {
                $cast.to_ne_bytes()
            }
        })*
    };
}

targets! {
    Half, 2, value => to_half(value.to_f32());
    BFloat, 2, value => to_bfloat(value.to_f32());
    f32, 4, value => value.to_f32();
    f64, 8, value => value.to_f64();
}

macro_rules! whole_targets {
    ($($target:ty),*) => {
        $(impl Target for $target {
            type Bytes = [u8; size_of::<$target>()];

            #[inline(always)]
            fn elements(bytes: &mut [u8]) -> &mut [Self::Bytes] {
                bytes.as_chunks_mut().0
            }

            #[inline(always)]
            #[expect(clippy::cast_possible_truncation, reason = "towards zero, to the nearest that there is, NaN to 0")]
            fn cast<W: Working>(value: W) -> Self::Bytes {
                (value.to_f64() as $target).to_ne_bytes()
            }
        })*
    };
}

whole_targets!(i8, i16, i32, i64, u8, u16, u32, u64);
