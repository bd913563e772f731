//! A credential that is fetched once for all who wait for it, and again before it expires.

use super::renewal::Renewal;
use crate::Error;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// New credentials are fetched when this is left of the old ones, or a quarter of their time if that is less.
const LEFT_MIN: Duration = Duration::from_secs(300);

/// After a renewal that failed while the old credentials still hold, the next one waits this long.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

/// A credential as it was fetched.
#[derive(Clone, Debug)]
pub(super) struct Fetched<T> {
    pub(super) credential: T,
    pub(super) expires: Option<SystemTime>,
}

/// The last credential that was fetched. Wall-clock time, because a computer that slept does not make keys last longer.
pub(super) struct Cached<T> {
    entry: Mutex<Option<Entry<T>>>,
    renewal: Renewal,
}

struct Entry<T> {
    credential: Arc<T>,
    fetched: Instant,
    renew_at: Option<SystemTime>,
    expires: Option<SystemTime>,
}

impl<T> Cached<T> {
    pub(super) fn new(renewal: &Renewal) -> Cached<T> {
        Cached { entry: Mutex::new(None), renewal: renewal.clone() }
    }

    /// The credential that is kept, or what `fetch` gives. One fetch runs at a time; who comes meanwhile waits for it. A
    /// renewal that fails while the old credential is still valid gives the old one, unless a service refused it.
    ///
    /// # Errors
    ///
    /// What `fetch` failed with; it is not kept, so that the next one tries again.
    pub(super) async fn get<F>(
        &self,
        now: impl Fn() -> SystemTime,
        fetch: impl FnOnce() -> F,
    ) -> Result<Arc<T>, Error>
    where
        F: Future<Output = Result<Fetched<T>, Error>>,
    {
        let mut entry = self.entry.lock().await;
        // Before the fetch, so that what is refused while it runs is not taken for what it brings.
        let refused = entry.as_ref().is_some_and(|found| self.renewal.is_asked(found.fetched));
        if let Some(found) = entry.as_ref()
            && !refused
            && found.renew_at.is_none_or(|at| now() < at)
        {
            return Ok(Arc::clone(&found.credential));
        }
        match fetch().await {
            Ok(fetched) => {
                let found = Entry::new(fetched, now(), self.renewal.note_fetched());
                let credential = Arc::clone(&found.credential);
                *entry = Some(found);
                Ok(credential)
            }
            Err(error) => match entry.as_mut() {
                Some(old) if !refused && old.expires.is_some_and(|expires| now() < expires) => {
                    old.renew_at = Some(now() + AGAIN_AFTER);
                    Ok(Arc::clone(&old.credential))
                }
                _ => Err(error),
            },
        }
    }
}

impl<T> Entry<T> {
    fn new(fetched: Fetched<T>, now: SystemTime, came: Instant) -> Entry<T> {
        let renew_at = fetched.expires.map(|expires| {
            let lasts = expires.duration_since(now).unwrap_or_default();
            now + lasts.saturating_sub(LEFT_MIN.min(lasts / 4))
        });
        Entry { credential: Arc::new(fetched.credential), fetched: came, renew_at, expires: fetched.expires }
    }
}

impl<T> std::fmt::Debug for Cached<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("a cached credential")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn run<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    async fn fetched(value: u32, expires: Option<u64>) -> Result<Fetched<u32>, Error> {
        Ok(Fetched { credential: value, expires: expires.map(at) })
    }

    #[test]
    fn renewed_before_it_expires() {
        run(async {
            let cached = Cached::new(&Renewal::default());
            assert_eq!(*cached.get(|| at(0), || fetched(1, Some(3600))).await.unwrap(), 1);
            assert_eq!(*cached.get(|| at(3299), || fetched(2, Some(7200))).await.unwrap(), 1);
            assert_eq!(*cached.get(|| at(3300), || fetched(3, Some(7200))).await.unwrap(), 3);
            // Short ones are not fetched for every request.
            let short = Cached::new(&Renewal::default());
            assert_eq!(*short.get(|| at(0), || fetched(1, Some(100))).await.unwrap(), 1);
            assert_eq!(*short.get(|| at(74), || fetched(2, Some(200))).await.unwrap(), 1);
            assert_eq!(*short.get(|| at(75), || fetched(3, Some(200))).await.unwrap(), 3);
        });
    }

    #[test]
    fn a_failed_renewal_keeps_what_still_holds() {
        let fails = || async { Err(Error::new(ErrorKind::Unavailable, "down")) };
        run(async {
            let cached = Cached::new(&Renewal::default());
            assert!(cached.get(|| at(0), fails).await.is_err());
            assert_eq!(*cached.get(|| at(0), || fetched(1, Some(3600))).await.unwrap(), 1);
            assert_eq!(*cached.get(|| at(3400), fails).await.unwrap(), 1);
            // Not asked again at once.
            assert_eq!(*cached.get(|| at(3405), || fetched(2, None)).await.unwrap(), 1);
            assert!(cached.get(|| at(3600), fails).await.is_err());
        });
    }

    #[test]
    fn what_a_service_refused_is_fetched_again_once() {
        run(async {
            let renewal = Renewal::default();
            let cached = Cached::new(&renewal);
            let before = Instant::now();
            assert_eq!(*cached.get(|| at(0), || fetched(1, Some(3600))).await.unwrap(), 1);
            assert_eq!(*cached.get(|| at(1), || fetched(2, Some(3600))).await.unwrap(), 1);
            // By a request that waited for them.
            renewal.ask(before);
            let fails = || async { Err(Error::new(ErrorKind::Unavailable, "down")) };
            assert!(cached.get(|| at(1), fails).await.is_err(), "what was refused is not given again");
            assert_eq!(*cached.get(|| at(1), || fetched(2, None)).await.unwrap(), 2);
            // Others that were sent with it.
            renewal.ask(before);
            assert_eq!(*cached.get(|| at(1), || fetched(3, None)).await.unwrap(), 2);
            renewal.ask(Instant::now());
            assert_eq!(*cached.get(|| at(1), || fetched(4, None)).await.unwrap(), 4);
        });
    }

    #[test]
    fn many_who_wait_fetch_once() {
        let count = AtomicU32::new(0);
        run(async {
            let cached = Cached::new(&Renewal::default());
            let fetch = || async {
                tokio::task::yield_now().await;
                fetched(count.fetch_add(1, Ordering::Relaxed), None).await
            };
            let waits = (0..20).map(|_| cached.get(SystemTime::now, fetch));
            let all = futures_util::future::join_all(waits).await;
            assert!(all.into_iter().all(|result| *result.unwrap() == 0));
        });
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
