//! Issuing planned reads, within depth and byte budget.

use super::open_window::Flight;
use super::station::Reader;
use super::{Arrived, Lane, Site};
use crate::buffer::capacity_for;
use crate::coalesce::{PhysicalRead, Placement, Share};
use crate::driver::{Caching, ReadOp, ReadTarget};
use crate::remote::{FetchRequest, Reply};
use crate::{Error, ErrorKind, Medium, memory_len};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

impl Lane {
    /// Issues reads of all stations. Returns how many.
    pub(super) fn issue_all(&mut self) -> usize {
        let mut issued = 0;
        loop {
            self.oversize_asked = false;
            issued += (0..self.stations.len()).map(|station| self.issue(station)).sum::<usize>();
            if self.oversize_asked {
                return issued;
            }
            // What waited for its turn is gone, with its batch.
            if self.bytes_in_flight == 0 {
                self.shared.oversize.give_back(&self.oversize);
            }
            if !std::mem::take(&mut self.oversize_waits) {
                return issued;
            }
        }
    }

    /// Issues reads of a station's windows until its depth, the byte budget or one submission's worth is reached.
    /// Returns how many.
    fn issue(&mut self, station: usize) -> usize {
        let (mut issued, mut bytes) = (0, 0usize);
        let limits = &self.shared.config.limits;
        let (reads_max, bytes_max) = (limits.submit_batch, limits.submit_bytes_max);
        while issued < reads_max && (issued == 0 || bytes < bytes_max) {
            let Station { queue_front: Some(index), has_room: true } = self.look(station) else { break };
            match self.next_physical(index) {
                Some(physical) => {
                    let budget_bytes = self.budget_bytes(&physical, index, station);
                    if !self.admit(budget_bytes) {
                        break;
                    }
                    if let Some(window) = self.windows.get_mut(index) {
                        window.next += 1;
                    }
                    self.start((index, station), physical, budget_bytes);
                    issued += 1;
                    bytes = bytes.saturating_add(physical_len(&physical));
                }
                None => {
                    self.stations[station].queue.pop_front();
                    self.settle(index);
                }
            }
        }
        issued
    }

    fn look(&self, station: usize) -> Station {
        let station = &self.stations[station];
        Station { queue_front: station.queue.front().copied(), has_room: station.in_flight < station.depth }
    }

    /// The window's next read to issue; `None` when there is none, or none that should still be issued.
    fn next_physical(&mut self, index: u32) -> Option<PhysicalRead> {
        let window = self.windows.get_mut(index)?;
        if window.batch.is_ended_early() {
            window.drop_unissued();
        }
        if window.deferred {
            return None;
        }
        window.memory.physical.get(window.next).copied()
    }

    /// True when the byte budget has room for this read. An item larger than the lane's share is admitted alone, one
    /// at a time over all lanes, which take turns. A lane that waits for its turn issues nothing else: it might never
    /// come to have nothing in flight.
    fn admit(&mut self, bytes: usize) -> bool {
        // Also the later pieces of a split read that was admitted whole.
        if bytes == 0 {
            return true;
        }
        if self.bytes_max < bytes {
            return self.admit_oversize();
        }
        let left = self.issue_bytes_max.saturating_sub(self.bytes_in_flight);
        !self.oversize_waits && (bytes <= left || self.bytes_in_flight == 0)
    }

    fn admit_oversize(&mut self) -> bool {
        let admitted = self.bytes_in_flight == 0
            && match self.site {
                Site::Thread => self.shared.oversize.ask(&self.oversize),
                // What cannot be read at once goes to the lanes.
                Site::Inline => self.shared.oversize.take_if_free(&self.oversize),
            };
        self.oversize_asked = true;
        self.oversize_waits = !admitted;
        admitted
    }

    /// Bytes of memory that this read needs until it is delivered. The first piece of a split counts for all.
    fn budget_bytes(&self, physical: &PhysicalRead, index: u32, station: usize) -> usize {
        let whole = memory_len(physical.range.len_max()).unwrap_or(usize::MAX);
        let part =
            self.windows.get(index).and_then(|window| window.memory.parts.get(physical.first_part as usize));
        let (Some(part), Some(window)) = (part, self.windows.get(index)) else { return whole };
        match physical.share {
            Share::Whole if part.placement == Placement::Target || self.stations[station].lends() => whole,
            Share::Whole => capacity_for(whole).unwrap_or(usize::MAX),
            Share::Split { at: 0, split } => {
                let len = window.memory.splits.get(split as usize).map_or(part.len, |split| split.len);
                // Bytes that the reader brings are there beside the memory that they come together in.
                let brought = if self.stations[station].lends() { len } else { 0 };
                capacity_for(len).unwrap_or(usize::MAX).saturating_add(brought)
            }
            Share::Split { .. } => 0,
        }
    }

    fn start(&mut self, (index, station): (u32, usize), physical: PhysicalRead, budget_bytes: usize) {
        self.bytes_in_flight += budget_bytes;
        let mut flight = Flight {
            window: index,
            station,
            physical,
            filled: 0,
            attempts: 0,
            budget_bytes,
            submitted_ns: self.now_ns,
            held: None,
        };
        match self.target_for(&flight) {
            Ok(target) if self.stations[station].lends() => {
                flight.held = target;
                self.submit(flight, None);
            }
            Ok(target) => self.submit(flight, target),
            Err(error) => self.arrived.push_back(Arrived { flight, result: Err(error) }),
        }
    }

    /// The memory that a read fills: a piece of the output, a piece of a split, or a pooled buffer. Readers that bring
    /// their own bytes need one only where the bytes must come together with others.
    fn target_for(&mut self, flight: &Flight) -> Result<Option<ReadTarget>, Error> {
        let lends = self.stations[flight.station].lends();
        let Some(window) = self.windows.get_mut(flight.window) else { return Err(lost_window()) };
        let memory = &mut window.memory;
        let part = memory.parts.get(flight.physical.first_part as usize).ok_or_else(lost_window)?;
        let output = match memory.storage.reads.get_mut(part.read as usize) {
            Some(read) => &mut read.target,
            None => return Err(lost_window()),
        };
        match flight.physical.share {
            Share::Split { split, at } => {
                let split = memory.splits.get_mut(split as usize).ok_or_else(lost_window)?;
                // Blocks around a part do not fit its target.
                let whole = (split.start, split.len) == (part.offset, part.len);
                let fits = whole && (window.blocks.is_none() || part.placement == Placement::Target);
                split.piece(at, fits.then_some(output), &mut self.pool).map(Some)
            }
            Share::Whole if lends => Ok(None),
            Share::Whole if part.placement == Placement::Target => Ok(output.take().map(ReadTarget::Output)),
            Share::Whole => {
                let len = memory_len(flight.physical.range.len_max())?;
                self.pool.take(len).map(ReadTarget::Pooled).map(Some)
            }
        }
    }

    /// Hands a read to its driver or source; also for reads that are tried again.
    pub(super) fn submit(&mut self, flight: Flight, target: Option<ReadTarget>) {
        self.counters.physical_reads.add(1);
        let Some(window) = self.windows.get(flight.window) else { return };
        let (range, filled, station) = (flight.physical.range, flight.filled, flight.station);
        self.counters.bytes_fetched.add(range.len_max() - crate::storage_len(filled));
        match &mut self.stations[station].reader {
            Reader::Local { driver, .. } => {
                let (Some(object), Ok(len)) = (&window.handle, memory_len(range.len_max())) else {
                    let result = Err(lost_window());
                    return self.arrived.push_back(Arrived { flight, result });
                };
                let offset = flight.physical.offset();
                let slot = self.flights.insert(flight);
                let caching = if window.blocks.is_some() { Caching::Bypassed } else { Caching::Cached };
                driver.submit(ReadOp { slot, object, offset, len, target, filled, caching });
            }
            Reader::Remote => {
                let Some((source, key)) =
                    window.memory.storage.source().and_then(|object| match &object.medium {
                        Medium::Remote(source) => Some((Arc::clone(source), Arc::clone(&object.key))),
                        Medium::Local(_) => None,
                    })
                else {
                    let result = Err(lost_window());
                    return self.arrived.push_back(Arrived { flight, result });
                };
                let request = FetchRequest {
                    key,
                    range,
                    if_match: window.identity.clone(),
                    cancelled: window.batch.cancel.clone(),
                };
                let slot = self.flights.insert(flight);
                let reply = Reply::new(slot, Arc::clone(&self.inbox));
                // A reply that a panic drops reports an error, as any other that is dropped.
                if catch_unwind(AssertUnwindSafe(|| source.fetch(request, reply))).is_err() {
                    tracing::error!("a remote source panicked");
                }
            }
        }
        self.stations[station].in_flight += 1;
        self.counters.in_flight_high_water.raise_to(crate::storage_len(self.flights.len()));
    }

    pub(super) fn flush(&mut self) {
        for station in &mut self.stations {
            if let Reader::Local { driver, .. } = &mut station.reader {
                driver.flush();
            }
        }
    }
}

/// What [`Lane::issue`] wants to know of a station.
struct Station {
    queue_front: Option<u32>,
    has_room: bool,
}

fn physical_len(physical: &PhysicalRead) -> usize {
    memory_len(physical.range.len_max()).unwrap_or(usize::MAX)
}

fn lost_window() -> Error {
    Error::new(ErrorKind::Internal, "a read in flight belongs to no window")
}
