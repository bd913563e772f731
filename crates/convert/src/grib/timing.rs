//! When a field is valid.

use super::octets::Octets;
use crate::Error;
use std::fmt;

/// A moment in UTC, as its parts are stored: nothing says that the day exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    /// The year of the Gregorian calendar.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
}

impl DateTime {
    /// Seven octets: year in two, then month to second.
    pub(crate) fn read(octets: Octets<'_>, first: usize) -> Result<DateTime, Error> {
        let [month, day, hour, minute, second] = octets.array(first + 2)?;
        Ok(DateTime { year: octets.u16(first)?, month, day, hour, minute, second })
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DateTime { year, month, day, hour, minute, second } = self;
        write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// How long after its reference time a field is valid: a moment, or an interval that it is a statistic of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The moment, or the interval's beginning.
    pub start: Duration,
    /// The interval's length.
    pub interval: Option<Duration>,
    /// What was done with the values of the interval: code table 4.10 of edition 2 (0 average, 1 accumulation, 2 maximum, 3
    /// minimum, ...); edition 1's time range indicators are told by the same numbers.
    pub statistic: Option<u8>,
}

/// A number of units of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration {
    /// How many; before the reference time where it is negative.
    pub count: i64,
    /// Of what.
    pub unit: TimeUnit,
}

impl Duration {
    /// The same in seconds, where the unit always has as many.
    #[must_use]
    pub fn seconds(self) -> Option<i64> {
        self.unit.seconds()?.checked_mul(self.count)
    }
}

impl Step {
    /// Seconds from the reference time to the interval's end, or to the moment, where the units always have as many.
    #[must_use]
    pub fn end_seconds(&self) -> Option<i64> {
        let start = self.start.seconds()?;
        match self.interval {
            Some(interval) => start.checked_add(interval.seconds()?),
            None => Some(start),
        }
    }
}

/// Units of time: code table 4 of both editions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// So many seconds.
    Seconds(u32),
    /// So many months of the calendar.
    Months(u32),
    /// A code that is none of the table's.
    Unknown(u8),
}

impl TimeUnit {
    /// The unit of a code of edition 2.
    pub(crate) fn of_edition2(code: u8) -> TimeUnit {
        match code {
            13 => TimeUnit::Seconds(1),
            code => TimeUnit::common(code),
        }
    }

    /// The unit of a code of edition 1.
    pub(crate) fn of_edition1(code: u8) -> TimeUnit {
        match code {
            13 => TimeUnit::Seconds(900),
            14 => TimeUnit::Seconds(1800),
            254 => TimeUnit::Seconds(1),
            code => TimeUnit::common(code),
        }
    }

    fn common(code: u8) -> TimeUnit {
        match code {
            0 => TimeUnit::Seconds(60),
            1 => TimeUnit::Seconds(3600),
            2 => TimeUnit::Seconds(86_400),
            3 => TimeUnit::Months(1),
            4 => TimeUnit::Months(12),
            5 => TimeUnit::Months(120),
            6 => TimeUnit::Months(360),
            7 => TimeUnit::Months(1200),
            10 => TimeUnit::Seconds(3 * 3600),
            11 => TimeUnit::Seconds(6 * 3600),
            12 => TimeUnit::Seconds(12 * 3600),
            code => TimeUnit::Unknown(code),
        }
    }

    /// Seconds of one unit, where it always has as many.
    #[must_use]
    pub fn seconds(self) -> Option<i64> {
        match self {
            TimeUnit::Seconds(seconds) => Some(i64::from(seconds)),
            TimeUnit::Months(_) | TimeUnit::Unknown(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_end_where_their_interval_does() {
        let hours = |count| Duration { count, unit: TimeUnit::of_edition2(1) };
        let step = |interval| Step { start: hours(6), interval, statistic: None };
        assert_eq!(step(None).end_seconds(), Some(21_600));
        assert_eq!(step(Some(hours(3))).end_seconds(), Some(32_400));
        let months = Duration { count: 1, unit: TimeUnit::of_edition1(3) };
        assert_eq!(step(Some(months)).end_seconds(), None);
        assert_eq!(hours(i64::MAX).seconds(), None);
    }

    #[test]
    fn a_moment_prints_as_iso_8601() -> Result<(), Error> {
        let octets = Octets::new(&[0x07, 0xe3, 3, 1, 12, 0, 5], "test");
        assert_eq!(DateTime::read(octets, 1)?.to_string(), "2019-03-01T12:00:05Z");
        Ok(())
    }
}
