//! Fields put together to hypercubes, and written to Zarr.
//!
//! [`Plan::of`] sorts fields into variables ([`cell`]), these into hypercubes of common coordinates ([`group`]), and says how each is
//! to be chunked ([`layout`]): purely, from what a scan found. A plan names each field by its place in its file alone, so that it
//! can be kept as JSON and carried out elsewhere: [`Plan::write`] cuts it into slabs, whole shards each ([`slab`]), reads the
//! messages of a slab, unpacks them into place and writes the slab at once. What is done is told to a [`Journal`], so that another
//! run goes on from there.

mod attributes;
mod cell;
mod compressors;
mod coordinate;
mod create;
mod extending;
mod files;
mod grid_arrays;
mod group;
mod joining;
mod layout;
mod level_type;
mod message;
mod plan;
mod planning;
mod references;
mod rounding;
mod slab;
mod summary;
mod time;
mod turns;
mod write;

pub use compressors::compressors;
pub use coordinate::Coordinate;
pub use joining::Joining;
pub use layout::{Access, Extents, LayoutOptions};
pub use plan::{FieldPlace, Hypercube, Plan, PlannedFile, Variable};
pub use planning::{PlanOptions, Planned, Source, Unplanned};
pub use write::{Failure, OnFailure, WritePlanOptions};

/// The journal of a [`Plan`].
pub type Journal = crate::journal::Journal<Plan>;

/// What the journal of a [`Plan`] says is done: by the numbers of slabs, the fields that could not be written, and why.
pub type Finished = crate::journal::Finished<(FieldPlace, String)>;
