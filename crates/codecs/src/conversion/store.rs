//! From values to the elements of the target.

use super::floats::Working;
use super::half_float::{to_bfloat, to_half};
use super::lanes::{lanes, map_chunks};
use super::simd::{self, LANES, Loop, Vectors};
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

    /// The elements that lanes of values are cast to: the same as one by one.
    fn cast_lanes<V: Vectors, W: Working>(values: &[W; LANES]) -> [Self::Bytes; LANES];
}

/// Stores as elements of one type.
pub(super) struct Storing<T>(pub(super) PhantomData<T>);

impl<T: Target, W: Working> Store<W> for Storing<T> {
    fn store(&self, values: &[&mut [W]], targets: &mut [&mut [u8]]) {
        simd::run(Casting::<T, W> { target: PhantomData, values, targets });
    }
}

struct Casting<'a, 'v, 't, T, W> {
    target: PhantomData<T>,
    values: &'a [&'v mut [W]],
    targets: &'a mut [&'t mut [u8]],
}

impl<T: Target, W: Working> Loop for Casting<'_, '_, '_, T, W> {
    #[inline(always)]
    fn run<V: Vectors>(self) {
        for (target, values) in self.targets.iter_mut().zip(self.values) {
            map_chunks(values, T::elements(target), T::cast_lanes::<V, W>, T::cast);
        }
    }
}

/// IEEE 754 binary16.
pub(super) struct Half;

/// The upper half of a `float32`.
pub(super) struct BFloat;

impl Target for Half {
    type Bytes = [u8; 2];

    #[inline(always)]
    fn elements(bytes: &mut [u8]) -> &mut [[u8; 2]] {
        bytes.as_chunks_mut().0
    }

    #[inline(always)]
    fn cast<W: Working>(value: W) -> [u8; 2] {
        to_half(value.to_f32()).to_ne_bytes()
    }

    #[inline(always)]
    fn cast_lanes<V: Vectors, W: Working>(values: &[W; LANES]) -> [[u8; 2]; LANES] {
        bytemuck::cast(V::halves(lanes(values, W::to_f32)))
    }
}

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

            #[inline(always)]
            fn cast_lanes<V: Vectors, W: Working>(values: &[W; LANES]) -> [[u8; $bytes]; LANES] {
                lanes(values, Self::cast)
            }
        })*
    };
}

targets! {
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

            #[inline(always)]
            fn cast_lanes<V: Vectors, W: Working>(values: &[W; LANES]) -> [Self::Bytes; LANES] {
                lanes(values, Self::cast)
            }
        })*
    };
}

whole_targets!(i8, i16, i32, i64, u8, u16, u32, u64);
