//! The end of the interpreter: a thread that wants the GIL then is ended by Python, and the process with it.

use crate::logs::pass_on;
use pyo3::exceptions::{PyException, PySystemExit};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::Duration;
use swath::ioengine::interruptible;

/// The process in the upper half, the sections that its threads are in below: a forked child has none of its parent's.
static SECTIONS: AtomicU64 = AtomicU64::new(0);

/// The thread on which Python ends. What it still reads and writes goes on.
static ENDED_BY: OnceLock<ThreadId> = OnceLock::new();

/// Where a thread may want the GIL: Python waits with its end until all are left. It holds its process, in the upper half.
pub(crate) struct Section(u64);

impl Section {
    /// Enters one.
    ///
    /// # Errors
    ///
    /// `SystemExit` where Python ends, so that none may be entered.
    pub(crate) fn enter() -> PyResult<Section> {
        let process = process();
        let _ = SECTIONS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |sections| {
            Some(process | (own(sections, process) + 1))
        });
        let section = Section(process);
        if is_ending() { Err(exit()) } else { Ok(section) }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        // A section that was entered before a fork is none of the child's, whose count stays what it is.
        let _ = SECTIONS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |sections| {
            let is_own = sections & PROCESS == self.0;
            is_own.then(|| self.0 | own(sections, self.0).saturating_sub(1))
        });
    }
}

fn process() -> u64 {
    u64::from(std::process::id()) << 32
}

/// The half of [`SECTIONS`] that says whose they are.
const PROCESS: u64 = (u32::MAX as u64) << 32;

/// The sections of a process.
fn own(sections: u64, process: u64) -> u64 {
    if sections & PROCESS == process { sections & !PROCESS } else { 0 }
}

/// Whether Python ends, on another thread than this.
fn is_ending() -> bool {
    ENDED_BY.get().is_some_and(|thread| *thread != std::thread::current().id())
}

/// Ends a thread without a word, as Python ends its own that it does not wait for.
fn exit() -> PyErr {
    PySystemExit::new_err("the interpreter is ending")
}

/// Whether what failed did so for a signal or the end of Python, which then is to be raised: a codec in Python only says that
/// it failed.
///
/// # Errors
///
/// That exception.
pub(crate) fn check_running(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    if is_ending() { Err(exit()) } else { Ok(()) }
}

/// What interrupted some work: what a signal raised, or the end of Python.
pub(crate) type Signalled = RefCell<Option<PyErr>>;

/// Work that was done without the GIL.
pub(crate) struct Waited<T> {
    /// What it gave, which may be an error of its interruption.
    pub(crate) done: T,
    /// What is to be raised instead.
    pub(crate) signalled: Option<PyErr>,
    /// Held until nothing more is done with the GIL: on a thread that Python does not wait for, it could not be taken again.
    pub(crate) section: Section,
}

/// Does work without the GIL, whose waits end, however deep they are, where a signal raises something or Python ends. All that may
/// wait for storage goes through here.
///
/// # Errors
///
/// `SystemExit` where Python ends already.
pub(crate) fn waited<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Signalled) -> T + Send,
) -> PyResult<Waited<T>> {
    waited_until(py, interrupted, work)
}

/// [`waited`] on a thread that Python gives no signals to: its waits end where Python ends, and it does not want the GIL to find
/// out, which another thread may hold for long.
///
/// # Errors
///
/// As [`waited`].
pub(crate) fn waited_apart<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Signalled) -> T + Send,
) -> PyResult<Waited<T>> {
    waited_until(py, is_ended, work)
}

fn waited_until<T: Send>(
    py: Python<'_>,
    is_interrupted: fn(&Signalled) -> bool,
    work: impl FnOnce(&Signalled) -> T + Send,
) -> PyResult<Waited<T>> {
    let section = Section::enter()?;
    let (done, signalled) = py.detach(|| {
        let signalled = Rc::new(Signalled::default());
        let asked = Rc::clone(&signalled);
        let done = interruptible(Rc::new(move || is_interrupted(&asked)), || work(&signalled));
        (done, signalled.take())
    });
    Ok(Waited { done, signalled, section })
}

/// Whether a wait without the GIL is to end because Python ends; that is then put into `signalled`.
pub(crate) fn is_ended(signalled: &Signalled) -> bool {
    let is_ended = is_ending();
    if is_ended {
        *signalled.borrow_mut() = Some(exit());
    }
    is_ended
}

/// Whether a wait without the GIL is to end: for a signal, which Python handles on its main thread and whose exception is
/// put into `signalled`, or because Python ends.
pub(crate) fn interrupted(signalled: &Signalled) -> bool {
    if signalled.borrow().is_some() {
        return true;
    }
    if is_ended(signalled) {
        return true;
    }
    let checked = Python::attach(|py| {
        pass_on(py)?;
        py.check_signals()
    });
    match checked {
        Ok(()) => false,
        Err(raised) => {
            *signalled.borrow_mut() = Some(raised);
            true
        }
    }
}

/// What came of something done in passing, such as logging or drawing a bar: its failures are written to stderr and end
/// nothing else.
///
/// # Errors
///
/// What is no `Exception` of Python's: a `KeyboardInterrupt` or a `SystemExit` ends what is under way, wherever it was raised.
pub(crate) fn in_passing(py: Python<'_>, done: PyResult<()>) -> PyResult<()> {
    match done {
        Err(failed) if failed.is_instance_of::<PyException>(py) => {
            failed.write_unraisable(py, None);
            Ok(())
        }
        other => other,
    }
}

/// Runs some Python, on any thread; `None` where Python ends.
pub(crate) fn attached<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    let _section = Section::enter().ok()?;
    Python::try_attach(work)
}

/// Have other threads end what they read and write, and wait for them; swath does so when Python ends.
#[pyfunction]
#[pyo3(name = "_end")]
pub(crate) fn end(py: Python<'_>) -> PyResult<()> {
    let _ = ENDED_BY.set(std::thread::current().id());
    // A change as entering is one: what was entered before is seen here, and this is seen by what is entered later.
    while own(SECTIONS.fetch_or(0, Ordering::AcqRel), process()) != 0 {
        py.detach(|| std::thread::sleep(Duration::from_millis(1)));
        py.check_signals()?;
    }
    pass_on(py)
}
