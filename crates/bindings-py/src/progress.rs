//! Showing how far a long read or write is.

use crate::interpreter::{attached, in_passing};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Whether `swath.config` says that progress is shown where nobody says otherwise.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// What ends sooner shows nothing.
const SHOWN_AFTER: Duration = Duration::from_millis(500);

/// How often what is shown changes at most.
const TICK: Duration = Duration::from_millis(50);

/// Say whether progress is shown where nobody says otherwise.
#[pyfunction]
#[pyo3(name = "_set_progress", signature = (is_shown))]
pub(crate) fn set_progress(is_shown: bool) {
    IS_SHOWN.store(is_shown, Ordering::Relaxed);
}

/// Something under way, whose progress is shown.
pub(crate) struct Watch {
    what: &'static str,
    name: String,
    unit: &'static str,
    /// A function that is told, in place of a bar.
    told: Option<Py<PyAny>>,
    begun: Instant,
    shown: Mutex<Shown>,
}

/// What was shown so far.
#[derive(Default)]
struct Shown {
    bar: Option<Py<PyAny>>,
    latest: Option<Instant>,
    done: u64,
    /// Whether the bar failed, and no other is to be made.
    is_given_up: bool,
}

impl Watch {
    /// What is to be shown of reading or writing `name`; `None` where nothing is. `given` is the caller's `progress=`: a
    /// boolean, a function, or nothing.
    ///
    /// # Errors
    ///
    /// `TypeError` for anything else.
    pub(crate) fn new(
        given: Option<&Bound<'_, PyAny>>,
        what: &'static str,
        name: &str,
        unit: &'static str,
    ) -> PyResult<Option<Watch>> {
        let told = match given {
            Some(given) if given.is_callable() => Some(given.clone().unbind()),
            Some(given) => match given.extract::<bool>() {
                Ok(true) => None,
                Ok(false) => return Ok(None),
                Err(_) => {
                    let found = given.get_type();
                    let message = format!("wanted `progress` as a bool or a function, found {found}");
                    return Err(PyTypeError::new_err(message));
                }
            },
            None if IS_SHOWN.load(Ordering::Relaxed) => None,
            None => return Ok(None),
        };
        let (name, shown) = (name.to_owned(), Mutex::default());
        Ok(Some(Watch { what, name, unit, told, begun: Instant::now(), shown }))
    }

    /// Shows that so much is done, on the waiting thread, without the GIL. True where that is to end what is under way: the
    /// caller's function failed, or a bar was interrupted. Then the exception is put into `raised`.
    pub(crate) fn tick(&self, done: u64, total: u64, raised: &RefCell<Option<PyErr>>) -> bool {
        let is_due = {
            let shown = self.shown();
            let since = shown.latest.map_or(self.begun, |latest| latest);
            let wait = if shown.bar.is_none() && self.told.is_none() { SHOWN_AFTER } else { TICK };
            !shown.is_given_up && wait <= since.elapsed()
        };
        if !is_due {
            return false;
        }
        match attached(|py| self.show(py, done, total)) {
            Some(Err(failed)) => {
                raised.borrow_mut().get_or_insert(failed);
                true
            }
            Some(Ok(())) | None => false,
        }
    }

    /// Takes the bar away, whatever happens; where all is `done`, of so much, says so before.
    ///
    /// # Errors
    ///
    /// What the caller's function raised, or what interrupted a bar.
    pub(crate) fn end(&self, py: Python<'_>, done: Option<u64>) -> PyResult<()> {
        let is_shown = self.told.is_some() || self.shown().bar.is_some();
        let said = match done {
            Some(total) if is_shown => self.show(py, total, total),
            _ => Ok(()),
        };
        said.and(in_passing(py, self.close(py)))
    }

    fn show(&self, py: Python<'_>, done: u64, total: u64) -> PyResult<()> {
        // Windows lead to others: what is shown never goes back.
        let done = {
            let mut shown = self.shown();
            shown.latest = Some(Instant::now());
            shown.done = shown.done.max(done.min(total));
            shown.done
        };
        if let Some(told) = &self.told {
            return told.call1(py, (done, total)).map(drop);
        }
        let drawn = self.draw(py, done, total);
        if drawn.is_err() {
            self.shown().is_given_up = true;
            // That it does not close either is no news.
            drop(self.close(py));
        }
        in_passing(py, drawn)
    }

    /// Draws the bar, which is made where there is none.
    fn draw(&self, py: Python<'_>, done: u64, total: u64) -> PyResult<()> {
        let bar = self.shown().bar.as_ref().map(|bar| bar.clone_ref(py));
        let bar = match bar {
            Some(bar) => bar,
            None => {
                let made = self.bar(py, total)?;
                self.shown().bar.insert(made).clone_ref(py)
            }
        };
        bar.call_method1(py, intern!(py, "update"), (done,)).map(drop)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let bar = self.shown().bar.take();
        bar.map_or(Ok(()), |bar| bar.call_method0(py, intern!(py, "close")).map(drop))
    }

    fn bar(&self, py: Python<'_>, total: u64) -> PyResult<Py<PyAny>> {
        let bar = py.import(intern!(py, "swath.progress"))?.getattr(intern!(py, "bar"))?;
        bar.call1((self.what, &self.name, total, self.unit)).map(Bound::unbind)
    }

    fn shown(&self) -> std::sync::MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
