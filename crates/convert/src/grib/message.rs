//! A message of either edition, taken apart as its bytes come.

use super::field::{Field, Span};
use super::grid::Grid;
use super::reading::{Reading, Stop};
use super::{Octets, edition1, edition2};
use crate::Error;
use std::sync::Arc;

/// What every message begins with.
pub(crate) const MAGIC: &[u8] = b"GRIB";

/// Octets that tell edition and length.
pub(crate) const INDICATOR_LEN: usize = 16;

/// Octets of a section that is read whole. The largest of real files are those of reduced grids and of model levels, some tens
/// of thousands.
pub(crate) const SECTION_LEN_MAX: usize = 1 << 20;

/// A message under way.
pub(crate) enum Message {
    /// Of edition 1.
    One(edition1::Message),
    /// Of edition 2.
    Two(edition2::Message),
}

impl Message {
    /// The message that an indicator section begins.
    ///
    /// # Errors
    ///
    /// `Unsupported` for an edition that is neither 1 nor 2, `Corrupt` for a length that no message has.
    pub(crate) fn begin(offset: u64, indicator: &[u8]) -> Result<Message, Error> {
        let octets = Octets::new(indicator, "indicator");
        match octets.u8(8)? {
            1 => edition1::Message::begin(offset, octets).map(Message::One),
            2 => edition2::Message::begin(offset, octets).map(Message::Two),
            other => Err(Error::unsupported(format!("GRIB edition {other}"))),
        }
    }

    /// Where it is, as far as its indicator says.
    pub(crate) fn span(&self) -> Span {
        match self {
            Message::One(message) => message.span(),
            Message::Two(message) => message.span(),
        }
    }

    /// Goes on to the message's end, and returns its fields there.
    ///
    /// # Errors
    ///
    /// What is wanted next, or what is wrong.
    pub(crate) fn advance(
        &mut self,
        reading: Reading<'_>,
        grids: &mut GridCache,
    ) -> Result<Vec<Field>, Stop> {
        match self {
            Message::One(message) => message.advance(reading, grids),
            Message::Two(message) => message.advance(reading, grids),
        }
    }
}

/// The fields of one message that is in memory, and places from its beginning on. Of bytes that end behind a field of a message of
/// edition 2, not behind the message, these are the fields up to there.
///
/// # Errors
///
/// `Corrupt` where the bytes are no sound message, or end within a section; `Unsupported` for an edition that is neither 1 nor 2.
pub(crate) fn fields(bytes: &[u8]) -> Result<Vec<Field>, Error> {
    let found = swath_ioengine::storage_len(bytes.len());
    let indicator = bytes.get(..INDICATOR_LEN).filter(|indicator| indicator.starts_with(MAGIC));
    let indicator = indicator.ok_or_else(|| {
        let start = bytes.get(..bytes.len().min(MAGIC.len())).unwrap_or_default().escape_ascii();
        Error::corrupt(format!(
            "wanted a message, which begins with GRIB, found {found} bytes that begin with {start}"
        ))
    })?;
    let mut message = Message::begin(0, indicator)?;
    match message.advance(Reading::new(0, bytes), &mut GridCache::default()) {
        Ok(fields) => Ok(fields),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Wants(wanted)) => {
            let fields =
                if let Message::Two(message) = &mut message { message.take_fields() } else { Vec::new() };
            let is_behind_field = fields.last().is_some_and(|last| last.place.data.end() == found);
            if is_behind_field && wanted.offset == found {
                return Ok(fields);
            }
            let Span { len, .. } = message.span();
            Err(Error::corrupt(format!("the message has {len} bytes, found {found} of them")))
        }
    }
}

/// The last grid: as a rule, all messages of a file have the same, and share it then.
#[derive(Default)]
pub(crate) struct GridCache {
    section: Vec<u8>,
    grid: Option<Arc<Grid>>,
}

impl GridCache {
    /// The grid of a section, which `read` makes where it is not the last one.
    pub(crate) fn grid(
        &mut self,
        section: &[u8],
        read: impl FnOnce(Octets<'_>) -> Result<Grid, Error>,
    ) -> Result<Arc<Grid>, Error> {
        if let Some(grid) = self.grid.as_ref().filter(|_| self.section == section) {
            return Ok(Arc::clone(grid));
        }
        let grid = Arc::new(read(Octets::new(section, "grid definition"))?);
        self.section.clear();
        self.section.extend_from_slice(section);
        self.grid = Some(Arc::clone(&grid));
        Ok(grid)
    }
}
