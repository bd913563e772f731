//! Addresses of one host, looked up seldom and used in turn.

use super::failure::Failure;
use crate::engine::lock;
use futures_util::future::{BoxFuture, FutureExt, Shared};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::lookup_host;
use tokio::time::timeout_at;

/// How long a look-up is used. S3's records live 5 s and bring another handful of addresses each time; long enough that a
/// burst of connections makes one look-up, short enough that a moved name is followed.
const FRESH: Duration = Duration::from_secs(10);

/// How long the last addresses serve when a look-up fails or hangs: a name server that is down for a while stops nothing.
const STALE: Duration = Duration::from_secs(300);

/// How long a look-up is waited for where there are such addresses.
const STALE_AFTER: Duration = Duration::from_secs(1);

/// The addresses of one host and port.
///
/// Each call of [`addresses`](Names::addresses) starts one address further, so that connections spread over all of them.
/// One look-up runs at a time, as a task of its own: it goes on when those who wait for it give up, so that they leave no
/// threads behind that wait for the same. Those who waited for one that failed share its failure.
pub(super) struct Names {
    host: String,
    port: u16,
    known: Arc<Mutex<Known>>,
    look_up: LookUp,
}

/// Asks the system for the addresses of a host and port.
type LookUp = fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;

/// A look-up that runs, and the same for all who wait for it.
type Looking = Shared<BoxFuture<'static, Result<(), Failure>>>;

#[derive(Default)]
struct Known {
    addresses: Vec<SocketAddr>,
    looked_up: Option<Instant>,
    /// Since when, and what to wait for.
    looking: Option<(Instant, Looking)>,
    turn: usize,
}

impl Names {
    pub(super) fn new(host: &str, port: u16) -> Names {
        let look_up: LookUp =
            |host, port| Box::pin(async move { Ok(lookup_host((host, port)).await?.collect()) });
        Names { host: host.to_owned(), port, known: Arc::default(), look_up }
    }

    /// All addresses, in the order in which to try them. Never empty.
    ///
    /// # Errors
    ///
    /// A failure to connect, when the name has no address or cannot be looked up.
    pub(super) async fn addresses(&self) -> Result<Vec<SocketAddr>, Failure> {
        let asked = Instant::now();
        if let Some(addresses) = lock(&self.known).take_turn(asked, FRESH) {
            return Ok(addresses);
        }
        let (since, looking) = self.looking();
        let has_stale = lock(&self.known).is_younger(asked, STALE);
        let found = match has_stale {
            true => timeout_at((since + STALE_AFTER).into(), looking).await.unwrap_or(Ok(())),
            false => looking.await,
        };
        // What was found now, or else what was found before.
        match lock(&self.known).take_turn(asked, STALE) {
            Some(addresses) => Ok(addresses),
            None => Err(found.err().unwrap_or_else(|| failure(&self.host, "no address"))),
        }
    }

    /// Puts an address that did not answer behind the others until the next look-up.
    pub(super) fn put_last(&self, address: SocketAddr) {
        let mut known = lock(&self.known);
        if let Some(place) = known.addresses.iter().position(|&known| known == address) {
            let address = known.addresses.remove(place);
            known.addresses.push(address);
            // The next turn starts at an address that was not refused.
            known.turn = 0;
        }
    }

    /// The look-up that runs, or one that begins now.
    fn looking(&self) -> (Instant, Looking) {
        let mut known = lock(&self.known);
        // One that was seen to end and is still here did not end as it should: its runtime did.
        if let Some(running) = known.looking.as_ref().filter(|(_, looking)| looking.peek().is_none()) {
            return running.clone();
        }
        let (host, shared) = (self.host.clone(), Arc::clone(&self.known));
        let asked = (self.look_up)(host.clone(), self.port);
        let task = tokio::spawn(async move {
            let found = asked.await;
            let mut known = lock(&shared);
            known.looking = None;
            let addresses = found.map_err(|error| failure(&host, &error.to_string()))?;
            if addresses.is_empty() {
                return Err(failure(&host, "no address"));
            }
            known.learn(addresses);
            Ok(())
        });
        let host = self.host.clone();
        let lost = move |_| Err(failure(&host, "the look-up ended without a result"));
        let looking = task.map(|joined| joined.unwrap_or_else(lost)).boxed().shared();
        known.looking.insert((Instant::now(), looking)).clone()
    }
}

fn failure(host: &str, problem: &str) -> Failure {
    Failure::connect(format!("cannot look up {host}: {problem}"))
}

impl fmt::Debug for Names {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the addresses of {}:{}", self.host, self.port)
    }
}

impl Known {
    fn learn(&mut self, addresses: Vec<SocketAddr>) {
        self.addresses = addresses;
        self.looked_up = Some(Instant::now());
    }

    /// True where there are addresses that are no older than `age_max`.
    fn is_younger(&self, now: Instant, age_max: Duration) -> bool {
        let age = self.looked_up.map(|at| now.saturating_duration_since(at));
        age.is_some_and(|age| age <= age_max) && !self.addresses.is_empty()
    }

    /// The addresses, each time another first, if they are no older than `age_max`.
    fn take_turn(&mut self, now: Instant, age_max: Duration) -> Option<Vec<SocketAddr>> {
        if !self.is_younger(now, age_max) {
            return None;
        }
        let mut addresses = self.addresses.clone();
        addresses.rotate_left(self.turn % self.addresses.len());
        self.turn = self.turn.wrapping_add(1);
        Some(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::time::timeout;

    #[test]
    fn turns_go_round_and_refused_addresses_go_last() {
        let names = Names::new("example.org", 80);
        let addresses: Vec<SocketAddr> =
            ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"].map(|text| text.parse().unwrap()).to_vec();
        lock(&names.known).learn(addresses.clone());
        let now = Instant::now();
        let first = |at| lock(&names.known).take_turn(at, FRESH).map(|turn| turn[0]);
        assert_eq!((0..4).map(|_| first(now)).collect::<Vec<_>>(), [0, 1, 2, 0].map(|i| Some(addresses[i])));
        names.put_last(addresses[0]);
        assert_eq!(first(now), Some(addresses[1]));
        assert_eq!(first(now + FRESH + Duration::from_secs(1)), None);
    }

    #[tokio::test]
    async fn a_look_up_that_fails_keeps_what_was_known() {
        let names = Names::new("host.invalid", 80);
        let message = names.addresses().await.unwrap_err().to_string();
        assert!(message.contains("host.invalid"), "{message}");
        let address: SocketAddr = "10.0.0.1:80".parse().unwrap();
        lock(&names.known).learn(vec![address]);
        lock(&names.known).looked_up = Instant::now().checked_sub(FRESH * 2);
        assert_eq!(names.addresses().await.unwrap(), [address]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_up_that_hangs_keeps_what_was_known_and_runs_once() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        let look_up: LookUp = |_, _| {
            ASKED.fetch_add(1, Ordering::Relaxed);
            Box::pin(std::future::pending())
        };
        let names = Names { look_up, ..Names::new("example.org", 80) };
        // Dials that are given up leave nothing behind but the one look-up.
        for _ in 0..3 {
            assert!(timeout(Duration::from_secs(10), names.addresses()).await.is_err());
        }
        let address: SocketAddr = "10.0.0.1:80".parse().unwrap();
        lock(&names.known).learn(vec![address]);
        lock(&names.known).looked_up = Instant::now().checked_sub(FRESH * 2);
        let found = timeout(STALE_AFTER * 2, names.addresses()).await.unwrap();
        assert_eq!(found.unwrap(), [address]);
        assert_eq!(ASKED.load(Ordering::Relaxed), 1);
    }
}
