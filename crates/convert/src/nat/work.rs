//! Bands of lines that are read, unpacked and written by several threads.

use super::band::{Band, Parts};
use super::bands::BandGroup;
use super::calibration::Quantity;
use super::channel::Channel;
use super::conversion::{Conversion, Variable};
use super::group::{NO_LINE, NO_TIME, VariableArrays};
use super::header::Header;
use super::layout::HRV_LINES;
use super::line::Line;
use super::pixel_layout::Cut;
use super::write::{LineFailure, WriteOptions};
use crate::HELPER;
use crate::{Damage, Error, ErrorKind, OnFailure};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use swath_ioengine::{Engine, ObjectRef, RunOptions, memory_len, storage_len, with_helpers};
use swath_zarr_front::{Array, AxisSelection, Selection};

/// What counts of one file are, by channel.
pub(super) type Tables = Vec<Option<Vec<f32>>>;

/// Channels and rows of an object: one channel where there is no dimension of them.
pub(super) fn object_extents(cut: &Cut) -> [u64; 2] {
    match cut.objects() {
        [_, channels, rows, _] => [*channels, *rows],
        [_, rows, _] => [1, *rows],
        _ => [1, 1],
    }
}

/// Memory that there is for each processor, whatever the layout: 232 records of a whole disc, and as many rows of all channels
/// calibrated, come to 75 MB. By default it is 32 MB.
const THREAD_BYTES: u64 = 80_000_000;

/// A band of a file, by the file's place in the conversion, and the number of its group.
struct Job {
    place: usize,
    group: usize,
    lines: Range<u32>,
}

/// A conversion under way.
pub(super) struct Work<'a> {
    conversion: &'a Conversion,
    engine: &'a Engine,
    files: &'a [ObjectRef],
    arrays: &'a [VariableArrays],
    tables: &'a [Tables],
    options: &'a WriteOptions<'a>,
    /// Channels and rows of an object of each variable.
    objects: Vec<[usize; 2]>,
    groups: Vec<BandGroup>,
    /// By the files' places and the groups: what of their records is read.
    parts: Vec<Vec<Parts>>,
    jobs: Vec<Job>,
    /// What is known of the lines of files under way.
    descriptions: Vec<Mutex<Descriptions>>,
    failures: Mutex<Vec<LineFailure>>,
    is_over: AtomicBool,
}

/// What is known of the lines of one file, until all of its bands are written.
struct Descriptions {
    /// By variable: what describes the lines of each channel, row by row.
    lines: Vec<Vec<Option<Line>>>,
    failures: Vec<LineFailure>,
    /// Bands to come.
    left: usize,
}

/// What a thread keeps from one band to the next.
#[derive(Default)]
struct Room {
    bytes: Vec<u8>,
    counts: Vec<u16>,
    values: Vec<f32>,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        conversion: &'a Conversion,
        (engine, files): (&'a Engine, &'a [ObjectRef]),
        (arrays, tables, groups): (&'a [VariableArrays], &'a [Tables], Vec<BandGroup>),
        options: &'a WriteOptions<'a>,
        places: &[usize],
    ) -> Result<Work<'a>, Error> {
        let mut objects = Vec::with_capacity(conversion.variables.len());
        for variable in &conversion.variables {
            let [channels, rows] = object_extents(&conversion.cut(variable)?);
            objects.push([memory_len(channels)?, memory_len(rows)?]);
        }
        let parts = |header: &Header| {
            let of = |group: &BandGroup| {
                let variables = group.variables.iter().filter_map(|place| conversion.variables.get(*place));
                let mut channels: Vec<Channel> =
                    variables.flat_map(|variable| variable.channels.iter().copied()).collect();
                channels.sort();
                Parts::new(header, &channels)
            };
            groups.iter().map(of).collect::<Result<Vec<_>, Error>>()
        };
        let parts = conversion.files.iter().map(|(_, header)| parts(header)).collect::<Result<_, _>>()?;
        let lines = conversion.view.grid.rows;
        let jobs = places.iter().flat_map(|place| {
            let of = move |(group, bands): (usize, &BandGroup)| {
                bands.bands(lines).map(move |lines| Job { place: *place, group, lines })
            };
            groups.iter().enumerate().flat_map(of)
        });
        let jobs = jobs.collect();
        let left = conversion.bands_of_file(&groups);
        let descriptions = conversion
            .files
            .iter()
            .map(|_| Mutex::new(Descriptions { lines: Vec::new(), failures: Vec::new(), left }));
        Ok(Work {
            conversion,
            engine,
            files,
            arrays,
            tables,
            options,
            objects,
            parts,
            jobs,
            descriptions: descriptions.collect(),
            groups,
            failures: Mutex::default(),
            is_over: AtomicBool::new(false),
        })
    }

    /// How many threads write: no more than have memory.
    fn threads(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let all = THREAD_BYTES.saturating_mul(storage_len(processors));
        let of_one = self.thread_bytes().max(1);
        let most = usize::try_from(all / of_one).unwrap_or(usize::MAX).max(1);
        processors.min(most).min(self.jobs.len())
    }

    /// Memory that a thread takes at most.
    fn thread_bytes(&self) -> u64 {
        let read = self.parts.iter().flat_map(|parts| parts.iter().zip(&self.groups));
        let read = read.map(|(parts, group)| storage_len(parts.stride()) * u64::from(group.lines)).max();
        let pixel = if self.conversion.quantity == Quantity::Counts { 2 } else { 2 + 4 };
        let written =
            self.conversion.variables.iter().zip(&self.objects).map(|(variable, [channels, rows])| {
                let grid = self.conversion.grid(variable);
                let (most, columns) =
                    grid.map_or((0, 0), |grid| (u64::from(grid.rows), u64::from(grid.columns)));
                let channels = storage_len((*channels).min(variable.channels.len()));
                pixel * channels * storage_len(*rows).min(most) * columns
            });
        read.unwrap_or(0).saturating_add(written.max().unwrap_or(0))
    }

    /// Does what is left, where so many bands are done.
    pub(super) fn run(self, before: usize) -> Result<Vec<LineFailure>, Error> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(before));
        if let (Some(progress), true) = (self.options.progress, before != 0) {
            progress(before);
        }
        let first_error: Mutex<Option<Error>> = Mutex::default();
        let take = || {
            let mut room = Room::default();
            while let Some(job) = self.jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.is_over.load(Ordering::Relaxed) {
                    return;
                }
                if let Err(error) = self.band(job, &mut room) {
                    locked(&first_error).get_or_insert(error);
                    self.is_over.store(true, Ordering::Relaxed);
                    return;
                }
                let count = done.fetch_add(1, Ordering::Relaxed) + 1;
                if let Some(progress) = self.options.progress {
                    progress(count);
                }
            }
        };
        with_helpers(HELPER, self.threads(), |_| take(), take);
        if let Some(error) = first_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        Ok(self.failures.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads, unpacks and writes a band; the last one of a file writes what describes its lines as well.
    fn band(&self, job: &Job, room: &mut Room) -> Result<(), Error> {
        let is_cancelled = || self.options.interrupt.is_some_and(|interrupt| interrupt());
        if is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "the writing was interrupted"));
        }
        let lost = || Error::new(ErrorKind::Internal, "a band of a file that was not given");
        let (number, header) = self.conversion.files.get(job.place).ok_or_else(lost)?;
        let file = self.files.get(*number).ok_or_else(lost)?;
        let parts = self.parts.get(job.place).and_then(|parts| parts.get(job.group)).ok_or_else(lost)?;
        let group = self.groups.get(job.group).ok_or_else(lost)?;
        let poll: &dyn Fn() -> bool = &is_cancelled;
        let run = RunOptions { interrupt: Some(poll), ..RunOptions::default() };
        let memory = (std::mem::take(&mut room.bytes), &run);
        let named = |error: Error| error.with_object(&file.key);
        let band =
            Band::read(self.engine, file, (header, parts), job.lines.clone(), memory).map_err(named)?;
        for variable in &group.variables {
            self.variable(*variable, (header, parts), &band, job, room)?;
        }
        room.bytes = band.into_bytes();
        self.end_band(job.place)
    }

    /// Unpacks the rows of one variable in a band, and writes them, object by object.
    fn variable(
        &self,
        place: usize,
        (header, parts): (&Header, &Parts),
        band: &Band,
        job: &Job,
        room: &mut Room,
    ) -> Result<(), Error> {
        let lost = || Error::new(ErrorKind::Internal, "a variable that has no array");
        let variable = self.conversion.variables.get(place).ok_or_else(lost)?;
        let arrays = self.arrays.get(place).ok_or_else(lost)?;
        let [channels_at_once, rows_at_once] = *self.objects.get(place).ok_or_else(lost)?;
        let thirds = if variable.is_hrv() { HRV_LINES } else { 1 };
        let grid = self.conversion.grid(variable).ok_or_else(lost)?;
        let there = header.channels();
        let north = grid.rows - job.lines.end * thirds;
        let end = grid.rows - job.lines.start * thirds;
        for start in (north..end).step_by(rows_at_once.max(1)) {
            let rows = start..end.min(start.saturating_add(u32::try_from(rows_at_once).unwrap_or(u32::MAX)));
            let pixels = memory_len(u64::from(rows.end - rows.start) * u64::from(grid.columns))?;
            for (number, channels) in variable.channels.chunks(channels_at_once.max(1)).enumerate() {
                if !channels.iter().any(|channel| there.contains(channel)) {
                    continue;
                }
                let first = number * channels_at_once;
                room.counts.resize(pixels * channels.len(), 0);
                let parts_of_room = room.counts.chunks_mut(pixels.max(1));
                for ((index, channel), counts) in (first..).zip(channels).zip(parts_of_room) {
                    if !there.contains(channel) {
                        counts.fill(0);
                        continue;
                    }
                    let target = Target { place: job.place, variable: place, index, channel: *channel };
                    let lines = band.unpack((header, parts), *channel, rows.clone(), counts)?;
                    self.keep(&target, &rows, grid.rows, lines)?;
                }
                let selection = self.selection(variable, job.place, first..first + channels.len(), &rows);
                arrays.pixels.write(&selection, self.pixels(job.place, channels, room, pixels))?;
            }
        }
        Ok(())
    }

    /// What is written of the counts of some channels: them, or what they are calibrated to.
    fn pixels<'r>(&self, place: usize, channels: &[Channel], room: &'r mut Room, pixels: usize) -> &'r [u8] {
        if self.conversion.quantity == Quantity::Counts {
            return bytemuck::cast_slice(&room.counts);
        }
        room.values.clear();
        for (channel, counts) in channels.iter().zip(room.counts.chunks(pixels.max(1))) {
            let table = self.table(place, *channel).unwrap_or_default();
            let value = |count: &u16| table.get(usize::from(*count)).copied().unwrap_or(f32::NAN);
            room.values.extend(counts.iter().map(value));
        }
        bytemuck::cast_slice(&room.values)
    }

    /// Where rows of some channels of an image go.
    fn selection(
        &self,
        variable: &Variable,
        place: usize,
        channels: Range<usize>,
        rows: &Range<u32>,
    ) -> Selection {
        let mut axes = vec![index(self.conversion.first_new_file + place)];
        if !variable.is_hrv() {
            let number = |channel| i64::try_from(channel).unwrap_or(i64::MAX);
            axes.push(AxisSelection::from(number(channels.start)..number(channels.end)));
        }
        axes.push(AxisSelection::from(i64::from(rows.start)..i64::from(rows.end)));
        axes.push(AxisSelection::Ellipsis);
        Selection::new(axes)
    }

    fn table(&self, place: usize, channel: Channel) -> Option<&[f32]> {
        self.tables.get(place)?.get(channel.index())?.as_deref()
    }

    /// Keeps what describes rows, and which of them are damaged.
    ///
    /// # Errors
    ///
    /// `Corrupt` for the first damaged one, where that shall stop the writing.
    fn keep(
        &self,
        target: &Target,
        rows: &Range<u32>,
        of: u32,
        lines: Vec<Result<Line, Damage>>,
    ) -> Result<(), Error> {
        let Some(descriptions) = self.descriptions.get(target.place) else { return Ok(()) };
        let file = self.conversion.files.get(target.place).map_or(0, |(number, _)| *number);
        let mut descriptions = locked(descriptions);
        if descriptions.lines.is_empty() {
            descriptions.lines = self.conversion.variables.iter().map(|_| Vec::new()).collect();
        }
        let channels = self.conversion.variables.get(target.variable).map_or(0, |one| one.channels.len());
        let Descriptions { lines: all, failures, .. } = &mut *descriptions;
        let Some(kept) = all.get_mut(target.variable) else { return Ok(()) };
        kept.resize(channels * of as usize, None);
        for (row, line) in rows.clone().zip(lines) {
            match line {
                Ok(line) => {
                    if let Some(slot) = kept.get_mut(target.index * of as usize + row as usize) {
                        *slot = Some(line);
                    }
                }
                Err(damage) if self.options.on_failure == OnFailure::Stop => {
                    let name = self.files.get(file).map_or("", |file| &*file.key);
                    let what = format!("row {row} of {}: {damage}", target.channel.name());
                    return Err(Error::corrupt(what).with_object(name));
                }
                Err(damage) => failures.push(LineFailure { file, channel: target.channel, row, damage }),
            }
        }
        Ok(())
    }

    /// Writes what describes a file's lines, and says in the journal that it is done, where this was its last band.
    fn end_band(&self, place: usize) -> Result<(), Error> {
        let Some(descriptions) = self.descriptions.get(place) else { return Ok(()) };
        let (lines, mut failures) = {
            let mut descriptions = locked(descriptions);
            descriptions.left = descriptions.left.saturating_sub(1);
            if descriptions.left != 0 {
                return Ok(());
            }
            (std::mem::take(&mut descriptions.lines), std::mem::take(&mut descriptions.failures))
        };
        let time = self.conversion.first_new_file + place;
        for (arrays, lines) in self.arrays.iter().zip(lines) {
            if lines.is_empty() {
                continue;
            }
            let selection = Selection::new(vec![index(time), AxisSelection::Ellipsis]);
            let flags = |array: &Array, pick: fn(&Line) -> u8| {
                let values: Vec<u8> = lines.iter().map(|line| line.as_ref().map_or(NO_LINE, pick)).collect();
                array.write(&selection, &values)
            };
            flags(&arrays.lines.validity, |line| line.validity)?;
            flags(&arrays.lines.radiometric, |line| line.radiometric_quality)?;
            flags(&arrays.lines.geometric, |line| line.geometric_quality)?;
            let acquired = |line: &Option<Line>| line.and_then(|line| line.acquired);
            let times: Vec<i64> = lines
                .iter()
                .map(|line| acquired(line).map_or(NO_TIME, |moment| moment.milliseconds))
                .collect();
            arrays.lines.acquired.write(&selection, bytemuck::cast_slice(&times))?;
        }
        failures.sort_by_key(|failure| (failure.channel, failure.row));
        if let Some(journal) = self.options.journal {
            // Told by its number in the plan: another run may be given the files in another order.
            let told = |failure: &LineFailure| LineFailure { file: time, ..failure.clone() };
            journal.finish(time, &failures.iter().map(told).collect::<Vec<_>>())?;
        }
        locked(&self.failures).append(&mut failures);
        Ok(())
    }
}

/// A channel of a file.
struct Target {
    /// The file's place among those of the conversion.
    place: usize,
    variable: usize,
    /// The channel's place in its variable.
    index: usize,
    channel: Channel,
}

fn index(number: usize) -> AxisSelection {
    AxisSelection::Index(i64::try_from(number).unwrap_or(i64::MAX))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
