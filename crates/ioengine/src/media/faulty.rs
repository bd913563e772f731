//! Any medium, with seeded faults in front: for tests of engines, media and batches.

use crate::blocks::Blocks;
use crate::driver::{Caching, Completion, DriverSite, LocalDriver, Outcome, ReadOp, TargetUse, WaitsFor};
use crate::engine::lock;
use crate::medium::{Entry, LocalMedium, Medium, MediumId, ObjectRef, OpenObject, RemoteSource, TryLock};
use crate::random::Random;
use crate::remote::{FetchRequest, Reply};
use crate::resident::Resident;
use crate::wake::Wake;
use crate::{CostModel, Error, ErrorKind, Identity, PutCondition, RemoteStats};
use bytes::Bytes;
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Which faults a [`FaultyMedium`] injects, and how often: chances are in thousandths of the physical reads. Equal
/// seeds give equal faults for an equal sequence of reads; print the seed of what fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// Seed of all chances.
    pub seed: u64,
    /// Reads that fill less than was asked for, at least one byte. Media that lend are left alone.
    pub short_per_mille: u32,
    /// Reads that are interrupted (EINTR) or refused for now (EAGAIN).
    pub again_per_mille: u32,
    /// Reads in whole blocks past the page cache that are refused, as file systems without O_DIRECT do.
    pub refused_per_mille: u32,
    /// Reads whose completion is held back.
    pub held_per_mille: u32,
    /// Most times that a held completion is not found by a look for completions.
    pub held_reaps_max: u32,
    /// Reads that fail as [`Io`](ErrorKind::Io).
    pub error_per_mille: u32,
    /// The read, counted from 0, that fails in any case.
    pub error_at: Option<u64>,
    /// Reads of media that lend or give bytes which bring one byte less, or one more of rubbish.
    pub wrong_length_per_mille: u32,
}

/// A medium with faults in front of it. Cloning shares it.
#[derive(Clone)]
pub struct FaultyMedium {
    medium: Medium,
    faults: Arc<Faults>,
}

struct Faults {
    plan: FaultPlan,
    random: Mutex<Random>,
    reads: AtomicU64,
    injected: AtomicU64,
}

/// What happens to one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Short(u64),
    Again,
    Refused,
    Error,
    /// One byte less, or one more.
    WrongLength(u64),
}

impl FaultyMedium {
    /// The medium with faults.
    pub fn wrap(medium: Medium, plan: FaultPlan) -> FaultyMedium {
        let random = Mutex::new(Random::new(plan.seed));
        let faults = Arc::new(Faults { plan, random, reads: AtomicU64::new(0), injected: AtomicU64::new(0) });
        let id = MediumId::unique();
        let medium = match medium {
            Medium::Local(inner) => Medium::Local(Arc::new(FaultyLocal {
                id,
                family: faulty_family(inner.family()),
                inner,
                faults: Arc::clone(&faults),
            })),
            Medium::Remote(inner) => {
                Medium::Remote(Arc::new(FaultyRemote { id, inner, faults: Arc::clone(&faults) }))
            }
        };
        FaultyMedium { medium, faults }
    }

    /// The medium, as arrays and batches take it.
    pub fn medium(&self) -> Medium {
        self.medium.clone()
    }

    /// A reference to the object `key`, whether it exists or not.
    pub fn object(&self, key: &str) -> ObjectRef {
        ObjectRef { medium: self.medium(), key: Arc::from(key) }
    }

    /// Faults injected so far, held completions included.
    pub fn injected(&self) -> u64 {
        self.faults.injected.load(Ordering::Relaxed)
    }
}

impl Faults {
    fn next(&self, site: TargetUse, caching: Caching) -> Fault {
        let number = self.reads.fetch_add(1, Ordering::Relaxed);
        let plan = &self.plan;
        let mut random = lock(&self.random);
        let fault = if plan.error_at == Some(number) || random.chance(plan.error_per_mille) {
            Fault::Error
        } else if caching == Caching::Bypassed && random.chance(plan.refused_per_mille) {
            Fault::Refused
        } else if random.chance(plan.again_per_mille) {
            Fault::Again
        } else if site == TargetUse::Fills && random.chance(plan.short_per_mille) {
            Fault::Short(random.next())
        } else if site == TargetUse::Lends && random.chance(plan.wrong_length_per_mille) {
            Fault::WrongLength(random.below(2))
        } else {
            Fault::None
        };
        self.count(fault != Fault::None);
        fault
    }

    /// Looks for completions that shall not find the next one.
    fn hold(&self) -> u32 {
        let mut random = lock(&self.random);
        let held = random.chance(self.plan.held_per_mille);
        self.count(held);
        let reaps = if held { random.below(u64::from(self.plan.held_reaps_max) + 1) } else { 0 };
        u32::try_from(reaps).unwrap_or(u32::MAX)
    }

    fn count(&self, injected: bool) {
        self.injected.fetch_add(u64::from(injected), Ordering::Relaxed);
    }

    fn error(&self) -> Error {
        Error::new(ErrorKind::Io, format!("an injected error (seed {})", self.plan.seed))
    }
}

struct FaultyLocal {
    id: MediumId,
    family: &'static str,
    inner: Arc<dyn LocalMedium>,
    faults: Arc<Faults>,
}

/// Drivers of faulty media are shared like those of the media in them, but never with them.
fn faulty_family(inner: &'static str) -> &'static str {
    static FAMILIES: Mutex<Vec<(&str, &str)>> = Mutex::new(Vec::new());
    let mut families = lock(&FAMILIES);
    if let Some((_, faulty)) = families.iter().find(|(known, _)| *known == inner) {
        return faulty;
    }
    let faulty = Box::leak(format!("faulty {inner}").into_boxed_str());
    families.push((inner, faulty));
    faulty
}

/// An open object that brings its faults along: drivers serve several faulty media.
struct FaultyObject {
    inner: Arc<dyn OpenObject>,
    faults: Arc<Faults>,
}

impl OpenObject for FaultyObject {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn identity(&self) -> &Identity {
        self.inner.identity()
    }

    fn is_settled(&self) -> bool {
        self.inner.is_settled()
    }

    fn resident(&self, _bytes: u64) -> Option<Resident<'_>> {
        // Bytes that no read brings would arrive without a fault.
        None
    }

    fn blocks(&self, bytes: u64) -> Option<Blocks> {
        self.inner.blocks(bytes)
    }

    fn refuse_blocks(&self) {
        self.inner.refuse_blocks();
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl LocalMedium for FaultyLocal {
    fn id(&self) -> MediumId {
        self.id
    }

    fn describe(&self) -> String {
        format!("{}, with faults of seed {}", self.inner.describe(), self.faults.plan.seed)
    }

    fn family(&self) -> &'static str {
        self.family
    }

    fn depth(&self) -> Option<usize> {
        self.inner.depth()
    }

    fn cost(&self) -> CostModel {
        self.inner.cost()
    }

    fn driver(&self, site: DriverSite<'_>) -> Result<Box<dyn LocalDriver>, Error> {
        let inner = self.inner.driver(site)?;
        Ok(Box::new(FaultyDriver { inner, done: Vec::new(), held: Vec::new(), pending: Vec::new() }))
    }

    fn open(&self, key: &str) -> Result<Arc<dyn OpenObject>, Error> {
        Ok(Arc::new(FaultyObject { inner: self.inner.open(key)?, faults: Arc::clone(&self.faults) }))
    }

    fn identify(&self, key: &str) -> Result<Identity, Error> {
        self.inner.identify(key)
    }

    fn verify(&self, object: &dyn OpenObject) -> Result<(), Error> {
        match object.as_any().downcast_ref::<FaultyObject>() {
            Some(object) => self.inner.verify(object.inner.as_ref()),
            None => Err(Error::new(ErrorKind::Internal, "not an object of a faulty medium")),
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        self.inner.list(prefix)
    }

    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        self.inner.put(key, bytes, condition)
    }

    fn delete(&self, key: &str) -> Result<(), Error> {
        self.inner.delete(key)
    }

    fn delete_version(&self, key: &str, version: &Identity) -> Result<(), Error> {
        self.inner.delete_version(key, version)
    }

    fn try_lock(&self, key: &str) -> Result<TryLock, Error> {
        self.inner.try_lock(key)
    }
}

struct FaultyDriver {
    inner: Box<dyn LocalDriver>,
    /// Reads that ended here, without the inner driver.
    done: Vec<Completion>,
    /// Completions, and the looks that shall not find them.
    held: Vec<(u32, Completion)>,
    /// Reads with the inner driver: their slots and what shall become of them.
    pending: Vec<(u32, Fault, Arc<Faults>)>,
}

impl LocalDriver for FaultyDriver {
    fn name(&self) -> &'static str {
        faulty_family(self.inner.name())
    }

    fn target_use(&self) -> TargetUse {
        self.inner.target_use()
    }

    fn waits_for(&self) -> WaitsFor {
        self.inner.waits_for()
    }

    fn submit(&mut self, read: ReadOp<'_>) {
        let ReadOp { slot, object, offset, len, target, filled, caching } = read;
        let Some(object) = object.as_any().downcast_ref::<FaultyObject>() else {
            let error = Error::new(ErrorKind::Internal, "not an object of a faulty medium");
            return self.done.push(Completion { slot, target, outcome: Outcome::Failed(error) });
        };
        let fault = object.faults.next(self.inner.target_use(), caching);
        let len = match fault {
            Fault::Error => {
                let outcome = Outcome::Failed(object.faults.error());
                return self.done.push(Completion { slot, target, outcome });
            }
            Fault::Again => return self.done.push(Completion { slot, target, outcome: Outcome::Again }),
            Fault::Refused => return self.done.push(Completion { slot, target, outcome: Outcome::Refused }),
            Fault::Short(random) if 1 < len - filled => {
                filled + 1 + usize::try_from(random % crate::storage_len(len - filled - 1)).unwrap_or(0)
            }
            Fault::Short(_) | Fault::WrongLength(_) | Fault::None => len,
        };
        self.pending.push((slot, fault, Arc::clone(&object.faults)));
        self.inner.submit(ReadOp { slot, object: &object.inner, offset, len, target, filled, caching });
    }

    fn flush(&mut self) {
        self.inner.flush();
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        self.inner.reap(&mut self.done);
        for mut completion in self.done.drain(..) {
            let at = self.pending.iter().position(|(slot, ..)| *slot == completion.slot);
            let hold = match at.map(|at| self.pending.swap_remove(at)) {
                Some((_, fault, faults)) => {
                    completion.outcome = spoil(completion.outcome, fault);
                    faults.hold()
                }
                None => 0,
            };
            self.held.push((hold, completion));
        }
        for (_, completion) in self.held.extract_if(.., |(hold, _)| *hold == 0) {
            completions.push(completion);
        }
        for (hold, _) in &mut self.held {
            *hold -= 1;
        }
    }

    fn wait(&mut self, wake: &Wake, timeout: Duration) {
        if self.held.is_empty() && self.done.is_empty() {
            self.inner.wait(wake, timeout);
        }
    }

    fn cancel(&mut self, slot: u32) {
        self.inner.cancel(slot);
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight() + self.done.len() + self.held.len()
    }
}

/// Lent bytes of a wrong length.
fn spoil(outcome: Outcome, fault: Fault) -> Outcome {
    match (outcome, fault) {
        (Outcome::Lent(bytes) | Outcome::Owned(bytes), Fault::WrongLength(0)) => {
            Outcome::Owned(bytes.slice(..bytes.len().saturating_sub(1)))
        }
        (Outcome::Lent(bytes) | Outcome::Owned(bytes), Fault::WrongLength(_)) => {
            Outcome::Owned([&bytes[..], b"?"].concat().into())
        }
        (outcome, _) => outcome,
    }
}

struct FaultyRemote {
    id: MediumId,
    inner: Arc<dyn RemoteSource>,
    faults: Arc<Faults>,
}

impl RemoteSource for FaultyRemote {
    fn id(&self) -> MediumId {
        self.id
    }

    fn describe(&self) -> String {
        format!("{}, with faults of seed {}", self.inner.describe(), self.faults.plan.seed)
    }

    fn cost(&self) -> CostModel {
        self.inner.cost()
    }

    fn fetch(&self, request: FetchRequest, reply: Reply) {
        // Sources retry by themselves, so that there is nothing between an answer and an error to inject here.
        match self.faults.next(TargetUse::Fills, Caching::Cached) {
            Fault::Error => reply.complete(Err(self.faults.error())),
            Fault::Again => drop(reply),
            Fault::None | Fault::Short(_) | Fault::WrongLength(_) | Fault::Refused => {
                self.inner.fetch(request, reply)
            }
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        self.inner.list(prefix)
    }

    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        self.inner.put(key, bytes, condition)
    }

    fn delete(&self, key: &str) -> Result<(), Error> {
        self.inner.delete(key)
    }

    fn delete_version(&self, key: &str, version: &Identity) -> Result<(), Error> {
        self.inner.delete_version(key, version)
    }

    fn stats(&self) -> RemoteStats {
        self.inner.stats()
    }
}
