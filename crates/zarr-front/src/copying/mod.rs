//! Copying arrays and groups from one store to another: encoded anew, in other chunks, in the other format.
//!
//! An array is copied in boxes that are whole objects of the target, as large as the memory allows, so that no object is
//! written twice; while one box is encoded and written the next is read. Boxes are chosen so that as few chunks of the source as
//! possible lie in several of them ([`CopyPlan`]). Where that would still read the source too often, a first stage writes it to
//! an intermediate array on a local disk, whose chunks suit both sides.
//!
//! Elements that have lengths of their own take as much memory as some chunks of the source say, which are read for the plan: where
//! others hold far longer ones, a copy takes more than it was given.
//!
//! # What is known of a copy that was interrupted
//!
//! Before the target's metadata is written, a journal is, `.swath-copy.json` beside it: what is copied, how, and how many
//! boxes are done, in order. It is written again after every 64 MiB or hundredth of the array, always after the boxes it counts,
//! and removed at the end. So an array without a journal is complete, and one with it is complete up to where the journal says; a process that
//! was killed loses at most what came after. The journal says nothing of changes to the source's elements meanwhile, and
//! nothing of a power failure: objects are not synced to the device.

mod hierarchy;
mod intermediate;
mod journal;
mod missing_value;
mod options;
mod overlap;
mod plan;
mod run;
mod target;
mod target_codecs;
mod variable;

pub(crate) use journal::JOURNAL;

pub use hierarchy::CopyReport;
pub use options::{CopyCodecs, CopyExisting, CopyOptions, CopyShards, Verify};
pub use plan::{CopyPlan, CopyStage};
pub use run::CopyProgress;
