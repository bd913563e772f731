//! From work to a window with reads to issue: claim, plan, open, coalesce.

use super::demand::Demand;
use super::niceness::give_way_to_network;
use super::open_window::{OpenWindow, Split, WindowMemory};
use super::station::{Reader, Station};
use super::{Allowance, Lane, Site};
use crate::batch::PlanContext;
use crate::batch_state::{BatchState, Reach, Work};
use crate::blocks::Blocks;
use crate::coalesce::{BridgedShare, MergePolicy, Part, PhysicalRead, Placement, Share, coalesce};
use crate::driver::DriverSite;
use crate::error::medium_panicked;
use crate::handle_cache::Found;
use crate::medium::LocalMedium;
use crate::parking::Parked;
use crate::window::{Cursor, LogicalRead, Planned, Window};
use crate::{ByteRange, CostModel, Error, ErrorKind, Limits, Medium, RemoteSource, memory_len, storage_len};
use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

/// A part with a target of at least this many bytes gets a read of its own that fills the target; below it, merging
/// with its neighbours and copying is cheaper. Chosen from the spike, where a cached
/// read costs as much more than reading on as copying a few KiB does; not measured against other values.
const DIRECT_BYTES_MIN: usize = 8 << 10;

impl Lane {
    /// Takes one piece of work and turns it into reads. False when there was no work.
    pub(super) fn plan_next(&mut self, now: Instant) -> bool {
        if self.site == Site::Inline && (self.inline_allowance.reads == 0 || self.inline_allowance.bytes == 0)
        {
            return false;
        }
        let Some((batch, work)) = self.take_work() else { return false };
        if batch.is_ended_early() {
            drop(work);
            batch.release(1);
            return true;
        }
        match work {
            Work::Plan { cursor, replans } => self.plan_window(batch, cursor, replans, now),
            Work::Adopt(window) => self.adopt(window),
        }
        true
    }

    fn plan_window(&mut self, batch: Arc<BatchState>, cursor: Cursor, replans: u32, now: Instant) {
        let memory = self.spare_windows.pop().unwrap_or_default();
        let mut window = OpenWindow::new(Arc::clone(&batch), cursor, replans, memory);
        let context = PlanContext { state: &batch, cursor, parking: OnceCell::new() };
        let reads_max = self.shared.config.limits.window_reads_max;
        let planned = catch_unwind(AssertUnwindSafe(|| {
            batch.batch().plan(cursor, &context, &mut Window::new(&mut window.memory.storage, reads_max))
        }));
        self.counters.windows.add(1);
        let parking = context.parking.into_inner();
        if let (Ok(Planned::Parked), Some(parking)) = (&planned, &parking) {
            self.recycle(window);
            if batch.park(parking) == Parked::Resumed {
                self.own_work.push((batch, Work::Plan { cursor, replans: 0 }));
            }
            return;
        }
        if let Some(parking) = parking {
            parking.forget();
        }
        match planned {
            Err(panic) => batch.poison("its plan", panic.as_ref()),
            Ok(Planned::Parked) => {
                batch.end_early(Error::new(
                    ErrorKind::Internal,
                    "a plan parked and kept no way to be resumed",
                ));
            }
            Ok(Planned::More(next)) => window.continuation = Some(next),
            Ok(Planned::Complete) => {}
        }
        if let Some(error) = window.memory.storage.error.take() {
            batch.end_early(error);
        }
        if window.memory.storage.reads.is_empty() || batch.is_ended_early() {
            self.plan_continuation(&window);
            self.recycle(window);
            return batch.release(1);
        }
        self.open(window, now);
    }

    /// Opens the window's object, checks its version and turns the reads into physical ones.
    fn open(&mut self, mut window: Box<OpenWindow>, now: Instant) {
        self.counters.logical_reads.add(storage_len(window.memory.storage.reads.len()));
        window.memory.storage.rebase();
        let Some(object) = window.memory.storage.source().cloned() else {
            return self.refuse(window, &no_object());
        };
        match &object.medium {
            Medium::Remote(source) => {
                window.batch.set_reach(Reach::Remote);
                window.identity.clone_from(&window.memory.storage.expected);
                self.fetch(window, source);
            }
            Medium::Local(medium) => {
                window.batch.set_reach(Reach::Local);
                let freshness = self.shared.config.freshness;
                let opened = catch_unwind(AssertUnwindSafe(|| {
                    self.shared.handles.open(medium.as_ref(), &object.key, freshness, now)
                }));
                let opened = opened.unwrap_or_else(|panic| Err(medium_panicked(panic.as_ref())));
                let (handle, found) = match opened {
                    Ok(opened) => opened,
                    Err(error) => return self.refuse(window, &error.with_object(&object.key)),
                };
                match found {
                    Found::Opened => self.counters.opens.add(1),
                    Found::Cached => self.counters.handle_hits.add(1),
                }
                if window
                    .memory
                    .storage
                    .expected
                    .as_ref()
                    .is_some_and(|expected| expected != handle.identity())
                {
                    return self.replan(window);
                }
                window.identity = Some(handle.identity().clone());
                let demand = Demand::of(&window.memory.storage, handle.size());
                window.handle = Some(handle);
                if let Err(mut window) = self.serve(window, &demand) {
                    window.blocks = blocks_of(&window, &demand);
                    self.queue(window, Some(medium));
                }
            }
        }
    }

    /// Has what follows a window planned. Called before the window is released.
    pub(super) fn plan_continuation(&mut self, window: &OpenWindow) {
        if let Some(cursor) = window.continuation
            && !window.batch.is_ended_early()
        {
            window.batch.retain(1);
            self.own_work.push((Arc::clone(&window.batch), Work::Plan { cursor, replans: 0 }));
        }
    }

    /// The window was planned from what the object no longer is: plans it again.
    pub(super) fn replan(&mut self, window: Box<OpenWindow>) {
        let (batch, cursor, replans) = (Arc::clone(&window.batch), window.cursor, window.replans + 1);
        if self.shared.config.limits.replans_max < replans {
            let error = Error::new(
                ErrorKind::Changed,
                format!("the object was replaced {replans} times while it was planned"),
            );
            return self.refuse(window, &error);
        }
        self.counters.replans.add(1);
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| batch.batch().stale(cursor))) {
            batch.poison("dropping a stale plan", panic.as_ref());
        }
        self.recycle(window);
        self.own_work.push((batch, Work::Plan { cursor, replans }));
    }

    /// Coalesces the window's reads and queues it at its station.
    fn queue(&mut self, mut window: Box<OpenWindow>, medium: Option<&Arc<dyn LocalMedium>>) {
        let Some(cost) = cost_of(&window) else { return self.refuse(window, &no_object()) };
        let station = match self.station_for(medium) {
            Ok(station) => station,
            Err(error) => return self.refuse(window, &error),
        };
        let lends = self.stations[station].lends();
        let alignment = window.alignment();
        let limits = &self.shared.config.limits;
        let mut policy = match medium {
            None => remote_policy(&cost, limits, bridged_share(&window, limits)),
            Some(_) => local_policy(&cost, limits, lends, alignment),
        };
        policy.merge(window.memory.storage.merging);
        let split_bytes = policy.split_bytes;
        let at_once = locate(&mut window, lends, policy.split_bytes);
        self.split_plan.clear();
        let WindowMemory { parts, physical, splits, .. } = &mut window.memory;
        coalesce(parts, &policy, physical, &mut self.split_plan);
        for (part, pieces) in &self.split_plan {
            let span = parts.get(*part as usize).map_or((0, 0), |part| part.span(alignment));
            splits.push(Split::new((*part, *pieces), span, split_bytes));
        }
        append_unlocated(&mut window);
        let wanted = self.count_window(&window);
        window.unfinished = window.memory.physical.len();
        let reads = storage_len(window.memory.storage.reads.len());
        let index = self.windows.insert(window);
        for (read, result) in at_once {
            self.deliver_at_once(index, read, result);
        }
        // Reads past the page cache wait for the device.
        let waits = self.windows.get(index).is_some_and(|window| window.blocks.is_some());
        if self.site == Site::Inline && !self.allow_inline(medium.is_some() && !waits, reads, wanted) {
            return self.hand_over(index);
        }
        self.stations[station].queue.push_back(index);
    }

    /// True when a window may be read on the caller's thread: what that thread takes on is bounded, follow-ups included.
    pub(super) fn allow_inline(&mut self, local: bool, reads: u64, bytes: u64) -> bool {
        let Allowance { reads: reads_left, bytes: bytes_left } = self.inline_allowance;
        let fits = local && reads <= reads_left && bytes <= bytes_left;
        // A window that does not fit leaves nothing for those after it: they would be read out of turn, and the window
        // itself could be taken back.
        self.inline_allowance = if fits {
            Allowance { reads: reads_left - reads, bytes: bytes_left - bytes }
        } else {
            Allowance::default()
        };
        fits
    }

    /// Counts a window in; returns the bytes that it wants.
    fn count_window(&self, window: &OpenWindow) -> u64 {
        let wanted: u64 = window.memory.parts.iter().map(|part| storage_len(part.len)).sum();
        self.counters.bytes_wanted.add(wanted);
        let merged = window
            .memory
            .physical
            .iter()
            .filter(|read| 1 < read.part_count)
            .map(|read| u64::from(read.part_count));
        self.counters.merged_reads.add(merged.sum());
        let pieces: u64 = self.split_plan.iter().map(|(_, pieces)| u64::from(*pieces)).sum();
        self.counters.split_reads.add(pieces);
        wanted
    }

    /// Takes what a remote source has at hand, and queues the rest.
    fn fetch(&mut self, window: Box<OpenWindow>, source: &Arc<dyn RemoteSource>) {
        if let Some(window) = self.take_at_hand(window, source) {
            self.give_way_to(source, &window.batch);
            self.queue(window, None);
        }
    }

    /// Before its first window of a remote medium, makes the lane's thread nicer than those of the network. These inherit the
    /// niceness of the thread that starts them, so they are started first.
    fn give_way_to(&self, source: &Arc<dyn RemoteSource>, batch: &Arc<BatchState>) {
        // A caller's thread is none of ours to change.
        let is_ours = matches!(self.site, Site::Thread);
        if !is_ours || self.stations.iter().any(|station| station.serves(None)) {
            return;
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| source.expect(0))) {
            batch.end_early(medium_panicked(panic.as_ref()));
        }
        give_way_to_network();
    }

    /// Goes on with a window that another lane planned and opened.
    fn adopt(&mut self, mut window: Box<OpenWindow>) {
        window.deferred = false;
        let medium = window.memory.storage.source().map(|object| object.medium.clone());
        let medium = match medium {
            // All of it was at hand for another lane.
            Some(Medium::Remote(source)) if window.memory.physical.is_empty() && !window.told => {
                return self.fetch(window, &source);
            }
            Some(Medium::Local(medium)) => Some(medium),
            Some(Medium::Remote(source)) => {
                self.give_way_to(&source, &window.batch);
                None
            }
            None => None,
        };
        match self.station_for(medium.as_ref()) {
            Ok(station) => {
                self.bytes_in_flight += window.held_bytes();
                let index = self.windows.insert(window);
                self.stations[station].queue.push_back(index);
            }
            Err(error) => {
                window.batch.end_early(error);
                let batch = Arc::clone(&window.batch);
                self.recycle(window);
                batch.release(1);
            }
        }
    }

    fn station_for(&mut self, medium: Option<&Arc<dyn LocalMedium>>) -> Result<usize, Error> {
        let limits = &self.shared.config.limits;
        let depth = medium.and_then(|medium| medium.depth()).unwrap_or(limits.local_depth);
        let depth = depth.clamp(1, limits.local_depth);
        let family = medium.map(|medium| (medium.family(), depth));
        if let Some(index) = self.stations.iter().position(|station| station.serves(family)) {
            self.note_driver(index, medium);
            return Ok(index);
        }
        let station = match medium {
            None => Station::new(Reader::Remote, limits.remote_depth),
            Some(medium) => {
                let limits = Limits { local_depth: depth, ..limits.clone() };
                let site = match self.site {
                    Site::Inline => DriverSite::Inline,
                    Site::Thread => DriverSite::Lane { limits: &limits, wake: &self.wake },
                };
                let driver = catch_unwind(AssertUnwindSafe(|| medium.driver(site)));
                let driver = driver.unwrap_or_else(|panic| Err(medium_panicked(panic.as_ref())))?;
                let reader = Reader::Local { family: medium.family(), driver };
                Station::new(reader, depth)
            }
        };
        self.add_station(station);
        self.note_driver(self.stations.len() - 1, medium);
        Ok(self.stations.len() - 1)
    }

    /// Adds a station. As long as all of them read local devices, the lane has no more in flight than its buffer pool
    /// holds: more fills no such device better, and buffers beyond it are given back to the system and page-faulted anew
    /// for each read. A network needs as much in flight as the budget allows.
    pub(super) fn add_station(&mut self, station: Station) {
        self.stations.push(station);
        let is_local = self.stations.iter().all(Station::waits_for_device);
        let pooled_bytes_max = self.shared.config.limits.pooled_bytes_max;
        self.issue_bytes_max = if is_local { self.bytes_max.min(pooled_bytes_max) } else { self.bytes_max };
    }

    /// Has statistics name the station's driver with the medium, once a run of windows of it.
    fn note_driver(&mut self, station: usize, medium: Option<&Arc<dyn LocalMedium>>) {
        let station = &mut self.stations[station];
        if let (Some(medium), Reader::Local { driver, .. }) = (medium, &station.reader)
            && station.noted != Arc::as_ptr(medium).addr()
        {
            station.noted = Arc::as_ptr(medium).addr();
            // Without a thread of its own a lane has one read in flight.
            let depth = medium.depth().filter(|_| matches!(self.site, Site::Thread)).map(|_| station.depth);
            self.shared.note_driver(driver.name(), depth, medium);
        }
    }

    /// Fails every read of a window that cannot be read at all.
    fn refuse(&mut self, mut window: Box<OpenWindow>, error: &Error) {
        window.unfinished = 0;
        let reads = window.memory.storage.reads.len();
        let index = self.windows.insert(window);
        for read in 0..reads {
            let error = match self.windows.get(index).and_then(|window| window.memory.storage.reads.get(read))
            {
                Some(read) => error.clone().with_range(read.range),
                None => error.clone(),
            };
            self.deliver_at_once(index, read, Err(error));
        }
        self.finish_window(index);
    }

    /// Keeps a finished window's memory for the next one.
    pub(super) fn recycle(&mut self, window: Box<OpenWindow>) {
        let mut memory = window.memory;
        memory.clear();
        if self.spare_windows.len() < SPARE_WINDOWS_MAX {
            self.spare_windows.push(memory);
        }
    }
}

/// How reads of a local medium are merged and split. What is memory already (`lends`) gains nothing from either.
fn local_policy(cost: &CostModel, limits: &Limits, lends: bool, alignment: u64) -> MergePolicy {
    let split_bytes = match memory_len(alignment) {
        Ok(alignment) if !lends => limits.split_bytes.next_multiple_of(alignment),
        Ok(_) | Err(_) => usize::MAX,
    };
    MergePolicy {
        gap_bytes_max: cost.gap_bytes_max(),
        merged_bytes_max: limits.merged_bytes_max,
        merged_parts_max: if lends { 1 } else { limits.merged_parts_max },
        split_bytes,
        bridged: None,
        alignment,
    }
}

/// How reads of a remote medium are merged and split.
fn remote_policy(cost: &CostModel, limits: &Limits, bridged: Option<BridgedShare>) -> MergePolicy {
    MergePolicy {
        gap_bytes_max: cost.gap_bytes_max(),
        merged_bytes_max: limits.remote_merged_bytes_max,
        merged_parts_max: limits.remote_merged_parts_max,
        split_bytes: limits.remote_split_bytes,
        bridged,
        alignment: 1,
    }
}

/// What a window of a remote medium may bring beside what is wanted; `None` where costs alone decide.
fn bridged_share(window: &OpenWindow, limits: &Limits) -> Option<BridgedShare> {
    let object = window.memory.storage.source();
    let is_near = object.is_some_and(|object| match &object.medium {
        Medium::Remote(source) => source.is_near(),
        Medium::Local(_) => false,
    });
    let share = BridgedShare { percent: limits.remote_bridged_percent, bytes: limits.remote_bridged_bytes };
    (!is_near).then_some(share)
}

/// Windows kept for reuse. Few are open at a time, because a lane plans the next one only when its queues run empty.
const SPARE_WINDOWS_MAX: usize = 16;

fn no_object() -> Error {
    Error::new(ErrorKind::Internal, "a window was planned without an object")
}

/// How the window's reads go past the page cache, if they should.
fn blocks_of(window: &OpenWindow, demand: &Demand) -> Option<Blocks> {
    let handle = window.handle.as_ref()?;
    // Media answer from what they know; one that panics is read as it always was.
    catch_unwind(AssertUnwindSafe(|| handle.blocks(demand.page_bytes))).ok().flatten()
}

/// What the window's reads cost; `None` without an object.
fn cost_of(window: &OpenWindow) -> Option<CostModel> {
    if let Some(blocks) = &window.blocks {
        return Some(blocks.cost);
    }
    window.memory.storage.source().map(|object| match &object.medium {
        Medium::Remote(source) => source.cost(),
        Medium::Local(medium) => medium.cost(),
    })
}

/// Collects where each read lies, and returns the reads that need no reading: those that lie outside the object, and
/// those of no bytes. Open-ended reads of an object whose size is not known are left to [`append_unlocated`].
fn locate(window: &mut OpenWindow, lends: bool, split_bytes: usize) -> Vec<(usize, Result<(), Error>)> {
    let mut at_once = Vec::new();
    let size = window.handle.as_ref().map(|handle| handle.size());
    let blocks = window.blocks;
    let WindowMemory { storage, parts, .. } = &mut window.memory;
    for (index, read) in storage.reads.iter_mut().enumerate() {
        let located = match (size, read.range) {
            (Some(size), range) => range.resolve(size),
            // All that is known of the object is that it ends before the last offset there is.
            (None, ByteRange::Bounded { .. }) => read.range.resolve(u64::MAX),
            (None, ByteRange::Suffix { .. } | ByteRange::Whole { .. }) => continue,
        };
        match located.and_then(|located| fit(located, read, split_bytes)) {
            Ok((_, 0)) => at_once.push((index, Ok(()))),
            Ok((offset, len)) => {
                let in_place = !lends
                    && read.target.as_mut().is_some_and(|target| {
                        DIRECT_BYTES_MIN <= target.len()
                            && blocks.is_none_or(|blocks| blocks.fit(offset, target.as_mut_slice()))
                    });
                let placement = if in_place { Placement::Target } else { Placement::Buffered };
                parts.push(Part { offset, len, read: number(index), placement });
            }
            Err(error) => at_once.push((index, Err(error.with_range(read.range)))),
        }
    }
    at_once
}

/// Checks that a located read fits its target and this machine's memory.
#[inline]
pub(super) fn fit(
    (offset, len): (u64, u64),
    read: &LogicalRead,
    split_bytes: usize,
) -> Result<(u64, usize), Error> {
    let len = memory_len(len)?;
    if let Some(target) = &read.target
        && target.len() != len
    {
        return Err(too_few(len, target.len()));
    }
    if split_bytes < len && PIECES_MAX < len / split_bytes {
        return Err(too_large(len));
    }
    Ok((offset, len))
}

#[cold]
fn too_few(len: usize, target_len: usize) -> Error {
    let message = format!("the object holds {len} of the {target_len} bytes that the target takes");
    Error::new(ErrorKind::UnexpectedEnd, message)
}

#[cold]
fn too_large(len: usize) -> Error {
    Error::new(ErrorKind::LimitExceeded, format!("one read of {len} bytes is too large"))
}

/// Pieces of one split read: 2 TiB at the default size of a piece. More is not a read but a broken index.
const PIECES_MAX: usize = 1 << 20;

/// Adds a physical read for each open-ended read of an object whose size is not known: the source resolves those.
fn append_unlocated(window: &mut OpenWindow) {
    if window.handle.is_some() {
        return;
    }
    let WindowMemory { storage, parts, physical, .. } = &mut window.memory;
    for (index, read) in storage.reads.iter().enumerate() {
        if matches!(read.range, ByteRange::Suffix { .. } | ByteRange::Whole { .. }) {
            let first_part = number(parts.len());
            parts.push(Part { offset: 0, len: 0, read: number(index), placement: Placement::Buffered });
            physical.push(PhysicalRead { range: read.range, first_part, part_count: 1, share: Share::Whole });
        }
    }
}

/// Windows hold far fewer parts than `u32::MAX` (see [`Limits::window_reads_max`](crate::Limits::window_reads_max)).
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
