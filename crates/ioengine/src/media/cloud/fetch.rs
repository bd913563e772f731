//! One fetch: tries, second requests, and the bytes at the end.

use super::failure::Failure;
use super::gather::Gathered;
use super::limiter::Turn;
use super::received::Received;
use super::retrying::{Repeat, Retrying, retried_with};
use super::service::Service;
use super::settings::Hedging;
use super::version::version_of;
use crate::remote::Fetched;
use crate::{ByteRange, Error, ErrorKind, Identity};
use bytes::Bytes;
use futures_util::future::{Either, select};
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::time::{Instant, sleep};

impl Service {
    /// Brings exactly the bytes of a range, of one version of the object.
    ///
    /// The bytes are held by nobody else: buffers are made when an answer begins, each of its range's length, so what is in
    /// flight is at most what lanes asked for, which their byte budget bounds; twice that for requests that are hedged.
    ///
    /// Many more fetches wait than have requests under way, so this future is small, and what it needs after its turn came
    /// is allocated then.
    pub(super) async fn fetch(
        &self,
        key: &str,
        range: ByteRange,
        if_match: Option<Identity>,
    ) -> Result<Fetched, Error> {
        if let ByteRange::Bounded { len: 0, .. } = range {
            return Ok(Fetched { bytes: Bytes::new(), identity: None });
        }
        // A key that is none takes no turn.
        drop(path_of(key)?);
        if self.needs_size(range) {
            return Box::pin(self.fetch_located(key, Received::new(range, if_match))).await;
        }
        match self.gathered(key, range, if_match.as_ref()).await {
            Gathered::Fetched(fetched) => Ok(fetched),
            Gathered::Failed(error) => Err(error),
            Gathered::Alone(turn, deadline) => {
                let received = Received::new(range, if_match);
                Box::pin(self.fetch_alone(path_of(key)?, received, turn, deadline)).await
            }
        }
    }

    /// Asks for the object's size, and then for bytes.
    async fn fetch_located(&self, key: &str, mut received: Received) -> Result<Fetched, Error> {
        let path = path_of(key)?;
        let turn = self.endpoint.turn().await;
        let deadline = self.settings.deadline_from_now();
        if self.locate(&path, &mut received, turn, deadline).await? {
            return Ok(Fetched { identity: received.version.clone(), bytes: Bytes::new() });
        }
        self.fetch_alone(path, received, None, deadline).await
    }

    /// Sends requests until all bytes are there or no try is left.
    async fn fetch_alone(
        &self,
        path: Path,
        mut received: Received,
        mut turn: Option<Turn>,
        deadline: Instant,
    ) -> Result<Fetched, Error> {
        let mut retrying = Retrying::new(&self.endpoint, &self.settings, deadline);
        let mut is_first = true;
        loop {
            let held = match turn.take() {
                Some(turn) => turn,
                None => retrying.within(self.endpoint.turn()).await?,
            };
            if received.is_resumable() {
                self.endpoint.count_resumed();
            }
            let result = if is_first && self.settings.hedging == Hedging::Late {
                retrying.within(Box::pin(self.hedged(&path, &mut received))).await?
            } else {
                retrying.within(self.attempt(&path, &mut received, &AtomicBool::new(false))).await?
            };
            drop(held);
            is_first = false;
            match result {
                Ok(()) => break,
                // Empty objects have no last bytes: services say so instead of sending none.
                Err(Failure::Final(error)) if received.is_empty_suffix(&error) => {
                    let turn = retrying.within(self.endpoint.turn()).await?;
                    if Box::pin(self.locate(&path, &mut received, turn, deadline)).await? {
                        break;
                    }
                    return Err(error);
                }
                Err(failure) => retrying.after(failure).await?,
            }
        }
        let identity = received.version.clone();
        Ok(Fetched { bytes: received.into_bytes().into(), identity })
    }

    /// Goes with others where that can be, or gets a turn.
    async fn gathered(&self, key: &str, range: ByteRange, version: Option<&Identity>) -> Gathered {
        if let Some(gather) = &self.gather
            && let Some(range) = gather.takes(range)
        {
            return gather.fetch((&self.endpoint, &self.settings), key, range, version.cloned()).await;
        }
        let turn = self.endpoint.turn().await;
        Gathered::Alone(Some(turn), self.settings.deadline_from_now())
    }

    /// Ranges from the end, where the service has none of those; and those of no bytes, which no request can ask for.
    fn needs_size(&self, range: ByteRange) -> bool {
        matches!(range, ByteRange::Suffix { len } if len == 0 || !self.abilities.suffix_ranges)
    }

    /// Asks for the object's size. True when the range has no bytes, and nothing is left to fetch.
    async fn locate(
        &self,
        path: &Path,
        received: &mut Received,
        turn: Turn,
        deadline: Instant,
    ) -> Result<bool, Error> {
        let meta = self.head(path, turn, deadline).await?;
        match received.locate(&meta, version_of(&meta)) {
            Ok(()) => Ok(received.is_complete()),
            Err(Failure::Final(error)) => Err(error),
            Err(Failure::Again(trouble)) => Err(Error::new(ErrorKind::Unavailable, trouble.cause)),
        }
    }

    /// How many bytes an object has.
    ///
    /// # Errors
    ///
    /// As fetching it.
    pub(super) async fn size(&self, key: &str) -> Result<u64, Error> {
        let (path, turn) = (path_of(key)?, self.endpoint.turn().await);
        Ok(self.head(&path, turn, self.settings.deadline_from_now()).await?.size)
    }

    async fn head(&self, path: &Path, turn: Turn, deadline: Instant) -> Result<ObjectMeta, Error> {
        let time = self.settings.stall_timeout;
        let retrying = Retrying::new(&self.endpoint, &self.settings, deadline);
        let result = retried_with((self, retrying), turn, Repeat::Idempotent, time, || {
            self.reads().get_opts(path, GetOptions { head: true, ..GetOptions::default() })
        });
        Ok(result.await?.meta)
    }

    /// A first try, and a second one where the first one's answer is late: the first that has all bytes counts.
    async fn hedged(&self, path: &Path, received: &mut Received) -> Result<(), Failure> {
        self.endpoint.sent();
        let mut other = received.clone();
        let winner = self.race(path, received, &mut other).await?;
        if winner == Winner::Second {
            *received = other;
        }
        Ok(())
    }

    async fn race(
        &self,
        path: &Path,
        received: &mut Received,
        other: &mut Received,
    ) -> Result<Winner, Failure> {
        let (seen, unseen) = (AtomicBool::new(false), AtomicBool::new(false));
        let first = pin!(self.attempt(path, received, &seen));
        let Some(late) = self.endpoint.late() else { return first.await.map(|()| Winner::First) };
        let first = match select(first, pin!(sleep(late))).await {
            Either::Left((done, _)) => return done.map(|()| Winner::First),
            Either::Right(((), first)) => first,
        };
        let turn = if seen.load(Ordering::Relaxed) { None } else { self.endpoint.hedge() };
        let Some(_turn) = turn else { return first.await.map(|()| Winner::First) };
        let second = Box::pin(self.attempt(path, other, &unseen));
        match select(first, second).await {
            Either::Left((Ok(()), _)) => Ok(Winner::First),
            Either::Right((Ok(()), _)) => Ok(Winner::Second),
            // Where both fail, the first one's bytes and failure count.
            Either::Left((Err(failure), second)) => {
                second.await.map(|()| Winner::Second).map_err(|_| failure)
            }
            Either::Right((Err(_), first)) => first.await.map(|()| Winner::First),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Winner {
    First,
    Second,
}

/// A key as `object_store` takes it.
pub(super) fn path_of(key: &str) -> Result<Path, Error> {
    Path::parse(key).map_err(|error| {
        Error::new(ErrorKind::Unsupported, format!("wanted a key without empty, `.` or `..` parts: {error}"))
    })
}
