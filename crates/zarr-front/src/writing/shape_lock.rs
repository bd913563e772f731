//! One change of an array's shape at a time.

use super::object_locks::{ObjectLock, ObjectLocks, WAIT_SLICE, interrupted};
use crate::{Array, Error};
use swath_ioengine::{TryLock, is_interrupted};

/// Held by whoever changes an array's shape, from before it looks at the old one until the new one is stored: by one holder
/// in this process, and of a local directory by one in all processes that lock it.
pub(super) struct ShapeLock {
    /// Given back first.
    _between_processes: Option<Box<dyn Send>>,
    _in_process: ObjectLock,
}

impl ShapeLock {
    /// Waits for the lock, until `interrupt` says that it shall not any more.
    ///
    /// # Errors
    ///
    /// `Cancelled` where the interrupt said so; those of the store.
    pub(super) fn take(array: &Array, interrupt: Option<&dyn Fn() -> bool>) -> Result<ShapeLock, Error> {
        let object = array.store().object(&array.document_key());
        let is_over = || interrupt.is_some_and(|interrupt| interrupt()) || is_interrupted();
        let in_process = ObjectLocks::of_process().lock_shape(&object, is_over)?;
        let between_processes = loop {
            let tried = object.medium.try_lock(&object.key);
            match tried.map_err(|error| array.store().named(Error::from(error)))? {
                TryLock::Held(held) => break Some(held),
                TryLock::None => break None,
                TryLock::Taken if is_over() => return Err(interrupted()),
                TryLock::Taken => std::thread::sleep(WAIT_SLICE),
            }
        };
        Ok(ShapeLock { _between_processes: between_processes, _in_process: in_process })
    }
}
