//! Selections from Rust values.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::{AxisSelection, ONE, Selection};

fn slice(start: Option<i64>, stop: Option<i64>) -> AxisSelection {
    AxisSelection::Slice { start, stop, step: ONE }
}

/// The half-open stop of an inclusive range; `..=-1` ends with the last element, which no half-open stop can say.
fn stop_after(last: i64) -> Option<i64> {
    if last == -1 { None } else { last.checked_add(1) }
}

macro_rules! from_integer {
    ($($integer:ty),*) => {$(
        // Numbers beyond 63 bits stand past the end of any axis that fits in memory or on disk: they saturate.
        impl From<$integer> for AxisSelection {
            fn from(index: $integer) -> Self {
                Self::Index(i64::try_from(index).unwrap_or(i64::MAX))
            }
        }

        impl From<Range<$integer>> for AxisSelection {
            fn from(range: Range<$integer>) -> Self {
                let start = i64::try_from(range.start).unwrap_or(i64::MAX);
                slice(Some(start), Some(i64::try_from(range.end).unwrap_or(i64::MAX)))
            }
        }

        impl From<RangeInclusive<$integer>> for AxisSelection {
            fn from(range: RangeInclusive<$integer>) -> Self {
                let (start, last) = range.into_inner();
                let start = i64::try_from(start).unwrap_or(i64::MAX);
                slice(Some(start), stop_after(i64::try_from(last).unwrap_or(i64::MAX)))
            }
        }

        impl From<RangeFrom<$integer>> for AxisSelection {
            fn from(range: RangeFrom<$integer>) -> Self {
                slice(Some(i64::try_from(range.start).unwrap_or(i64::MAX)), None)
            }
        }

        impl From<RangeTo<$integer>> for AxisSelection {
            fn from(range: RangeTo<$integer>) -> Self {
                slice(None, Some(i64::try_from(range.end).unwrap_or(i64::MAX)))
            }
        }

        impl From<RangeToInclusive<$integer>> for AxisSelection {
            fn from(range: RangeToInclusive<$integer>) -> Self {
                slice(None, stop_after(i64::try_from(range.end).unwrap_or(i64::MAX)))
            }
        }

        from_list!($integer, List, |index| i64::try_from(*index).unwrap_or(i64::MAX));

        from_axis!(
            $integer,
            Range<$integer>,
            RangeInclusive<$integer>,
            RangeFrom<$integer>,
            RangeTo<$integer>,
            RangeToInclusive<$integer>
        );
    )*};
}

/// Lists of all kinds. As an axis; alone they are one index an axis.
macro_rules! from_list {
    ($item:ty, $variant:ident, $convert:expr) => {
        impl From<&[$item]> for AxisSelection {
            fn from(items: &[$item]) -> Self {
                Self::$variant(items.iter().map($convert).collect())
            }
        }

        impl From<Vec<$item>> for AxisSelection {
            fn from(items: Vec<$item>) -> Self {
                items.as_slice().into()
            }
        }

        impl<const N: usize> From<[$item; N]> for AxisSelection {
            fn from(items: [$item; N]) -> Self {
                items.as_slice().into()
            }
        }
    };
}

/// One axis alone is a selection too.
macro_rules! from_axis {
    ($($axis:ty),*) => {$(
        impl From<$axis> for Selection {
            fn from(axis: $axis) -> Self {
                Self::new(vec![axis.into()])
            }
        }
    )*};
}

macro_rules! from_tuple {
    ($($axis:ident)*) => {
        #[allow(non_snake_case, reason = "the type parameters name the values too")]
        impl<$($axis: Into<AxisSelection>),*> From<($($axis,)*)> for Selection {
            fn from(($($axis,)*): ($($axis,)*)) -> Self {
                Self::new(vec![$($axis.into()),*])
            }
        }
    };
}

from_integer!(i32, i64, u32, u64, usize);
from_list!(bool, Mask, |value| *value);
from_axis!(RangeFull, AxisSelection);
from_tuple!(A);
from_tuple!(A B);
from_tuple!(A B C);
from_tuple!(A B C D);
from_tuple!(A B C D E);
from_tuple!(A B C D E F);
from_tuple!(A B C D E F G);
from_tuple!(A B C D E F G H);

impl From<RangeFull> for AxisSelection {
    fn from(_: RangeFull) -> Self {
        Self::ALL
    }
}

impl<T: Into<AxisSelection>, const N: usize> From<[T; N]> for Selection {
    fn from(axes: [T; N]) -> Self {
        axes.into_iter().collect()
    }
}

impl<T: Into<AxisSelection>> From<Vec<T>> for Selection {
    fn from(axes: Vec<T>) -> Self {
        axes.into_iter().collect()
    }
}

impl<T: Into<AxisSelection> + Clone> From<&[T]> for Selection {
    fn from(axes: &[T]) -> Self {
        axes.iter().cloned().collect()
    }
}

impl<T: Into<AxisSelection>> FromIterator<T> for Selection {
    fn from_iter<I: IntoIterator<Item = T>>(axes: I) -> Self {
        Self::new(axes.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_say_what_their_notation_says() {
        let cases: [(Selection, &str); 11] = [
            ((0..4).into(), "0:4"),
            (3.into(), "3"),
            ((..).into(), ":"),
            ((-10.., ..5_u64, 2_usize).into(), "-10:, :5, 2"),
            ((0..=4, ..=-1, -3..=-2).into(), "0:5, :, -3:-1"),
            ([0..4, 2..6].into(), "0:4, 2:6"),
            (vec![0_u64..4, 1..2].into(), "0:4, 1:2"),
            ([0_usize..4, 1..2].as_slice().into(), "0:4, 1:2"),
            ((AxisSelection::Ellipsis, 3).into(), "..., 3"),
            ((u64::MAX,).into(), "9223372036854775807"),
            (Selection::all(), ""),
        ];
        for (selection, text) in cases {
            assert_eq!(selection.to_string(), text);
            assert_eq!(text.parse::<Selection>().unwrap(), selection);
        }
    }

    #[test]
    fn lists_are_axes() {
        let selection = Selection::from((vec![1, 5, -7], 2.., [true, false], [3_u64].as_slice()));
        assert_eq!(selection.to_string(), "[1, 5, -7], 2:, [true, false], [3]");
        assert_eq!(Selection::from([vec![1_usize], vec![2]]).to_string(), "[1], [2]");
        assert_eq!(Selection::from(vec![1, 2]).to_string(), "1, 2");
    }
}
