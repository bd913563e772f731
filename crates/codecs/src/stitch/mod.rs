//! Stitching decoded chunks into the arrays that were asked for.
//!
//! An [`Output`] is one piece of memory that holds the results of many selections, one after the other, each in C order.
//! Each result is cut into *tiles*: the box that one chunk contributes. Along each axis the cuts are those of the chunk
//! grid ([`CutAxis`], or [`Picks`] where elements are picked one by one), so the tiles of a result are disjoint by construction; and each can be claimed only once, whoever
//! asks. That is what lets many threads write to one output through a safe interface.

mod converted;
mod copy;
mod cut_axis;
mod output;
mod pick_nest;
mod pick_sort;
mod picked;
mod picked_tile;
mod picks;
mod rows;
mod stream;
mod tile;

pub use cut_axis::{AxisTile, CutAxis};
pub use output::{Output, OutputMemory};
pub use picked::{Cut, CutView};
pub use picks::Picks;
pub use tile::Tile;
