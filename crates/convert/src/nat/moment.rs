//! Times as the format has them.

use super::record::Record;
use crate::Error;
use serde::{Deserialize, Serialize};

/// Days from the beginning of 1958, which all times count from, to that of 1970.
const DAYS_TO_1970: i64 = 4383;

/// Milliseconds of a day.
const DAY_MILLISECONDS: i64 = 86_400_000;

/// A moment in UTC, to the millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since the beginning of 1970, without leap seconds.
    pub milliseconds: i64,
}

impl Moment {
    /// Six octets: the day, and the millisecond of the day. `None` where all are zeros, which stands for no time. Longer times
    /// begin with the same octets; their microseconds are dropped.
    pub(super) fn read(record: &Record<'_>, at: usize) -> Result<Option<Moment>, Error> {
        let (day, millisecond) = (i64::from(record.u16(at)?), i64::from(record.u32(at + 2)?));
        if day == 0 && millisecond == 0 {
            return Ok(None);
        }
        Ok(Some(Moment { milliseconds: (day - DAYS_TO_1970) * DAY_MILLISECONDS + millisecond }))
    }

    /// The nearest multiple of some minutes, by the seconds that have passed wholly; the later one half way.
    #[must_use]
    pub fn nearest(self, minutes: i64) -> Moment {
        let step = minutes.max(1) * 60;
        let seconds = self.milliseconds.div_euclid(1000);
        Moment { milliseconds: (seconds + step / 2).div_euclid(step) * step * 1000 }
    }

    /// Whole seconds since the beginning of 1970.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.milliseconds.div_euclid(1000)
    }

    /// Days since noon of the first of January 2000, with their fraction.
    pub(super) fn days_since_2000(self) -> f64 {
        /// Milliseconds from 1970 to that noon.
        const NOON_OF_2000: i64 = 946_728_000_000;
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of some centuries are far below 2^53")]
        let days = (self.milliseconds - NOON_OF_2000) as f64 / 86_400_000.0;
        days
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_1958() -> Result<(), Error> {
        let octets = [0x59, 0xf0, 0x02, 0xb1, 0x77, 0x2c, 0, 0, 0, 0, 0, 0];
        let record = Record::new(&octets, 0, "test");
        // 23,024 days are those to the fourteenth of January 2021.
        let moment = Moment::read(&record, 0)?.map(Moment::seconds);
        assert_eq!(moment, Some(1_610_582_400 + 0x02b1_772c / 1000));
        assert_eq!(Moment::read(&record, 6)?, None);
        Ok(())
    }

    #[test]
    fn repeat_cycles_begin_at_the_nearest_quarter() {
        let nearest = |seconds: i64, minutes| Moment { milliseconds: seconds * 1000 + 999 }.nearest(minutes);
        let seconds = [10, 449, 450, 899, 901].map(|seconds| nearest(seconds, 15).seconds());
        assert_eq!(seconds, [0, 0, 900, 900, 900]);
        assert_eq!(nearest(-451, 15).seconds(), -900);
        assert_eq!(nearest(151, 5).seconds(), 300);
    }

    #[test]
    fn days_are_those_of_astronomers() {
        let days = |milliseconds| Moment { milliseconds }.days_since_2000();
        assert_eq!(days(946_728_000_000 + 43_200_000), 0.5);
    }
}
