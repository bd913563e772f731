//! What a conversion leaves beside its store, so that another run can go on: the plan, and which parts of it are done.

use crate::{Error, ErrorKind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind as IoKind, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A plan that a journal keeps: plain data, carried out slab by slab, to which files may be added.
pub trait Journaled: Sized {
    /// What a slab may lack in the store although it is done, and why.
    type Failure: Serialize + DeserializeOwned;

    /// The plan as JSON.
    ///
    /// # Errors
    ///
    /// `Internal` where it cannot be written so.
    fn to_document(&self) -> Result<Value, Error>;

    /// The plan from JSON, looked over.
    ///
    /// # Errors
    ///
    /// `Invalid` where it is no such plan.
    fn from_document(document: Value) -> Result<Self, Error>;

    /// How many files it has, those before the first new one too.
    fn files(&self) -> usize;
}

/// A folder with a plan, `plan.json`, and for each run a file of lines of JSON, `done-FILES-N.jsonl` of a plan of so many files: a line for each slab that is
/// written, with what of it could not be.
///
/// A line is written once the objects of its slab are. What follows the last end of a line is of a writer that was killed, and is
/// passed over. Any number of runs may write at once.
#[derive(Debug)]
pub struct Journal<P> {
    folder: PathBuf,
    /// Files of the plan: what is told as done is of this plan, and not of one that had less.
    files: usize,
    lines: Mutex<Option<File>>,
    plan: PhantomData<fn() -> P>,
}

/// What a journal says is done: by the numbers of slabs, what could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished<F> {
    /// By the numbers of slabs, what could not be written, and why.
    pub slabs: BTreeMap<usize, Vec<F>>,
}

impl<F> Default for Finished<F> {
    fn default() -> Self {
        Finished { slabs: BTreeMap::new() }
    }
}

/// The plan of the journal in a folder, as JSON, of whichever kind.
///
/// # Errors
///
/// `NotFound` where there is none; `Invalid` where it is no journal; `Io` where it cannot be read.
pub fn journal_document(folder: impl AsRef<Path>) -> Result<Value, Error> {
    let folder = folder.as_ref();
    let text = fs::read(folder.join(PLAN)).map_err(|error| failed(folder, "read", &error))?;
    serde_json::from_slice(&text)
        .map_err(|error| said(folder, ErrorKind::Invalid, &format!("the plan is no JSON: {error}")))
}

/// The plan's file.
const PLAN: &str = "plan.json";

/// Runs of one conversion.
const RUNS_MAX: u32 = 1 << 20;

impl<P: Journaled> Journal<P> {
    /// Begins a journal in a folder that is made for it.
    ///
    /// # Errors
    ///
    /// `Invalid` where there is one already; `Io` where it cannot be written.
    pub fn create(folder: impl AsRef<Path>, plan: &P) -> Result<Self, Error> {
        let journal = Journal::of(folder.as_ref(), plan);
        if journal.folder.join(PLAN).exists() {
            return Err(journal
                .error(ErrorKind::Invalid, "there is a journal already: of a conversion that may go on"));
        }
        fs::create_dir_all(&journal.folder).map_err(|error| journal.failed("made", &error))?;
        journal.keep(plan)?;
        Ok(journal)
    }

    /// Goes on with a plan of more files in place of the one that is carried out.
    ///
    /// # Errors
    ///
    /// `Io` where it cannot be written.
    pub fn extend(self, plan: &P) -> Result<Self, Error> {
        let journal = Journal::of(&self.folder, plan);
        journal.keep(plan)?;
        Ok(journal)
    }

    /// Writes the plan: renamed into place, so that there is a whole one or none.
    fn keep(&self, plan: &P) -> Result<(), Error> {
        let text = plan.to_document()?.to_string();
        let partial = self.folder.join("plan.json.partial");
        let written = fs::write(&partial, text).and_then(|()| fs::rename(&partial, self.folder.join(PLAN)));
        written.map_err(|error| self.failed("written", &error))
    }

    /// Opens the journal of a folder, and gives its plan.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is none; `Invalid` where it is no journal; `Io` where it cannot be read.
    pub fn open(folder: impl AsRef<Path>) -> Result<(Self, P), Error> {
        let folder = folder.as_ref();
        let plan = P::from_document(journal_document(folder)?)
            .map_err(|error| error.with_object(&folder.to_string_lossy()))?;
        Ok((Journal::of(folder, &plan), plan))
    }

    /// The journal that pieces of one plan share: the first one begins it.
    ///
    /// # Errors
    ///
    /// `Invalid` where it is that of another plan; `Io` where it cannot be read or written.
    pub fn shared(folder: impl AsRef<Path>, plan: &P) -> Result<Self, Error> {
        let folder = folder.as_ref();
        if let Ok(journal) = Journal::create(folder, plan) {
            return Ok(journal);
        }
        let (journal, found) = Journal::<P>::open(folder)?;
        if found.to_document()? != plan.to_document()? {
            return Err(said(folder, ErrorKind::Invalid, "the journal of another plan"));
        }
        Ok(journal)
    }

    fn of(folder: &Path, plan: &P) -> Self {
        Journal { folder: folder.to_owned(), files: plan.files(), lines: Mutex::new(None), plan: PhantomData }
    }

    /// What runs have finished so far.
    ///
    /// # Errors
    ///
    /// `Io` where it cannot be read.
    pub fn finished(&self) -> Result<Finished<P::Failure>, Error> {
        let mut finished = Finished::default();
        for entry in fs::read_dir(&self.folder).map_err(|error| self.failed("read", &error))? {
            let path = entry.map_err(|error| self.failed("read", &error))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !(name.starts_with(&self.prefix()) && name.ends_with(".jsonl")) {
                continue;
            }
            let bytes = fs::read(&path).map_err(|error| self.failed("read", &error))?;
            let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
            finished.slabs.extend(lines.filter_map(slab::<P::Failure>));
        }
        Ok(finished)
    }

    /// Says that a slab is written, but for some of it.
    ///
    /// # Errors
    ///
    /// `Io` where it cannot be written.
    pub(crate) fn finish(&self, slab: usize, failures: &[P::Failure]) -> Result<(), Error> {
        let line = format!("{}\n", json!({ "slab": slab, "failures": failures }));
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_none() {
            *lines = Some(self.begin()?);
        }
        let written = lines.as_mut().map_or(Ok(()), |lines| lines.write_all(line.as_bytes()));
        written.map_err(|error| self.failed("written", &error))
    }

    /// What the names of this plan's files begin with.
    fn prefix(&self) -> String {
        format!("done-{}-", self.files)
    }

    /// A file for the lines of this run.
    fn begin(&self) -> Result<File, Error> {
        for number in 0..RUNS_MAX {
            let path = self.folder.join(format!("{}{number}.jsonl", self.prefix()));
            match OpenOptions::new().append(true).create_new(true).open(path) {
                Ok(file) => return Ok(file),
                Err(error) if error.kind() == IoKind::AlreadyExists => {}
                Err(error) => return Err(self.failed("written", &error)),
            }
        }
        Err(self.error(ErrorKind::Io, "too many runs"))
    }

    fn failed(&self, what: &str, error: &std::io::Error) -> Error {
        failed(&self.folder, what, error)
    }

    fn error(&self, kind: ErrorKind, message: &str) -> Error {
        said(&self.folder, kind, message)
    }
}

fn failed(folder: &Path, what: &str, error: &std::io::Error) -> Error {
    let kind = if error.kind() == IoKind::NotFound { ErrorKind::NotFound } else { ErrorKind::Io };
    said(folder, kind, &format!("the journal cannot be {what}: {error}"))
}

fn said(folder: &Path, kind: ErrorKind, message: &str) -> Error {
    Error::new(kind, message).with_object(&folder.to_string_lossy())
}

/// The slab of a line.
fn slab<F: DeserializeOwned>(line: &[u8]) -> Option<(usize, Vec<F>)> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let number = usize::try_from(line.get("slab")?.as_u64()?).ok()?;
    Some((number, serde_json::from_value(line.get("failures")?.clone()).ok()?))
}
