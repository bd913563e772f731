//! A plan carried out.

use super::create::create;
use super::message;
use super::plan::{FieldPlace, Plan};
use super::rounding;
use super::slab::{CellBox, Slab};
use super::turns::Turns;
use super::{Finished, Journal};
use crate::HELPER;
use crate::nodes::Expected;
use crate::{Error, ErrorKind, Piece};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use swath_ioengine::{Engine, Medium, ObjectRef, with_helpers};
use swath_zarr_front::{Array, Elements, Group, Store, WriteMemory, WriteOptions};

/// Messages that are read at once where files are remote: each waits for a round trip.
const REMOTE_FIELDS_AT_ONCE: usize = 16;

/// Bytes of values of slabs that are written at once, but for one slab, which always is.
const SLABS_BYTES: u64 = 1 << 30;

/// Bytes of an element.
const ELEMENT: u64 = 4;

/// How a plan is written.
#[derive(Clone, Copy, Default)]
pub struct WritePlanOptions<'a> {
    /// Told after each slab how many fields it has.
    pub progress: Option<&'a (dyn Fn(usize) + Sync)>,
    /// Asked before each field; true ends the writing.
    pub interrupt: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// The part of the plan to write; all of it where it is `None`. Pieces may be written at the same time, by other processes or
    /// machines too: they write different objects, and the same metadata.
    pub piece: Option<Piece>,
    /// Where what is done is told. What it says is done is not done again, so that a run that was killed goes on.
    pub journal: Option<&'a Journal>,
    /// What becomes of the rest where a field cannot be written.
    pub on_failure: OnFailure,
}

/// What becomes of the rest where a field cannot be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnFailure {
    /// It is written; the field's cell holds the fill value.
    #[default]
    GoOn,
    /// The writing ends with the field's error.
    Stop,
}

/// A field that could not be written: its cell holds the fill value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Where it is.
    pub place: FieldPlace,
    /// Why.
    pub message: String,
}

impl Plan {
    /// Writes the plan to a store, as Zarr v3: groups, coordinates and empty arrays first, then the values, slab after slab; a slab is
    /// whole shards (or chunks, where there are no shards) over all of the grid. Each object is written whole, and once.
    /// Consolidated metadata comes last. Where a point or a field is missing is NaN.
    ///
    /// One slab more is filled at once than there are processors, as each waits for its messages (16 where files are
    /// remote), while as many as there are processors are stored; fewer where they come to more than a gigabyte, one at least. A slab is
    /// filled and encoded band after band, of a chunk's fields or as many as it has threads: in memory are a band's values and
    /// messages, and what the slab is encoded to. A field that cannot be read or unpacked does not stop others, unless that is
    /// wanted: it is returned, in the order of the files.
    ///
    /// # Errors
    ///
    /// Those of the store and of the journal: something is there already, or cannot be written. `Cancelled` where the interrupt
    /// said so. That of a field, where that shall stop the writing.
    pub fn write(
        &self,
        engine: &Engine,
        files: &[ObjectRef],
        store: &Store,
        options: &WritePlanOptions<'_>,
    ) -> Result<Vec<Failure>, Error> {
        let piece = options.piece.unwrap_or(Piece::WHOLE);
        let finished = options.journal.map(Journal::finished).transpose()?.unwrap_or_default();
        let is_alone = options.piece.is_none() && options.journal.is_none() && self.first_new_file == 0;
        let expected = if is_alone { Expected::Nothing } else { Expected::SamePlan };
        let arrays = create(self, engine, files, store, expected, piece)?;
        let mut slabs = self.slabs(piece);
        let mut failures = Vec::new();
        slabs.retain(|slab| match finished.slabs.get(&slab.number) {
            Some(before) => {
                failures.extend(
                    before.iter().map(|(place, message)| Failure { place: *place, message: message.clone() }),
                );
                if let Some(progress) = options.progress {
                    progress(slab.fields());
                }
                false
            }
            None => true,
        });
        let work = Work { plan: self, engine, files, arrays: &arrays, options, slabs };
        failures.extend(work.run()?);
        Group::open_in(store, "")?.consolidate()?;
        failures.sort_by_key(|failure| failure.place);
        Ok(failures)
    }

    /// Whether a journal says that all is written.
    #[must_use]
    pub fn is_finished(&self, finished: &Finished) -> bool {
        self.slabs(Piece::WHOLE).iter().all(|slab| finished.slabs.contains_key(&slab.number))
    }

    /// How many fields a piece has.
    #[must_use]
    pub fn fields_of(&self, piece: Piece) -> usize {
        self.slabs(piece).iter().map(Slab::fields).sum()
    }
}

/// How many threads do what.
struct Threads {
    /// Slabs that are under way at once.
    slabs: usize,
    /// Of these, those that are filled and encoded; others are stored meanwhile.
    filled: usize,
    /// Fields of a slab that are unpacked at once, but for the last slabs.
    fields: usize,
    processors: usize,
}

impl Threads {
    /// Fields that are unpacked at once of a slab, where so many are left with it: the last ones share the processors that no other
    /// slab takes any more.
    fn fields_of(&self, slabs_left: usize) -> usize {
        self.fields.max(self.processors.div_ceil(slabs_left.max(1)))
    }
}

/// What is used again from one slab to the next.
#[derive(Default)]
struct Memory {
    values: Vec<f32>,
    write: WriteMemory,
}

/// Room for so many values, whatever it holds.
fn room(values: &mut Vec<f32>, count: usize) -> &mut [f32] {
    if values.len() < count {
        values.resize(count, f32::NAN);
    }
    values.get_mut(..count).unwrap_or_default()
}

/// Slabs that threads take one after the other.
struct Work<'a> {
    plan: &'a Plan,
    engine: &'a Engine,
    files: &'a [ObjectRef],
    arrays: &'a [Vec<Array>],
    options: &'a WritePlanOptions<'a>,
    slabs: Vec<Slab>,
}

impl Work<'_> {
    fn run(&self) -> Result<Vec<Failure>, Error> {
        let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (failures, failed) = (Mutex::new(Vec::new()), Mutex::new(None));
        let threads = self.threads();
        let turns = Turns::new(threads.filled);
        let spare = Mutex::new(Vec::new());
        let take = || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(slab) = self.slabs.get(number) else { return };
                let fields = threads.fields_of(self.slabs.len() - number);
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                match self.write(slab, fields, (&turns, &spare), &is_over) {
                    Ok(mut found) => {
                        failures.lock().unwrap_or_else(PoisonError::into_inner).append(&mut found);
                        if let Some(progress) = self.options.progress {
                            progress(slab.fields());
                        }
                    }
                    Err(error) => {
                        is_over.store(true, Ordering::Relaxed);
                        failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                }
            }
        };
        with_helpers(HELPER, threads.slabs, |_| take(), take);
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(failures.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// As many as fit the processors, or the network; as few as their memory needs.
    fn threads(&self) -> Threads {
        let is_remote = self.files.iter().any(|file| matches!(file.medium, Medium::Remote(_)));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if is_remote { processors.max(REMOTE_FIELDS_AT_ONCE) } else { processors + 1 };
        let bytes = |slab: &Slab| {
            let points = self.plan.groups.get(slab.group).and_then(super::plan::Hypercube::points);
            let cells = swath_ioengine::storage_len(slab.of.cells.len());
            points.unwrap_or(u64::MAX).saturating_mul(cells).saturating_mul(ELEMENT)
        };
        let largest = self.slabs.iter().map(bytes).max().unwrap_or(1).max(1);
        let most = usize::try_from(SLABS_BYTES / largest).unwrap_or(usize::MAX).min(self.slabs.len()).max(1);
        let filled = threads.min(most);
        Threads { slabs: most.min(filled + processors), filled, fields: threads.div_ceil(filled), processors }
    }

    /// Writes a slab, and says in the journal that it is written.
    fn write(
        &self,
        slab: &Slab,
        fields_at_once: usize,
        (turns, spare): (&Turns, &Mutex<Vec<Memory>>),
        is_over: &AtomicBool,
    ) -> Result<Vec<Failure>, Error> {
        let lost = || Error::new(ErrorKind::Internal, "a slab of no variable");
        let group = self.plan.groups.get(slab.group).ok_or_else(lost)?;
        let variable = group.variables.get(slab.variable).ok_or_else(lost)?;
        let array = self.arrays.get(slab.group).and_then(|of| of.get(slab.variable)).ok_or_else(lost)?;
        // An archive that is converted is more than is read next: its shards would only pass through the page cache.
        let options = WriteOptions { past_cache: true, ..WriteOptions::default() };
        let encoders = NonZeroUsize::new(fields_at_once).unwrap_or(NonZeroUsize::MIN);
        let turn = turns.take()?;
        // What was used last, so that there is no more of it than slabs that are filled and stored.
        let memory = spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Memory { write, mut values } = memory.unwrap_or_default();
        let mut write = array.gathered_write(&options, write.with_threads(encoders))?;
        let mut bands: Vec<CellBox> = slab.of.bands(variable, fields_at_once).collect();
        bands.sort_by_cached_key(|band| write.place_in_shard(&band.first(group)));
        let mut failures = Vec::new();
        for band in bands {
            let shape = band.shape(group);
            let points = swath_ioengine::memory_len(group.points().unwrap_or(u64::MAX))?;
            let values = room(&mut values, points.checked_mul(band.cells.len()).ok_or_else(lost)?);
            let selection = band.selection()?;
            if self.plan.first_new_file != 0 {
                // The objects hold what was written before, too.
                array.read_into(&selection, bytemuck::cast_slice_mut(values))?;
            } else {
                let cells = band.cells.iter().zip(values.chunks_exact_mut(points.max(1)));
                cells.filter(|(place, _)| place.is_none()).for_each(|(_, cell)| cell.fill(f32::NAN));
            }
            failures.append(&mut self.fill(&band, values, points, fields_at_once, is_over)?);
            if let Some(bits) = self.plan.mantissa_bits {
                rounding::round(values, bits);
            }
            let elements = Elements::new(bytemuck::cast_slice(values), &shape, size_of::<f32>())?;
            write.add(&selection, &elements)?;
        }
        drop(turn);
        let memory = Memory { write: write.store()?, values };
        spare.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
        if let Some(journal) = self.options.journal {
            let told: Vec<_> =
                failures.iter().map(|failure| (failure.place, failure.message.clone())).collect();
            journal.finish(slab.number, &told)?;
        }
        Ok(failures)
    }

    /// Reads and unpacks the fields of a band, several at once, over whatever their cells hold.
    fn fill(
        &self,
        band: &CellBox,
        values: &mut [f32],
        points: usize,
        fields_at_once: usize,
        is_over: &AtomicBool,
    ) -> Result<Vec<Failure>, Error> {
        let cells = band.cells.iter().zip(values.chunks_exact_mut(points.max(1)));
        let cells = cells.filter_map(|(place, target)| Some(((*place)?, target)));
        let cells = Mutex::new(cells);
        let (failures, failed) = (Mutex::new(Vec::new()), Mutex::new(None));
        let take = || {
            let room = Mutex::new(Vec::new());
            loop {
                let next = cells.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((place, target)) = next else { return };
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let error = if self.options.interrupt.is_some_and(|interrupt| interrupt()) {
                    Error::new(ErrorKind::Cancelled, "the writing was interrupted")
                } else {
                    match self.cell(&place, target, &room) {
                        Ok(()) => continue,
                        Err(error) => error,
                    }
                };
                if error.kind() == ErrorKind::Cancelled || self.options.on_failure == OnFailure::Stop {
                    is_over.store(true, Ordering::Relaxed);
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    return;
                }
                let failure = Failure { place, message: error.to_string() };
                failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
            }
        };
        with_helpers(HELPER, fields_at_once.min(band.fields()), |_| take(), take);
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            // Another slab has ended the writing: this one is not to be stored.
            None if is_over.load(Ordering::Relaxed) => {
                Err(Error::new(ErrorKind::Cancelled, "the writing has ended before"))
            }
            None => Ok(failures.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Reads and unpacks one field. Where that fails its cell is filled with NaN.
    fn cell(&self, place: &FieldPlace, target: &mut [f32], room: &Mutex<Vec<f32>>) -> Result<(), Error> {
        let target = Mutex::new(target);
        let done = message::with_field(self.engine, self.files, place, |field, bytes| {
            let mut room = room.lock().unwrap_or_else(PoisonError::into_inner);
            let mut target = target.lock().unwrap_or_else(PoisonError::into_inner);
            message::values(field, bytes, &mut room, &mut target)
        });
        if done.is_err() {
            target.into_inner().unwrap_or_else(PoisonError::into_inner).fill(f32::NAN);
        }
        done
    }
}
