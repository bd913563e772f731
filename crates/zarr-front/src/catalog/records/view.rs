//! What a reference set in Parquet says to one read: the rows of its chunks, and their targets.

pub(crate) use super::record::Record;
use super::{RecordKey, Records};
use crate::catalog::Located;
use crate::catalog::references::Reference;
use crate::{Error, ErrorKind};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use swath_ioengine::{Engine, Entry, ObjectRef};

/// References in Parquet, and the targets that one read found in them.
#[derive(Clone)]
pub(crate) struct RecordView {
    records: Arc<Records>,
    targets: Arc<OnceLock<Vec<Target>>>,
}

enum Target {
    Url(Arc<str>, OnceLock<ObjectRef>),
    /// What rows of one file hold themselves.
    Inline(ObjectRef),
}

/// The number that stands for documents, among those of targets.
const DOCUMENTS: u32 = u32::MAX;

/// Files of rows that are read at once, and in memory at once beside those that are kept.
const FILES_AT_ONCE: usize = 32;

impl RecordView {
    pub(crate) fn new(records: &Arc<Records>) -> RecordView {
        RecordView { records: Arc::clone(records), targets: Arc::default() }
    }

    /// Where a document is. Chunks are looked up by [`RecordView::locate`].
    pub(crate) fn find(&self, key: &str) -> Located {
        match self.records.layout.document(key) {
            Some((offset, len)) => Located::Part { target: DOCUMENTS, offset, len },
            None => Located::Nowhere,
        }
    }

    /// Where so many chunks are, whose keys are written by number. Called once: targets are numbered for one read.
    ///
    /// # Errors
    ///
    /// Why files of rows could not be read.
    pub(crate) fn locate(
        &self,
        engine: &Engine,
        count: usize,
        mut write_key: impl FnMut(usize, &mut String),
    ) -> Result<Vec<Located>, Error> {
        let mut located = Vec::with_capacity(count);
        let mut numbering = Numbering::default();
        let mut key = String::new();
        let mut pending: Vec<Option<(usize, usize)>> = Vec::new();
        let mut files: Vec<RecordKey> = Vec::new();
        for number in 0..count {
            write_key(number, &mut key);
            let row = self.records.layout.row(&key);
            if let Some((file, _)) = row
                && files.last() != Some(&file)
            {
                if FILES_AT_ONCE <= files.len() {
                    self.take(engine, &files, &mut pending, &mut numbering, &mut located)?;
                    files.clear();
                }
                files.push(file);
            }
            pending.push(row.map(|(_, row)| (files.len() - 1, row)));
        }
        self.take(engine, &files, &mut pending, &mut numbering, &mut located)?;
        let is_first = self.targets.set(numbering.targets).is_ok();
        is_first
            .then_some(located)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "chunks were located twice"))
    }

    /// Takes the rows of chunks from their files.
    fn take(
        &self,
        engine: &Engine,
        files: &[RecordKey],
        pending: &mut Vec<Option<(usize, usize)>>,
        numbering: &mut Numbering,
        located: &mut Vec<Located>,
    ) -> Result<(), Error> {
        let records = self.records.load(engine, files)?;
        for row in pending.drain(..) {
            let found = row.and_then(|(file, row)| {
                let record = records.get(file)?.as_ref()?;
                Some((files.get(file)?, record, record.reference(row)?))
            });
            located.push(found.map_or(Located::Nowhere, |(file, record, reference)| match reference {
                Reference::Inline { offset, len } => {
                    Located::Part { target: numbering.inline(*file, record), offset, len }
                }
                Reference::Part { target, offset, len } => {
                    Located::Part { target: numbering.url(&record.url(target)), offset, len }
                }
                Reference::Whole { target } => Located::Whole { target: numbering.url(&record.url(target)) },
            }));
        }
        Ok(())
    }

    /// An object that keys are parts of.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened.
    pub(crate) fn target(&self, number: u32) -> Result<ObjectRef, Error> {
        if number == DOCUMENTS {
            return Ok(self.records.layout.texts().clone());
        }
        let target = self.targets.get().and_then(|targets| targets.get(number as usize));
        match target {
            Some(Target::Inline(object)) => Ok(object.clone()),
            Some(Target::Url(url, object)) => match object.get() {
                Some(object) => Ok(object.clone()),
                None => {
                    let opened = self.records.targets.open(url)?;
                    Ok(object.get_or_init(|| opened).clone())
                }
            },
            None => Err(Error::new(ErrorKind::Internal, "a target that is not there")),
        }
    }

    /// See [`Records::list`].
    pub(crate) fn list(&self, prefix: &str) -> Result<Vec<Entry>, Error> {
        self.records.list(prefix)
    }
}

/// The targets of one read, while they are numbered.
#[derive(Default)]
struct Numbering {
    targets: Vec<Target>,
    urls: HashMap<Arc<str>, u32>,
    inlines: HashMap<RecordKey, u32>,
}

impl Numbering {
    fn url(&mut self, url: &Arc<str>) -> u32 {
        if let Some(number) = self.urls.get(url) {
            return *number;
        }
        let number = self.push(Target::Url(Arc::clone(url), OnceLock::new()));
        self.urls.insert(Arc::clone(url), number);
        number
    }

    fn inline(&mut self, file: RecordKey, record: &Record) -> u32 {
        if let Some(number) = self.inlines.get(&file) {
            return *number;
        }
        let number = self.push(Target::Inline(record.inline().clone()));
        self.inlines.insert(file, number);
        number
    }

    fn push(&mut self, target: Target) -> u32 {
        // One number stands for documents; a read has fewer targets than chunks.
        let number = u32::try_from(self.targets.len()).unwrap_or(u32::MAX - 1);
        self.targets.push(target);
        number
    }
}

impl fmt::Debug for RecordView {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.records.fmt(out)
    }
}
