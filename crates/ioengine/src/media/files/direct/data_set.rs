//! What is known of one directory's files together.

use super::rule::Facts;
use crate::FileIdentity;
use crate::engine::lock;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The files of one directory that were opened.
pub(in crate::media::files) struct DataSet {
    files: Mutex<Files>,
    asked_bytes: AtomicU64,
    memory_bytes: u64,
    opened: AtomicU64,
    refused: AtomicU64,
    /// Why the last one was refused.
    reason: Mutex<String>,
}

#[derive(Default)]
struct Files {
    inodes: HashSet<(u64, u64)>,
    bytes: u64,
}

/// Files that are told from each other. Beyond that the set is taken to be as large as it was found by then.
const FILES_MAX: usize = 65_536;

impl DataSet {
    pub(in crate::media::files) fn new() -> Arc<DataSet> {
        Arc::new(DataSet {
            files: Mutex::default(),
            asked_bytes: AtomicU64::new(0),
            memory_bytes: memory_bytes(),
            opened: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            reason: Mutex::default(),
        })
    }

    /// Counts bytes that reads want.
    pub(super) fn ask(&self, bytes: u64) {
        self.asked_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What the rule looks at, this file included.
    pub(super) fn facts(&self, file: &FileIdentity) -> Facts {
        let mut files = lock(&self.files);
        if files.inodes.len() < FILES_MAX && files.inodes.insert((file.device, file.inode)) {
            files.bytes = files.bytes.saturating_add(file.size);
        }
        Facts {
            data_set_bytes: files.bytes,
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
        reason.clone_into(&mut lock(&self.reason));
    }

    pub(super) fn describe(&self, what: &str) -> String {
        let (opened, refused) = (self.opened.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed));
        match (opened, refused) {
            (0, 0) => format!(", {what}"),
            (_, 0) => format!(", {what} (files so far: {opened})"),
            _ => format!(
                ", {what} (files so far: {opened}; {refused} could not be: {})",
                lock(&self.reason).as_str()
            ),
        }
    }
}

/// The machine's memory, or what this process's control group may use of it.
fn memory_bytes() -> u64 {
    let info = rustix::system::sysinfo();
    let memory = u64::from(info.mem_unit).saturating_mul(info.totalram);
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse().ok()).unwrap_or(u64::MAX);
    memory.min(group)
}
