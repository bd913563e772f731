//! What a field is of.

/// A parameter, by the numbers of its edition's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// Edition 1: a table, which the centre may define, and an indicator in it.
    Indicator {
        /// Octet 4 of the product definition section.
        table: u8,
        /// Octet 9 of it.
        indicator: u8,
    },
    /// Edition 2: code tables 0.0, 4.1 and 4.2.
    Triple {
        /// Products of which discipline: 0 is meteorology.
        discipline: u8,
        /// The category within it.
        category: u8,
        /// The parameter within that.
        number: u8,
    },
}

/// Which part of an ensemble a field is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ensemble {
    /// None: a forecast of its own, or an analysis.
    None,
    /// One member.
    Member {
        /// Code table 4.6 (0 and 1 are control runs); `None` in edition 1, where centres say it in their own ways.
        kind: Option<u8>,
        /// Its number.
        number: u16,
        /// How many members there are.
        size: u16,
    },
    /// A statistic over members.
    Derived {
        /// Code table 4.7: 0 is the mean, 2 and 3 are standard deviations, 4 is the spread.
        kind: u8,
        /// How many members there are.
        size: u8,
    },
    /// A percentile over members.
    Percentile(u8),
    /// The probability of an event.
    Probability {
        /// Code table 4.9: below the lower limit, above the upper one, between both, ...
        kind: u8,
        /// The lower limit.
        lower: Option<f64>,
        /// The upper limit.
        upper: Option<f64>,
    },
}
