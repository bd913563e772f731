//! What swath's crates report, for Python's `logging`.
//!
//! Events come from lanes and other threads that must not wait for the GIL: they are put down, and passed on by the next
//! thread that comes through here with it.

use crate::interpreter::{Waited, in_passing, waited};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::collections::VecDeque;
use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use swath::ioengine::PerProcess;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Level, Metadata, Subscriber};

/// Events of less than this level, as Python counts them, are not put down.
static LEVEL: AtomicU8 = AtomicU8::new(WARNING);

/// Whether there are any.
static ARE_WAITING: AtomicBool = AtomicBool::new(false);

static WAITING: PerProcess<Mutex<Waiting>> = PerProcess::new();

const WARNING: u8 = 30;

/// Events that wait at a time. Of more, those that came last are counted.
const WAITING_MAX: usize = 1000;

/// Events that nobody has passed on yet.
#[derive(Default)]
struct Waiting {
    events: VecDeque<Put>,
    dropped: u64,
}

/// An event: level, where it comes from, what it says, seconds since 1970, and the thread.
type Put = (u8, &'static str, String, f64, String);

/// Has events of swath's crates put down from now on.
pub(crate) fn listen() {
    // Another subscriber there cannot be: this library brings its own `tracing`.
    let _ = set_global_default(Listener);
}

/// Says from which level on `logging` wants events.
pub(crate) fn set_level(level: u8) {
    LEVEL.store(level, Ordering::Relaxed);
}

/// Hands what was put down to `logging`.
///
/// # Errors
///
/// What a signal raises, and what [`in_passing`] lets through of what a handler of `logging` raised.
pub(crate) fn pass_on(py: Python<'_>) -> PyResult<()> {
    if !ARE_WAITING.load(Ordering::Relaxed) {
        return Ok(());
    }
    // A signal that came before is raised here, not in the midst of a handler.
    py.check_signals()?;
    let Waiting { events, dropped } = match waiting() {
        Some(mut waiting) => {
            ARE_WAITING.store(false, Ordering::Relaxed);
            std::mem::take(&mut *waiting)
        }
        None => return Ok(()),
    };
    static HANDLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let handle = HANDLE.import(py, "swath.logs", "handle");
    let events: Vec<Put> = events.into();
    in_passing(py, handle.and_then(|handle| handle.call1((events, dropped))).map(drop))
}

/// Does work without the GIL, and hands on what was put down meanwhile. Signals end what it waits for.
///
/// # Errors
///
/// As [`waited`] and [`pass_on`], and what a signal raised; what the work gave is dropped then.
pub(crate) fn reported<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let Waited { done, signalled, section: _section } = waited(py, |_| work())?;
    let logged = pass_on(py);
    signalled.map_or(Ok(()), Err).and(logged)?;
    Ok(done)
}

fn waiting() -> Option<MutexGuard<'static, Waiting>> {
    let waiting = WAITING.get(|| Ok(Mutex::default())).ok()?;
    Some(waiting.lock().unwrap_or_else(PoisonError::into_inner))
}

struct Listener;

impl Subscriber for Listener {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // Levels come and go, other libraries' events never interest.
        if is_own(metadata) { Interest::sometimes() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_own(metadata) && LEVEL.load(Ordering::Relaxed) <= number(*metadata.level())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::TRACE)
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut text = Text::default();
        event.record(&mut text);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        let put = (number(*metadata.level()), metadata.target(), text.message + &text.fields, time, thread);
        if let Some(mut waiting) = waiting() {
            if waiting.events.len() < WAITING_MAX {
                waiting.events.push_back(put);
            } else {
                waiting.dropped += 1;
            }
            ARE_WAITING.store(true, Ordering::Relaxed);
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn is_own(metadata: &Metadata<'_>) -> bool {
    metadata.is_event() && metadata.target().starts_with("swath")
}

/// A level as Python counts it.
fn number(level: Level) -> u8 {
    match level {
        Level::ERROR => 40,
        Level::WARN => WARNING,
        Level::INFO => 20,
        Level::DEBUG => 10,
        Level::TRACE => 5,
    }
}

/// An event as a line.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a `String` does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, ", {name}: {value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
