//! What is particular to remote media.

use crate::batches::{Reads, bounded, made};
use crate::stand::{noise, within_a_minute};
use bytes::Bytes;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use swath_ioengine::{
    ByteRange, CostModel, Engine, EngineConfig, Entry, Error, ErrorKind, FetchRequest, Fetched, Identity,
    LaneContext, Limits, Medium, MediumId, MemoryMedium, ObjectRef, Planned, PutCondition, RemoteSource,
    RemoteStats, Reply, RunOptions, SimulatedConfig, SimulatedRemote, Token, Window,
};

fn engine(limits: Limits) -> Engine {
    let limits = Limits { inline_reads_max: 0, ..limits };
    Engine::new(EngineConfig { limits, ..EngineConfig::default() })
}

/// A source that answers at once, by a function.
struct Answers<F> {
    id: MediumId,
    requests: Mutex<Vec<FetchRequest>>,
    answer: F,
}

impl<F: Fn(u64, &FetchRequest) -> Result<Fetched, Error> + Send + Sync> RemoteSource for Answers<F> {
    fn id(&self) -> MediumId {
        self.id
    }

    fn describe(&self) -> String {
        "answers".to_owned()
    }

    fn cost(&self) -> CostModel {
        CostModel { request_cost_ns: 0.0, byte_cost_ns: 1.0 }
    }

    fn fetch(&self, request: FetchRequest, reply: Reply) {
        let number = {
            let mut requests = self.requests.lock().unwrap();
            requests.push(request.clone());
            requests.len() as u64 - 1
        };
        reply.complete((self.answer)(number, &request));
    }

    fn list(&self, _: &str) -> Result<Vec<Entry>, Error> {
        Err(Error::new(ErrorKind::Unsupported, "no listing"))
    }

    fn put(&self, _: &str, _: Bytes, _: &PutCondition) -> Result<Option<Identity>, Error> {
        Err(Error::new(ErrorKind::Unsupported, "this source only answers"))
    }

    fn delete(&self, _: &str) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Unsupported, "this source only answers"))
    }

    fn stats(&self) -> RemoteStats {
        RemoteStats::default()
    }
}

fn answers(
    answer: impl Fn(u64, &FetchRequest) -> Result<Fetched, Error> + Send + Sync + 'static,
) -> ObjectRef {
    let source = Answers { id: MediumId::unique(), requests: Mutex::default(), answer };
    ObjectRef { medium: Medium::Remote(Arc::new(source)), key: "a".into() }
}

fn bytes_of(request: &FetchRequest, fill: u8) -> bytes::Bytes {
    vec![fill; usize::try_from(request.range.len_max()).unwrap()].into()
}

/// An object replaced between two reads of a window, on a source that cannot compare: never a mix.
#[test]
fn versions_are_not_mixed_in_a_window() {
    within_a_minute(|| {
        let object = answers(|number, request| {
            let fill = u8::try_from(number.min(9)).unwrap();
            Ok(Fetched { bytes: bytes_of(request, fill), identity: Some(Identity::Version(u64::from(fill))) })
        });
        let wanted: Vec<(usize, ByteRange)> = (0..4).map(|index| (0, bounded(index * 1000, 10))).collect();
        let batch = Reads::new(vec![object], &wanted, 10);
        engine(Limits { lanes: 1, ..Limits::default() }).run(&batch, &RunOptions::default()).unwrap();
        let results = batch.results();
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
        assert_eq!(results.iter().filter(|result| **result == Err(ErrorKind::Changed)).count(), 3);
        assert_ne!(batch.stale.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn answers_of_a_wrong_length_are_errors() {
    within_a_minute(|| {
        let object = answers(|_, request| {
            let mut bytes = bytes_of(request, 1).to_vec();
            bytes.push(0);
            Ok(Fetched { bytes: bytes.into(), identity: None })
        });
        let wanted =
            [(0, bounded(0, 10)), (0, ByteRange::Suffix { len: 5 }), (0, ByteRange::Whole { len_max: 7 })];
        let batch = Reads::new(vec![object], &wanted, 10);
        engine(Limits::default()).run(&batch, &RunOptions::default()).unwrap();
        let results = batch.results();
        assert_eq!(results, [Err(ErrorKind::Io), Err(ErrorKind::Io), Err(ErrorKind::LimitExceeded)]);
    });
}

#[test]
fn a_source_that_panics_fails_its_reads() {
    within_a_minute(|| {
        let object = answers(|number, request| {
            assert_ne!(number, 1, "injected");
            Ok(Fetched { bytes: bytes_of(request, 1), identity: None })
        });
        let wanted: Vec<(usize, ByteRange)> = (0..4).map(|index| (0, bounded(index * 1000, 10))).collect();
        let batch = Reads::new(vec![object], &wanted, 10);
        engine(Limits::default()).run(&batch, &RunOptions::default()).unwrap();
        assert_eq!(batch.results().iter().filter(|result| result.is_err()).count(), 1);
    });
}

/// A missing object is asked for once, not once for each range.
#[test]
fn errors_of_the_object_are_not_asked_for_again() {
    within_a_minute(|| {
        let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
        let wanted: Vec<(usize, ByteRange)> = (0..60).map(|index| (0, bounded(index * 10, 10))).collect();
        let batch = Reads::new(vec![remote.object("missing")], &wanted, 60);
        engine(Limits::default()).run(&batch, &RunOptions::default()).unwrap();
        assert!(batch.results().iter().all(|result| *result == Err(ErrorKind::NotFound)));
        assert_eq!(remote.requests(), 1);
    });
}

#[test]
fn reads_of_no_bytes_make_no_request_and_targets_merge() {
    within_a_minute(|| {
        let remote = SimulatedRemote::new(SimulatedConfig::default()).unwrap();
        let bytes = noise(1, 200_000);
        remote.put("a", bytes.clone());
        let mut targets = vec![vec![0u8; 10_000]; 10];
        let mut wants: Vec<(usize, ByteRange, Option<&mut [u8]>)> = targets
            .iter_mut()
            .zip(0u64..)
            .map(|(target, index)| (0, bounded(index * 10_100, 10_000), Some(&mut target[..])))
            .collect();
        wants.extend((0..5).map(|index| (0, bounded(index, 0), None)));
        let batch = Reads::into(vec![remote.object("a")], wants, 100);
        engine(Limits::default()).run(&batch, &RunOptions::default()).unwrap();
        assert!(batch.results().iter().all(Result::is_ok));
        drop(batch);
        for (target, index) in targets.iter().zip(0usize..) {
            assert!(*target == bytes[index * 10_100..][..10_000]);
        }
        assert_eq!(remote.requests(), 1);
    });
}

/// Local batches go on while a remote one has filled its queue.
#[test]
fn a_slow_remote_does_not_hold_up_local_reads() {
    within_a_minute(|| {
        let config = SimulatedConfig { latency: Duration::from_millis(700), ..SimulatedConfig::default() };
        let remote = SimulatedRemote::new(config).unwrap();
        remote.put("a", noise(1, 100_000));
        let memory = MemoryMedium::new();
        memory.put("a", noise(1, 100_000));
        let engine = engine(Limits { lanes: 1, remote_depth: 4, ..Limits::default() });
        let wanted: Vec<(usize, ByteRange)> = (0..12).map(|index| (0, bounded(index * 5000, 10))).collect();
        let (done, slow_done) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let batch = Reads::new(vec![remote.object("a")], &wanted, 1);
                engine.run(&batch, &RunOptions { priority: 3, ..RunOptions::default() }).unwrap();
                slow_done.store(1, Ordering::SeqCst);
            });
            std::thread::sleep(Duration::from_millis(100));
            let start = Instant::now();
            while done.load(Ordering::SeqCst) < 20 {
                let batch = Reads::new(vec![memory.object("a")], &wanted, 2);
                engine.run(&batch, &RunOptions::default()).unwrap();
                done.fetch_add(1, Ordering::SeqCst);
            }
            assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
            assert_eq!(slow_done.load(Ordering::SeqCst), 0);
        });
    });
}

/// A caller's thread asks no remote source for anything: while it waited for the answer, nothing could stop it.
#[test]
fn remote_reads_are_left_to_the_lanes() {
    within_a_minute(|| {
        let engine = Engine::new(EngineConfig {
            limits: Limits { lanes: 1, ..Limits::default() },
            ..EngineConfig::default()
        });
        // The lane is held up, so that nobody but the caller's thread could take the window.
        let memory = MemoryMedium::new();
        memory.put("a", noise(1, 10));
        let (is_held, held) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let (object, released) = (memory.object("a"), Mutex::new(released));
        let holding = Arc::new(made(
            1,
            move |_, _, window: &mut Window<'_, '_>| {
                window.set_object(object.clone());
                window.read(bounded(0, 10), Token(0));
                Planned::Complete
            },
            move |_, _, _: &mut LaneContext<'_>| {
                is_held.send(()).unwrap();
                released.lock().unwrap().recv().unwrap();
            },
        ));
        let running = engine.spawn(holding, &RunOptions::default());
        held.recv().unwrap();
        let threads: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
        let object = {
            let threads = Arc::clone(&threads);
            answers(move |_, request| {
                threads.lock().unwrap().push(std::thread::current().id());
                Ok(Fetched { bytes: bytes_of(request, 7), identity: None })
            })
        };
        let batch = Reads::new(vec![object], &[(0, bounded(0, 10))], 1);
        // It is looked at by a thread that waits in the engine, and in no source.
        let interrupt = || {
            release.send(()).ok();
            false
        };
        engine.run(&batch, &RunOptions { interrupt: Some(&interrupt), ..RunOptions::default() }).unwrap();
        assert_eq!(batch.results(), [Ok(vec![7; 10])]);
        assert_eq!(threads.lock().unwrap().len(), 1);
        assert_ne!(threads.lock().unwrap()[0], std::thread::current().id());
        drop(running);
    });
}

/// A body that counts the bytes of all that are there.
struct Body(Vec<u8>, Arc<AtomicU64>);

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.1.fetch_sub(self.0.len() as u64, Ordering::SeqCst);
    }
}

/// Merged and split reads stay within their bounds and the byte budget, and no small result keeps a large body.
#[test]
fn bodies_are_bounded_and_not_kept() {
    within_a_minute(|| {
        let bytes = Arc::new(noise(3, 24 << 20));
        let (held, held_max, len_max, requests) = (counter(), counter(), counter(), counter());
        let object = {
            let (bytes, held, held_max) = (Arc::clone(&bytes), Arc::clone(&held), Arc::clone(&held_max));
            let (len_max, requests) = (Arc::clone(&len_max), Arc::clone(&requests));
            answers(move |_, request| {
                let (offset, len) = request.range.resolve(bytes.len() as u64)?;
                let body = bytes[offset as usize..][..len as usize].to_vec();
                requests.fetch_add(1, Ordering::SeqCst);
                len_max.fetch_max(len, Ordering::SeqCst);
                held_max.fetch_max(held.fetch_add(len, Ordering::SeqCst) + len, Ordering::SeqCst);
                let body = Bytes::from_owner(Body(body, Arc::clone(&held)));
                Ok(Fetched { bytes: body, identity: None })
            })
        };
        // Neighbours that merge to megabytes, and reads that are split.
        let mut wanted: Vec<(usize, ByteRange)> =
            (0..4000).map(|index| (0, bounded(index * 4096, 4096))).collect();
        wanted.extend((0..6).map(|index| (0, bounded((16 << 20) + (index << 20), 1 << 20))));
        let batch = Reads::new(vec![object], &wanted, 3000);
        let limits = Limits {
            lanes: 2,
            in_flight_bytes_max: 9 << 20,
            remote_merged_bytes_max: 512 << 10,
            remote_split_bytes: 256 << 10,
            ..Limits::default()
        };
        engine(limits).run(&batch, &RunOptions::default()).unwrap();
        let results = batch.results();
        for ((_, range), result) in wanted.iter().zip(&results) {
            let (offset, len) = range.resolve(u64::MAX).unwrap();
            assert!(result.as_ref().unwrap() == &bytes[offset as usize..][..len as usize], "{range}");
        }
        assert_eq!(held.load(Ordering::SeqCst), 0, "results are copies");
        let (held_max, len_max) = (held_max.load(Ordering::SeqCst), len_max.load(Ordering::SeqCst));
        assert!(held_max <= 9 << 20, "{held_max}");
        assert_eq!(len_max, 512 << 10);
        // 16 MB of neighbours by halves of a megabyte, and six megabytes by quarters.
        assert!((32 + 24..=34 + 24).contains(&requests.load(Ordering::SeqCst)), "{requests:?}");
    });
}

fn counter() -> Arc<AtomicU64> {
    Arc::default()
}
