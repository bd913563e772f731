//! Tries of one operation: how many, how long, with which pauses.

use super::CloudSettings;
use super::backoff::Backoff;
use super::endpoint::Endpoint;
use super::failure::{Failure, Trouble, TroubleKind};
use super::heard::Heard;
use super::limiter::Turn;
use super::service::Service;
use crate::{Error, ErrorKind};
use futures_util::TryFutureExt;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// The state of one operation's tries.
pub(super) struct Retrying<'a> {
    endpoint: &'a Endpoint,
    settings: &'a CloudSettings,
    backoff: Backoff,
    deadline: Instant,
    retries: u32,
    odd: u32,
    expired: u32,
    last: Option<Trouble>,
}

/// Answers without sense, or whole objects in place of ranges, that are met with another try.
const ODD_MAX: u32 = 3;

impl<'a> Retrying<'a> {
    /// Tries until a deadline.
    pub(super) fn new(
        endpoint: &'a Endpoint,
        settings: &'a CloudSettings,
        deadline: Instant,
    ) -> Retrying<'a> {
        Retrying {
            endpoint,
            settings,
            backoff: Backoff::new(settings.backoff_base, settings.backoff_max, endpoint.seed()),
            deadline,
            retries: 0,
            odd: 0,
            expired: 0,
            last: None,
        }
    }

    /// One try, cut off at the deadline.
    ///
    /// # Errors
    ///
    /// [`Unavailable`](ErrorKind::Unavailable) at the deadline.
    pub(super) fn within<T>(&self, work: impl Future<Output = T>) -> impl Future<Output = Result<T, Error>> {
        // As an `async fn` it would hold the work twice.
        timeout_at(self.deadline, work).map_err(|_| self.late())
    }

    /// Waits until the next try, where there is one.
    ///
    /// # Errors
    ///
    /// What the operation failed with, when no try is left.
    pub(super) async fn after(&mut self, failure: Failure) -> Result<(), Error> {
        let trouble = match failure {
            Failure::Final(error) => return Err(error),
            Failure::Again(trouble) => trouble,
        };
        self.retries += 1;
        self.odd += u32::from(matches!(trouble.kind, TroubleKind::Odd | TroubleKind::RangeIgnored));
        self.expired += u32::from(trouble.kind == TroubleKind::Expired);
        if self.settings.retries_max < self.retries || ODD_MAX < self.odd || 1 < self.expired {
            return Err(self.given_up(&trouble));
        }
        let pause = self.backoff.next(trouble.asked);
        tracing::debug!(
            endpoint = %self.endpoint.name(), cause = %trouble.cause, retry = self.retries, ?pause, "request failed"
        );
        let next = Instant::now() + pause;
        let (asked, cause) = (trouble.asked, trouble.cause.clone());
        self.last = Some(trouble);
        if self.deadline <= next {
            let message = match asked {
                Some(asked) => {
                    format!("{cause}; the service wants no request for {asked:?}, past the deadline")
                }
                None => return Err(self.late()),
            };
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        sleep(pause).await;
        self.endpoint.count_retry();
        Ok(())
    }

    fn late(&self) -> Error {
        let last = self.last.as_ref().map_or("nothing came", |trouble| trouble.cause.as_str());
        let message = format!(
            "wanted an answer within {:?}, found none after {} retries; last: {last}",
            self.settings.deadline, self.retries
        );
        Error::new(ErrorKind::Unavailable, message)
    }

    fn given_up(&self, trouble: &Trouble) -> Error {
        let kind = match trouble.kind {
            TroubleKind::Expired => ErrorKind::PermissionDenied,
            TroubleKind::Odd => ErrorKind::Io,
            TroubleKind::RangeIgnored => ErrorKind::Unsupported,
            TroubleKind::Throttled | TroubleKind::NotSent | TroubleKind::Transient => ErrorKind::Unavailable,
        };
        let message = match self.retries - 1 {
            0 => trouble.cause.clone(),
            retries => format!("gave up after {retries} retries: {}", trouble.cause),
        };
        Error::new(kind, message)
    }
}

/// Whether an operation may be done twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// As often as one likes.
    Idempotent,
    /// Only where the server has certainly not done it.
    OnlyUndone,
}

/// Does one operation of few bytes, in a turn of its own, until it succeeds or no try is left. Its deadline is that of the
/// settings, counted from its first turn.
pub(super) async fn retried<T, F: Future<Output = object_store::Result<T>>>(
    service: &Service,
    settings: &CloudSettings,
    repeat: Repeat,
    time: Duration,
    operation: impl FnMut() -> F,
) -> Result<T, Error> {
    let turn = service.endpoint.turn().await;
    let deadline = settings.deadline_from_now();
    let retrying = Retrying::new(&service.endpoint, settings, deadline);
    retried_with((service, retrying), turn, repeat, time, operation).await
}

/// The same, with a turn that is there, by the deadline that the tries have.
pub(super) async fn retried_with<T, F: Future<Output = object_store::Result<T>>>(
    (service, mut retrying): (&Service, Retrying<'_>),
    turn: Turn,
    repeat: Repeat,
    time: Duration,
    mut operation: impl FnMut() -> F,
) -> Result<T, Error> {
    let endpoint = &service.endpoint;
    let mut turn = Some(turn);
    loop {
        let held = match turn.take() {
            Some(turn) => turn,
            None => retrying.within(endpoint.turn()).await?,
        };
        let started = Instant::now();
        endpoint.count_request();
        let heard = Heard::default();
        let result = retrying.within(heard.during(timeout(time, operation()))).await?;
        drop(held);
        let failure = match result {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => Failure::of(&error, &heard),
            Err(_) => Failure::again(TroubleKind::Transient, format!("no answer within {time:?}")),
        };
        service.note_failure(&failure, started);
        let undone =
            |trouble: &Trouble| matches!(trouble.kind, TroubleKind::Throttled | TroubleKind::NotSent);
        match failure {
            Failure::Again(trouble) if repeat == Repeat::OnlyUndone && !undone(&trouble) => {
                let message = format!("{}; it may have been done, and is not tried again", trouble.cause);
                return Err(Error::new(ErrorKind::Unavailable, message));
            }
            failure => retrying.after(failure).await?,
        }
    }
}
