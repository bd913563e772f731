//! Values that a forked child makes anew.

use crate::engine::lock;
use crate::{Error, fork};
use once_cell::race::OnceBox;
use std::sync::{Mutex, OnceLock};

/// One value a process: made on first use, and once more in each forked child.
///
/// What was made before a fork stays as it is, in child and parent, and a child never touches it: it may be in the middle of
/// a change by a thread that the child does not have. Nor does the child touch a lock that its parent may hold: each
/// generation has a node with locks of its own, and a process only looks past the nodes before its own, over links that
/// are set by one atomic exchange.
#[derive(Debug)]
pub struct PerProcess<T> {
    first: Node<T>,
}

#[derive(Debug)]
struct Node<T> {
    generation: u64,
    value: OnceLock<T>,
    making: Mutex<()>,
    /// The node of the next generation. Only processes of that generation and later ones make it.
    next: OnceBox<Node<T>>,
}

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PerProcess<T> {
    /// No value yet.
    #[must_use]
    pub const fn new() -> PerProcess<T> {
        PerProcess { first: Node::new(0) }
    }

    /// This process's value, made now where there is none. Threads wait for each other to make it.
    ///
    /// # Errors
    ///
    /// What `make` failed with; the next call tries again.
    pub fn get(&self, make: impl FnOnce() -> Result<T, Error>) -> Result<&T, Error> {
        let mut node = &self.first;
        for _ in 0..fork::generation() {
            node = node.next.get_or_init(|| Box::new(Node::new(node.generation + 1)));
        }
        if let Some(value) = node.value.get() {
            return Ok(value);
        }
        let _making = lock(&node.making);
        if let Some(value) = node.value.get() {
            return Ok(value);
        }
        let made = make()?;
        Ok(node.value.get_or_init(|| made))
    }

    /// This process's value, where it was made.
    #[cfg(any(feature = "cache", feature = "cloud", test))]
    pub(crate) fn made(&self) -> Option<&T> {
        let mut node = &self.first;
        for _ in 0..fork::generation() {
            node = node.next.get()?;
        }
        node.value.get()
    }
}

impl<T> Node<T> {
    const fn new(generation: u64) -> Node<T> {
        Node { generation, value: OnceLock::new(), making: Mutex::new(()), next: OnceBox::new() }
    }
}

impl<T> Drop for Node<T> {
    /// Values of other processes are left alone: dropping them might wait for threads that are not there.
    fn drop(&mut self) {
        if self.generation != fork::generation() {
            std::mem::forget(self.value.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_value_is_made_once_and_failures_are_not_kept() {
        let value = PerProcess::new();
        assert_eq!(value.made(), None);
        assert!(value.get(|| Err(Error::new(ErrorKind::Io, "not yet"))).is_err());
        let made = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let found = value.get(|| Ok(made.fetch_add(1, Ordering::SeqCst) + 7));
                    assert_eq!(found.copied().unwrap(), 7);
                });
            }
        });
        assert_eq!((made.load(Ordering::SeqCst), value.made()), (1, Some(&7)));
    }
}
