//! Handing what arrived to the sinks, and finishing windows.

use super::open_window::{Flight, OpenWindow, WindowMemory};
use super::{Arrived, Body, Lane};
use crate::batch::{Arrival, Batch, LaneContext, Note};
use crate::batch_state::{BatchState, Work};
use crate::coalesce::Share;
use crate::driver::ReadTarget;
use crate::error::medium_panicked;
use crate::scratch::Scratch;
use crate::window::Cursor;
use crate::{Error, ErrorKind, Freshness, Medium, memory_len, storage_len};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What a sink call borrows of the lane.
struct Tools<'a> {
    scratch: &'a mut Scratch,
    follow_ups: &'a mut Vec<Cursor>,
}

/// What became of a read, or of a run of parts.
enum Bytes<'a> {
    /// They are here.
    Here(&'a [u8]),
    /// They are in the batch's output.
    Placed,
}

impl Lane {
    /// Delivers what has arrived, one submission's worth at most, so that queues are filled again in between. Returns
    /// how many physical reads that was.
    pub(super) fn deliver(&mut self) -> usize {
        let mut delivered = 0;
        while delivered < self.shared.config.limits.submit_batch
            && let Some(Arrived { flight, result }) = self.arrived.pop_front()
        {
            let index = flight.window;
            let mut flight = flight;
            match flight.physical.share {
                Share::Whole => {
                    self.deliver_whole(&mut flight, result);
                    self.free_budget(flight.budget_bytes);
                }
                Share::Split { split, .. } => self.deliver_piece(flight, split, result),
            }
            if let Some(window) = self.windows.get_mut(index) {
                window.unfinished -= 1;
            }
            self.settle(index);
            delivered += 1;
        }
        delivered
    }

    fn deliver_whole(&mut self, flight: &mut Flight, result: Result<Body, Error>) {
        let first = flight.physical.first_part as usize;
        let parts = first..first + flight.physical.part_count as usize;
        let start = flight.physical.offset();
        match result {
            Ok(Body::Target(ReadTarget::Pooled(buffer))) => {
                self.sink(flight.window, parts, start, Ok(Bytes::Here(buffer.as_slice())));
                self.pool.put(buffer);
            }
            Ok(Body::Target(ReadTarget::Output(_))) => {
                self.sink(flight.window, parts, start, Ok(Bytes::Placed))
            }
            Ok(Body::Bytes(bytes)) => {
                if let Some(window) = self.windows.get_mut(flight.window) {
                    fit_open_ended(window, first, bytes.len());
                    let held = flight.held.take();
                    window.give_back(&flight.physical, held, &mut self.pool);
                }
                self.sink(flight.window, parts, start, Ok(Bytes::Here(&bytes)));
            }
            Err(error) => self.sink(flight.window, parts, start, Err(error)),
        }
    }

    fn deliver_piece(&mut self, mut flight: Flight, split: u32, result: Result<Body, Error>) {
        let Some(window) = self.windows.get_mut(flight.window) else { return };
        let Some(state) = window.memory.splits.get_mut(split as usize) else { return };
        match result {
            Ok(Body::Bytes(bytes)) => match flight.held.as_mut().map(ReadTarget::as_mut_slice) {
                Some(held) if held.len() == bytes.len() => held.copy_from_slice(&bytes),
                Some(_) | None => {
                    state.error = Some(Error::new(ErrorKind::Internal, "bytes of a piece found no place"));
                }
            },
            Ok(Body::Target(_)) => {}
            Err(error) => state.error = Some(error),
        }
        drop(flight.held);
        state.budget_bytes += flight.budget_bytes;
        state.remaining -= 1;
        if state.remaining != 0 {
            return;
        }
        let (part, error, buffer) = (state.part as usize, state.error.take(), state.take_buffer());
        let budget = std::mem::take(&mut state.budget_bytes);
        let start = state.start;
        let result = match (&buffer, error) {
            (_, Some(error)) => Err(error),
            (Some(buffer), None) => Ok(Bytes::Here(buffer.as_slice())),
            (None, None) => Ok(Bytes::Placed),
        };
        self.sink(flight.window, part..part + 1, start, result);
        self.put_back(buffer.map(ReadTarget::Pooled));
        self.free_budget(budget);
    }

    /// Delivers one logical read without reading anything: as an error, or as the no bytes that it wanted.
    pub(super) fn deliver_at_once(&mut self, index: u32, read: usize, result: Result<(), Error>) {
        let Lane { windows, scratch, follow_ups, .. } = self;
        let Some(window) = windows.get_mut(index) else { return };
        let batch = Arc::clone(&window.batch);
        if batch.is_ended_early() {
            return;
        }
        window.told = true;
        self.counters.failed_reads.add(u64::from(result.is_err()));
        let placed = window.memory.storage.reads.get(read).is_some_and(|read| read.target.is_some());
        let arrival = result.map(|()| if placed { Arrival::Placed(0) } else { Arrival::Bytes(&[]) });
        let tools = Tools { scratch, follow_ups };
        let outcome = catch_unwind(AssertUnwindSafe(|| deliver_read(window, read, arrival, tools)));
        match outcome {
            Ok(()) => window.count(1, 0),
            Err(panic) => batch.poison("a delivery", panic.as_ref()),
        }
        self.take_follow_ups(&batch);
    }

    /// Calls the sink for each of the parts, which start at byte `start` of their object.
    fn sink(
        &mut self,
        index: u32,
        parts: std::ops::Range<usize>,
        start: u64,
        result: Result<Bytes<'_>, Error>,
    ) {
        let Lane { windows, scratch, follow_ups, .. } = self;
        let Some(window) = windows.get_mut(index) else { return };
        if window.batch.is_ended_early() || window.stale {
            return;
        }
        window.told = true;
        let reads = storage_len(parts.len());
        let changed = result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Changed);
        if result.is_err() {
            self.counters.failed_reads.add(reads);
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if changed {
                window.batch.batch().stale(window.cursor);
            }
            let mut bytes = 0;
            for part in parts {
                bytes += deliver_part(window, part, start, &result, Tools { scratch, follow_ups });
            }
            bytes
        }));
        match outcome {
            Ok(bytes) => window.count(reads, storage_len(bytes)),
            Err(panic) => window.batch.poison("a delivery", panic.as_ref()),
        }
        if !self.follow_ups.is_empty() {
            let batch = Arc::clone(&window.batch);
            self.take_follow_ups(&batch);
        }
    }

    pub(super) fn take_follow_ups(&mut self, batch: &Arc<BatchState>) {
        if self.follow_ups.is_empty() {
            return;
        }
        self.counters.follow_ups.add(storage_len(self.follow_ups.len()));
        batch.retain(self.follow_ups.len());
        let works =
            self.follow_ups.drain(..).map(|cursor| (Arc::clone(batch), Work::Plan { cursor, replans: 0 }));
        self.own_work.extend(works);
    }

    /// Gives bytes back to the budget; the last ones also the right to an item larger than a share of it.
    pub(super) fn free_budget(&mut self, bytes: usize) {
        self.bytes_in_flight -= bytes;
        if self.bytes_in_flight == 0 && self.oversize.has_right() {
            self.shared.oversize.give_back(&self.oversize);
        }
    }

    /// Finishes a window whose last read was delivered, or hands a deferred one on.
    pub(super) fn settle(&mut self, index: u32) {
        let Some(window) = self.windows.get(index) else { return };
        if window.unfinished == 0 && window.stale {
            if let Some(window) = self.close(index) {
                self.replan(window);
            }
        } else if window.unfinished == 0 {
            self.finish_window(index);
        } else if window.deferred && window.unfinished == window.unissued() {
            self.hand_over(index);
        }
    }

    /// Takes a window of which nothing is in flight off the lane.
    fn close(&mut self, index: u32) -> Option<Box<OpenWindow>> {
        let mut window = self.windows.take(index)?;
        window.flush_counts();
        // Pieces of splits that wait for others which were never issued.
        self.free_budget(window.held_bytes());
        for station in &mut self.stations {
            if station.queue.front() == Some(&index) {
                station.queue.pop_front();
            } else {
                station.queue.retain(|queued| *queued != index);
            }
        }
        Some(window)
    }

    /// Checks that the object did not change under the window, and releases it.
    pub(super) fn finish_window(&mut self, index: u32) {
        let Some(mut window) = self.close(index) else { return };
        let batch = Arc::clone(&window.batch);
        if let Some(error) = self.change_of(&window)
            && !batch.is_ended_early()
        {
            let Lane { scratch, follow_ups, .. } = self;
            let outcome =
                catch_unwind(AssertUnwindSafe(|| spoil(&mut window, error, Tools { scratch, follow_ups })));
            if let Err(panic) = outcome {
                batch.poison("being told of a changed object", panic.as_ref());
            }
            self.take_follow_ups(&batch);
        }
        self.plan_continuation(&window);
        self.recycle(window);
        batch.release(1);
    }

    /// The error that says that a window's object was written to while it was read.
    fn change_of(&self, window: &OpenWindow) -> Option<Error> {
        if self.shared.config.freshness != Freshness::Checked {
            return None;
        }
        let (handle, object) = (window.handle.as_ref()?, window.memory.storage.source()?);
        let Medium::Local(medium) = &object.medium else { return None };
        let verified = catch_unwind(AssertUnwindSafe(|| medium.verify(handle.as_ref())));
        let error = verified.unwrap_or_else(|panic| Err(medium_panicked(panic.as_ref()))).err()?;
        self.shared.handles.forget(medium.id(), &object.key);
        Some(error.with_object(&object.key))
    }

    /// Hands a window to whichever lane comes first.
    pub(super) fn hand_over(&mut self, index: u32) {
        if let Some(window) = self.close(index) {
            self.counters.deferred_windows.add(1);
            Arc::clone(&window.batch).make_ready(Work::Adopt(window));
        }
    }

    /// Hands everything that an inline lane did not finish to the lanes. Nothing of it is in flight.
    pub(super) fn hand_over_rest(&mut self) {
        let left: Vec<u32> = self.windows.iter().map(|(index, _)| index).collect();
        for index in left {
            self.hand_over(index);
        }
        for (batch, work) in std::mem::take(&mut self.own_work) {
            batch.make_ready(work);
        }
    }
}

/// An open-ended remote read learns its length from its answer.
fn fit_open_ended(window: &mut OpenWindow, part: usize, len: usize) {
    if let Some(part) = window.memory.parts.get_mut(part)
        && window.handle.is_none()
        && part.len == 0
    {
        part.len = len;
    }
}

/// Delivers one part; returns its length in bytes.
fn deliver_part(
    window: &mut OpenWindow,
    part: usize,
    start: u64,
    result: &Result<Bytes<'_>, Error>,
    tools: Tools<'_>,
) -> usize {
    let WindowMemory { storage, parts, .. } = &mut window.memory;
    let Some((part, read)) =
        parts.get(part).and_then(|part| Some((*part, storage.reads.get_mut(part.read as usize)?)))
    else {
        return 0;
    };
    let mut delivered = part.len;
    let arrival = match result {
        Err(error) => Err(error.clone().with_range(read.range)),
        Ok(Bytes::Placed) => Ok(Arrival::Placed(part.len)),
        Ok(Bytes::Here(bytes)) => {
            let from = memory_len(part.offset - start).unwrap_or(usize::MAX);
            match from.checked_add(part.len).and_then(|end| bytes.get(from..end)) {
                None => Err(Error::new(ErrorKind::Internal, "a part lies outside its physical read")
                    .with_range(read.range)),
                Some(bytes) => match read.target.take() {
                    Some(mut target) if target.len() == bytes.len() => {
                        target.as_mut_slice().copy_from_slice(bytes);
                        Ok(Arrival::Placed(bytes.len()))
                    }
                    Some(_) => Err(Error::new(ErrorKind::UnexpectedEnd, "fewer bytes than the target holds")),
                    None => Ok(Arrival::Bytes(bytes)),
                },
            }
        }
    };
    if arrival.is_err() {
        delivered = 0;
    }
    deliver_read(window, part.read as usize, arrival, tools);
    delivered
}

fn deliver_read(window: &mut OpenWindow, read: usize, result: Result<Arrival<'_>, Error>, tools: Tools<'_>) {
    let Some(token) = window.memory.storage.reads.get(read).map(|read| read.token) else { return };
    with_context(window, tools, |batch, context| {
        let result = result.map_err(|error| error.with_object(&context.object.key));
        batch.deliver(token, result, context);
    });
}

fn spoil(window: &mut OpenWindow, error: Error, tools: Tools<'_>) {
    let cursor = window.cursor;
    with_context(window, tools, |batch, context| batch.spoiled(cursor, error, context));
}

/// Calls a window's batch with what its sink may use of the lane.
fn with_context(
    window: &mut OpenWindow,
    tools: Tools<'_>,
    call: impl FnOnce(&dyn Batch, &mut LaneContext<'_>),
) {
    let OpenWindow { batch, cursor, memory, identity, .. } = window;
    let storage = &mut memory.storage;
    let Some(object) = &storage.object else { return };
    let mut context = LaneContext {
        cursor: *cursor,
        object,
        identity: identity.as_ref(),
        note: Note(&mut storage.note),
        scratch: tools.scratch,
        follow_ups: tools.follow_ups,
        engine: batch.engine(),
    };
    call(batch.batch(), &mut context);
}
