//! One field of a message, and what a walk through a file comes upon.

use super::grid::Grid;
use super::level::Level;
use super::packing::Packing;
use super::product::{Ensemble, Parameter};
use super::timing::{DateTime, Step};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Bytes of a file: the first, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// Bytes before the first.
    pub offset: u64,
    /// Number of bytes.
    pub len: u64,
}

impl Span {
    /// Bytes before the first behind these.
    #[must_use]
    pub fn end(self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}

/// One field: what it is of, when and where, and where its values lie in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The message that it is in.
    pub message: Span,
    /// Its number in the message, from 0: a message of edition 2 may have several.
    pub number: u32,
    /// 1 or 2.
    pub edition: u8,
    /// Who made it, by common code table C-11 (or C-1).
    pub centre: u16,
    /// Which part of that centre.
    pub subcentre: u16,
    /// What was observed or forecast.
    pub parameter: Parameter,
    /// At which height, pressure, depth, ...; `None` where swath does not know the product template.
    pub level: Option<Level>,
    /// The reference time: as a rule, when the forecast began.
    pub time: DateTime,
    /// How long after that it is valid; `None` where swath does not know the product template.
    pub step: Option<Step>,
    /// Which member of an ensemble, or which statistic of one.
    pub ensemble: Ensemble,
    /// Where its points are.
    pub grid: Arc<Grid>,
    /// How its values are packed.
    pub packing: Packing,
    /// Whether points may be missing.
    pub bitmap: Bitmap,
    /// Where bitmap and values lie in the file.
    pub place: DataPlace,
}

/// Which points have values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bitmap {
    /// All.
    None,
    /// Those whose bit is set in [`DataPlace::bitmap`].
    Stored,
    /// Those of a bitmap of this number, which the centre keeps and the file does not have.
    Predefined(u16),
}

/// Where the bits of a field lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPlace {
    /// The bits of the bitmap, without the section's head. Fields of a message may share it.
    pub bitmap: Option<Span>,
    /// The packed values, without the section's head.
    pub data: Span,
}

/// What a walk through a file comes upon.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A field of a message that is whole.
    Field(Box<Field>),
    /// Bytes that are no sound message.
    Damage(Damage),
}

/// Bytes of a file that are no sound message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// Where they are.
    pub span: Span,
    /// What sort of damage.
    pub kind: DamageKind,
    /// What was wanted and what was found.
    pub message: String,
}

/// What is wrong with some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DamageKind {
    /// The file ends before the message does.
    Truncated,
    /// The message contradicts its format.
    Corrupt,
    /// The message is of a kind that swath does not know.
    Unsupported,
    /// Bytes between messages, other than zeros.
    Stray,
    /// The bytes could not be read.
    Unread,
}

impl DamageKind {
    /// The kind in one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            DamageKind::Truncated => "truncated",
            DamageKind::Corrupt => "corrupt",
            DamageKind::Unsupported => "unsupported",
            DamageKind::Stray => "stray",
            DamageKind::Unread => "unread",
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { offset, len } = self.span;
        write!(out, "{len} bytes at {offset}: {}: {}", self.kind.word(), self.message)
    }
}
