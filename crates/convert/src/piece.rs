//! Conversions in parts that are carried out apart.

use crate::{Error, ErrorKind};

/// One of several parts of a plan that are carried out apart: they write different objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    number: usize,
    count: usize,
}

impl Piece {
    /// All of a plan.
    pub const WHOLE: Piece = Piece { number: 0, count: 1 };

    /// The piece of this number, from 0, of so many.
    ///
    /// # Errors
    ///
    /// `Invalid` where there is no such piece.
    pub fn new(number: usize, count: usize) -> Result<Piece, Error> {
        if number < count {
            return Ok(Piece { number, count });
        }
        Err(Error::new(ErrorKind::Invalid, format!("piece {number} of {count}: wanted 0 to {count} less 1")))
    }

    /// Whether this is the first one, which writes what is of no part.
    pub(crate) fn is_first(self) -> bool {
        self.number == 0
    }

    /// Whether what lies at a place, of as many as there are, is one of its: it has an even share of them.
    pub(crate) fn takes(self, place: usize, of: usize) -> bool {
        (place.saturating_mul(self.count) / of.max(1)).min(self.count - 1) == self.number
    }
}
