//! Fields put together to one hypercube of variables, and written to Zarr.

mod cell;
mod naming;
mod plan;
mod time;
mod variable;
mod write;

pub use plan::{Dimension, Plan, Source};
pub use variable::{Scalar, Variable};
pub use write::{Failure, WritePlanOptions};
