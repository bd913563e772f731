//! Windows: bounded groups of logical reads of one object, filled by a batch's plan.

use crate::target::BatchTarget;
use crate::{ByteRange, Error, ErrorKind, Identity, ObjectRef};
use std::any::Any;
use std::marker::PhantomData;

/// A position in a batch's plan. The engine starts at `(window, 0)` for each window and otherwise only hands back what
/// the batch gave it; what `step` means is the batch's own affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The window, `0..window_count`, or a number of the batch's own for a follow-up.
    pub window: u64,
    /// Where to go on within it.
    pub step: u64,
}

/// What a batch calls a logical read; the engine hands it back with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token(pub u64);

/// What one call of [`Batch::plan`](crate::Batch::plan) came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planned {
    /// The window holds everything from the cursor on.
    Complete,
    /// The window is full; the rest follows from this cursor.
    More(Cursor),
    /// Nothing can be planned before something else arrives. The batch kept the [`Resume`](crate::Resume) and drops it
    /// when the cursor can be planned again.
    Parked,
}

/// Which reads of a window become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Merging {
    /// Those between which reading over the gap costs less than another read, on the window's medium.
    #[default]
    ByCost,
    /// Those with at most so many bytes between them; 0 merges what touches.
    Across(u64),
    /// None.
    Never,
}

/// One wanted range.
pub(crate) struct LogicalRead {
    pub(crate) range: ByteRange,
    pub(crate) token: Token,
    pub(crate) target: Option<BatchTarget>,
    /// Whether the sink can copy the bytes itself from where they are.
    pub(crate) takes_pieces: bool,
}

/// The reusable memory behind a window.
#[derive(Default)]
pub(crate) struct WindowStorage {
    /// What sinks are told that the reads are of.
    pub(crate) object: Option<ObjectRef>,
    /// Where the object lies, where it is a part of another.
    pub(crate) part: Option<ObjectPart>,
    pub(crate) expected: Option<Identity>,
    pub(crate) merging: Merging,
    pub(crate) reads: Vec<LogicalRead>,
    pub(crate) note: Option<Box<dyn Any + Send>>,
    pub(crate) error: Option<Error>,
}

impl WindowStorage {
    /// Empties the window and keeps its memory, the note included: a plan clears the note that it takes.
    pub(crate) fn clear(&mut self) {
        self.object = None;
        self.part = None;
        self.expected = None;
        self.merging = Merging::ByCost;
        self.reads.clear();
        self.error = None;
    }

    /// The object that is opened and read.
    pub(crate) fn source(&self) -> Option<&ObjectRef> {
        match &self.part {
            Some(part) => Some(&part.of),
            None => self.object.as_ref(),
        }
    }

    /// Turns ranges of a part into ranges of what it is a part of.
    pub(crate) fn rebase(&mut self) {
        let Some(part) = &self.part else { return };
        for read in &mut self.reads {
            read.range = part.range(read.range);
        }
    }
}

/// An object that is a part of another one: a member of an archive, say.
#[derive(Clone, Debug)]
pub struct ObjectPart {
    /// The object that is read.
    pub of: ObjectRef,
    /// Where in it the part begins, in bytes.
    pub offset: u64,
    /// Bytes of the part.
    pub len: u64,
}

impl ObjectPart {
    /// A range of the part as a range of what it is a part of. What reaches past the part's end is a range past the end of
    /// every object, and what the part is too long for is something that every object is too long for.
    fn range(&self, range: ByteRange) -> ByteRange {
        match range.resolve(self.len) {
            Ok((offset, len)) => ByteRange::Bounded { offset: self.offset.saturating_add(offset), len },
            // No object is of at most no bytes, but one that has none.
            Err(error) if error.kind() == ErrorKind::LimitExceeded => ByteRange::Whole { len_max: 0 },
            Err(_) => ByteRange::Bounded { offset: u64::MAX, len: 1 },
        }
    }
}

/// A window being planned: the object, and the ranges of it that are wanted.
///
/// `'b` is the lifetime of the batch: output that a read fills directly is borrowed for as long.
pub struct Window<'w, 'b> {
    storage: &'w mut WindowStorage,
    reads_max: usize,
    batch: PhantomData<&'b mut [u8]>,
}

impl<'w, 'b> Window<'w, 'b> {
    pub(crate) fn new(storage: &'w mut WindowStorage, reads_max: usize) -> Window<'w, 'b> {
        storage.clear();
        Window { storage, reads_max, batch: PhantomData }
    }

    /// Sets the object that every read of this window is of. Must be called before the first read.
    pub fn set_object(&mut self, object: ObjectRef) {
        if !self.storage.reads.is_empty() {
            self.storage.error =
                Some(Error::new(ErrorKind::Internal, "a window's object was set after its first read"));
            return;
        }
        self.storage.object = Some(object);
    }

    /// Sets the object that every read of this window is of, where it lies within another one: ranges count from the part's
    /// first byte, and end with its last. The other object is what is opened and read, and whose version counts; sinks
    /// are told of `object`. Must be called before the first read.
    pub fn set_part(&mut self, object: ObjectRef, part: ObjectPart) {
        self.set_object(object);
        self.storage.part = Some(part);
    }

    /// Declares the version that the plan was made from (a cached shard index, say). When the object is another by now,
    /// nothing is read: the engine calls [`Batch::stale`](crate::Batch::stale) and plans the cursor once more.
    pub fn expect_identity(&mut self, identity: Identity) {
        self.storage.expected = Some(identity);
    }

    /// Says which reads of this window become one, where it is not for their cost to decide.
    pub fn set_merging(&mut self, merging: Merging) {
        self.storage.merging = merging;
    }

    /// Adds a read whose bytes go to [`Batch::deliver`](crate::Batch::deliver).
    #[inline]
    pub fn read(&mut self, range: ByteRange, token: Token) {
        self.push(LogicalRead { range, token, target: None, takes_pieces: false });
    }

    /// Adds a read of which the sink copies what it wants from wherever the bytes are, in pieces that are not too short
    /// (each costs 5 ns beside its bytes): it is told
    /// [`Arrival::Piece`](crate::Arrival::Piece) where they lie in a mapping, and [`Arrival::Bytes`](crate::Arrival::Bytes)
    /// otherwise.
    #[inline]
    pub fn read_pieces(&mut self, range: ByteRange, token: Token) {
        self.push(LogicalRead { range, token, target: None, takes_pieces: true });
    }

    /// Adds a read whose bytes land in `target`, which must be exactly as long as the range. `deliver` is then told
    /// [`Arrival::Placed`](crate::Arrival::Placed).
    pub fn read_into(&mut self, range: ByteRange, token: Token, target: &'b mut [u8]) {
        if crate::storage_len(target.len()) != range.len_max() {
            self.storage.error = Some(Error::new(
                ErrorKind::Internal,
                format!("{range} planned into a target of {} bytes", target.len()),
            ));
            return;
        }
        self.push(LogicalRead { range, token, target: Some(BatchTarget::new(target)), takes_pieces: false });
    }

    #[inline]
    fn push(&mut self, read: LogicalRead) {
        if self.storage.object.is_none() || self.reads_max <= self.storage.reads.len() {
            return self.refuse();
        }
        self.storage.reads.push(read);
    }

    /// Notes why no read can be added.
    #[cold]
    fn refuse(&mut self) {
        self.storage.error = Some(if self.storage.object.is_none() {
            Error::new(ErrorKind::Internal, "a read was planned before its object")
        } else {
            let message = format!("a window of more than {} reads was planned", self.reads_max);
            Error::new(ErrorKind::LimitExceeded, message)
        });
    }

    /// Reads that still fit this window.
    pub fn remaining(&self) -> usize {
        self.reads_max - self.storage.reads.len()
    }

    /// What the plan wants to remember of this window until its bytes arrive. The memory is reused from one window to
    /// the next: the plan finds what an earlier window left there, of another batch even, and clears it. What it holds
    /// may live as long as the engine, so it should own no more than memory worth using again.
    pub fn note<T: Any + Send + Default>(&mut self) -> &mut T {
        let fits = self.storage.note.as_ref().is_some_and(|note| note.is::<T>());
        if !fits {
            self.storage.note = None;
        }
        let note = self.storage.note.get_or_insert_with(|| Box::<T>::default());
        match note.downcast_mut::<T>() {
            Some(note) => note,
            None => unreachable_note(),
        }
    }
}

#[cold]
#[expect(clippy::panic, reason = "the note was made, or checked to be, of the asked type just before")]
fn unreachable_note() -> ! {
    panic!("a window's note changed its type")
}
