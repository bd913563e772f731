//! One change of an array's shape at a time.

use crate::{Array, Error, ErrorKind};
use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use swath_ioengine::{Engine, MediumId, TryLock, is_interrupted};

/// Held by whoever changes an array's shape, from before it looks at the old one until the new one is stored: by one holder
/// in this process, and of a local directory by one in all processes that lock it.
pub(super) struct ShapeLock {
    shapes: Arc<Shapes>,
    key: Key,
    /// Given back first.
    between_processes: Option<Box<dyn Send>>,
}

type Key = (MediumId, Arc<str>);

/// Arrays whose shapes are being changed in this process: its engine's, so that a forked child finds none.
#[derive(Default)]
struct Shapes {
    taken: Mutex<HashSet<Key>>,
    given_back: Condvar,
}

/// How often a waiting thread looks at its interrupt, and another process's lock.
const WAIT_SLICE: Duration = Duration::from_millis(20);

impl ShapeLock {
    /// Waits for the lock, until `interrupt` says that it shall not any more.
    ///
    /// # Errors
    ///
    /// `Cancelled` where the interrupt said so; those of the store.
    pub(super) fn take(array: &Array, interrupt: Option<&dyn Fn() -> bool>) -> Result<ShapeLock, Error> {
        let object = array.store().object(&array.document_key());
        let is_over = || interrupt.is_some_and(|interrupt| interrupt()) || is_interrupted();
        let wait = || match is_over() {
            true => Err(Error::new(ErrorKind::Cancelled, "the write was interrupted")),
            false => Ok(WAIT_SLICE),
        };
        let shapes = Engine::global().extension::<Shapes>();
        let key = (object.medium.id(), Arc::clone(&object.key));
        let mut taken = shapes.taken.lock().unwrap_or_else(PoisonError::into_inner);
        while !taken.insert(key.clone()) {
            taken = shapes.given_back.wait_timeout(taken, wait()?).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(taken);
        let mut lock = ShapeLock { shapes, key, between_processes: None };
        loop {
            let tried = object.medium.try_lock(&object.key);
            match tried.map_err(|error| array.store().named(Error::from(error)))? {
                TryLock::Held(held) => lock.between_processes = Some(held),
                TryLock::None => {}
                TryLock::Taken => {
                    std::thread::sleep(wait()?);
                    continue;
                }
            }
            return Ok(lock);
        }
    }
}

impl Drop for ShapeLock {
    fn drop(&mut self) {
        self.between_processes = None;
        self.shapes.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
        self.shapes.given_back.notify_all();
    }
}
