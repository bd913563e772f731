//! Writing: new arrays and groups, and elements into chunks and shards.
//!
//! A write is cut into *objects*, each a chunk or a shard. One that is written whole is encoded and put in place of what
//! was there, without a look at it. Of any other the stored bytes are read, with their version; what is written is put into
//! them, and the object is replaced only where it still is that version, else all this is done again on what is there by
//! then. So two writers of different parts of one object lose nothing, in one process and, where the store takes conditions
//! (S3, Google Cloud Storage, Azure; memory), in several.
//!
//! In a shard, inner chunks that nothing is written to are copied as they are stored, at every level of nesting. The shard
//! is then laid out anew: its inner chunks in Morton order, without gaps, as zarr-python lays them.
//!
//! What is *not* safe: several processes that write different parts of one *local* file at once (a file is looked at again
//! just before it is replaced, but a writer in between that and the replacement is not noticed); and stores without
//! conditional writes, where the last writer of an object counts. Writers of different objects (whole chunks, or different
//! shards) are always safe. So is one writer with any number of readers: each object is replaced in one step. A write of
//! many objects is not one step: readers may see some of them new and others old.
//!
//! Nor is it safe to change one array's shape from two places at once, or to write while somebody else does: the later of
//! two that append may overwrite the earlier one's elements before it is refused, and a write that covers all of an edge
//! chunk as its own handle knows the shape drops what was appended there meanwhile. Of local files two changes of one metadata
//! document at once (attributes, shapes) may lose one of them, as may writes of parts of one file through handles of
//! different stores or engines. An object that holds nothing but the fill value is removed without a condition.
//!
//! Encoding runs on threads of the write's own, as many as the engine has lanes: lanes wait for reads and must not be kept
//! busy for long, and reads that a write needs are theirs. Their memory is bounded by the engine's byte budget: fewer
//! objects at once where they are large, one at least.

mod array_builder;
mod array_documents;
mod at_once;
mod attributes;
mod axis_part;
mod chunk_encoder;
mod chunk_guess;
mod consolidation;
mod contention;
mod documents;
mod elements;
mod hierarchy;
mod morton;
mod object_locks;
mod options;
mod resizing;
mod shard_encoder;
mod stored_object;
mod tree_removal;
mod writable;
mod write;

pub use array_builder::{ArrayBuilder, MemoryOrder};
pub use elements::Elements;
pub use hierarchy::Existing;
pub use options::{EmptyChunks, WriteOptions};
