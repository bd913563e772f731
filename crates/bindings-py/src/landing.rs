//! How one thread hears that another has read what it waits for, whoever has the GIL meanwhile.

use crate::interpreter::{Waited, interrupted, waited};
use pyo3::prelude::*;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a thread that reads ahead tells who waits for it, at once and without the GIL.
///
/// Its reads begin `held_back_s` seconds (1 at most) after they were planned.
#[pyclass(frozen, module = "swath._swath")]
pub(crate) struct Landing {
    held_back: Duration,
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

/// The longest that anything is held back.
const HELD_BACK_MAX: Duration = Duration::from_secs(1);

/// How long something is held back that is told to be by so many seconds.
pub(crate) fn held_back(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default().min(HELD_BACK_MAX)
}

/// How long a wait is deaf to signals.
const DEAF: Duration = Duration::from_millis(50);

impl Landing {
    /// Waits, without the GIL, until reads may begin.
    pub(crate) fn hold_back(&self) {
        std::thread::sleep(self.held_back);
    }

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
    #[pyo3(signature = (held_back_s = 0.0))]
    fn new(held_back_s: f64) -> Landing {
        let held_back = held_back(held_back_s);
        Landing { held_back, state: Mutex::new(State::Flying), changed: Condvar::new() }
    }

    /// Say that nothing more will land.
    fn end(&self) {
        self.become_unless_over(State::Over);
    }

    /// Whether `wait` would not wait.
    #[getter]
    fn is_there(&self) -> bool {
        *self.state() != State::Flying
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
