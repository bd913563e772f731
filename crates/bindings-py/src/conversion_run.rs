//! Carrying a plan of a conversion out.

use crate::conversion_plan::{Report, damage};
use crate::errors::raised_about;
use crate::interpreter::{Signalled, Waited, check_running, waited};
use crate::location::Location;
use crate::logs::pass_on;
use crate::progress::Watch;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use swath::convert::{
    Failure, Joining, Journal, OnFailure, Piece, Plan, PlanOptions, PlannedFile, Source, Unplanned,
    WritePlanOptions,
};
use swath::ioengine::{Engine, InterruptFlag, is_interrupted, storage_len};
use swath::{Error, ErrorKind, Objects};

/// How often the waiting thread looks for signals, and shows how far the work is.
const LOOK: Duration = Duration::from_millis(50);

/// Where a plan is carried out, and how.
pub(crate) struct Job {
    pub(crate) location: Location,
    pub(crate) objects: Objects,
    pub(crate) journal: Option<PathBuf>,
    pub(crate) is_strict: bool,
}

/// What is to be done.
pub(crate) enum What<'a> {
    /// Write a plan to a new store.
    New(&'a Plan),
    /// Write a part of it, beside others.
    Piece(&'a Plan, Piece),
    /// Go on with what a journal says.
    Resume,
    /// Add fields of files to what a journal says.
    Append(Vec<PlannedFile>, &'a [Source]),
}

/// A plan under way: which part, what is told where, and what could not be planned.
struct Prepared<'a> {
    plan: Cow<'a, Plan>,
    piece: Option<Piece>,
    journal: Option<Journal>,
    unplanned: Vec<Left>,
}

/// What is not written: its file, its place there, and why.
pub(crate) struct Left {
    pub(crate) file: String,
    pub(crate) span: (u64, u64),
    pub(crate) kind: &'static str,
    pub(crate) message: String,
}

/// What was done.
pub(crate) struct Done {
    pub(crate) fields: usize,
    pub(crate) variables: usize,
    pub(crate) left: Vec<Left>,
    /// What progress counts to.
    pub(crate) steps: usize,
}

impl Job {
    /// `journal` is its folder, and whether it is beside the target where none is given: that of a URL has none.
    pub(crate) fn new(
        location: Location,
        objects: Objects,
        (journal, is_beside): (Option<PathBuf>, bool),
        is_strict: bool,
    ) -> Job {
        let beside = || {
            let mut name = location.store_path();
            name.push(".journal");
            PathBuf::from(name)
        };
        let journal = journal.or_else(|| (is_beside && !location.is_remote()).then(beside));
        Job { location, objects, journal, is_strict }
    }

    /// Does it without the GIL, on another thread than that which looks for signals.
    pub(crate) fn run<'py>(
        &self,
        py: Python<'py>,
        what: What<'_>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Report<'py>> {
        self.run_by(py, progress, "fields", |so_far| self.carry_out(what, so_far))
    }

    /// Does some work in the same way, whose progress is counted in a unit.
    pub(crate) fn run_by<'py>(
        &self,
        py: Python<'py>,
        progress: Option<&Bound<'_, PyAny>>,
        unit: &'static str,
        work: impl FnOnce(&SoFar) -> Result<Done, Error> + Send,
    ) -> PyResult<Report<'py>> {
        let name = self.location.name();
        let watch = Watch::new(progress, "writing", &name, unit)?;
        let waited = waited(py, |signalled| aside(signalled, watch.as_ref(), work));
        let Waited { done, signalled, section: _section } = waited?;
        let logged = pass_on(py);
        let total = done.as_ref().ok().map(|done| storage_len(done.steps));
        let shown = watch.map_or(Ok(()), |watch| watch.end(py, total));
        signalled.map_or(Ok(()), Err).and(logged).and(shown)?;
        let Done { fields, variables, left, .. } = done.or_else(|failed| {
            check_running(py)?;
            Err(raised_about(py, &failed, &name))
        })?;
        Ok((fields, variables, listed(py, left)?))
    }

    fn carry_out(&self, what: What<'_>, so_far: &SoFar) -> Result<Done, Error> {
        let prepared = self.prepare(what)?;
        let Prepared { plan, piece, journal, unplanned } = &prepared;
        let files = plan.open_files(|name| self.objects.open(name).map_err(swath::convert::Error::from))?;
        let begun = match journal {
            // Only a new conversion begins one, once its files are as they were.
            None if piece.is_none() => {
                self.journal.as_ref().map(|folder| Journal::create(folder, plan)).transpose()?
            }
            _ => None,
        };
        let fields = plan.fields_of(piece.unwrap_or(Piece::WHOLE));
        so_far.total.store(storage_len(fields), Ordering::Relaxed);
        let store = self.location.new_store()?;
        let progress = |count: usize| {
            so_far.done.fetch_add(storage_len(count), Ordering::Relaxed);
        };
        let interrupt = || so_far.is_over.load(Ordering::Relaxed);
        let options = WritePlanOptions {
            progress: Some(&progress),
            interrupt: Some(&interrupt),
            piece: *piece,
            journal: journal.as_ref().or(begun.as_ref()),
            on_failure: if self.is_strict { OnFailure::Stop } else { OnFailure::GoOn },
        };
        let failures = plan.write(&Engine::global(), &files, &store, &options)?;
        let written = fields.saturating_sub(failures.len());
        let left = failures.into_iter().map(|failure| left(plan, failure));
        let left: Vec<Left> = unplanned.iter().map(Left::again).chain(left).collect();
        let variables = plan.groups.iter().map(|group| group.variables.len()).sum();
        let steps = written + left.len();
        Ok(Done { fields: written, variables, left, steps })
    }

    fn prepare<'a>(&self, what: What<'a>) -> Result<Prepared<'a>, Error> {
        let prepared = |plan, piece, journal| Prepared { plan, piece, journal, unplanned: Vec::new() };
        match what {
            What::New(plan) => {
                self.check_new()?;
                Ok(prepared(Cow::Borrowed(plan), None, None))
            }
            What::Piece(plan, piece) => {
                let journal = self.journal.as_ref().map(|folder| Journal::shared(folder, plan));
                Ok(prepared(Cow::Borrowed(plan), Some(piece), journal.transpose()?))
            }
            What::Resume => {
                let (journal, plan) = Journal::open(self.known_journal()?)?;
                Ok(prepared(Cow::Owned(plan), None, Some(journal)))
            }
            What::Append(files, sources) => self.prepare_more(files, sources),
        }
    }

    /// # Errors
    ///
    /// `Invalid` where there is something at the target, which is to be new.
    pub(crate) fn check_new(&self) -> Result<(), Error> {
        if !self.location.is_remote() && Path::new(&self.location.store_path()).exists() {
            return Err(Error::new(ErrorKind::Invalid, "there is something already"));
        }
        Ok(())
    }

    /// A plan of what a store has and of the fields that join.
    fn prepare_more(&self, files: Vec<PlannedFile>, sources: &[Source]) -> Result<Prepared<'static>, Error> {
        let unfinished = || {
            let message = "the conversion before is not finished: resume it first";
            Error::new(ErrorKind::Invalid, message)
        };
        let joining = Joining::open(self.known_journal()?)?.ok_or_else(unfinished)?;
        let newer = Plan::of(files, sources, &joining.options(PlanOptions::default()))?;
        let place = |Unplanned { source, error }: &Unplanned| {
            let source = sources.get(*source)?;
            let file = newer.plan.files.get(source.file)?.name.clone();
            let span = (source.field.message.offset, source.field.message.len);
            Some(Left { file, span, kind: "unplanned", message: error.to_string() })
        };
        let unplanned: Vec<Left> = newer.unplanned.iter().filter_map(place).collect();
        if let (Some(first), true) = (unplanned.first(), self.is_strict) {
            let message =
                format!("{} at {}: {}: nothing is written", first.file, first.span.0, first.message);
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        let (plan, journal) = joining.with(&newer.plan)?;
        Ok(Prepared { plan: Cow::Owned(plan), piece: None, journal: Some(journal), unplanned })
    }

    /// # Errors
    ///
    /// `Invalid` where a target that has none beside it was given none.
    pub(crate) fn known_journal(&self) -> Result<&Path, Error> {
        self.journal.as_deref().ok_or_else(|| {
            let message = "wanted the journal of a target behind a URL (`journal=`), found none";
            Error::new(ErrorKind::Invalid, message)
        })
    }
}

impl Left {
    fn again(&self) -> Left {
        let (file, message) = (self.file.clone(), self.message.clone());
        Left { file, message, ..*self }
    }
}

/// What is not written, as Python lists it.
pub(crate) fn listed(py: Python<'_>, left: Vec<Left>) -> PyResult<Bound<'_, PyList>> {
    let damages = PyList::empty(py);
    for Left { file, span, kind, message } in left {
        damages.append(damage(py, &file, span, kind, &message)?)?;
    }
    Ok(damages)
}

/// A field that could not be written.
fn left(plan: &Plan, Failure { place, message }: Failure) -> Left {
    let file = plan.files.get(place.file).map(|file| file.name.clone()).unwrap_or_default();
    Left { file, span: (place.offset, place.len), kind: "unwritten", message }
}

/// How far work on another thread is, and whether it is to end.
#[derive(Default)]
pub(crate) struct SoFar {
    pub(crate) done: AtomicU64,
    pub(crate) total: AtomicU64,
    pub(crate) is_over: AtomicBool,
}

/// Does work on another thread, while this one looks for signals and shows how far it is.
pub(crate) fn aside<T: Send>(
    signalled: &Signalled,
    watch: Option<&Watch>,
    work: impl FnOnce(&SoFar) -> T + Send,
) -> T {
    let (so_far, flag) = (&SoFar::default(), &InterruptFlag::of_thread());
    std::thread::scope(|scope| {
        let (ending, ended) = mpsc::channel::<()>();
        let worker = scope.spawn(move || {
            let _ending = ending;
            flag.followed(|| work(so_far))
        });
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
            let (done, total) = (so_far.done.load(Ordering::Relaxed), so_far.total.load(Ordering::Relaxed));
            let is_raised = watch.is_some_and(|watch| total != 0 && watch.tick(done, total, signalled));
            if is_raised || is_interrupted() {
                so_far.is_over.store(true, Ordering::Relaxed);
            }
        }
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
