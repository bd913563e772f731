//! A conversion to Zarr.

use super::band::{Band, Parts};
use super::calibration::Quantity;
use super::channel::Channel;
use super::conversion::{Conversion, Variable};
use super::group::{BAND_ROWS, NO_LINE, NO_TIME, VariableArrays};
use super::header::Header;
use super::layout::HRV_LINES;
use super::line::Line;
use super::{Journal, group::Making};
use crate::nodes::{Expected, create_group};
use crate::{Damage, Error, ErrorKind, OnFailure, Piece};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use swath_ioengine::{Engine, ObjectRef, RunOptions, memory_len};
use swath_zarr_front::{Array, AxisSelection, Group, Selection, Store};

/// How a conversion is written.
#[derive(Clone, Copy, Default)]
pub struct WriteOptions<'a> {
    /// Told after each band of a file's lines how many are done.
    pub progress: Option<&'a (dyn Fn(usize) + Sync)>,
    /// Asked before each band; true ends the writing.
    pub interrupt: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// The part of the files to write; all of them where it is `None`. Pieces may be written at the same time, by other processes
    /// or machines too: they write different objects, and the same metadata.
    pub piece: Option<Piece>,
    /// Where the files that are done are told. What it says is done is not done again, so that a run that was killed goes on.
    pub journal: Option<&'a Journal>,
    /// What becomes of the rest where a line is damaged.
    pub on_failure: OnFailure,
}

/// A line that is not in the group as it should be: its row holds the fill value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineFailure {
    /// The number of its file, among those that were given.
    pub file: usize,
    /// Its channel.
    pub channel: Channel,
    /// Its row, from 0 in the north.
    pub row: u32,
    /// Where in the file, and why.
    pub damage: Damage,
}

impl Conversion {
    /// How many files a piece has.
    #[must_use]
    pub fn images(&self, piece: Piece) -> usize {
        self.places(piece).count()
    }

    /// How many steps [`write`](Self::write) tells its progress in for a piece: bands of each file's lines.
    #[must_use]
    pub fn steps(&self, piece: Piece) -> usize {
        self.places(piece).map(|place| self.bands_of(place)).sum()
    }

    /// Writes the files as a Zarr v3 group at the root of a store: a new one, or behind what it has. `files` are those whose headers
    /// were given, in that order.
    ///
    /// Shards are 232 rows of one channel at one time, of chunks of 232 columns; coordinates, times, coefficients and what
    /// describes the lines lie beside them. Metadata is written first, and consolidated last. In memory are, for each thread, 232
    /// records of a file and a shard: 17 MB and 5 MB for all channels of a whole disc, with another 10 MB of calibrated
    /// values.
    ///
    /// Lines that are damaged, or that their file has no more, do not stop others, unless that is wanted: they are returned.
    ///
    /// # Errors
    ///
    /// Those of the store and of the journal: a node is there already, or it cannot be written to; those of the files' storage;
    /// those of [`Header::calibrated`]. `Cancelled` where the interrupt said so. `Corrupt` for a damaged line that shall stop the
    /// writing.
    pub fn write(
        &self,
        engine: &Engine,
        files: &[ObjectRef],
        store: &Store,
        options: &WriteOptions<'_>,
    ) -> Result<Vec<LineFailure>, Error> {
        let piece = options.piece.unwrap_or(Piece::WHOLE);
        let finished = options.journal.map(Journal::finished).transpose()?.unwrap_or_default();
        let is_alone = options.piece.is_none() && options.journal.is_none() && self.first_new_file == 0;
        let expected = if is_alone { Expected::Nothing } else { Expected::SamePlan };
        let tables = self.tables()?;
        let mut attributes = Map::new();
        attributes.insert("Conventions".to_owned(), json!("CF-1.11"));
        attributes.insert("source".to_owned(), json!("SEVIRI Level 1.5"));
        create_group(store, "", &attributes, expected)?;
        let making = Making { store, expected, is_first: piece.is_first() };
        self.write_coordinates(&making)?;
        let arrays = self
            .variables
            .iter()
            .map(|variable| self.create(variable, &making))
            .collect::<Result<Vec<_>, _>>()?;
        let mut failures = Vec::new();
        let mut places = Vec::new();
        let mut done = 0;
        for place in self.places(piece) {
            match finished.slabs.get(&(self.first_new_file + place)) {
                Some(before) => {
                    let file = self.files.get(place).map_or(0, |(number, _)| *number);
                    failures.extend(before.iter().map(|failure| LineFailure { file, ..failure.clone() }));
                    done += self.bands_of(place);
                }
                None => places.push(place),
            }
        }
        let work = Work::new(self, engine, files, &arrays, &tables, options, &places)?;
        failures.extend(work.run(done)?);
        Group::open_in(store, "")?.consolidate()?;
        failures.sort_by_key(|failure| (failure.file, failure.channel, failure.row));
        Ok(failures)
    }

    /// The places of a piece's files.
    fn places(&self, piece: Piece) -> impl Iterator<Item = usize> + use<> {
        let count = self.files.len();
        (0..count).filter(move |place| piece.takes(*place, count))
    }

    fn bands_of(&self, place: usize) -> usize {
        self.files.get(place).map_or(0, |(_, header)| bands(header).count())
    }

    /// What counts are, by file and channel.
    fn tables(&self) -> Result<Vec<Vec<Option<Vec<f32>>>>, Error> {
        let table = |header: &Header, channel: Channel| {
            let is_there = self.quantity != Quantity::Counts && header.channels().contains(&channel);
            let is_wanted = self.variables.iter().any(|variable| variable.channels.contains(&channel));
            if !is_there || !is_wanted {
                return Ok(None);
            }
            header.calibrated(channel, self.quantity).map(Some)
        };
        let of = |(_, header): &(usize, Header)| {
            Channel::ALL.into_iter().map(|channel| table(header, channel)).collect()
        };
        self.files.iter().map(of).collect()
    }
}

/// Lines of a file, from the north, that are written together: whole shards. Each is of lines from 0 in the south.
fn bands(header: &Header) -> impl Iterator<Item = Range<u32>> + use<> {
    let lines = header.layout.lines;
    (0..lines.div_ceil(BAND_ROWS)).map(move |band| {
        let north = band * BAND_ROWS;
        let end = lines - north;
        end.saturating_sub(BAND_ROWS)..end
    })
}

/// A band of a file, by the file's place in the conversion.
struct Job {
    place: usize,
    lines: Range<u32>,
}

struct Work<'a> {
    conversion: &'a Conversion,
    engine: &'a Engine,
    files: &'a [ObjectRef],
    arrays: &'a [VariableArrays],
    tables: &'a [Vec<Option<Vec<f32>>>],
    options: &'a WriteOptions<'a>,
    /// By the files' places: what of their records is read.
    parts: Vec<Parts>,
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
    fn new(
        conversion: &'a Conversion,
        engine: &'a Engine,
        files: &'a [ObjectRef],
        arrays: &'a [VariableArrays],
        tables: &'a [Vec<Option<Vec<f32>>>],
        options: &'a WriteOptions<'a>,
        places: &[usize],
    ) -> Result<Work<'a>, Error> {
        let channels: Vec<Channel> =
            conversion.variables.iter().flat_map(|variable| variable.channels.iter().copied()).collect();
        let headers = || conversion.files.iter().map(|(_, header)| header);
        let parts = headers().map(|header| {
            let mut there = channels.clone();
            there.sort();
            Parts::new(header, &there)
        });
        let jobs = places.iter().filter_map(|place| Some((*place, &conversion.files.get(*place)?.1)));
        let jobs = jobs.flat_map(|(place, header)| bands(header).map(move |lines| Job { place, lines }));
        let descriptions = headers().map(|header| {
            let left = bands(header).count();
            Mutex::new(Descriptions { lines: Vec::new(), failures: Vec::new(), left })
        });
        Ok(Work {
            conversion,
            engine,
            files,
            arrays,
            tables,
            options,
            parts: parts.collect::<Result<_, _>>()?,
            jobs: jobs.collect(),
            descriptions: descriptions.collect(),
            failures: Mutex::default(),
            is_over: AtomicBool::new(false),
        })
    }

    /// Does what is left, where so many bands are done.
    fn run(self, before: usize) -> Result<Vec<LineFailure>, Error> {
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
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 1..processors.min(self.jobs.len()) {
                scope.spawn(take);
            }
            take();
        });
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
        let parts = self.parts.get(job.place).ok_or_else(lost)?;
        let poll: &dyn Fn() -> bool = &is_cancelled;
        let run = RunOptions { interrupt: Some(poll), ..RunOptions::default() };
        let memory = (std::mem::take(&mut room.bytes), &run);
        let named = |error: Error| error.with_object(&file.key);
        let band =
            Band::read(self.engine, file, (header, parts), job.lines.clone(), memory).map_err(named)?;
        for (place, variable) in self.conversion.variables.iter().enumerate() {
            for (index, channel) in variable.channels.iter().enumerate() {
                if header.channels().contains(channel) {
                    let target = Target { place: job.place, variable: place, index, channel: *channel };
                    self.channel(&target, (header, parts), &band, job, room)?;
                }
            }
        }
        room.bytes = band.into_bytes();
        self.end_band(job.place)
    }

    /// Unpacks the rows of one channel in a band, and writes them.
    fn channel(
        &self,
        target: &Target,
        (header, parts): (&Header, &Parts),
        band: &Band,
        job: &Job,
        room: &mut Room,
    ) -> Result<(), Error> {
        let thirds = if target.channel == Channel::Hrv { HRV_LINES } else { 1 };
        let grid = header.grid(target.channel);
        let north = grid.rows - job.lines.end * thirds;
        let end = grid.rows - job.lines.start * thirds;
        for start in (north..end).step_by(BAND_ROWS as usize) {
            let rows = start..end.min(start + BAND_ROWS);
            let pixels = memory_len(u64::from(rows.end - rows.start) * u64::from(grid.columns))?;
            room.counts.resize(pixels, 0);
            let lines = band.unpack((header, parts), target.channel, rows.clone(), &mut room.counts)?;
            self.keep(target, &rows, grid.rows, lines)?;
            let Some(arrays) = self.arrays.get(target.variable) else { continue };
            let bytes: &[u8] = match self.table(target) {
                None => bytemuck::cast_slice(&room.counts),
                Some(table) => {
                    let value = |count: &u16| table.get(usize::from(*count)).copied().unwrap_or(f32::NAN);
                    room.values.clear();
                    room.values.extend(room.counts.iter().map(value));
                    bytemuck::cast_slice(&room.values)
                }
            };
            arrays.pixels.write(&target.selection(Some(rows), self.conversion), bytes)?;
        }
        Ok(())
    }

    fn table(&self, target: &Target) -> Option<&[f32]> {
        self.tables.get(target.place)?.get(target.channel.index())?.as_deref()
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

/// Where the pixels of a channel at one time go.
struct Target {
    /// The file's place among those of the conversion.
    place: usize,
    variable: usize,
    /// The channel's place in its variable.
    index: usize,
    channel: Channel,
}

impl Target {
    fn selection(&self, rows: Option<Range<u32>>, conversion: &Conversion) -> Selection {
        let has_channels =
            conversion.variables.get(self.variable).is_some_and(|variable: &Variable| !variable.is_hrv());
        let mut axes = vec![index(conversion.first_new_file + self.place)];
        if has_channels {
            axes.push(index(self.index));
        }
        axes.extend(rows.map(|rows| AxisSelection::from(i64::from(rows.start)..i64::from(rows.end))));
        axes.push(AxisSelection::Ellipsis);
        Selection::new(axes)
    }
}

fn index(number: usize) -> AxisSelection {
    AxisSelection::Index(i64::try_from(number).unwrap_or(i64::MAX))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
