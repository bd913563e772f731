//! The objects of one medium.

use super::object::{Object, State};
use crate::engine::lock;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// Objects whose keys' hashes begin alike.
type Part = HashMap<Arc<str>, Arc<Object>, RandomState>;

/// Parts of a table, each behind its own lock.
const PARTS: usize = 16;

/// Objects by key. Holds those only of which something is cached or under way.
pub(super) struct Table {
    /// The medium's lasting name.
    pub(super) name: Arc<str>,
    hasher: RandomState,
    parts: [Mutex<Part>; PARTS],
    own: Weak<Table>,
}

impl Table {
    pub(super) fn new(name: &str) -> Arc<Table> {
        let hasher = RandomState::new();
        Arc::new_cyclic(|own| Table {
            name: Arc::from(name),
            parts: std::array::from_fn(|_| Mutex::new(HashMap::with_hasher(hasher.clone()))),
            hasher,
            own: own.clone(),
        })
    }

    fn part(&self, key: &str) -> MutexGuard<'_, Part> {
        let hash = self.hasher.hash_one(key);
        // A map that hashes the key as well uses other bits of it.
        lock(&self.parts[usize::try_from(hash >> 60).unwrap_or(0) % PARTS])
    }

    /// The object of that key, made where there is none.
    pub(super) fn object(&self, key: &Arc<str>) -> Arc<Object> {
        let mut part = self.part(key);
        if let Some(object) = part.get(key) {
            return Arc::clone(object);
        }
        let object = Object::new(Weak::clone(&self.own), Arc::clone(key));
        part.insert(Arc::clone(key), Arc::clone(&object));
        object
    }

    /// True where nothing is cached or under way.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| lock(part).is_empty())
    }

    /// The object of that key, where there is one.
    pub(super) fn find(&self, key: &Arc<str>) -> Option<Arc<Object>> {
        self.part(key).get(key).map(Arc::clone)
    }

    /// Calls `then` with an object that is in the table, locked.
    pub(super) fn with<T>(
        &self,
        key: &Arc<str>,
        then: impl FnOnce(&Arc<Object>, &mut MutexGuard<'_, State>) -> T,
    ) -> T {
        loop {
            let object = self.object(key);
            let mut state = object.lock();
            if !state.removed {
                return then(&object, &mut state);
            }
        }
    }

    pub(super) fn remove_if_empty(&self, object: &Arc<Object>) {
        let mut part = self.part(&object.key);
        let mut state = object.lock();
        if state.is_empty() && !state.removed {
            state.removed = true;
            part.remove(&object.key);
        }
    }
}
