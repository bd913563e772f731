//! Times as services write them: `2026-11-21T23:35:28Z`, with a fraction, with an offset.

use std::time::{Duration, SystemTime};

/// The time of an RFC 3339 text from 1970 on. `Z`, `UTC` and offsets are understood; `None` for anything else.
pub(super) fn timestamp(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let date = text.get(..10)?;
    let time = text.get(11..19)?;
    if !matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    let [year, month, day] = fields(date, '-')?;
    let [hour, minute, second] = fields(time, ':')?;
    let in_range =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    if !in_range {
        return None;
    }
    let local = days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    let zone = text.get(19..)?.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let seconds = u64::try_from(local - offset(zone)?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// When a credential is taken to end whose service says that it does, and not readably when: 5 minutes from now.
pub(super) fn soon() -> SystemTime {
    SystemTime::now() + Duration::from_secs(300)
}

/// The end of a credential as its service wrote it: the time, [`soon`] where it cannot be read, `None` for nothing written.
pub(super) fn end(written: Option<&str>) -> Option<SystemTime> {
    written.map(|text| timestamp(text).unwrap_or_else(soon))
}

/// The time of an HTTP date as servers write it today (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. `None`
/// for anything else, the older forms among it.
pub(crate) fn http_date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.trim().split_once(", ")?;
    let [day, month, year, time, "GMT"] = date.split(' ').collect::<Vec<_>>()[..] else { return None };
    let month = 1 + MONTHS.iter().position(|name| *name == month)?;
    timestamp(&format!("{year}-{month:02}-{day}T{time}Z"))
}

/// A time from 1970 on, to the second, in UTC.
pub(super) fn written(time: SystemTime) -> String {
    let [year, month, day, hour, minute, second] = civil(time);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Letters of a [`compact`] time, and of its day.
pub(crate) const COMPACT_LEN: usize = 16;
pub(crate) const COMPACT_DAY_LEN: usize = 8;

/// A time from 1970 to 9999, to the second, in UTC, as requests to Amazon have it: `20261121T233528Z`.
pub(crate) fn compact(time: SystemTime) -> [u8; COMPACT_LEN] {
    let mut text = *b"00000000T000000Z";
    let fields = civil(time);
    for (field, end, len) in [(0, 4, 4), (1, 6, 2), (2, 8, 2), (3, 11, 2), (4, 13, 2), (5, 15, 2)] {
        let mut rest = fields[field];
        for letter in text[end - len..end].iter_mut().rev() {
            *letter = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
    }
    text
}

/// Year, month, day, hour, minute and second in UTC.
fn civil(time: SystemTime) -> [u64; 6] {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, of_day) = (seconds / 86400, seconds % 86400);
    // The inverse of `days`, by the same author.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year_of_era + era * 400 + later;
    [year, month, day, of_day / 3600, of_day / 60 % 60, of_day % 60]
}

fn fields(text: &str, separator: char) -> Option<[i64; 3]> {
    let numbers: Option<Vec<i64>> = text.split(separator).map(digits).collect();
    numbers?.try_into().ok()
}

fn digits(text: &str) -> Option<i64> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// Seconds east of Greenwich.
fn offset(zone: &str) -> Option<i64> {
    let (sign, rest) = match zone.trim() {
        "Z" | "z" | "UTC" => return Some(0),
        zone => match (zone.strip_prefix('+'), zone.strip_prefix('-')) {
            (Some(rest), _) => (1, rest),
            (_, Some(rest)) => (-1, rest),
            _ => return None,
        },
    };
    let (hours, minutes) = rest.split_once(':').or_else(|| rest.split_at_checked(2))?;
    Some(sign * (digits(hours)? * 3600 + digits(minutes)? * 60))
}

/// Days from 1970-01-01 (H. Hinnant, "chrono-compatible low-level date algorithms").
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_times_are_read_back() {
        for seconds in (0..5_000_000_000).step_by(86_413 * 7) {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(timestamp(&written(time)), Some(time), "{}", written(time));
            let compact = String::from_utf8(compact(time).to_vec()).unwrap();
            assert_eq!(compact, written(time).replace(['-', ':'], ""));
        }
        assert_eq!(
            written(SystemTime::UNIX_EPOCH + Duration::from_secs(951_825_600)),
            "2000-02-29T12:00:00Z"
        );
    }

    #[test]
    fn an_end_that_cannot_be_read_is_not_never() {
        assert_eq!(end(None), None);
        assert_eq!(end(Some("2026-11-21T23:35:28Z")), timestamp("2026-11-21T23:35:28Z"));
        for text in ["", "tomorrow", "2026-11-21", "1795304128"] {
            assert!(end(Some(text)).is_some_and(|end| end <= soon()), "{text}");
        }
    }

    #[test]
    fn dates_of_http() {
        let found = http_date("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(found, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)));
        for text in
            ["", "06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37", "Sun, 6 Nov 1994 08:49:37 GMT"]
        {
            assert_eq!(http_date(text), None, "{text}");
        }
        assert_eq!(http_date("Sunday, 06-Nov-94 08:49:37 GMT"), None);
    }

    #[test]
    fn times_as_services_write_them() {
        let cases = [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:00:00Z", 951_825_600),
            ("2026-11-21T23:35:28Z", 1_795_304_128),
            ("2026-11-21T23:35:28.123456Z", 1_795_304_128),
            ("2026-11-22T01:35:28+02:00", 1_795_304_128),
            ("2026-11-21T18:35:28-0500", 1_795_304_128),
            ("2026-11-21T23:35:28UTC", 1_795_304_128),
        ];
        for (text, seconds) in cases {
            assert_eq!(
                timestamp(text),
                Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)),
                "{text}"
            );
        }
        for text in [
            "",
            "tomorrow",
            "2026-13-01T00:00:00Z",
            "2026-11-21",
            "2026-11-21T23:35:28",
            "1960-01-01T00:00:00Z",
        ] {
            assert_eq!(timestamp(text), None, "{text}");
        }
    }
}
