//! Taking what has completed, and trying again what should be.

use super::open_window::Flight;
use super::station::Reader;
use super::{Arrived, Body, Lane};
use crate::coalesce::{PhysicalRead, Share};
use crate::driver::{Completion, Outcome, ReadTarget};
use crate::remote::RemoteCompletion;
use crate::{ByteRange, Error, ErrorKind, memory_len, storage_len};

impl Lane {
    /// Takes what drivers and sources have completed.
    pub(super) fn reap(&mut self) {
        let mut completions = std::mem::take(&mut self.completions);
        for station in &mut self.stations {
            if let Reader::Local { driver, .. } = &mut station.reader {
                driver.reap(&mut completions);
            }
        }
        for completion in completions.drain(..) {
            self.complete(completion);
        }
        self.completions = completions;
        if !self.stations.iter().any(|station| matches!(station.reader, Reader::Remote)) {
            return;
        }
        let mut arrived = std::mem::take(&mut self.remote_completions);
        self.inbox.take(&mut arrived);
        for completion in arrived.drain(..) {
            self.complete_remote(completion);
        }
        self.remote_completions = arrived;
    }

    fn land(&mut self, slot: u32) -> Option<Flight> {
        let flight = self.flights.take(slot)?;
        self.stations[flight.station].in_flight -= 1;
        self.counters.record_latency(self.now_ns.saturating_sub(flight.submitted_ns));
        Some(flight)
    }

    fn complete(&mut self, completion: Completion) {
        let Completion { slot, target, outcome } = completion;
        let Some(mut flight) = self.land(slot) else { return };
        match outcome {
            Outcome::Filled(read) => {
                flight.filled += read;
                if read != 0 {
                    flight.attempts = 0;
                }
                self.filled(flight, read, target);
            }
            Outcome::Lent(bytes) | Outcome::Owned(bytes) => {
                // A driver that fills has no use for its target where it brings bytes.
                flight.held = flight.held.or(target);
                self.brought(flight, bytes);
            }
            Outcome::Again => self.again(flight, target),
            Outcome::Refused => self.refused(flight, target),
            Outcome::WouldBlock => self.defer(flight, target),
            Outcome::Failed(error) => self.failed(flight, target, error),
        }
    }

    fn complete_remote(&mut self, completion: RemoteCompletion) {
        let Some(flight) = self.land(completion.slot) else { return };
        let changed = completion.result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Changed);
        if let Some(window) = self.windows.get_mut(flight.window)
            && (window.stale || changed && window.memory.storage.expected.is_some() && !window.told)
        {
            window.stale = true;
            window.drop_unissued();
            return self.arrive(flight, Err(Error::new(ErrorKind::Changed, "the plan was stale")));
        }
        match completion.result {
            Ok(fetched) => {
                let Some(window) = self.windows.get_mut(flight.window) else { return };
                match (&window.identity, fetched.identity) {
                    (Some(known), Some(found)) if *known != found => {
                        let message =
                            format!("the object was {known:?} and became {found:?} while it was read");
                        return self.failed(flight, None, Error::new(ErrorKind::Changed, message));
                    }
                    (None, Some(found)) => window.identity = Some(found),
                    _ => {}
                }
                self.brought(flight, fetched.bytes);
            }
            Err(error) => self.failed(flight, None, error),
        }
    }

    fn filled(&mut self, flight: Flight, read: usize, target: Option<ReadTarget>) {
        let wanted = self.wanted_bytes(&flight);
        match target {
            Some(target) if wanted <= flight.filled => self.arrive(flight, Ok(Body::Target(target))),
            target if read == 0 => {
                let error = Error::new(
                    ErrorKind::UnexpectedEnd,
                    format!(
                        "the object ended {} bytes short of its size when it was opened",
                        wanted - flight.filled
                    ),
                );
                self.failed(flight, target, error);
            }
            target => self.again(flight, target),
        }
    }

    /// The bytes of a read that some part needs: less than its length where blocks reach past the object's end.
    fn wanted_bytes(&self, flight: &Flight) -> usize {
        let whole = memory_len(flight.physical.range.len_max()).unwrap_or(usize::MAX);
        if whole <= flight.filled {
            return whole;
        }
        let Some(window) = self.windows.get(flight.window) else { return whole };
        let first = flight.physical.first_part as usize;
        let parts = window.memory.parts.iter().skip(first).take(flight.physical.part_count as usize);
        let end = parts.map(|part| part.offset + storage_len(part.len)).max().unwrap_or(0);
        memory_len(end.saturating_sub(flight.physical.offset())).map_or(whole, |wanted| wanted.min(whole))
    }

    fn brought(&mut self, flight: Flight, bytes: bytes::Bytes) {
        let found = storage_len(bytes.len());
        let sound = match flight.physical.range {
            ByteRange::Bounded { len, .. } => found == len,
            ByteRange::Suffix { len } | ByteRange::Whole { len_max: len } => found <= len,
        };
        if sound {
            self.arrive(flight, Ok(Body::Bytes(bytes)));
        } else if let ByteRange::Whole { .. } = flight.physical.range {
            let error = Error::new(ErrorKind::LimitExceeded, format!("the object has {found} bytes"))
                .with_range(flight.physical.range);
            self.failed(flight, None, error);
        } else {
            let wanted = flight.physical.range;
            let error =
                Error::new(ErrorKind::Io, format!("the medium answered {found} bytes")).with_range(wanted);
            self.failed(flight, None, error);
        }
    }

    /// Issues a read once more, for what it has not filled yet.
    fn again(&mut self, mut flight: Flight, target: Option<ReadTarget>) {
        flight.attempts += 1;
        if self.shared.config.limits.retries_max < flight.attempts {
            let error = Error::new(
                ErrorKind::Unavailable,
                format!("the read was interrupted or refused {} times in a row", flight.attempts),
            );
            return self.failed(flight, target, error);
        }
        self.counters.retries.add(1);
        self.submit(flight, target);
    }

    /// Issues a read again through the page cache, and has the window's others go the same way.
    fn refused(&mut self, flight: Flight, target: Option<ReadTarget>) {
        if let Some(window) = self.windows.get_mut(flight.window) {
            window.blocks = None;
            if let Some(handle) = &window.handle {
                handle.refuse_blocks();
            }
        }
        self.again(flight, target);
    }

    /// A merged read that failed is issued part by part, so that one bad range fails alone; unless it failed for a
    /// reason that all ranges of the object share.
    fn failed(&mut self, flight: Flight, target: Option<ReadTarget>, error: Error) {
        self.put_back(target);
        let ended = self.windows.get(flight.window).is_none_or(|window| window.batch.is_ended_early());
        if flight.physical.part_count < 2 || ended || concerns_object(error.kind()) {
            return self.arrive(flight, Err(error));
        }
        self.counters.unmerged.add(1);
        let Some(window) = self.windows.get_mut(flight.window) else { return };
        let first = flight.physical.first_part;
        let alignment = window.alignment();
        for part_number in first..first + flight.physical.part_count {
            if let Some(part) = window.memory.parts.get(part_number as usize) {
                let (offset, len) = part.span(alignment);
                window.memory.physical.push(PhysicalRead {
                    range: ByteRange::Bounded { offset, len: storage_len(len) },
                    first_part: part_number,
                    part_count: 1,
                    share: Share::Whole,
                });
                window.unfinished += 1;
            }
        }
        window.unfinished -= 1;
        self.requeue(&flight);
    }

    /// An inline lane must not wait: the read goes back to its window, and the window to another lane once nothing of
    /// it is in flight here.
    fn defer(&mut self, flight: Flight, target: Option<ReadTarget>) {
        let Some(window) = self.windows.get_mut(flight.window) else { return };
        window.give_back(&flight.physical, target, &mut self.pool);
        window.memory.physical.push(flight.physical);
        window.deferred = true;
        self.requeue(&flight);
    }

    /// A window got reads to issue again, in place of this one.
    fn requeue(&mut self, flight: &Flight) {
        self.free_budget(flight.budget_bytes);
        let queue = &mut self.stations[flight.station].queue;
        if !queue.contains(&flight.window) {
            queue.push_back(flight.window);
        }
    }

    fn arrive(&mut self, flight: Flight, result: Result<Body, Error>) {
        self.arrived.push_back(Arrived { flight, result });
    }

    pub(super) fn put_back(&mut self, target: Option<ReadTarget>) {
        if let Some(ReadTarget::Pooled(buffer)) = target {
            self.pool.put(buffer);
        }
    }
}

/// True when no range of the object can be read.
fn concerns_object(kind: ErrorKind) -> bool {
    use ErrorKind::{Cancelled, Changed, NotFound, PermissionDenied, Unsupported};
    matches!(kind, NotFound | PermissionDenied | Changed | Cancelled | Unsupported)
}
