//! Which elements of an array to read: by indices and slices, lists and masks, points, or chunks.

mod blocks;
mod convert;
mod lists;
mod mask;
mod parse;
mod points;
mod resolve;

use std::fmt;
use std::num::NonZeroI64;
use std::sync::Arc;

pub(crate) use blocks::resolve_blocks;
pub(crate) use lists::{ResolvedList, at};
pub(crate) use mask::Mask;
pub use points::Points;
pub use resolve::{AxisKind, ResolvedAxis, ResolvedSelection};
pub(crate) use resolve::{element_count, output_shape, resolve_into};

/// What to take of one axis, before the axis's length is known.
///
/// Negative numbers count from the end. `From` makes one of an integer, a range, a list of integers or of booleans:
/// `2.into()`, `(0..4).into()`, `(..).into()`, `[1, 5, 7].into()`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// The elements at these indices, in any order and as often as they are named. Each must lie within the axis.
    List(Arc<[i64]>),
    /// The elements for which this is true. It must be as long as the axis.
    Mask(Arc<[bool]>),
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

/// Which elements of an array to read.
///
/// Most selections have one entry an axis, in order. Each axis is selected from by itself: a result has an element for
/// every combination of what is taken of each axis. With indices and slices that is NumPy's basic indexing; with lists and
/// masks it is what zarr-python calls orthogonal indexing, and NumPy `numpy.ix_`. Fewer entries than axes select the rest
/// whole. Others name single elements by [`Points`], or by a [mask](Self::mask) of the array's shape, or name
/// [chunks](Self::blocks).
///
/// Selections are made of Rust values (ranges, integers, lists of integers or booleans, tuples, arrays and vectors of
/// them) or, if they have neither lists nor masks, parsed from NumPy's notation. They are checked against a shape when
/// they are read.
///
/// ```
/// use swath_zarr_front::{Points, Selection};
///
/// let from_values = Selection::from((0..4, .., 3));
/// let from_text: Selection = "0:4, :, 3".parse()?;
/// assert_eq!(from_values, from_text);
/// assert_eq!(from_text.resolve(&[10, 20, 30])?.output_shape(), [4, 20]);
///
/// let every_pair = Selection::from((vec![4, 1, -1], .., [7, 8]));
/// let three_elements = Selection::from(Points::new([vec![4, 1, -1], vec![0, 0, 5]])?);
/// # drop((every_pair, three_elements));
/// # Ok::<(), swath_zarr_front::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selection(pub(crate) Kind);

/// How a selection names elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// One entry an axis.
    Axes(Vec<AxisSelection>),
    /// One entry an axis of the grid of stored chunks.
    Blocks(Vec<AxisSelection>),
    Points(Points),
    Mask(Mask),
}

impl Default for Selection {
    fn default() -> Self {
        Self::all()
    }
}

impl From<Points> for Selection {
    fn from(points: Points) -> Self {
        Self(Kind::Points(points))
    }
}

impl Selection {
    /// Everything, of an array of any rank: `...`.
    #[must_use]
    pub fn all() -> Self {
        Self::new(Vec::new())
    }

    /// A selection of `axes`, in order.
    #[must_use]
    pub fn new(axes: Vec<AxisSelection>) -> Self {
        Self(Kind::Axes(axes))
    }

    /// Whole stored chunks (shards, where the array is sharded) by their coordinates: an index names one of them along its
    /// axis, a slice without a step several, from one that there is on. The result has every axis, and ends where the array
    /// does.
    #[must_use]
    pub fn blocks(axes: Vec<AxisSelection>) -> Self {
        Self(Kind::Blocks(axes))
    }

    /// The elements for which `values` are true, in C order: the result has one axis. `shape` must be the array's.
    ///
    /// # Errors
    ///
    /// `Invalid` where `values` are not as many as `shape` says.
    pub fn mask(shape: Vec<u64>, values: impl Into<Arc<[bool]>>) -> Result<Self, crate::Error> {
        Ok(Self(Kind::Mask(Mask::new(shape, values.into())?)))
    }

    /// The entries, as they were given; `None` of points, of a mask of the whole array, and of blocks.
    #[must_use]
    pub fn axes(&self) -> Option<&[AxisSelection]> {
        match &self.0 {
            Kind::Axes(axes) => Some(axes),
            Kind::Blocks(_) | Kind::Points(_) | Kind::Mask(_) => None,
        }
    }
}

/// NumPy's notation; lists as Rust's `Debug` shows them.
impl fmt::Display for AxisSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::Ellipsis => f.write_str("..."),
            Self::List(indices) => write!(f, "{indices:?}"),
            Self::Mask(values) => write!(f, "{values:?}"),
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

/// NumPy's notation; parsing it gives an equal selection, where there are only indices, slices and ellipses. Points and
/// masks are told by their shapes.
impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = |f: &mut fmt::Formatter<'_>, axes: &[AxisSelection]| {
            for (position, axis) in axes.iter().enumerate() {
                if position != 0 {
                    f.write_str(", ")?;
                }
                axis.fmt(f)?;
            }
            Ok(())
        };
        match &self.0 {
            Kind::Axes(axes) => entries(f, axes),
            Kind::Blocks(axes) => {
                f.write_str("blocks ")?;
                entries(f, axes)
            }
            Kind::Points(points) => write!(f, "points of shape {:?}", points.shape()),
            Kind::Mask(mask) => write!(f, "mask of shape {:?}", mask.shape()),
        }
    }
}
