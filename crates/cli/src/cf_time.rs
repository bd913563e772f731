//! Time coordinates as the CF conventions have them: a number of a unit since a date.

use anyhow::{Context, bail};
use serde_json::{Map, Value};

/// From a coordinate's numbers to nanoseconds since 1970-01-01T00:00:00, by the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeScale {
    unit_ns: i128,
    origin_ns: i128,
}

const DAY_NS: i128 = 86_400 * 1_000_000_000;

/// Names of units, as UDUNITS and xarray have them, and their nanoseconds. Months and years are of no fixed length.
const UNITS: [(&[&str], i128); 8] = [
    (&["weeks", "week"], 7 * DAY_NS),
    (&["days", "day", "d"], DAY_NS),
    (&["hours", "hour", "hrs", "hr", "h"], 3_600_000_000_000),
    (&["minutes", "minute", "mins", "min"], 60_000_000_000),
    (&["seconds", "second", "secs", "sec", "s"], 1_000_000_000),
    (&["milliseconds", "millisecond", "msecs", "msec", "ms"], 1_000_000),
    (&["microseconds", "microsecond", "us"], 1_000),
    (&["nanoseconds", "nanosecond", "ns"], 1),
];

/// The 15th of October 1582: `standard` is the Gregorian calendar from here on, and the Julian one before.
const GREGORIAN_SINCE: (i64, i64, i64) = (1582, 10, 15);

impl TimeScale {
    /// The scale of a coordinate with these attributes; `None` of one that is no time since a date.
    ///
    /// # Errors
    ///
    /// Units and dates that make no sense, and other calendars than the one in use.
    ///
    /// Source: CF conventions 1.11, section 4.4, "Time Coordinate".
    pub(crate) fn of_attributes(attributes: &Map<String, Value>) -> anyhow::Result<Option<TimeScale>> {
        let units = attributes.get("units").and_then(Value::as_str).unwrap_or_default();
        let Some((unit, since)) = units.split_once(" since ") else { return Ok(None) };
        let calendar = attributes.get("calendar").and_then(Value::as_str).unwrap_or("standard");
        let is_mixed = match calendar.to_ascii_lowercase().as_str() {
            "standard" | "gregorian" => true,
            "proleptic_gregorian" => false,
            _ => bail!("wanted the standard calendar, found {calendar}"),
        };
        let unit = unit.trim().to_ascii_lowercase();
        let found = UNITS.iter().find(|(names, _)| names.contains(&&*unit));
        let (_, unit_ns) =
            found.with_context(|| format!("wanted a unit from nanoseconds to weeks, found {unit}"))?;
        let (date, origin_ns) = moment(since).with_context(|| format!("wanted a date, found {since}"))?;
        if is_mixed && date < GREGORIAN_SINCE {
            bail!("wanted a date since 1582-10-15, as the calendar is {calendar}, found {since}");
        }
        Ok(Some(TimeScale { unit_ns: *unit_ns, origin_ns }))
    }

    /// So many of a unit since 1970-01-01, as dates of NumPy are; `None` of units of no fixed length.
    pub(crate) fn of_numpy(unit: &str, factor: u32) -> Option<TimeScale> {
        let name = match unit {
            "W" => "weeks",
            "D" => "days",
            "m" => "minutes",
            other => other,
        };
        let (_, unit_ns) = UNITS.iter().find(|(names, _)| names.contains(&name))?;
        Some(TimeScale { unit_ns: unit_ns * i128::from(factor), origin_ns: 0 })
    }

    /// The moment of a whole number; `None` beyond 2^127 nanoseconds.
    pub(crate) fn moment(self, value: i128) -> Option<Moment> {
        let ns = value.checked_mul(self.unit_ns)?.checked_add(self.origin_ns)?;
        Moment::of_nanoseconds(ns)
    }

    /// The moment of a number, to the nearest microsecond; `None` of NaN, and of what is beyond any calendar.
    #[expect(clippy::cast_possible_truncation, reason = "bounded to 2^100 just before")]
    pub(crate) fn moment_of_real(self, value: f64) -> Option<Moment> {
        let micros = (value * self.unit_ns as f64 / 1e3).round();
        let ns = (micros.abs() < 1e30).then_some(micros as i128)?.checked_mul(1000)?;
        Moment::of_nanoseconds(ns.checked_add(self.origin_ns)?)
    }
}

/// A date, and the hour of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: i64,
}

impl Moment {
    fn of_nanoseconds(ns: i128) -> Option<Moment> {
        let days = i64::try_from(ns.div_euclid(DAY_NS)).ok().filter(|days| days.abs() < 1 << 40)?;
        let hour = i64::try_from(ns.rem_euclid(DAY_NS) / 3_600_000_000_000).ok()?;
        let (year, month, day) = civil(days);
        Some(Moment { year, month, day, hour })
    }
}

/// The date so many days after 1970-01-01, by eras of 400 years that begin in March.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month < 3), month, day)
}

/// Days from 1970-01-01 to a date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month < 3);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let from_march = if 2 < month { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

/// A date and a time of the day in nanoseconds since 1970: `1970-01-01`, `1970-1-1 0:0:0.5`, `1970-01-01T00:00:00Z`,
/// `... +01:00`.
fn moment(text: &str) -> Option<((i64, i64, i64), i128)> {
    let text = text.trim();
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let date = (parts.next()??, parts.next()??, parts.next()??);
    let (year, month, day) = date;
    let is_date = (0..100_000).contains(&year) && (1..13).contains(&month) && (1..32).contains(&day);
    let ns = i128::from(days(year, month, day)) * DAY_NS;
    is_date.then_some(())?;
    Some((date, ns + time_of_day(time.trim())?))
}

/// Nanoseconds of a time of the day, and of the offset of its zone behind it.
fn time_of_day(text: &str) -> Option<i128> {
    let text = text.trim_end_matches("UTC").trim_end_matches(['Z', ' ']);
    if text.is_empty() {
        return Some(0);
    }
    let zone = text.find(['+', '-']);
    let (time, zone) = zone.map_or((text, ""), |at| text.split_at(at));
    let ahead = match zone.split_at_checked(1) {
        Some(("+", offset)) => zone_offset(offset)?,
        Some(("-", offset)) => -zone_offset(offset)?,
        _ => 0,
    };
    Some(clock(time.trim())? - ahead)
}

/// How far a zone is ahead: as a time of the day, or `0130` and `130`, whose last two digits are minutes.
fn zone_offset(text: &str) -> Option<i128> {
    let is_packed = matches!(text.len(), 3 | 4) && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_at_checked(text.len().saturating_sub(2)) {
        Some((hours, minutes)) if is_packed => clock(&format!("{hours}:{minutes}")),
        _ => clock(text),
    }
}

/// `1`, `01:30`, `01:30:02.5`, in nanoseconds.
#[expect(clippy::cast_possible_truncation, reason = "parts are below 100")]
fn clock(text: &str) -> Option<i128> {
    let mut ns = 0_i128;
    let parts: Vec<&str> = text.split(':').collect();
    for (part, unit_ns) in parts.iter().zip([3_600e9, 60e9, 1e9]) {
        let value: f64 = part.parse().ok().filter(|value| (0.0..100.0).contains(value))?;
        ns += (value * unit_ns).round() as i128;
    }
    (parts.len() < 4).then_some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(units: &str, value: i128) -> (i64, i64, i64, i64) {
        let attributes = json!({"units": units, "calendar": "proleptic_gregorian"});
        let scale = TimeScale::of_attributes(attributes.as_object().unwrap()).unwrap().unwrap();
        let Moment { year, month, day, hour } = scale.moment(value).unwrap();
        assert_eq!(scale.moment_of_real(value as f64), scale.moment(value));
        (year, month, day, hour)
    }

    #[test]
    fn numbers_become_dates() {
        assert_eq!(at("hours since 1900-01-01 00:00:00.0", 964_487), (2010, 1, 10, 23));
        assert_eq!(at("days since 2000-02-28", 1), (2000, 2, 29, 0));
        assert_eq!(at("days since 1900-02-28", 1), (1900, 3, 1, 0));
        assert_eq!(at("seconds since 1970-01-01T00:00:00Z", -1), (1969, 12, 31, 23));
        assert_eq!(at("minutes since 2020-1-1 1:30", 30), (2020, 1, 1, 2));
        assert_eq!(at("nanoseconds since 1970-01-01", 1_700_000_000_000_000_000), (2023, 11, 14, 22));
        assert_eq!(at("hours since 2000-01-01 00:00 +02:00", 0), (1999, 12, 31, 22));
        assert_eq!(at("days since 0001-01-01", 0), (1, 1, 1, 0));
        // Packed zones have minutes behind their hours.
        assert_eq!(at("minutes since 2000-01-01 00:00:00 +0030", 29), (1999, 12, 31, 23));
        assert_eq!(at("minutes since 2000-01-01 00:00:00 +0030", 30), (2000, 1, 1, 0));
        assert_eq!(at("hours since 2000-01-01 00:00 -0600", 0), (2000, 1, 1, 6));
        assert_eq!(at("minutes since 2000-01-01 00:00 -130", 29), (2000, 1, 1, 1));
        assert_eq!(at("hours since 2000-01-01 00:00 +02", 0), (1999, 12, 31, 22));
    }

    #[test]
    fn every_day_of_eight_centuries_is_counted() {
        let mut date = (1600, 1, 1);
        for day in days(1600, 1, 1)..days(2400, 1, 1) {
            assert_eq!(civil(day), date);
            assert_eq!(days(date.0, date.1, date.2), day);
            let is_leap = date.0 % 4 == 0 && (date.0 % 100 != 0 || date.0 % 400 == 0);
            let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            date = match date {
                (year, 12, 31) => (year + 1, 1, 1),
                (year, month, day) if day < lengths[usize::try_from(month - 1).unwrap()] => {
                    (year, month, day + 1)
                }
                (year, month, _) => (year, month + 1, 1),
            };
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (units, calendar) in [
            ("months since 2000-01-01", "standard"),
            ("hours since 2000-13-01", "standard"),
            ("hours since yesterday", "standard"),
            ("hours since 2000-01-01 1:2:3:4", "standard"),
            ("hours since 2000-01-01", "360_day"),
            ("hours since 0001-01-01", "standard"),
        ] {
            let attributes = json!({"units": units, "calendar": calendar});
            assert!(TimeScale::of_attributes(attributes.as_object().unwrap()).is_err(), "{units} {calendar}");
        }
        assert_eq!(TimeScale::of_attributes(json!({"units": "K"}).as_object().unwrap()).unwrap(), None);
        assert_eq!(TimeScale::of_numpy("M", 1), None);
    }
}
