//! Tiles that are filled through a [`Conversion`](crate::Conversion).
//!
//! Elements that become one, a *block*, may lie in several chunks. What a tile has of such a block, its *share*, is kept
//! apart, each in a place of its own, and added up once all is there, in the order of the tiles: so results do not depend on
//! the order in which chunks arrive.

mod blocks;
mod fold;
mod means;
mod nest;
mod output;
mod seams;
mod stored;
mod tile;

pub(super) use output::Converted;
