//! No choice to make: the plain loops.

pub(super) use super::{copy_units as swap_into, swap_units as swap_in_place};
