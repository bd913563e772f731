//! Windows whose bytes are there already: delivered as they are planned, without a read.

use super::demand::Demand;
use super::open_window::OpenWindow;
use super::planning::fit;
use super::{Lane, Site};
use crate::batch::{Arrival, LaneContext, Note};
use crate::resident::{Piece, Resident};
use crate::scratch::Scratch;
use crate::window::{Cursor, LogicalRead, WindowStorage};
use crate::{ByteRange, Error, ErrorKind, storage_len};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Bytes of one read that are copied to the lane's own memory for a sink that wants them in one piece; larger reads fill
/// a buffer of the budget. The memory grows to what is asked for, and stays: most chunks of an array are of about one
/// size, and memory that is new for each of them costs as much in page faults as the copy.
pub(super) const SERVED_BYTES_MAX: usize = 4 << 20;

/// Reads between two looks at whether the batch was ended.
const READS_BETWEEN_LOOKS: usize = 64;

/// How far ahead of a read its bytes are asked for: by then the copies before it have covered the memory's latency.
const READS_AHEAD: usize = 3;

/// What serving a window's reads came to.
#[derive(Default)]
struct Served {
    reads: u64,
    failed: u64,
    bytes: u64,
    is_stale: bool,
}

impl Lane {
    /// Delivers a window from bytes that its object has ready, or gives it back where they must be read.
    pub(super) fn serve(&mut self, window: Box<OpenWindow>, demand: &Demand) -> Result<(), Box<OpenWindow>> {
        let Some(handle) = window.handle.clone().filter(|_| demand.is_servable) else { return Err(window) };
        let Demand { bytes, page_bytes, .. } = *demand;
        let resident = catch_unwind(AssertUnwindSafe(|| handle.resident(page_bytes)));
        let Ok(Some(resident)) = resident else { return Err(window) };
        let reads = storage_len(window.memory.storage.reads.len());
        if self.site == Site::Inline && !self.allow_inline(true, reads, bytes) {
            return Err(window);
        }
        self.counters.bytes_wanted.add(bytes);
        self.counters.bytes_fetched.add(bytes);
        let index = self.windows.insert(window);
        self.serve_reads(index, &resident, handle.size());
        self.finish_window(index);
        Ok(())
    }

    fn serve_reads(&mut self, index: u32, resident: &Resident<'_>, size: u64) {
        let split_bytes = self.shared.config.limits.split_bytes;
        let Lane { windows, scratch, follow_ups, served, .. } = self;
        let Some(window) = windows.get_mut(index) else { return };
        window.told = true;
        let server = Server { resident, size, split_bytes, served };
        let outcome = catch_unwind(AssertUnwindSafe(|| server.serve(window, scratch, follow_ups)));
        let batch = Arc::clone(&window.batch);
        match outcome {
            Ok(served) => {
                window.count(served.reads, served.bytes);
                self.counters.served_reads.add(served.reads);
                self.counters.failed_reads.add(served.failed);
                if served.is_stale
                    && let Err(panic) = catch_unwind(AssertUnwindSafe(|| batch.batch().stale(window.cursor)))
                {
                    batch.poison("dropping a stale plan", panic.as_ref());
                }
            }
            Err(panic) => batch.poison("a delivery", panic.as_ref()),
        }
        self.take_follow_ups(&batch);
    }
}

struct Server<'a> {
    resident: &'a Resident<'a>,
    size: u64,
    split_bytes: usize,
    served: &'a mut Vec<u8>,
}

impl Server<'_> {
    fn serve(
        mut self,
        window: &mut OpenWindow,
        scratch: &mut Scratch,
        follow_ups: &mut Vec<Cursor>,
    ) -> Served {
        let OpenWindow { batch, cursor, memory, identity, .. } = window;
        let WindowStorage { object, reads, note, .. } = &mut memory.storage;
        let mut done = Served::default();
        let Some(object) = object else { return done };
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
        for number in 0..reads.len() {
            if number % READS_BETWEEN_LOOKS == 0 && batch.is_ended_early() {
                break;
            }
            if let Some(LogicalRead { range: ByteRange::Bounded { offset, len }, .. }) =
                reads.get(number + READS_AHEAD)
            {
                self.resident.prefetch(*offset, usize::try_from(*len).unwrap_or(usize::MAX));
            }
            let Some(read) = reads.get_mut(number) else { break };
            let (token, range) = (read.token, read.range);
            done.reads += 1;
            // Each outcome is handed over by a call of its own. Where one call takes both, the compiler copies the arrival
            // by loads that are wider than the stores before them: such a load waits until everything stored earlier,
            // the chunk before included, has left the store buffer.
            match self.take(read, &mut done) {
                Ok(arrival) => sink.deliver(token, Ok(arrival), &mut context),
                Err(error) => {
                    done.failed += 1;
                    done.is_stale |= error.kind() == ErrorKind::Changed;
                    let error = error.with_range(range).with_object(&context.object.key);
                    sink.deliver(token, Err(error), &mut context);
                }
            }
        }
        done
    }

    /// The bytes of one read.
    #[inline]
    fn take(&mut self, read: &mut LogicalRead, done: &mut Served) -> Result<Arrival<'_>, Error> {
        let (offset, len) = fit(read.range.resolve(self.size)?, read, self.split_bytes)?;
        done.bytes += storage_len(len);
        if let Some(mut target) = read.target.take() {
            self.resident.copy(offset, target.as_mut_slice())?;
            return Ok(Arrival::Placed(len));
        }
        if let Some(bytes) = self.resident.bytes(offset, len) {
            return Ok(Arrival::Bytes(bytes));
        }
        if read.takes_pieces {
            return Ok(Arrival::Piece(Piece::new(self.resident, offset, len)));
        }
        if self.served.len() < len {
            self.served.resize(len.next_power_of_two().min(SERVED_BYTES_MAX), 0);
        }
        let served = self.served.get_mut(..len).ok_or_else(too_large)?;
        self.resident.copy(offset, served)?;
        Ok(Arrival::Bytes(served))
    }
}

#[cold]
fn too_large() -> Error {
    Error::new(ErrorKind::Internal, "a read is served that was too large to be")
}
