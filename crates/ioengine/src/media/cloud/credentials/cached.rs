//! A credential that is fetched once for all who wait for it, and again before it expires.

use super::renewal::Renewal;
use crate::engine::lock;
use crate::{Error, ErrorKind};
use futures_util::future::{BoxFuture, FutureExt, Shared};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
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
///
/// A fetch runs as a task of its own: it goes on, and what it brings is kept, when those who wait for it give up.
pub(super) struct Cached<T> {
    kept: Arc<Mutex<Kept<T>>>,
    renewal: Renewal,
}

/// What is there, and what is on its way.
struct Kept<T> {
    entry: Option<Entry<T>>,
    fetching: Option<Fetching<T>>,
}

struct Entry<T> {
    credential: Arc<T>,
    fetched: Instant,
    renew_at: Option<SystemTime>,
    expires: Option<SystemTime>,
}

/// A fetch that runs, and the same for all who wait for it.
type Fetching<T> = Shared<BoxFuture<'static, Result<Arc<T>, Error>>>;

impl<T: Send + Sync + 'static> Cached<T> {
    pub(super) fn new(renewal: &Renewal) -> Cached<T> {
        let kept = Kept { entry: None, fetching: None };
        Cached { kept: Arc::new(Mutex::new(kept)), renewal: renewal.clone() }
    }

    /// The credential that is kept, or what `fetch` gives. One fetch runs at a time; who comes meanwhile waits for it, unless
    /// the old credential is still valid and no service refused it: then that is given, and renewed on the side.
    ///
    /// # Errors
    ///
    /// What `fetch` failed with; it is not kept, so that the next one tries again.
    pub(super) async fn get<F>(
        &self,
        now: impl Fn() -> SystemTime + Send + 'static,
        fetch: impl FnOnce() -> F,
    ) -> Result<Arc<T>, Error>
    where
        F: Future<Output = Result<Fetched<T>, Error>> + Send + 'static,
    {
        let fetching = {
            let mut kept = lock(&self.kept);
            let valid = kept.entry.as_ref().filter(|found| !self.renewal.is_asked(found.fetched));
            let valid = valid.filter(|found| found.expires.is_none_or(|at| now() < at));
            if let Some(found) = valid {
                let credential = Arc::clone(&found.credential);
                if found.renew_at.is_some_and(|at| at <= now()) {
                    drop(kept.fetching(|| self.start(now, fetch())));
                }
                return Ok(credential);
            }
            kept.fetching(|| self.start(now, fetch()))
        };
        fetching.await
    }

    /// Starts a fetch.
    fn start<F>(&self, now: impl Fn() -> SystemTime + Send + 'static, fetch: F) -> Fetching<T>
    where
        F: Future<Output = Result<Fetched<T>, Error>> + Send + 'static,
    {
        let (kept, renewal) = (Arc::clone(&self.kept), self.renewal.clone());
        let task = tokio::spawn(async move {
            let result = fetch.await;
            let mut kept = lock(&kept);
            kept.fetching = None;
            match result {
                Ok(fetched) => {
                    let found = Entry::new(fetched, now(), renewal.note_fetched());
                    let credential = Arc::clone(&found.credential);
                    kept.entry = Some(found);
                    Ok(credential)
                }
                Err(error) => {
                    if let Some(old) = &mut kept.entry {
                        old.renew_at = now().checked_add(AGAIN_AFTER);
                    }
                    Err(error)
                }
            }
        });
        let lost = |_| Err(Error::new(ErrorKind::Internal, "a fetch of credentials ended without a result"));
        task.map(move |joined| joined.unwrap_or_else(lost)).boxed().shared()
    }
}

impl<T> Kept<T> {
    /// The fetch that runs, or the one that `start` begins.
    fn fetching(&mut self, start: impl FnOnce() -> Fetching<T>) -> Fetching<T> {
        // One that was seen to end and is still here did not end as it should: it panicked.
        match self.fetching.as_ref().filter(|fetching| fetching.peek().is_none()) {
            Some(running) => running.clone(),
            None => self.fetching.insert(start()).clone(),
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
            assert_eq!(*renewed(&cached, || at(3300), || fetched(3, Some(7200))).await, 3);
            // Short ones are not fetched for every request.
            let short = Cached::new(&Renewal::default());
            assert_eq!(*short.get(|| at(0), || fetched(1, Some(100))).await.unwrap(), 1);
            assert_eq!(*short.get(|| at(74), || fetched(2, Some(200))).await.unwrap(), 1);
            assert_eq!(*renewed(&short, || at(75), || fetched(3, Some(200))).await, 3);
        });
    }

    /// Asks twice: the first one gets what is there and starts a fetch, and the second one gets what that brought.
    async fn renewed<F: Future<Output = Result<Fetched<u32>, Error>> + Send + 'static>(
        cached: &Cached<u32>,
        now: fn() -> SystemTime,
        fetch: fn() -> F,
    ) -> Arc<u32> {
        cached.get(now, fetch).await.unwrap();
        idle(cached).await;
        cached.get(now, fetch).await.unwrap()
    }

    /// Waits until no fetch runs.
    async fn idle(cached: &Cached<u32>) {
        while lock(&cached.kept).fetching.is_some() {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn a_fetch_goes_on_when_nobody_waits_for_it() {
        run(async {
            let cached = Cached::new(&Renewal::default());
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let slow = move || async move {
                receiver.await.unwrap();
                fetched(1, None).await
            };
            let never = || async { panic!("a second fetch") };
            {
                let mut waiting = Box::pin(cached.get(|| at(0), slow));
                assert!(waiting.as_mut().now_or_never().is_none());
            }
            assert!(cached.get(|| at(0), never).now_or_never().is_none());
            sender.send(()).unwrap();
            idle(&cached).await;
            assert_eq!(*cached.get(|| at(0), never).await.unwrap(), 1);
        });
    }

    #[test]
    fn what_holds_is_given_while_a_renewal_hangs() {
        run(async {
            let cached = Cached::new(&Renewal::default());
            assert_eq!(*cached.get(|| at(0), || fetched(1, Some(3600))).await.unwrap(), 1);
            let count = Arc::new(AtomicU32::new(0));
            for seconds in [3400, 3599] {
                let now = move || at(seconds);
                let counted = Arc::clone(&count);
                let hangs = move || {
                    counted.fetch_add(1, Ordering::Relaxed);
                    std::future::pending()
                };
                assert_eq!(*cached.get(now, hangs).now_or_never().unwrap().unwrap(), 1);
            }
            assert_eq!(count.load(Ordering::Relaxed), 1);
            assert!(cached.get(|| at(3600), || fetched(2, None)).now_or_never().is_none());
        });
    }

    #[test]
    fn a_failed_renewal_keeps_what_still_holds() {
        let fails = || async { Err(Error::new(ErrorKind::Unavailable, "down")) };
        run(async {
            let cached = Cached::new(&Renewal::default());
            assert!(cached.get(|| at(0), fails).await.is_err());
            assert_eq!(*cached.get(|| at(0), || fetched(1, Some(3600))).await.unwrap(), 1);
            assert_eq!(*renewed(&cached, || at(3400), fails).await, 1);
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
        let count = Arc::new(AtomicU32::new(0));
        run(async {
            let cached = Cached::new(&Renewal::default());
            let fetch = || {
                let count = Arc::clone(&count);
                async move {
                    tokio::task::yield_now().await;
                    fetched(count.fetch_add(1, Ordering::Relaxed), None).await
                }
            };
            let waits = (0..20).map(|_| cached.get(SystemTime::now, fetch));
            let all = futures_util::future::join_all(waits).await;
            assert!(all.into_iter().all(|result| *result.unwrap() == 0));
        });
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
