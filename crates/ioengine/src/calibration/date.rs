//! Today's date, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// As `2026-11-21`. A clock before 1970 counts as that year's first day.
pub(super) fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(now.as_secs() / 86_400)
}

/// True for four, two and two digits with dashes between them.
pub(super) fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(place, byte)| match place {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// The Gregorian date of a day since 1970-01-01 (Howard Hinnant, "chrono-compatible low-level date algorithms", 2013).
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Years start in March here.
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calibration_dates_are_gregorian() {
        assert_eq!([date(0), date(59), date(11_016)], ["1970-01-01", "1970-03-01", "2000-02-29"]);
        assert_eq!(date(20_778), "2026-11-21");
        assert!(is_date(&today()));
        assert!(!is_date("2026-1-211") && !is_date("") && !is_date("2026-11-2\u{e9}"));
    }
}
