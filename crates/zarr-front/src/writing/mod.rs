//! Writing: new arrays and groups, and elements into chunks and shards.
//!
//! A write is cut into *objects*, each a chunk or a shard. One that is written whole is encoded and put in place of what
//! was there, without a look at it. Of any other the stored bytes are read, with their version; what is written is put into
//! them, and the object is replaced only where it still is that version, else all this is done again on what is there by
//! then. So two writers of different parts of one object lose nothing: in one process, and in several where the store takes
//! conditions (S3, Google Cloud Storage, Azure; memory), or is a directory of this machine, whose folders are locked from
//! the look at a file to its replacement. An object at the array's edge is always written in part, so that a handle that
//! does not know yet how the array grew drops nothing. One that then holds nothing but the fill value is removed on the same
//! condition; where the store removes nothing on a condition, as clouds, it is stored as it is.
//!
//! In a shard, inner chunks that nothing is written to are copied as they are stored, at every level of nesting. The shard
//! is then laid out anew: its inner chunks in Morton order, without gaps, as zarr-python lays them.
//!
//! Metadata documents are changed in the same way. An array's shape is changed by one at a time, from the look at the old one
//! to the new one: in one process, and of a local directory in several (`shape_lock.rs`).
//!
//! Whoever has a shard's elements one after the other gathers them (`gathered_write.rs`): parts are encoded as they come, and shards
//! stored whole, without a look at what was there. Its threads are as many as it asks for; what its shards are encoded to is in memory.
//!
//! What is *not* safe: two processes that append to, or resize, one array of a store behind a network; several processes that
//! write parts of one object of a store without conditional writes, where the last writer counts; and the same on file
//! systems that lock no folders, as NFS and SMB, or together with programs that do not ask for the locks, as zarr-python:
//! there a writer between the look at a file and its replacement is not noticed. Writers of different objects (whole chunks,
//! or different shards) are always safe. So is one writer with any number of readers: each object is replaced in one step. A
//! write of many objects is not one step: readers may see some of them new and others old.
//!
//! Encoding runs on threads of the write's own, as many as the engine has lanes: lanes wait for reads and must not be kept
//! busy for long, and reads that a write needs are theirs. Their memory is bounded by the engine's byte budget: fewer
//! objects at once where they are large, one at least.

mod array_builder;
mod array_documents;
mod at_once;
mod attributes;
mod axis_grid;
mod axis_part;
mod bare_numbers;
mod chunk_encoder;
mod chunk_form;
mod chunk_guess;
mod consolidation;
mod contention;
mod documents;
mod elements;
mod gathered_write;
mod grid_document;
mod hierarchy;
mod key_writing;
mod listed_part;
mod morton;
mod object_locks;
mod options;
mod placed;
mod resizing;
mod shape_lock;
mod shard_encoder;
mod shard_parts;
mod stepped_part;
mod stored_object;
mod target;
mod tree_removal;
mod variable;
mod variable_chunk;
mod writable;
mod write;

pub use array_builder::{ArrayBuilder, MemoryOrder};
pub use elements::Elements;
pub use gathered_write::{GatheredWrite, WriteMemory};
pub use grid_document::AxisChunks;
pub use hierarchy::Existing;
pub use key_writing::KeyPut;
pub use options::{EmptyChunks, WriteOptions};
