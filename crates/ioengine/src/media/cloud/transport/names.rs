//! Addresses of one host, looked up seldom and used in turn.

use super::failure::Failure;
use crate::engine::lock;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tokio::net::lookup_host;
use tokio::sync::Mutex as AsyncMutex;

/// How long a look-up is used. S3's records live 5 s and bring another handful of addresses each time; long enough that a
/// burst of connections makes one look-up, short enough that a moved name is followed.
const FRESH: Duration = Duration::from_secs(10);

/// How long the last addresses serve when a look-up fails: a name server that is down for a while stops nothing.
const STALE: Duration = Duration::from_secs(300);

/// The addresses of one host and port.
///
/// Each call of [`addresses`](Names::addresses) starts one address further, so that connections spread over all of them.
/// One look-up runs at a time; those who waited for one that failed share its failure.
#[derive(Debug)]
pub(super) struct Names {
    host: String,
    port: u16,
    known: Mutex<Known>,
    looking: AsyncMutex<()>,
}

#[derive(Debug, Default)]
struct Known {
    addresses: Vec<SocketAddr>,
    looked_up: Option<Instant>,
    failed: Option<(Instant, Failure)>,
    turn: usize,
}

impl Names {
    pub(super) fn new(host: &str, port: u16) -> Names {
        Names { host: host.to_owned(), port, known: Mutex::default(), looking: AsyncMutex::new(()) }
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
        let _one_at_a_time = self.looking.lock().await;
        if let Some(answer) = self.answered_since(asked) {
            return answer;
        }
        let found = self.look_up().await;
        let mut known = lock(&self.known);
        match found {
            Ok(addresses) => known.learn(addresses),
            Err(failure) => known.failed = Some((Instant::now(), failure)),
        }
        drop(known);
        self.answered_since(asked).unwrap_or_else(|| Err(self.failure("no address")))
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

    /// What a look-up that ended after `asked` found.
    fn answered_since(&self, asked: Instant) -> Option<Result<Vec<SocketAddr>, Failure>> {
        let mut known = lock(&self.known);
        if let Some(addresses) = known.take_turn(asked, FRESH) {
            return Some(Ok(addresses));
        }
        let failure = known.failed.clone().filter(|(at, _)| asked <= *at).map(|(_, failure)| failure)?;
        Some(known.take_turn(asked, STALE).ok_or(failure))
    }

    async fn look_up(&self) -> Result<Vec<SocketAddr>, Failure> {
        let found = lookup_host((self.host.as_str(), self.port)).await;
        let addresses: Vec<_> = found.map_err(|error| self.failure(&error.to_string()))?.collect();
        if addresses.is_empty() { Err(self.failure("no address")) } else { Ok(addresses) }
    }

    fn failure(&self, problem: &str) -> Failure {
        Failure::connect(format!("cannot look up {}: {problem}", self.host))
    }
}

impl Known {
    fn learn(&mut self, addresses: Vec<SocketAddr>) {
        self.addresses = addresses;
        self.looked_up = Some(Instant::now());
        self.failed = None;
    }

    /// The addresses, each time another first, if they are no older than `age_max`.
    fn take_turn(&mut self, now: Instant, age_max: Duration) -> Option<Vec<SocketAddr>> {
        let age = now.saturating_duration_since(self.looked_up?);
        if age_max < age || self.addresses.is_empty() {
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
}
