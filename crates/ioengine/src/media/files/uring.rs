//! io_uring: many reads for one system call, one ring a lane.
//!
//! The ring is made on the lane's thread, with SINGLE_ISSUER, DEFER_TASKRUN and TASKRUN_FLAG (Linux 6.1), or without
//! flags where the kernel does not know them (Linux 5.11, the first that waits with a timeout). Its queues are not inherited by forked children. What was
//! measured for these choices is in docs/decisions/0001-spike.md.

use super::open_file::OpenFile;
use crate::driver::{Completion, LocalDriver, Outcome, ReadOp, ReadTarget, TargetUse, WaitsFor};
use crate::media::positioned::{resume_offset, unfilled};
use crate::wake::Wake;
use crate::{Error, ErrorKind};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

const WAKE: u64 = u64::MAX;
const CANCEL: u64 = u64::MAX - 1;

/// Set in the user data of reads of descriptors with O_DIRECT, beside the slot.
const DIRECT: u64 = 1 << 32;

/// How long a ring that is dropped waits for its reads. Cancelled or not, reads of a disk complete within tens of ms;
/// what has not completed by then is leaked and reported, because the kernel may still write to it.
const TEARDOWN_MAX: Duration = Duration::from_secs(10);

pub(super) struct Uring {
    ring: IoUring,
    /// The targets of the reads in flight, by slot. The kernel writes to them until the read completes.
    targets: Vec<Option<ReadTarget>>,
    /// Reads that could not be queued.
    refused: Vec<Completion>,
    in_flight: usize,
    wake_armed: bool,
}

impl Uring {
    pub(super) fn new(depth: usize) -> io::Result<Uring> {
        let entries = u32::try_from(depth.clamp(8, 4096)).unwrap_or(4096).next_power_of_two();
        let ring = build(entries)?;
        crate::fork::close_in_child(ring.as_raw_fd());
        Ok(Uring { ring, targets: Vec::new(), refused: Vec::new(), in_flight: 0, wake_armed: false })
    }

    /// Queues an entry; a full queue is submitted first.
    #[expect(unsafe_code, reason = "the kernel is given addresses")]
    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        for _ in 0..SUBMIT_ATTEMPTS {
            // SAFETY: a read's memory is kept in `targets` until it completes (or is leaked), and its file is open for
            // as long as its window is; wake-ups and cancels point to no memory.
            let pushed = unsafe { self.ring.submission().push(entry) };
            if pushed.is_ok() {
                return Ok(());
            }
            match self.ring.submit() {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
        Err(io::Error::from(io::ErrorKind::ResourceBusy))
    }

    fn read_entry(read: &ReadOp<'_>, file: &OpenFile, target: &mut [u8]) -> squeue::Entry {
        let offset = resume_offset(read.offset, read.filled);
        let way = file.way(read.caching, offset, target);
        // A read of 2 GiB or more is cut short by the kernel anyhow, and goes on as a short read does.
        let len = u32::try_from(target.len()).unwrap_or(i32::MAX.unsigned_abs());
        opcode::Read::new(Fd(way.descriptor.as_raw_fd()), target.as_mut_ptr(), len)
            .offset(offset)
            .build()
            .user_data(u64::from(read.slot) | if way.is_direct { DIRECT } else { 0 })
    }

    /// Queues a read, or tells how it ended without having been queued.
    fn try_submit(&mut self, read: &mut ReadOp<'_>) -> Result<(), Outcome> {
        let file = read.object.as_any().downcast_ref::<OpenFile>();
        let (Some(file), Some(mut target)) = (file, read.target.take()) else {
            return Err(Outcome::Failed(Error::new(ErrorKind::Internal, "not a read of a local file")));
        };
        let unfilled = unfilled(target.as_mut_slice(), read.filled, read.len).map_err(Outcome::Failed);
        let entry = unfilled.map(|unfilled| Uring::read_entry(read, file, unfilled));
        read.target = Some(target);
        let entry = entry?;
        self.push(&entry).map_err(|error| match error.kind() {
            // Out of kernel memory, or completions have to be taken first.
            io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy | io::ErrorKind::Interrupted => {
                Outcome::Again
            }
            _ => Outcome::Failed(Error::from_io(error)),
        })
    }

    fn complete(&mut self, user_data: u64, result: i32) -> Option<Completion> {
        match user_data {
            WAKE => {
                self.wake_armed = false;
                return None;
            }
            CANCEL => return None,
            _ => {}
        }
        let is_direct = user_data & DIRECT != 0;
        let slot = u32::try_from(user_data & !DIRECT).ok()?;
        let target = self.targets.get_mut(slot as usize)?.take()?;
        self.in_flight -= 1;
        let outcome = match usize::try_from(result) {
            Ok(read) => Outcome::Filled(read),
            Err(_) => match io::Error::from_raw_os_error(-result) {
                error if error.kind() == io::ErrorKind::Interrupted => Outcome::Again,
                error if error.kind() == io::ErrorKind::WouldBlock => Outcome::Again,
                error if is_direct && refuses_direct(&error) => Outcome::Refused,
                error if error.raw_os_error() == Some(libc::ECANCELED) => {
                    Outcome::Failed(Error::new(ErrorKind::Cancelled, "the read was cancelled"))
                }
                error => Outcome::Failed(Error::from_io(error)),
            },
        };
        Some(Completion { slot, target: Some(target), outcome })
    }

    /// Lets the kernel post what has completed in the background.
    fn run_deferred(&mut self) {
        if self.ring.submission().taskrun() {
            self.enter_for_events();
        }
    }

    #[expect(unsafe_code, reason = "io_uring_enter has no safe wrapper with GETEVENTS alone")]
    fn enter_for_events(&mut self) {
        const GETEVENTS: u32 = 1;
        // SAFETY: submits nothing and passes no argument: only posts completions. An error leaves them for later.
        let _ = unsafe { self.ring.submitter().enter::<()>(0, 0, GETEVENTS, None) };
    }
}

/// What file systems answer that open a file with O_DIRECT and then cannot read it so, or not at this alignment.
fn refuses_direct(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP))
}

/// Attempts to make room in a full submission queue. One suffices unless the kernel is short of memory.
const SUBMIT_ATTEMPTS: u32 = 8;

fn build(entries: u32) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.dontfork().setup_single_issuer().setup_defer_taskrun().setup_coop_taskrun().setup_taskrun_flag();
    builder.setup_cqsize(entries * 2);
    let ring = builder.build(entries).or_else(|_| IoUring::builder().dontfork().build(entries))?;
    if ring.params().is_feature_ext_arg() {
        Ok(ring)
    } else {
        Err(io::Error::new(io::ErrorKind::Unsupported, "io_uring waits without a timeout before Linux 5.11"))
    }
}

impl LocalDriver for Uring {
    fn name(&self) -> &'static str {
        "io_uring"
    }

    fn target_use(&self) -> TargetUse {
        TargetUse::Fills
    }

    fn waits_for(&self) -> WaitsFor {
        WaitsFor::Device
    }

    fn submit(&mut self, mut read: ReadOp<'_>) {
        let slot = read.slot;
        if let Err(outcome) = self.try_submit(&mut read) {
            self.in_flight += 1;
            return self.refused.push(Completion { slot, target: read.target, outcome });
        }
        let index = slot as usize;
        if self.targets.len() <= index {
            self.targets.resize_with(index + 1, || None);
        }
        self.targets[index] = read.target;
        self.in_flight += 1;
    }

    fn flush(&mut self) {
        if !self.ring.submission().is_empty() {
            // What cannot be submitted now (EAGAIN, EBUSY, EINTR) stays queued for the next flush or wait.
            let _ = self.ring.submit();
        }
    }

    fn reap(&mut self, completions: &mut Vec<Completion>) {
        self.in_flight -= self.refused.len();
        completions.append(&mut self.refused);
        if self.in_flight == 0 {
            return;
        }
        self.run_deferred();
        while let Some(entry) = { self.ring.completion().next() } {
            completions.extend(self.complete(entry.user_data(), entry.result()));
        }
    }

    fn wait(&mut self, wake: &Wake, timeout: Duration) {
        if !self.refused.is_empty() {
            return;
        }
        if !self.wake_armed {
            let readable = u32::from(libc::POLLIN.unsigned_abs());
            let entry =
                opcode::PollAdd::new(Fd(wake.descriptor().as_raw_fd()), readable).build().user_data(WAKE);
            self.wake_armed = self.push(&entry).is_ok();
        }
        let timespec = Timespec::from(timeout);
        let arguments = SubmitArgs::new().timespec(&timespec);
        // A timeout and an interruption are early returns, which the contract allows.
        let _ = self.ring.submitter().submit_with_args(1, &arguments);
    }

    fn cancel(&mut self, slot: u32) {
        // Best effort: a read that is not cancelled completes.
        for name in [u64::from(slot), u64::from(slot) | DIRECT] {
            let entry = opcode::AsyncCancel::new(name).build().user_data(CANCEL);
            let _ = self.push(&entry);
        }
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        let deadline = Instant::now() + TEARDOWN_MAX;
        let mut completions = Vec::new();
        for slot in 0..u32::try_from(self.targets.len()).unwrap_or(u32::MAX) {
            if self.targets[slot as usize].is_some() {
                self.cancel(slot);
            }
        }
        while 0 < self.in_flight && Instant::now() < deadline {
            let timespec = Timespec::from(Duration::from_millis(100));
            let _ = self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timespec));
            self.reap(&mut completions);
        }
        if 0 < self.in_flight {
            tracing::error!(reads = self.in_flight, "reads did not complete; their buffers are leaked");
            std::mem::forget(std::mem::take(&mut self.targets));
        }
        crate::fork::keep_in_child(self.ring.as_raw_fd());
    }
}

/// Reads a byte of some file below `directory` (or, in an empty one, of this program) through a ring, as a lane would.
/// Tells what was read.
pub(super) fn probe(directory: &OwnedFd) -> io::Result<String> {
    let (file, what) = match some_file(directory) {
        Some(file) => (file, "one of its files"),
        None => (OwnedFd::from(std::fs::File::open("/proc/self/exe")?), "this program, for want of files,"),
    };
    let mut ring = build(8)?;
    // Leaked should the read not complete: the kernel may still write to it.
    let mut byte = std::mem::ManuallyDrop::new(Box::new(0u8));
    let entry = opcode::Read::new(Fd(file.as_raw_fd()), &raw mut **byte, 1).build().user_data(0);
    push_probe(&mut ring, &entry)?;
    let result = loop {
        match ring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            Ok(_) | Err(_) => {}
        }
        if let Some(entry) = ring.completion().next() {
            break entry.result();
        }
    };
    drop(std::mem::ManuallyDrop::into_inner(byte));
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(what.to_owned()) }
}

#[expect(unsafe_code, reason = "the kernel is given an address")]
fn push_probe(ring: &mut IoUring, entry: &squeue::Entry) -> io::Result<()> {
    // SAFETY: the one caller frees the byte that the read fills only once the read has completed.
    unsafe { ring.submission().push(entry) }.map_err(io::Error::other)
}

/// Some regular file directly below the directory.
fn some_file(directory: &OwnedFd) -> Option<OwnedFd> {
    let readable = rustix::fs::openat(
        directory,
        c".",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    let entries = rustix::fs::Dir::read_from(readable.ok()?.as_fd()).ok()?;
    let names = entries.take(PROBED_ENTRIES_MAX).filter_map(Result::ok);
    names.filter(|entry| entry.file_type().is_file()).find_map(|entry| {
        rustix::fs::openat(directory, entry.file_name(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
    })
}

/// Directory entries looked at for a file to probe with.
const PROBED_ENTRIES_MAX: usize = 64;
