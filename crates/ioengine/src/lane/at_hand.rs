//! Windows of remote objects whose bytes their source has here already: delivered as they are planned, without a request.

use super::open_window::OpenWindow;
use super::planning::fit;
use super::{Lane, Site};
use crate::at_hand::AtHand;
use crate::batch::{Arrival, LaneContext, Note};
use crate::batch_state::Work;
use crate::error::medium_panicked;
use crate::scratch::Scratch;
use crate::window::{Cursor, LogicalRead, WindowStorage};
use crate::{Error, RemoteSource, storage_len};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Reads between two looks at whether the batch was ended.
const READS_BETWEEN_LOOKS: u64 = 64;

/// What giving out a window's reads came to.
struct Given {
    reads: u64,
    failed: u64,
    bytes: u64,
    /// For each of the window's reads, whether it was delivered.
    delivered: Vec<bool>,
}

/// What a sink and a source use of the lane.
struct Tools<'a> {
    scratch: &'a mut Scratch,
    follow_ups: &'a mut Vec<Cursor>,
    memory: &'a mut Vec<u8>,
}

impl Lane {
    /// Delivers what the source has at hand, where that is all that the window wants. Gives the window back with the reads
    /// that have to be fetched; `None` where it is done, or another lane's.
    pub(super) fn take_at_hand(
        &mut self,
        mut window: Box<OpenWindow>,
        source: &Arc<dyn RemoteSource>,
    ) -> Option<Box<OpenWindow>> {
        let found = catch_unwind(AssertUnwindSafe(|| {
            let storage = &window.memory.storage;
            let mut ranges = storage.reads.iter().map(|read| read.range);
            source.at_hand(&storage.source()?.key, window.identity.as_ref(), &mut ranges)
        }));
        let found = match found {
            Ok(Some(found)) => found,
            Ok(None) => return Some(window),
            Err(panic) => {
                window.batch.end_early(medium_panicked(panic.as_ref()));
                let index = self.windows.insert(window);
                self.finish_window(index);
                return None;
            }
        };
        let reads = storage_len(window.memory.storage.reads.len());
        if self.site == Site::Inline && !self.allow_inline(true, reads, found.bytes()) {
            self.counters.deferred_windows.add(1);
            Arc::clone(&window.batch).make_ready(Work::Adopt(window));
            return None;
        }
        window.identity = found.identity().cloned();
        let Lane { scratch, follow_ups, served: memory, .. } = self;
        let tools = Tools { scratch, follow_ups, memory };
        let given = catch_unwind(AssertUnwindSafe(|| give(&mut window, found, tools)));
        let batch = Arc::clone(&window.batch);
        let left = match given {
            Ok(given) => self.count_given(&mut window, given),
            Err(panic) => {
                batch.poison("a delivery", panic.as_ref());
                false
            }
        };
        self.take_follow_ups(&batch);
        if left {
            return Some(window);
        }
        let index = self.windows.insert(window);
        self.finish_window(index);
        None
    }

    /// Counts what was delivered, and takes it out of the window. True where something is left.
    fn count_given(&self, window: &mut OpenWindow, given: Given) -> bool {
        let Given { reads, failed, bytes, delivered } = given;
        if reads == 0 {
            // Nothing was told of that version: it may be another one that is fetched.
            window.identity.clone_from(&window.memory.storage.expected);
            return true;
        }
        window.told = true;
        window.count(reads, bytes);
        self.counters.served_reads.add(reads);
        self.counters.failed_reads.add(failed);
        self.counters.bytes_wanted.add(bytes);
        self.counters.bytes_fetched.add(bytes);
        let mut delivered = delivered.into_iter();
        window.memory.storage.reads.retain(|_| !delivered.next().unwrap_or(false));
        !window.memory.storage.reads.is_empty()
    }
}

fn give(window: &mut OpenWindow, mut found: Box<dyn AtHand + '_>, tools: Tools<'_>) -> Given {
    let Tools { scratch, follow_ups, memory } = tools;
    let OpenWindow { batch, cursor, memory: window_memory, identity, .. } = window;
    let WindowStorage { object, reads, note, .. } = &mut window_memory.storage;
    let mut given = Given { reads: 0, failed: 0, bytes: 0, delivered: vec![false; reads.len()] };
    let Some(object) = object else { return given };
    let mut context = LaneContext {
        cursor: *cursor,
        object,
        identity: identity.as_ref(),
        note: Note(note),
        scratch,
        follow_ups,
        engine: batch.engine(),
    };
    let sink = batch.batch();
    while !(given.reads.is_multiple_of(READS_BETWEEN_LOOKS) && batch.is_ended_early()) {
        let Some((number, bytes)) = found.next(memory) else { break };
        let (Some(read), Some(delivered)) = (reads.get_mut(number), given.delivered.get_mut(number)) else {
            break;
        };
        if std::mem::replace(delivered, true) {
            break;
        }
        given.reads += 1;
        let (token, range) = (read.token, read.range);
        match arrive(read, bytes) {
            Ok(arrival) => {
                given.bytes += storage_len(bytes.len());
                sink.deliver(token, Ok(arrival), &mut context);
            }
            Err(error) => {
                given.failed += 1;
                let error = error.with_range(range).with_object(&context.object.key);
                sink.deliver(token, Err(error), &mut context);
            }
        }
    }
    given
}

/// Bytes as a sink is told of them: where they are, or in the read's own target.
fn arrive<'a>(read: &mut LogicalRead, bytes: &'a [u8]) -> Result<Arrival<'a>, Error> {
    fit((0, storage_len(bytes.len())), read, usize::MAX)?;
    match read.target.take() {
        Some(mut target) => {
            target.as_mut_slice().copy_from_slice(bytes);
            Ok(Arrival::Placed(bytes.len()))
        }
        None => Ok(Arrival::Bytes(bytes)),
    }
}
