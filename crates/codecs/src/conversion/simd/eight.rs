//! Eight values that are worked on together, where compilers do not make vectors of a loop themselves.

use crate::conversion::half_float::to_half;

/// Eight values of `float32`.
pub(crate) trait Eight: Copy {
    /// One value, eight times.
    fn splat(value: f32) -> Self;

    /// The values of integers and floats in native byte order.
    fn of_u8(bytes: [u8; 8]) -> Self;
    fn of_i16(values: [i16; 8]) -> Self;
    fn of_u16(values: [u16; 8]) -> Self;
    fn of_f32(values: [f32; 8]) -> Self;

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;

    /// Each of `others` whose place holds what is equal to that of `value`, else its own.
    fn where_equal(self, value: Self, others: Self, own: Self) -> Self;

    /// Each of `others` whose place holds NaN, else its own.
    fn where_nan(self, others: Self) -> Self;

    fn singles(self) -> [f32; 8];

    /// The IEEE 754 binary16 nearest to each value, ties to even.
    fn halves(self) -> [u16; 8];
}

/// Of every machine.
impl Eight for [f32; 8] {
    #[inline(always)]
    fn splat(value: f32) -> Self {
        [value; 8]
    }

    #[inline(always)]
    fn of_u8(values: [u8; 8]) -> Self {
        values.map(f32::from)
    }

    #[inline(always)]
    fn of_i16(values: [i16; 8]) -> Self {
        values.map(f32::from)
    }

    #[inline(always)]
    fn of_u16(values: [u16; 8]) -> Self {
        values.map(f32::from)
    }

    #[inline(always)]
    fn of_f32(values: [f32; 8]) -> Self {
        values
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|at| self[at] + other[at])
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        std::array::from_fn(|at| self[at] - other[at])
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        std::array::from_fn(|at| self[at] * other[at])
    }

    #[inline(always)]
    fn over(self, other: Self) -> Self {
        std::array::from_fn(|at| self[at] / other[at])
    }

    #[inline(always)]
    fn where_equal(self, value: Self, others: Self, own: Self) -> Self {
        std::array::from_fn(|at| if self[at] == value[at] { others[at] } else { own[at] })
    }

    #[inline(always)]
    fn where_nan(self, others: Self) -> Self {
        std::array::from_fn(|at| if self[at].is_nan() { others[at] } else { self[at] })
    }

    #[inline(always)]
    fn singles(self) -> [f32; 8] {
        self
    }

    #[inline(always)]
    fn halves(self) -> [u16; 8] {
        self.map(to_half)
    }
}
