//! Which bytes of a file a part of an image takes.

use super::channel::Channel;
use super::header::Header;
use super::line::LINE_HEAD_BYTES;
use super::placement::Placement;
use super::window::Window;
use crate::{Error, ErrorKind, Span};
use std::ops::Range;
use swath_ioengine::storage_len;

/// A part of a channel's image: rows count from the north, columns from the west, both from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Of which channel.
    pub channel: Channel,
    /// Which rows.
    pub rows: Range<u32>,
    /// Which columns.
    pub columns: Range<u32>,
}

/// What one row takes: the line's description, and a part of its pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowSpans {
    /// What describes the line.
    pub head: Span,
    /// Its pixels; `None` where the channel does not see the region.
    pub pixels: Option<Span>,
}

/// A row of a region: where its line is, and what of it goes where.
pub(super) struct PlannedRow {
    /// The line, from 0 in the south of the channel's image.
    pub(super) line: u32,
    pub(super) packet: Span,
    pub(super) placement: Option<Placement>,
}

impl Header {
    /// The whole image of a channel.
    #[must_use]
    pub fn whole(&self, channel: Channel) -> Region {
        let grid = self.grid(channel);
        Region { channel, rows: 0..grid.rows, columns: 0..grid.columns }
    }

    /// What each row of a region takes of the file, from north to south, which is backwards in the file. Pixels are whole groups
    /// of four.
    ///
    /// # Errors
    ///
    /// `Invalid` where the file does not have the channel, or its image not all of the region; `Unsupported` where the file does
    /// not say which part of the disc the broad channel saw.
    pub fn spans(&self, region: &Region) -> Result<Vec<RowSpans>, Error> {
        let spans = |row: PlannedRow| RowSpans { head: row.head(), pixels: row.pixels() };
        Ok(self.rows(region)?.map(spans).collect())
    }

    /// The rows of a region, from north to south.
    pub(super) fn rows<'a>(
        &'a self,
        region: &'a Region,
    ) -> Result<impl Iterator<Item = PlannedRow> + 'a, Error> {
        self.check(region)?;
        let grid = self.grid(region.channel);
        let columns = memory(region.columns.start)?..memory(region.columns.end)?;
        let whole = memory(grid.columns)?;
        Ok(region.rows.clone().filter_map(move |row| {
            let line = grid.rows - 1 - row;
            let packet = self.layout.packet(region.channel, line)?;
            let placed = self.window(region.channel, line);
            let placement = placed.and_then(|window| {
                let east = window.east.checked_sub(grid.east).and_then(|east| memory(east).ok())?;
                Placement::new(memory(window.width()).ok()?, east, whole, &columns)
            });
            Some(PlannedRow { line, packet, placement })
        }))
    }

    /// What a line is of, in the channel's grid.
    fn window(&self, channel: Channel, line: u32) -> Option<Window> {
        let grid = self.grid(channel);
        let number = grid.south + line;
        if channel == Channel::Hrv {
            return self.windows().iter().find(|window| window.has_line(number)).copied();
        }
        Some(Window { south: number, north: number, east: grid.east, west: grid.east + grid.columns - 1 })
    }

    fn check(&self, region: &Region) -> Result<(), Error> {
        let Region { channel, rows, columns } = region;
        let (name, grid) = (channel.name(), self.grid(*channel));
        let invalid = |what: String| Err(Error::new(ErrorKind::Invalid, what));
        if !self.channels().contains(channel) {
            return invalid(format!("the file does not have {name}"));
        }
        let lies = |range: &Range<u32>, len: u32| range.start <= range.end && range.end <= len;
        if !lies(rows, grid.rows) || !lies(columns, grid.columns) {
            let (rows_max, columns_max) = (grid.rows, grid.columns);
            return invalid(format!(
                "rows {rows:?} and columns {columns:?} of {name}, which has {rows_max} and {columns_max}"
            ));
        }
        if *channel == Channel::Hrv && self.windows().is_empty() {
            return Err(Error::unsupported(
                "the file does not say which columns of the disc lines of HRV are of",
            ));
        }
        Ok(())
    }
}

impl PlannedRow {
    pub(super) fn head(&self) -> Span {
        Span { offset: self.packet.offset, len: u64::from(LINE_HEAD_BYTES) }
    }

    pub(super) fn pixels(&self) -> Option<Span> {
        let octets = &self.placement.as_ref()?.octets;
        let offset = self.head().end() + storage_len(octets.start);
        Some(Span { offset, len: storage_len(octets.len()) })
    }
}

fn memory(number: u32) -> Result<usize, Error> {
    Ok(swath_ioengine::memory_len(u64::from(number))?)
}
