//! One read of several arrays, each into memory of its own: what a batch for training has of each source.

use crate::array::Array;
use crate::conversion::Keywords;
use crate::errors::{Class, error, raised};
use crate::interpreter::{Waited, check_running, interrupted, is_ended, waited, waited_apart};
use crate::landing::Landing;
use crate::logs::pass_on;
use crate::opened::Opened;
use crate::output::{Target, checked};
use crate::{dtype, read};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, Scope, scope};
use std::time::Duration;
use swath::ioengine::Control;
use swath::{ConvertedArray, Error, ReadOptions, ReadPlan};

/// The array, its indexes, where to, how (as for `read_many`), and what an error of it is told to be about.
type Given<'py> = (Bound<'py, Array>, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyDict>, String);

/// Read several arrays at once, each as `read_many` with `out`; the first error is raised, with its note.
///
/// With a landing it must not be called on the main thread, whose signals it then does not look at.
#[pyfunction]
#[pyo3(name = "_read_arrays", signature = (reads, priority, landing = None))]
pub(crate) fn read_arrays<'py>(
    py: Python<'py>,
    reads: Vec<Given<'py>>,
    priority: i32,
    landing: Option<&Bound<'py, Landing>>,
) -> PyResult<()> {
    let mut wanted = Vec::with_capacity(reads.len());
    for (array, indexes, out, keywords, note) in &reads {
        wanted.push(Wanted::new(array, indexes, out, keywords).map_err(|failed| noted(py, failed, note))?);
    }
    let (mut plans, mut targets) = (Vec::new(), Vec::new());
    for (wanted, (.., note)) in wanted.iter().zip(&reads) {
        let (plan, target) = wanted.prepared(py).map_err(|failed| noted(py, failed, note))?;
        plans.push(plan);
        targets.push(target);
    }
    let mut parts = Vec::with_capacity(plans.len());
    for (number, (plan, target)) in plans.iter().zip(&mut targets).enumerate() {
        parts.push(Part { number, plan, target: target.bytes()? });
    }
    let results = run(py, parts, priority, landing.map(Bound::get))?;
    let failed = results.into_iter().find_map(|(number, result)| Some((number, result.err()?)));
    let Some((number, failed)) = failed else { return Ok(()) };
    check_running(py)?;
    Err(noted(py, raised(py, &failed), &reads[number].4))
}

/// An error with a note.
fn noted(py: Python<'_>, failed: PyErr, note: &str) -> PyErr {
    match failed.value(py).call_method1(intern!(py, "add_note"), (note,)) {
        Ok(_) => failed,
        Err(other) => other,
    }
}

/// What is wanted of one array.
struct Wanted<'a, 'py> {
    opened: Arc<Opened>,
    view: Option<ConvertedArray>,
    keywords: Keywords<'py>,
    indexes: &'a Bound<'py, PyAny>,
    out: &'a Bound<'py, PyAny>,
}

impl<'a, 'py> Wanted<'a, 'py> {
    fn new(
        array: &Bound<'py, Array>,
        indexes: &'a Bound<'py, PyAny>,
        out: &'a Bound<'py, PyAny>,
        keywords: &Bound<'py, PyDict>,
    ) -> PyResult<Wanted<'a, 'py>> {
        let py = array.py();
        let (opened, keywords) = (array.get().get(py)?, Keywords::new("read_arrays", Some(keywords))?);
        let view = read::view(py, &opened, &keywords)?;
        Ok(Wanted { opened, view, keywords, indexes, out })
    }

    /// The plan, and the memory to read into, which must fit.
    fn prepared(&self, py: Python<'py>) -> PyResult<(ReadPlan<'_>, Target<'py>)> {
        let opened = &*self.opened;
        let plan = read::plan_many(opened, self.view.as_ref(), self.keywords.way, self.indexes)?;
        if let Some(number) = plan.other_shape() {
            let message = format!(
                "wanted selections of equal shapes, found {} first and {} as number {number}",
                PyTuple::new(py, plan.shape(0))?,
                PyTuple::new(py, plan.shape(number))?
            );
            return Err(error(py, Class::Invalid, &message, &opened.name));
        }
        let mut shape = vec![plan.len()];
        shape.extend(read::output_shape(py, opened, &plan, 0)?);
        let dtype = dtype::of(py, &plan.data_type(), &opened.name)?;
        let target = Target::of(&checked(self.out, &shape, &dtype, &opened.name)?, &opened.name)?;
        Ok((plan, target))
    }
}

/// What one thread reads.
struct Part<'a> {
    number: usize,
    plan: &'a ReadPlan<'a>,
    target: &'a mut [u8],
}

/// What a read came to, by its number.
type Outcome = (usize, Result<(), Error>);

impl Part<'_> {
    fn read(self, control: &Control, priority: i32, interrupt: Option<&dyn Fn() -> bool>) -> Outcome {
        let options = ReadOptions { control: control.clone(), priority, interrupt, ..ReadOptions::default() };
        (self.number, self.plan.read_into(self.target, &options))
    }
}

/// Reads all parts without the GIL; by their numbers, what each came to.
fn run(
    py: Python<'_>,
    parts: Vec<Part<'_>>,
    priority: i32,
    landing: Option<&Landing>,
) -> PyResult<Vec<Outcome>> {
    let read = |is_interrupted: &dyn Fn() -> bool| {
        if let Some(landing) = landing {
            landing.hold_back();
        }
        let control = Control::new();
        let interrupt = || {
            let is_interrupted = is_interrupted();
            if is_interrupted {
                control.cancel();
            }
            is_interrupted
        };
        let mut outcomes = read_all(parts, &control, priority, &interrupt);
        outcomes.sort_unstable_by_key(|(number, _)| *number);
        if let Some(landing) = landing
            && outcomes.iter().all(|(_, result)| result.is_ok())
        {
            landing.land();
        }
        outcomes
    };
    let waited = match landing {
        None => waited(py, |signalled| read(&|| interrupted(signalled))),
        Some(_) => waited_apart(py, |signalled| read(&|| is_ended(signalled))),
    };
    let Waited { done, signalled, section: _section } = waited?;
    let logged = pass_on(py);
    signalled.map_or(Ok(()), Err).and(logged)?;
    Ok(done)
}

/// Reads the last part on this thread and every other on one of its own, so that none waits for another's latency.
fn read_all(
    mut parts: Vec<Part<'_>>,
    control: &Control,
    priority: i32,
    interrupt: &dyn Fn() -> bool,
) -> Vec<Outcome> {
    let Some(own) = parts.pop() else { return Vec::new() };
    scope(|threads| {
        let (sender, receiver) = channel();
        let mut outcomes = Vec::with_capacity(parts.len() + 1);
        let mut begun = 0;
        for part in parts {
            let number = part.number;
            let sender = sender.clone();
            // A wait that nobody is left to hear of has ended all the same.
            let read = move || drop(sender.send(part.read(control, priority, None)));
            match started(threads, read) {
                Ok(()) => begun += 1,
                Err(failed) => outcomes.push((number, Err(failed))),
            }
        }
        drop(sender);
        outcomes.push(own.read(control, priority, Some(interrupt)));
        outcomes.extend((0..begun).map_while(|_| received(&receiver, interrupt)));
        outcomes
    })
}

fn started<'scope>(
    threads: &'scope Scope<'scope, '_>,
    read: impl FnOnce() + Send + 'scope,
) -> Result<(), Error> {
    let started = Builder::new().name("swath-read".into()).spawn_scoped(threads, read);
    started.map(drop).map_err(|failed| {
        let message = format!("a thread to read an array was not started: {failed}");
        swath::ioengine::Error::new(swath::ioengine::ErrorKind::Io, message).into()
    })
}

/// The next outcome; `None` where a thread ended without one, in a panic, which the scope passes on.
fn received(outcomes: &Receiver<Outcome>, interrupt: &dyn Fn() -> bool) -> Option<Outcome> {
    loop {
        match outcomes.recv_timeout(Duration::from_millis(50)) {
            Ok(outcome) => return Some(outcome),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                interrupt();
            }
        }
    }
}
