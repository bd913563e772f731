//! Objects in memory: the medium that every other is compared with.

mod named_memory;

use crate::blocks::Blocks;
use crate::driver::{Completion, DriverSite, LocalDriver, Outcome, ReadOp, TargetUse, WaitsFor};
use crate::engine::lock;
use crate::medium::{Entry, LocalMedium, Medium, MediumId, ObjectRef, OpenObject, TryLock};
use crate::resident::Resident;
use crate::wake::Wake;
use crate::writing::check_condition;
use crate::{ByteRange, CostModel, Error, ErrorKind, Identity, PutCondition, memory_len, storage_len};
use bytes::Bytes;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Objects in memory. Cloning shares them.
#[derive(Clone)]
pub struct MemoryMedium(Arc<Memory>);

struct Memory {
    id: MediumId,
    objects: Mutex<BTreeMap<Arc<str>, MemoryObject>>,
    writes: AtomicU64,
}

#[derive(Clone)]
struct MemoryObject {
    bytes: Bytes,
    identity: Identity,
}

impl MemoryMedium {
    /// A medium without objects.
    pub fn new() -> MemoryMedium {
        MemoryMedium(Arc::new(Memory {
            id: MediumId::unique(),
            objects: Mutex::default(),
            writes: AtomicU64::new(0),
        }))
    }

    /// The medium that everything in this process knows by `name`: what is written to it is found wherever it is asked for
    /// again. Made empty when it is first asked for, and kept until the process ends.
    ///
    /// # Errors
    ///
    /// [`LimitExceeded`](ErrorKind::LimitExceeded) for more than 16,384 names.
    pub fn named(name: &str) -> Result<MemoryMedium, Error> {
        named_memory::find_or_make(name)
    }

    /// Writes an object, replacing one of the same key. Reads under way see the one or the other, never a mix.
    pub fn put(&self, key: &str, bytes: impl Into<Bytes>) {
        let version = self.0.writes.fetch_add(1, Ordering::Relaxed);
        let object = MemoryObject { bytes: bytes.into(), identity: Identity::Version(version) };
        lock(&self.0.objects).insert(Arc::from(key), object);
    }

    /// Removes an object. True when it was there.
    pub fn remove(&self, key: &str) -> bool {
        lock(&self.0.objects).remove(key).is_some()
    }

    /// The medium, as arrays and batches take it.
    pub fn medium(&self) -> Medium {
        Medium::Local(Arc::clone(&self.0) as Arc<dyn LocalMedium>)
    }

    /// A reference to the object `key`, whether it exists or not.
    pub fn object(&self, key: &str) -> ObjectRef {
        ObjectRef { medium: self.medium(), key: Arc::from(key) }
    }
}

impl Default for MemoryMedium {
    fn default() -> MemoryMedium {
        MemoryMedium::new()
    }
}

impl Memory {
    fn get(&self, key: &str) -> Result<MemoryObject, Error> {
        let found = lock(&self.objects).get(key).cloned();
        found.ok_or_else(|| Error::new(ErrorKind::NotFound, "no such object in memory"))
    }
}

impl LocalMedium for Memory {
    fn id(&self) -> MediumId {
        self.id
    }

    fn describe(&self) -> String {
        "memory".to_owned()
    }

    fn family(&self) -> &'static str {
        "memory"
    }

    fn depth(&self) -> Option<usize> {
        None
    }

    fn cost(&self) -> CostModel {
        CostModel::MEMORY
    }

    fn driver(&self, _site: DriverSite<'_>) -> Result<Box<dyn LocalDriver>, Error> {
        Ok(Box::new(MemoryDriver { done: Vec::new() }))
    }

    fn open(&self, key: &str) -> Result<Arc<dyn OpenObject>, Error> {
        Ok(Arc::new(self.get(key)?))
    }

    fn identify(&self, key: &str) -> Result<Identity, Error> {
        Ok(self.get(key)?.identity)
    }

    fn verify(&self, _object: &dyn OpenObject) -> Result<(), Error> {
        Ok(()) // A handle holds its version's bytes: they cannot change.
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        let objects = lock(&self.objects);
        Ok(list_keys(objects.iter().map(|(key, object)| (key.as_ref(), object.bytes.len())), prefix))
    }

    fn put(&self, key: &str, bytes: Bytes, condition: &PutCondition) -> Result<Option<Identity>, Error> {
        let mut objects = lock(&self.objects);
        check_condition(condition, objects.get(key).map(|object| &object.identity))?;
        let identity = Identity::Version(self.writes.fetch_add(1, Ordering::Relaxed));
        // Of its own: what was written may lie in more memory than it takes.
        let bytes = Bytes::copy_from_slice(&bytes);
        objects.insert(Arc::from(key), MemoryObject { bytes, identity: identity.clone() });
        Ok(Some(identity))
    }

    fn delete(&self, key: &str) -> Result<(), Error> {
        lock(&self.objects).remove(key);
        Ok(())
    }

    fn delete_version(&self, key: &str, version: &Identity) -> Result<(), Error> {
        let mut objects = lock(&self.objects);
        let condition = PutCondition::Matches(version.clone());
        check_condition(&condition, objects.get(key).map(|object| &object.identity))?;
        objects.remove(key);
        Ok(())
    }

    fn try_lock(&self, _key: &str) -> Result<TryLock, Error> {
        Ok(TryLock::None)
    }
}

/// What lies directly under `prefix` in a sorted listing of keys and sizes.
pub(crate) fn list_keys<'a>(keys: impl Iterator<Item = (&'a str, usize)>, prefix: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (key, size) in keys {
        let Some(rest) = key.strip_prefix(prefix) else { continue };
        let entry = match rest.split_once('/') {
            Some((name, _)) => Entry::Prefix { name: name.to_owned() },
            None => Entry::Object { name: rest.to_owned(), size: storage_len(size) },
        };
        if entries.last() != Some(&entry) {
            entries.push(entry);
        }
    }
    entries.sort_by(|a, b| a.name().cmp(b.name()));
    entries
}

impl OpenObject for MemoryObject {
    fn size(&self) -> u64 {
        storage_len(self.bytes.len())
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn resident(&self, _bytes: u64) -> Option<Resident<'_>> {
        Some(Resident::lent(&self.bytes))
    }

    fn blocks(&self, _bytes: u64) -> Option<Blocks> {
        None
    }

    fn refuse_blocks(&self) {}

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Lends slices of the objects; every read is complete once it is submitted.
struct MemoryDriver {
    done: Vec<Completion>,
}

impl LocalDriver for MemoryDriver {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn target_use(&self) -> TargetUse {
        TargetUse::Lends
    }

    fn waits_for(&self) -> WaitsFor {
        WaitsFor::Device
    }

    fn submit(&mut self, read: ReadOp<'_>) {
        let outcome = match read.object.as_any().downcast_ref::<MemoryObject>() {
            Some(object) => lend(&object.bytes, read.offset, read.len),
            None => Outcome::Failed(Error::new(ErrorKind::Internal, "not an object in memory")),
        };
        self.done.push(Completion { slot: read.slot, target: read.target, outcome });
    }

    fn flush(&mut self) {}

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        completions.append(&mut self.done);
    }

    fn wait(&mut self, wake: &Wake, timeout: Duration) {
        if self.done.is_empty() {
            wake.wait(timeout);
        }
    }

    fn cancel(&mut self, _slot: u32) {}

    fn in_flight(&self) -> usize {
        self.done.len()
    }
}

fn lend(bytes: &Bytes, offset: u64, len: usize) -> Outcome {
    let range = ByteRange::Bounded { offset, len: storage_len(len) };
    match range.resolve(storage_len(bytes.len())).and_then(|(offset, _)| memory_len(offset)) {
        Ok(offset) => Outcome::Lent(bytes.slice(offset..offset + len)),
        Err(error) => Outcome::Failed(error),
    }
}
