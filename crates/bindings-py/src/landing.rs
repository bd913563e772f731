//! How one thread hears that another has read what it waits for, whoever has the GIL meanwhile.

use crate::interpreter::{Waited, interrupted, waited};
use pyo3::prelude::*;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a thread that reads ahead tells who waits for it, at once and without the GIL.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct Landing {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Still to come.
    Flying,
    /// All was read.
    Landed,
    /// The thread has done what it could, and says itself what came of it.
    Over,
}

/// How long a wait is deaf to signals.
const DEAF: Duration = Duration::from_millis(50);

impl Landing {
    /// All was read.
    pub(crate) fn land(&self) {
        self.become_unless_over(State::Landed);
    }

    fn become_unless_over(&self, next: State) {
        let mut state = self.state();
        if *state == State::Flying {
            *state = next;
            self.changed.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Landing {
    #[new]
    fn new() -> Landing {
        Landing { state: Mutex::new(State::Flying), changed: Condvar::new() }
    }

    /// Say that nothing more will land.
    fn end(&self) {
        self.become_unless_over(State::Over);
    }

    /// Wait until all was read, or nothing more will land; true where all was read.
    fn wait(&self, py: Python<'_>) -> PyResult<bool> {
        let state = *self.state();
        if state != State::Flying {
            return Ok(state == State::Landed);
        }
        let Waited { done, signalled, section: _section } = waited(py, |signalled| {
            loop {
                let state = self.state();
                if *state != State::Flying {
                    return *state == State::Landed;
                }
                let waited = self.changed.wait_timeout_while(state, DEAF, |state| *state == State::Flying);
                // Whoever asks for signals takes the GIL, which must not be waited for with the lock held.
                drop(waited);
                if interrupted(signalled) {
                    return false;
                }
            }
        })?;
        signalled.map_or(Ok(done), Err)
    }
}
