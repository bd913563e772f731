//! Requests that share one to the source.

use super::super::CacheTier;
use super::*;
use crate::ErrorKind;

#[test]
fn requests_at_the_same_time_share_one() {
    let remote = remote(Duration::from_millis(50));
    remote.put("a", (0..=255).collect::<Vec<u8>>());
    let tier = CacheTier::new(immutable(1 << 20)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    let mut asked = vec![(0, 200, start(&medium, "a", bounded(0, 200), None))];
    for index in 0..150 {
        asked.push((index, 50, start(&medium, "a", bounded(index, 50), None)));
    }
    for (offset, len, answer) in asked {
        let wanted: Vec<u8> = (offset..offset + len).map(|at| u8::try_from(at).unwrap()).collect();
        assert_eq!(wait(&answer).unwrap().bytes[..], wanted);
    }
    let ends: Vec<_> = [9, 3, 9, 1].map(|len| start(&medium, "a", ByteRange::Suffix { len }, None)).into();
    let lens: Vec<usize> = ends.iter().map(|answer| wait(answer).unwrap().bytes.len()).collect();
    assert_eq!(lens, [9, 3, 9, 1]);
    assert_eq!((remote.requests(), tier.stats().shared), (2, 153));
}

/// Nothing is kept: what is shared is the answer itself.
#[test]
fn sharing_needs_no_memory() {
    let remote = remote(Duration::from_millis(50));
    remote.put("a", vec![7; 100]);
    let tier = CacheTier::new(immutable(0)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    let asked: Vec<_> = (0..10).map(|_| start(&medium, "a", bounded(0, 100), None)).collect();
    asked.iter().for_each(|answer| assert_eq!(wait(answer).unwrap().bytes[..], [7; 100]));
    assert_eq!((remote.requests(), tier.stats().inserts, tier.stats().memory_bytes), (1, 0, 0));
}

#[test]
fn waiters_of_one_request_are_bounded() {
    let remote = remote(Duration::from_millis(200));
    remote.put("a", vec![7; 100]);
    let tier = CacheTier::new(immutable(1 << 20)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    let asked: Vec<_> = (0..1500).map(|_| start(&medium, "a", bounded(0, 100), None)).collect();
    asked.iter().for_each(|answer| assert_eq!(wait(answer).unwrap().bytes[..], [7; 100]));
    assert!(2 <= remote.requests(), "{} requests", remote.requests());
}

#[test]
fn an_error_is_shared_where_the_range_is_the_same() {
    let remote = remote(Duration::from_millis(50));
    remote.put("a", vec![7; 100]);
    let tier = CacheTier::new(immutable(1 << 20)).unwrap();
    let medium = tier.wrap(&remote.medium(), NAME);
    let beyond = [0, 1].map(|_| start(&medium, "a", bounded(50, 100), None));
    let within = start(&medium, "a", bounded(60, 10), None);
    for answer in &beyond {
        assert_eq!(wait(answer).unwrap_err().kind(), ErrorKind::UnexpectedEnd);
    }
    assert_eq!(wait(&within).unwrap().bytes[..], [7; 10]);
    assert_eq!(remote.requests(), 2);
}

/// A source that ends requests once they are cancelled.
struct Cancelling(Medium);

impl crate::RemoteSource for Cancelling {
    fn id(&self) -> crate::MediumId {
        self.0.id()
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn cost(&self) -> crate::CostModel {
        crate::CostModel { request_cost_ns: 1.0, byte_cost_ns: 1.0 }
    }

    fn fetch(&self, request: FetchRequest, reply: Reply) {
        let cancelled = request.cancelled.clone();
        let Medium::Remote(source) = &self.0 else { panic!("a remote medium") };
        let told = Reply::calling(move |result| {
            let error = Error::new(ErrorKind::Cancelled, "cancelled");
            reply.complete(if cancelled.is_raised() { Err(error) } else { result });
        });
        source.fetch(request, told);
    }

    fn list(&self, prefix: &str) -> Result<Vec<crate::Entry>, Error> {
        self.0.list(prefix)
    }

    fn put(&self, _: &str, _: bytes::Bytes, _: &crate::PutCondition) -> Result<Option<Identity>, Error> {
        Err(Error::new(ErrorKind::Unsupported, "no writes"))
    }

    fn delete(&self, _: &str) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Unsupported, "no writes"))
    }

    fn stats(&self) -> crate::RemoteStats {
        crate::RemoteStats::default()
    }
}

#[test]
fn a_cancelled_leader_leaves_its_followers() {
    let remote = remote(Duration::from_millis(50));
    remote.put("a", vec![7; 100]);
    let tier = CacheTier::new(immutable(1 << 20)).unwrap();
    let medium = tier.wrap(&Medium::Remote(std::sync::Arc::new(Cancelling(remote.medium()))), NAME);
    let flag = CancelFlag::default();
    let leader = start_with(&medium, "a", bounded(0, 100), None, flag.clone());
    let followers: Vec<_> = (0..5).map(|at| start(&medium, "a", bounded(at, 50), None)).collect();
    flag.raise();
    assert_eq!(wait(&leader).unwrap_err().kind(), ErrorKind::Cancelled);
    followers.iter().for_each(|answer| assert_eq!(wait(answer).unwrap().bytes[..], [7; 50]));
}

/// Threads that ask for the same few ranges, with a source that fails and forgets: every request is answered.
#[test]
fn nobody_waits_for_ever_with_faults() {
    let config = SimulatedConfig {
        latency: Duration::from_micros(200),
        unavailable_per_mille: 100,
        dropped_per_mille: 50,
        ..SimulatedConfig::default()
    };
    let remote = SimulatedRemote::new(config).unwrap();
    let mut random = Random::new(8);
    let bytes = noise(&mut random, 10_000);
    remote.put("a", bytes.clone());
    let tier = CacheTier::new(immutable(4000)).unwrap();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (tier, remote, bytes) = (&tier, &remote, &bytes);
            scope.spawn(move || {
                let medium = tier.wrap(&remote.medium(), NAME);
                let mut random = Random::new(seed);
                for _ in 0..300 {
                    let (offset, len) = (random.below(9000), random.below(900) + 1);
                    let at = usize::try_from(offset).unwrap();
                    match get(&medium, "a", bounded(offset, len)) {
                        Ok(found) => assert!(found.bytes == bytes[at..at + found.bytes.len()]),
                        Err(error) => {
                            assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Internal));
                        }
                    }
                }
            });
        }
    });
}
