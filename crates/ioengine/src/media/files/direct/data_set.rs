//! What is known of one directory's files together.

use super::rule::Facts;
use crate::media::files::memory::memory_bytes;
use crate::{CostModel, FileIdentity};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The files of one directory that were opened.
///
/// Nobody waits for its locks: a forked child shares it with threads that are not there, which may have held them.
pub(in crate::media::files) struct DataSet {
    /// Device and inode of each.
    files: Mutex<HashSet<(u64, u64)>>,
    file_bytes: AtomicU64,
    asked_bytes: AtomicU64,
    memory_bytes: u64,
    opened: AtomicU64,
    refused: AtomicU64,
    /// Why the last one was refused.
    reason: Mutex<String>,
    /// What reads past the page cache cost.
    cost: CostModel,
}

/// Files that are told from each other. Beyond that the set is taken to be as large as it was found by then.
const FILES_MAX: usize = 65_536;

impl DataSet {
    pub(in crate::media::files) fn new(cost: CostModel) -> Arc<DataSet> {
        Arc::new(DataSet {
            files: Mutex::default(),
            file_bytes: AtomicU64::new(0),
            asked_bytes: AtomicU64::new(0),
            memory_bytes: memory_bytes(),
            opened: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            reason: Mutex::default(),
            cost,
        })
    }

    pub(super) fn cost(&self) -> CostModel {
        self.cost
    }

    pub(super) fn refusal(&self) -> Option<String> {
        (self.refused.load(Ordering::Relaxed) != 0).then(|| self.reason())
    }

    fn reason(&self) -> String {
        self.reason.try_lock().map_or_else(|_| "busy".to_owned(), |last| last.clone())
    }

    /// Counts bytes that reads want.
    pub(super) fn ask(&self, bytes: u64) {
        self.asked_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What the rule looks at, this file included.
    pub(super) fn facts(&self, file: &FileIdentity) -> Facts {
        // Where another file is being counted, this one is the next time.
        if let Ok(mut files) = self.files.try_lock()
            && files.len() < FILES_MAX
            && files.insert((file.device, file.inode))
        {
            self.file_bytes.fetch_add(file.size, Ordering::Relaxed);
        }
        Facts {
            data_set_bytes: self.file_bytes.load(Ordering::Relaxed).max(file.size),
            asked_bytes: self.asked_bytes.load(Ordering::Relaxed),
            memory_bytes: self.memory_bytes,
        }
    }

    pub(super) fn count_opened(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_refused(&self, reason: &str) {
        tracing::debug!(reason, "a file is not read past the page cache");
        self.refused.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut last) = self.reason.try_lock() {
            reason.clone_into(&mut last);
        }
    }

    pub(super) fn describe(&self, what: &str) -> String {
        let (opened, refused) = (self.opened.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed));
        match (opened, refused) {
            (0, 0) => format!(", {what}"),
            (_, 0) => format!(", {what} (files so far: {opened})"),
            _ => {
                let reason = self.reason();
                format!(", {what} (files so far: {opened}; {refused} could not be: {reason})")
            }
        }
    }
}
