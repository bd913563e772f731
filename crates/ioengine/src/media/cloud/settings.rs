//! What a user may set of how requests are made, and the defaults.

use super::CloudOptions;
use super::descriptors::requests_max;
use super::option_names::{DURATION_MAX, duration, number, truth};
use crate::{Error, ErrorKind};
use std::time::Duration;
use tokio::time::Instant;

/// How requests to cloud storage are made: retries, deadlines, concurrency. [`CloudSettings::default`] says what holds
/// where nothing was set.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudSettings {
    /// Requests that one fetch sends again after a failure, at most. Default 10.
    pub retries_max: u32,
    /// The first pause before a request is sent again is at most this long; each further one at most twice as long as the
    /// one before. The pause itself is drawn evenly between nothing and that ("full jitter"). Default 100 ms.
    pub backoff_base: Duration,
    /// Longest pause before a request is sent again, unless the server asks for a longer one. Default 15 s.
    pub backoff_max: Duration,
    /// How long a fetch may take, retries included, counted from when its first request may be sent: waiting for one's turn
    /// on a slow link does not count. Default 180 s.
    pub deadline: Duration,
    /// A request is given up, and sent again, when no byte of its answer came for this long. Default 15 s.
    pub stall_timeout: Duration,
    /// Requests to one endpoint that may always be under way at once. Default 8.
    pub concurrency_min: usize,
    /// Requests to one endpoint that may be under way at first. Default 256: as many small objects are read in one round trip.
    pub concurrency_initial: usize,
    /// Requests to one endpoint that may be under way at most. Default 1,024, or half of the file descriptors that the
    /// process may open where that is less.
    pub concurrency_max: usize,
    /// Whether slow requests are sent a second time. Default: they are not.
    pub hedging: Hedging,
    /// Names that one listing may hold. Default 1,000,000.
    pub listed_max: usize,
}

/// Whether requests whose answer is late are sent a second time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hedging {
    /// Never.
    #[default]
    Off,
    /// When the first byte takes longer than for 95 % of the last requests; of at most 5 % of all requests, and of none
    /// within 30 s after the server asked for fewer.
    Late,
}

impl Default for CloudSettings {
    fn default() -> CloudSettings {
        CloudSettings {
            retries_max: 10,
            backoff_base: Duration::from_millis(100),
            backoff_max: Duration::from_secs(15),
            deadline: Duration::from_secs(180),
            stall_timeout: Duration::from_secs(15),
            concurrency_min: 8,
            concurrency_initial: 256,
            concurrency_max: 1024,
            hedging: Hedging::Off,
            listed_max: 1_000_000,
        }
    }
}

impl CloudSettings {
    /// The settings that options ask for: `max_retries`, `backoff_initial`, `backoff_max`, `retry_timeout` (or `timeout`: the
    /// deadline of a fetch), `stall_timeout` (or `read_timeout`), `concurrency` (so many requests at once from the start and at
    /// most), `concurrency_min`, `concurrency_max`, `hedge` (`true` or `false`). Times are `30s`, `500ms`, `2m` or plain
    /// seconds, of at most a year. Other options are left to others.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) for a value that cannot be read.
    pub fn from_options(options: &CloudOptions) -> Result<CloudSettings, Error> {
        let mut settings = CloudSettings::default();
        // Of two names of one setting the more particular one counts.
        let general = |name: &str| matches!(name, "timeout" | "read_timeout" | "concurrency");
        for (name, value) in options.iter().filter(|(name, _)| general(name)) {
            settings.set(name, value)?;
        }
        for (name, value) in options.iter().filter(|(name, _)| !general(name)) {
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        match name {
            "max_retries" => self.retries_max = retries(name, value)?,
            "backoff_initial" => self.backoff_base = duration(name, value)?,
            "backoff_max" => self.backoff_max = duration(name, value)?,
            "timeout" | "retry_timeout" => self.deadline = duration(name, value)?,
            "read_timeout" | "stall_timeout" => self.stall_timeout = duration(name, value)?,
            "concurrency" => {
                self.concurrency_max = requests(name, value)?;
                self.concurrency_initial = self.concurrency_max;
            }
            "concurrency_min" => self.concurrency_min = requests(name, value)?,
            "concurrency_max" => self.concurrency_max = requests(name, value)?,
            "hedge" => self.hedging = if truth(name, value)? { Hedging::Late } else { Hedging::Off },
            _ => {}
        }
        Ok(())
    }

    /// The same settings, with no more requests at once than connections have room for: those that wait for their turn hold
    /// less than those that wait for a connection, and their waiting is not taken for a slow server.
    pub(super) fn with_requests_max(self, requests_max: Option<usize>) -> CloudSettings {
        let concurrency_max = requests_max.unwrap_or(usize::MAX).min(self.concurrency_max);
        CloudSettings { concurrency_max, ..self }
    }

    /// The same settings, each within what can work: at least one request at once, no more than there are descriptors for,
    /// and times of at most a year, which any clock can count from now.
    pub(super) fn workable(self) -> CloudSettings {
        let concurrency_max = self.concurrency_max.min(requests_max()).max(1);
        CloudSettings {
            concurrency_max,
            concurrency_min: self.concurrency_min.clamp(1, concurrency_max),
            concurrency_initial: self.concurrency_initial.clamp(1, concurrency_max),
            backoff_base: self.backoff_base.clamp(Duration::from_millis(1), DURATION_MAX),
            backoff_max: self.backoff_max.min(DURATION_MAX),
            deadline: self.deadline.min(DURATION_MAX),
            stall_timeout: self.stall_timeout.clamp(Duration::from_millis(1), DURATION_MAX),
            ..self
        }
    }

    /// When an operation is given up that may send its first request now.
    pub(super) fn deadline_from_now(&self) -> Instant {
        Instant::now() + self.deadline.min(DURATION_MAX)
    }
}

fn retries(name: &str, value: &str) -> Result<u32, Error> {
    u32::try_from(number(name, value)?).map_err(|_| unread(name, "a number of retries below 4,294,967,296"))
}

fn requests(name: &str, value: &str) -> Result<usize, Error> {
    let requests = usize::try_from(number(name, value)?).ok().filter(|requests| 0 < *requests);
    requests.ok_or_else(|| unread(name, "a number of requests, at least 1"))
}

/// Values are not shown: what stands in a wrong place may be a secret.
fn unread(name: &str, wanted: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("the option {name:?} should be {wanted}, and is not"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Result<CloudSettings, Error> {
        let mut settings = CloudSettings::default();
        pairs.iter().try_for_each(|(name, value)| settings.set(name, value))?;
        Ok(settings)
    }

    #[test]
    fn times_and_numbers_are_read() {
        let read =
            settings(&[("retry_timeout", "2m"), ("stall_timeout", "500ms"), ("concurrency", "7")]).unwrap();
        assert_eq!(read.deadline, Duration::from_secs(120));
        assert_eq!(read.stall_timeout, Duration::from_millis(500));
        assert_eq!((read.concurrency_initial, read.concurrency_max), (7, 7));
        assert_eq!(settings(&[("timeout", "30")]).unwrap().deadline, Duration::from_secs(30));
        assert_eq!(settings(&[("hedge", "True"), ("max_retries", "0")]).unwrap().hedging, Hedging::Late);
    }

    #[test]
    fn values_that_make_no_sense_are_refused_with_what_was_wanted() {
        for (name, value) in [
            ("timeout", "soon"),
            ("timeout", "1e99"),
            ("concurrency", "0"),
            ("hedge", "perhaps"),
            ("max_retries", "-1"),
        ] {
            let error = settings(&[(name, value)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.message().contains(name) && !error.message().contains(value), "{error}");
        }
    }

    #[test]
    fn settings_are_bounded_to_what_works() {
        let settings = CloudSettings { concurrency_max: 4, ..CloudSettings::default() }.workable();
        assert_eq!((settings.concurrency_min, settings.concurrency_initial), (4, 4));
        let settings = CloudSettings { concurrency_max: usize::MAX, ..CloudSettings::default() }.workable();
        assert!(settings.concurrency_max <= 32_768);
        let max = Duration::MAX;
        let settings = CloudSettings {
            backoff_base: max,
            backoff_max: max,
            deadline: max,
            stall_timeout: max,
            ..CloudSettings::default()
        };
        let settings = settings.workable();
        for time in [settings.backoff_base, settings.backoff_max, settings.deadline, settings.stall_timeout] {
            assert_eq!(time, DURATION_MAX);
        }
    }
}
