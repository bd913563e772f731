//! A conversion to Zarr.

use super::Journal;
use super::bands::{BandGroup, groups};
use super::calibration::Quantity;
use super::channel::Channel;
use super::conversion::Conversion;
use super::group::Making;
use super::header::Header;
use super::work::{Tables, Work, object_extents};
use crate::nodes::{Expected, create_group};
use crate::{Damage, Error, OnFailure, Piece};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use swath_ioengine::{Engine, ObjectRef};
use swath_zarr_front::{Group, Store};

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
        // A layout that cannot be had is told where it is written.
        let bands = self.groups().map_or(0, |groups| self.bands_of_file(&groups));
        self.images(piece) * bands
    }

    /// Writes the files as a Zarr v3 group at the root of a store: a new one, or behind what it has. `files` are those whose headers
    /// were given, in that order.
    ///
    /// Chunks and shards are those of the [`PixelLayout`](super::PixelLayout); coordinates, times, coefficients and what describes
    /// the lines lie beside them. Metadata is written first, and consolidated last. In memory are, for each thread, as many records
    /// of a file as an object has rows, and an object: by default 17 MB and 5 MB for all channels of a whole disc, with another
    /// 10 MB of calibrated values. Where objects are larger, fewer threads write, so that it is no more than 80 MB for each
    /// processor, or one thread's.
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
        let groups = self.groups()?;
        let mut done = 0;
        for place in self.places(piece) {
            match finished.slabs.get(&(self.first_new_file + place)) {
                Some(before) => {
                    let file = self.files.get(place).map_or(0, |(number, _)| *number);
                    failures.extend(before.iter().map(|failure| LineFailure { file, ..failure.clone() }));
                    done += self.bands_of_file(&groups);
                }
                None => places.push(place),
            }
        }
        let work = Work::new(self, (engine, files), (&arrays, &tables, groups), options, &places)?;
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

    /// Which variables are read and written together, in bands of how many lines.
    fn groups(&self) -> Result<Vec<BandGroup>, Error> {
        let mut variables = Vec::with_capacity(self.variables.len());
        for variable in &self.variables {
            variables.push((variable, object_extents(&self.cut(variable)?)[1]));
        }
        Ok(groups(&variables, self.view.grid.rows))
    }

    /// How many bands a file has, of all groups.
    pub(super) fn bands_of_file(&self, groups: &[BandGroup]) -> usize {
        groups.iter().map(|group| group.bands(self.view.grid.rows).count()).sum()
    }

    /// What counts are, by file and channel.
    fn tables(&self) -> Result<Vec<Tables>, Error> {
        let table = |header: &Header, channel: Channel| {
            let is_there = self.quantity != Quantity::Counts && header.channels().contains(&channel);
            let is_wanted = self.variables.iter().any(|variable| variable.channels.contains(&channel));
            if !is_there || !is_wanted {
                return Ok(None);
            }
            header.calibrated(channel, self.quantity, self.coefficients).map(Some)
        };
        let of = |(_, header): &(usize, Header)| {
            Channel::ALL.into_iter().map(|channel| table(header, channel)).collect()
        };
        self.files.iter().map(of).collect()
    }
}
