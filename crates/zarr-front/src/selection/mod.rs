//! Which elements of an array to read: NumPy's basic indexing.

mod convert;
mod parse;
mod resolve;

use std::fmt;
use std::num::NonZeroI64;

pub use resolve::{AxisKind, ResolvedAxis, ResolvedSelection};
pub(crate) use resolve::{element_count, output_shape, resolve_into};

/// What to take of one axis, before the axis's length is known.
///
/// Negative numbers count from the end. `From` makes one of an integer or a range: `2.into()`, `(0..4).into()`,
/// `(..).into()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AxisSelection {
    /// One element; the axis is dropped from the result. `-1` is the last.
    Index(i64),
    /// `start:stop:step`, clamped to the axis; `None` is the end that the direction of `step` begins or ends at.
    Slice {
        /// The first element.
        start: Option<i64>,
        /// The element to stop before.
        stop: Option<i64>,
        /// The distance from one element to the next; negative goes backwards.
        step: NonZeroI64,
    },
    /// As many whole axes as the rest of the selection leaves over, none included. Once in a selection at most.
    Ellipsis,
}

impl AxisSelection {
    /// The whole axis, `:`.
    pub const ALL: Self = Self::Slice { start: None, stop: None, step: ONE };
}

/// The step of a slice that names none.
const ONE: NonZeroI64 = match NonZeroI64::new(1) {
    Some(one) => one,
    None => NonZeroI64::MIN,
};

/// A basic selection: one entry an axis, in order, with NumPy's rules.
///
/// Fewer entries than axes select the rest whole. Selections are made of Rust values (ranges, integers, tuples, arrays
/// and vectors of them) or parsed from NumPy's notation; both are checked against a shape by
/// [`resolve`](Self::resolve).
///
/// ```
/// use swath_zarr_front::Selection;
///
/// let from_values = Selection::from((0..4, .., 3));
/// let from_text: Selection = "0:4, :, 3".parse()?;
/// assert_eq!(from_values, from_text);
/// assert_eq!(from_text.resolve(&[10, 20, 30])?.output_shape(), [4, 20]);
/// # Ok::<(), swath_zarr_front::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selection(Vec<AxisSelection>);

impl Selection {
    /// Everything, of an array of any rank: `...`.
    #[must_use]
    pub fn all() -> Self {
        Self(Vec::new())
    }

    /// A selection of `axes`, in order.
    #[must_use]
    pub fn new(axes: Vec<AxisSelection>) -> Self {
        Self(axes)
    }

    /// The entries, as they were given.
    #[must_use]
    pub fn axes(&self) -> &[AxisSelection] {
        &self.0
    }
}

impl fmt::Display for AxisSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::Ellipsis => f.write_str("..."),
            Self::Slice { start, stop, step } => {
                if let Some(start) = start {
                    write!(f, "{start}")?;
                }
                f.write_str(":")?;
                if let Some(stop) = stop {
                    write!(f, "{stop}")?;
                }
                if step.get() != 1 {
                    write!(f, ":{step}")?;
                }
                Ok(())
            }
        }
    }
}

/// NumPy's notation; parsing it gives an equal selection.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, axis) in self.0.iter().enumerate() {
            if position != 0 {
                f.write_str(", ")?;
            }
            axis.fmt(f)?;
        }
        Ok(())
    }
}
