//! Reads on a caller's thread, which never wait for the device.

use super::open_file::{OpenFile, read_at};
use crate::driver::{Completion, LocalDriver, Outcome, ReadOp, ReadTarget, TargetUse, WaitsFor};
use crate::media::positioned::{resume_offset, unfilled};
use crate::wake::Wake;
use crate::{Error, ErrorKind, OpenObject};
use rustix::io::{Errno, ReadWriteFlags};
use std::sync::Arc;
use std::time::Duration;

/// `preadv2` with `RWF_NOWAIT` (Linux 4.14): bytes that are in the page cache come at once, all others are
/// [`Outcome::WouldBlock`]. A miss has already started the device read, so the first one gives the rest up too: the
/// lanes then read ahead of it. File systems without the flag are always left to the lanes.
pub(super) struct InlinePread {
    done: Vec<Completion>,
    missed: bool,
}

impl InlinePread {
    pub(super) fn new() -> InlinePread {
        InlinePread { done: Vec::new(), missed: false }
    }

    fn read(
        &mut self,
        object: &Arc<dyn OpenObject>,
        read: (u64, usize, usize),
        target: &mut Option<ReadTarget>,
    ) -> Outcome {
        if self.missed {
            return Outcome::WouldBlock;
        }
        let (offset, len, filled) = read;
        let Some(target) = target else {
            return Outcome::Failed(Error::new(ErrorKind::Internal, "a file read came without a target"));
        };
        let Some(file) = object.as_any().downcast_ref::<OpenFile>() else {
            return Outcome::Failed(Error::new(ErrorKind::Internal, "not a local file"));
        };
        let target = match unfilled(target.as_mut_slice(), filled, len) {
            Ok(target) => target,
            Err(error) => return Outcome::Failed(error),
        };
        match read_at(file.descriptor(), target, resume_offset(offset, filled), ReadWriteFlags::NOWAIT) {
            Ok(read) => Outcome::Filled(read),
            Err(Errno::AGAIN | Errno::OPNOTSUPP | Errno::NOSYS) => {
                self.missed = true;
                Outcome::WouldBlock
            }
            Err(Errno::INTR) => Outcome::Again,
            Err(error) => Outcome::Failed(Error::from_io(error.into())),
        }
    }
}

impl LocalDriver for InlinePread {
    fn name(&self) -> &'static str {
        "pread on the calling thread"
    }

    fn target_use(&self) -> TargetUse {
        TargetUse::Fills
    }

    fn waits_for(&self) -> WaitsFor {
        WaitsFor::Device
    }

    fn submit(&mut self, read: ReadOp<'_>) {
        let ReadOp { slot, object, offset, len, mut target, filled, caching: _ } = read;
        let outcome = self.read(object, (offset, len, filled), &mut target);
        self.done.push(Completion { slot, target, outcome });
    }

    fn flush(&mut self) {}

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        completions.append(&mut self.done);
        self.missed = false;
    }

    fn wait(&mut self, _wake: &Wake, _timeout: Duration) {}

    fn cancel(&mut self, _slot: u32) {}

    fn in_flight(&self) -> usize {
        self.done.len()
    }
}
