//! The trailer: what became of the plan that the header has.

use super::moment::Moment;
use super::record::Record;
use super::window::Window;
use crate::Error;

/// Octets of the trailer that are read: its packet's headers, its version, and the statistics of the image's production.
pub(super) const TRAILER_BYTES: u64 = 379;

/// How an image was scanned, as the trailer tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// When the scan began; `None` where the file does not say.
    pub start: Option<Moment>,
    /// When it ended.
    pub end: Option<Moment>,
    /// Whether it was of a part of the disc, every five minutes.
    pub is_rapid: bool,
    /// What the broad channel was seen of: the lower window, and the upper one where there are two.
    pub(super) windows: Vec<Window>,
}

impl Scan {
    /// Takes the beginning of a trailer apart.
    ///
    /// # Errors
    ///
    /// `Corrupt` where it is too short.
    pub(super) fn read(record: &Record<'_>) -> Result<Scan, Error> {
        Ok(Scan {
            start: Moment::read(record, 43)?,
            end: Moment::read(record, 49)?,
            is_rapid: record.u8(42)? == 1,
            windows: Window::read_pair(record, 347)?,
        })
    }
}
