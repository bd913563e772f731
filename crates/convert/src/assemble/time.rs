//! Moments as seconds.

use crate::{DateTime, Error};

/// Seconds from the beginning of 1970 to a moment, by the Gregorian calendar.
///
/// # Errors
///
/// `Corrupt` where there is no such day or hour.
pub(super) fn epoch_seconds(time: DateTime) -> Result<i64, Error> {
    let DateTime { year, month, day, hour, minute, second } = time;
    let is_time = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    // A leap second is the first one of the next minute.
    if !is_time || 23 < hour || 59 < minute || 60 < second {
        return Err(Error::corrupt(format!("a reference time of {time}, and there is none such")));
    }
    // Years begin with March, so that leap days are last: the days before each month follow one formula.
    let year = i64::from(year) - i64::from(month <= 2);
    let month = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year;
    /// Days from March of year 0 to January of 1970.
    const DAYS_TO_1970: i64 = 719_468;
    Ok((days - DAYS_TO_1970) * 86_400 + i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second))
}

fn days_of(year: u16, month: u8) -> u8 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_those_of_the_calendar() {
        let seconds = |year, month, day, hour| {
            epoch_seconds(DateTime { year, month, day, hour, minute: 0, second: 0 }).ok()
        };
        assert_eq!(seconds(1970, 1, 1, 0), Some(0));
        assert_eq!(seconds(2000, 2, 29, 12), Some(951_825_600));
        assert_eq!(seconds(2019, 3, 1, 6), Some(1_551_420_000));
        assert_eq!(seconds(1969, 12, 31, 23), Some(-3600));
        assert_eq!(
            (seconds(1900, 2, 29, 0), seconds(2019, 13, 1, 0), seconds(2019, 1, 0, 0)),
            (None, None, None)
        );
    }
}
