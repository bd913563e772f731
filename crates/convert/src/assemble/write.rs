//! A plan carried out.

use super::create::create;
use super::message;
use super::plan::{FieldPlace, Plan};
use super::rounding;
use super::slab::Slab;
use super::{Finished, Journal};
use crate::nodes::Expected;
use crate::{Error, ErrorKind, Piece};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use swath_ioengine::{Engine, InterruptFlag, Medium, ObjectRef};
use swath_zarr_front::{Array, Elements, Group, Store, WriteOptions};

/// Messages that are read at once where files are remote: each waits for a round trip.
const REMOTE_FIELDS_AT_ONCE: usize = 16;

/// Bytes of slabs that are in memory at once, but for one slab, which always is.
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
    /// In memory are slabs for as many threads as there are processors (16 where files are remote), up to a gigabyte, or one slab if
    /// that is larger; with each its encoded chunks, and the messages that are unpacked. A field that cannot be read or unpacked
    /// does not stop others, unless that is wanted: it is returned, in the order of the files.
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
        let (slabs_at_once, fields_at_once) = self.threads();
        let take = || {
            let mut values = Vec::new();
            while let Some(slab) = self.slabs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                match self.write(slab, &mut values, fields_at_once, &is_over) {
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
        let flag = &InterruptFlag::of_thread();
        std::thread::scope(|scope| {
            for _ in 1..slabs_at_once {
                scope.spawn(|| flag.followed(take));
            }
            take();
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(failures.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// How many slabs are written at once, and how many fields of each are unpacked at once.
    fn threads(&self) -> (usize, usize) {
        let is_remote = self.files.iter().any(|file| matches!(file.medium, Medium::Remote(_)));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if is_remote { processors.max(REMOTE_FIELDS_AT_ONCE) } else { processors };
        let bytes = |slab: &Slab| {
            let points = self.plan.groups.get(slab.group).and_then(super::plan::Hypercube::points);
            let cells = swath_ioengine::storage_len(slab.cells.len());
            points.unwrap_or(u64::MAX).saturating_mul(cells).saturating_mul(ELEMENT)
        };
        let largest = self.slabs.iter().map(bytes).max().unwrap_or(1).max(1);
        let most = usize::try_from(SLABS_BYTES / largest).unwrap_or(usize::MAX);
        let slabs = threads.min(most).min(self.slabs.len()).max(1);
        (slabs, threads.div_ceil(slabs))
    }

    /// Writes a slab, and says in the journal that it is written.
    fn write(
        &self,
        slab: &Slab,
        values: &mut Vec<f32>,
        fields_at_once: usize,
        is_over: &AtomicBool,
    ) -> Result<Vec<Failure>, Error> {
        let lost = || Error::new(ErrorKind::Internal, "a slab of no variable");
        let group = self.plan.groups.get(slab.group).ok_or_else(lost)?;
        let array = self.arrays.get(slab.group).and_then(|of| of.get(slab.variable)).ok_or_else(lost)?;
        let points = swath_ioengine::memory_len(group.points().unwrap_or(u64::MAX))?;
        let room = points.checked_mul(slab.cells.len()).ok_or_else(lost)?;
        values.clear();
        values.resize(room, f32::NAN);
        if self.plan.first_new_file != 0 {
            // The objects hold what was written before, too.
            array.read_into(&slab.selection()?, bytemuck::cast_slice_mut(values))?;
        }
        let failures = self.fill(slab, values, points, fields_at_once, is_over)?;
        if let Some(bits) = self.plan.mantissa_bits {
            rounding::round(values, bits);
        }
        // An archive that is converted is more than is read next: its shards would only pass through the page cache.
        let options = WriteOptions { past_cache: true, ..WriteOptions::default() };
        let elements = Elements::new(bytemuck::cast_slice(values), &slab.shape(group), size_of::<f32>())?;
        array.write_from(&slab.selection()?, &elements, &options)?;
        if let Some(journal) = self.options.journal {
            let told: Vec<_> =
                failures.iter().map(|failure| (failure.place, failure.message.clone())).collect();
            journal.finish(slab.number, &told)?;
        }
        Ok(failures)
    }

    /// Reads and unpacks the fields of a slab, several at once.
    fn fill(
        &self,
        slab: &Slab,
        values: &mut [f32],
        points: usize,
        fields_at_once: usize,
        is_over: &AtomicBool,
    ) -> Result<Vec<Failure>, Error> {
        let cells = slab.cells.iter().zip(values.chunks_exact_mut(points.max(1)));
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
        let flag = &InterruptFlag::of_thread();
        std::thread::scope(|scope| {
            for _ in 1..fields_at_once.min(slab.fields()) {
                scope.spawn(|| flag.followed(take));
            }
            take();
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            // Another slab has ended the writing: what is filled of this one is not to be written.
            None if is_over.load(Ordering::Relaxed) => {
                Err(Error::new(ErrorKind::Cancelled, "the writing has ended before"))
            }
            None => Ok(failures.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Reads and unpacks one field. What it has filled of its cell before it failed is taken back.
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
