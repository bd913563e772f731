//! How threads that read ahead are given work, by a thread that is not to wait for them.

use crate::interpreter::{Waited, is_ended, waited_apart};
use crate::landing::held_back;
use pyo3::prelude::*;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Turns to work, each taken by one thread, which does not want the GIL before its turn is due.
#[pyclass(frozen, weakref, module = "swath._swath")]
pub(crate) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Given, and not taken yet.
    left: usize,
    /// Before then none is taken.
    due: Instant,
    is_over: bool,
}

/// How long a wait is deaf to the end of Python, before which turns are ended.
const DEAF: Duration = Duration::from_secs(1);

impl Turns {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn; false where there will be none.
    fn taken(&self, is_interrupted: impl Fn() -> bool) -> bool {
        let mut state = self.state();
        loop {
            let early = state.due.saturating_duration_since(Instant::now());
            if state.left != 0 && (state.is_over || early.is_zero()) {
                state.left -= 1;
                return true;
            }
            if state.is_over || is_interrupted() {
                return false;
            }
            let wait = if state.left == 0 { DEAF } else { early.min(DEAF) };
            let waited = self.changed.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[pymethods]
impl Turns {
    #[new]
    fn new() -> Turns {
        let state = State { left: 0, due: Instant::now(), is_over: false };
        Turns { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Give turns, of which none is taken before so many seconds (1 at most); false where they ended.
    fn give(&self, count: usize, held_back_s: f64) -> bool {
        let held_back = held_back(held_back_s);
        let mut state = self.state();
        if state.is_over {
            return false;
        }
        state.left += count;
        state.due = Instant::now() + held_back;
        drop(state);
        for _ in 0..count {
            self.changed.notify_one();
        }
        true
    }

    /// Say that no more will be given: what was given may be taken at once.
    fn end(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }

    /// Wait for a turn; false where there will be none. Signals are not looked at.
    fn take(&self, py: Python<'_>) -> PyResult<bool> {
        let Waited { done, signalled, section: _section } =
            waited_apart(py, |signalled| self.taken(|| is_ended(signalled)))?;
        signalled.map_or(Ok(done), Err)
    }
}
