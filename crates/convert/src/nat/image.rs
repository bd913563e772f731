//! A part of a channel's image, read from its file.

use super::channel::Channel;
use super::header::Header;
use super::line::Line;
use super::plan::{PlannedRow, Region};
use super::record::Record;
use crate::{Damage, DamageKind, Error, ErrorKind, Span};
use std::sync::{Mutex, PoisonError};
use swath_ioengine::{ByteRange, Engine, ObjectRef, RangeRead, RunOptions, memory_len};

/// Counts of a region, and what the file says of its lines. Rows run from north to south, columns from west to east.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Counts up to 1023, row by row; 0 where there are no data: what was not seen, what the broad channel does not see, and
    /// rows whose lines are damaged.
    pub counts: Vec<u16>,
    /// What describes each row's line; `None` where it is damaged.
    pub lines: Vec<Option<Line>>,
    /// Lines that are not as they should be, or could not be read.
    pub damages: Vec<Damage>,
}

/// A row that is being filled: its memory, and what came of its two reads.
struct Row<'m> {
    target: &'m mut [u16],
    line: Option<Line>,
    damage: Option<Damage>,
}

impl Header {
    /// Reads a region, as one batch of the engine: of each row what describes it, and the pixels. Lines that are damaged, or
    /// that the file has no more, are told and are zeros.
    ///
    /// In memory is the image, and the engine's reads.
    ///
    /// # Errors
    ///
    /// As [`spans`](Self::spans); those of the storage, which fail the whole image.
    pub fn read_region(&self, engine: &Engine, file: &ObjectRef, region: &Region) -> Result<Image, Error> {
        let planned: Vec<PlannedRow> = self.rows(region)?.collect();
        let columns = memory_len(u64::from(region.columns.end - region.columns.start))?;
        let mut counts = vec![0; planned.len() * columns];
        // Rows of no columns have memory too.
        let mut targets = counts.chunks_mut(columns.max(1));
        let rows: Vec<Mutex<Row<'_>>> = planned
            .iter()
            .map(|_| Mutex::new(Row { target: targets.next().unwrap_or_default(), line: None, damage: None }))
            .collect();
        let (reads, places) = reads(&planned);
        let fatal = Mutex::new(None);
        let take = |number: usize, result: Result<&[u8], swath_ioengine::Error>| {
            let Some((place, part)) = places.get(number) else { return };
            let (Some(row), Some(planned)) = (rows.get(*place), planned.get(*place)) else { return };
            let mut row = row.lock().unwrap_or_else(PoisonError::into_inner);
            let mut kind = DamageKind::Corrupt;
            let taken = match result {
                Ok(bytes) => self.take(region.channel, planned, *part, bytes, &mut row),
                Err(error) => {
                    kind = DamageKind::Truncated;
                    Err(Error::from(error))
                }
            };
            match taken {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    row.damage.get_or_insert_with(|| planned.damage(*part, kind, &error));
                }
                Err(error) => {
                    fatal.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
        };
        engine.read_ranges(std::slice::from_ref(file), &reads, take, &RunOptions::default())?;
        if let Some(error) = fatal.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error.with_object(&file.key));
        }
        let (mut lines, mut damages) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in rows {
            let row = row.into_inner().unwrap_or_else(PoisonError::into_inner);
            if let Some(damage) = row.damage {
                row.target.fill(0);
                damages.push(damage);
                lines.push(None);
            } else {
                lines.push(row.line);
            }
        }
        Ok(Image { rows: planned.len(), columns, counts, lines, damages })
    }

    fn take(
        &self,
        channel: Channel,
        planned: &PlannedRow,
        part: Part,
        bytes: &[u8],
        row: &mut Row<'_>,
    ) -> Result<(), Error> {
        match (part, &planned.placement) {
            (Part::Head, _) => row.line = Some(self.line(channel, planned.line, planned.packet, bytes)?),
            (Part::Pixels, Some(placement)) => placement.unpack(bytes, row.target),
            (Part::Pixels, None) => {}
        }
        Ok(())
    }

    /// Takes the head of a line apart, which must be the one that is wanted there.
    pub(super) fn line(&self, channel: Channel, line: u32, packet: Span, head: &[u8]) -> Result<Line, Error> {
        let record = Record::new(head, packet.offset, "line");
        let octets = if channel == Channel::Hrv { self.layout.hrv_octets } else { Some(self.layout.octets) };
        let found = Line::read(&record, channel, octets.unwrap_or(0))?;
        match self.line_number(channel, line) {
            Some(wanted) if wanted != found.number => {
                let what = format!("wanted line {wanted}, found {}", found.number);
                Err(record.corrupt(51, &what))
            }
            _ => Ok(found),
        }
    }
}

/// Which part of a line a read is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Head,
    Pixels,
}

impl PlannedRow {
    fn damage(&self, part: Part, kind: DamageKind, error: &Error) -> Damage {
        let span = if part == Part::Head { self.head() } else { self.pixels().unwrap_or(self.packet) };
        Damage { span, kind, message: error.message().to_owned() }
    }
}

/// The reads of rows, and which row and part each is of.
fn reads(planned: &[PlannedRow]) -> (Vec<RangeRead>, Vec<(usize, Part)>) {
    let range = |span: Span| ByteRange::Bounded { offset: span.offset, len: span.len };
    let of_row = |(number, row): (usize, &PlannedRow)| {
        let parts = [(Some(row.head()), Part::Head), (row.pixels(), Part::Pixels)];
        parts.map(|(span, part)| Some((RangeRead { object: 0, range: range(span?) }, (number, part))))
    };
    planned.iter().enumerate().flat_map(of_row).flatten().unzip()
}
