//! When and how a file is read, or written, past the page cache.
//!
//! Such reads cost a fraction of the processor time of reads that fill the page cache, and bring more of the device's
//! rate; but what they bring is not there the next time. Which files are read so is the rule in [`rule`], and what was
//! measured for it is in docs/decisions/0006-direct-reads.md.

mod data_set;
mod descriptor;
mod rule;
mod writing;

use super::mapped::now_ms;
use super::open_file::OpenFile;
use super::residency::resident_share;
use crate::blocks::Blocks;
use crate::{CostModel, OpenObject};
pub(super) use data_set::DataSet;
use descriptor::{Alignment, DirectDescriptor};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
pub(super) use writing::write_start;

/// Which files of a directory are read past the page cache.
#[derive(Clone)]
pub(super) enum DirectUse {
    /// None.
    Never,
    /// Those that [`rule`] says.
    WhereItPays(Arc<DataSet>),
    /// All that can be.
    Always(Arc<DataSet>),
}

impl DirectUse {
    /// What became of it so far, for people; empty where there is nothing to tell.
    pub(super) fn describe(&self) -> String {
        match self {
            DirectUse::Never => String::new(),
            DirectUse::WhereItPays(set) => set.describe("past the page cache where it pays"),
            DirectUse::Always(set) => set.describe("past the page cache"),
        }
    }

    /// Why a file was refused last, if any was.
    pub(super) fn refusal(&self) -> Option<String> {
        match self {
            DirectUse::Never => None,
            DirectUse::WhereItPays(set) | DirectUse::Always(set) => set.refusal(),
        }
    }
}

/// One file's second descriptor, and whether its reads go through it.
pub(super) struct Direct {
    wanted: DirectUse,
    descriptor: OnceLock<Option<DirectDescriptor>>,
    is_refused: AtomicBool,
    /// What was chosen when that was last looked at.
    is_chosen: AtomicBool,
    /// When that was, in ms of a monotonic clock; 0 for never.
    looked_ms: AtomicU64,
    /// Held by who looks.
    looking: Mutex<()>,
}

/// How long a choice stands.
const LOOK_AGAIN_MS: u64 = 100;

impl Direct {
    pub(super) fn new(wanted: DirectUse) -> Direct {
        Direct {
            wanted,
            descriptor: OnceLock::new(),
            is_refused: AtomicBool::new(false),
            is_chosen: AtomicBool::new(false),
            looked_ms: AtomicU64::new(0),
            looking: Mutex::new(()),
        }
    }

    /// How reads that would bring `bytes` into the page cache go past it, if they should.
    pub(super) fn blocks(&self, file: &OpenFile, bytes: u64) -> Option<Blocks> {
        let set = match &self.wanted {
            DirectUse::Never => return None,
            DirectUse::Always(set) => set,
            DirectUse::WhereItPays(set) => {
                if file.size() < rule::FILE_BYTES_MIN {
                    return None;
                }
                set.ask(bytes);
                if !self.is_worth_it(file, set) {
                    return None;
                }
                set
            }
        };
        if self.is_refused.load(Ordering::Relaxed) {
            return None;
        }
        let descriptor = self.descriptor.get_or_init(|| self.open(file, set)).as_ref()?;
        Some(descriptor.alignment().blocks(set.cost()))
    }

    /// The descriptor for a read of whole blocks to memory that is aligned as the file wants it.
    pub(super) fn descriptor(&self, offset: u64, target: &[u8]) -> Option<BorrowedFd<'_>> {
        if self.is_refused.load(Ordering::Relaxed) {
            return None;
        }
        let descriptor = self.descriptor.get()?.as_ref()?;
        descriptor.alignment().blocks(CostModel::DEVICE).fit(offset, target).then(|| descriptor.borrow())
    }

    /// Has no read go past the page cache any more.
    pub(super) fn refuse(&self) {
        if let DirectUse::Always(set) | DirectUse::WhereItPays(set) = &self.wanted
            && !self.is_refused.swap(true, Ordering::Relaxed)
        {
            set.count_refused("a read was refused");
        }
    }

    fn open(&self, file: &OpenFile, set: &DataSet) -> Option<DirectDescriptor> {
        let opened = Alignment::of(file.descriptor(), &self.wanted)
            .and_then(|alignment| DirectDescriptor::open(file.descriptor(), alignment));
        match opened {
            Ok(descriptor) => {
                set.count_opened();
                Some(descriptor)
            }
            Err(error) => {
                set.count_refused(&error.to_string());
                None
            }
        }
    }

    /// What [`rule`] says, looked up now and then.
    fn is_worth_it(&self, file: &OpenFile, set: &DataSet) -> bool {
        let (now_ms, looked_ms) = (now_ms(), self.looked_ms.load(Ordering::Relaxed));
        if (looked_ms == 0 || LOOK_AGAIN_MS <= now_ms.saturating_sub(looked_ms))
            && let Ok(_looking) = self.looking.try_lock()
        {
            self.looked_ms.store(now_ms.max(1), Ordering::Relaxed);
            let facts = set.facts(file.file_identity());
            let is_chosen = rule::may_pay(&facts)
                && resident_share(file.descriptor(), file.size(), now_ms)
                    .is_ok_and(|resident| rule::pays(&facts, resident));
            self.is_chosen.store(is_chosen, Ordering::Relaxed);
        }
        self.is_chosen.load(Ordering::Relaxed)
    }
}
