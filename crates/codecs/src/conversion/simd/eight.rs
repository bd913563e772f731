//! Eight values that are worked on together, where compilers do not make vectors of a loop themselves.

use crate::conversion::half_float::to_half;

/// Eight values of `float32`.
pub(crate) trait Eight: Copy {
    /// One value, eight times.
    fn splat(value: f32) -> Self;

    /// The values of integers, all of which it has.
    fn of_u8(values: [u8; 8]) -> Self;

    /// The same.
    fn of_i16(values: [i16; 8]) -> Self;

    /// The same.
    fn of_u16(values: [u16; 8]) -> Self;

    /// Values as they are.
    fn of_f32(values: [f32; 8]) -> Self;

    /// Place by place: the sum.
    fn plus(self, other: Self) -> Self;

    /// The difference.
    fn minus(self, other: Self) -> Self;

    /// The product.
    fn times(self, other: Self) -> Self;

    /// The quotient.
    fn over(self, other: Self) -> Self;

    /// Place by place: of `others` where this is equal to `value`, of `own` where it is not.
    fn where_equal(self, value: Self, others: Self, own: Self) -> Self;

    /// Place by place: of `others` where this is NaN, else as it is.
    fn where_nan(self, others: Self) -> Self;

    /// The values, one by one.
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
