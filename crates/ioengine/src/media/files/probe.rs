//! Choosing how a directory's files are read.

use super::FileAccess;
use super::file_system::remote_name;
use super::pread_threads::PreadThreads;
use crate::driver::{LocalDriver, WaitsFor};
use crate::wake::Wake;
use crate::{Error, ErrorKind, Limits};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// A mechanism, and why it was chosen.
#[derive(Clone, Debug)]
pub(super) struct Mechanism {
    kind: Kind,
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    IoUring,
    PreadThreads,
    /// As many of them as there may be reads in flight.
    RemoteThreads,
}

/// Threads of one lane's pool where they read from a disk: enough to hide its latency.
const DISK_THREADS_MAX: usize = 16;

impl Mechanism {
    pub(super) fn name(&self) -> &'static str {
        match self.kind {
            Kind::IoUring => "io_uring",
            Kind::PreadThreads => "pread threads",
            // A name of its own, because media of one name share a lane's driver.
            Kind::RemoteThreads => "pread threads, many",
        }
    }

    /// True where a read may wait for a network, so that no file should be mapped: a page fault would wait for it.
    pub(super) fn is_remote(&self) -> bool {
        self.kind == Kind::RemoteThreads
    }

    pub(super) fn describe(&self) -> String {
        format!("{} ({})", self.name(), self.reason)
    }

    pub(super) fn driver(&self, limits: &Limits, wake: &Arc<Wake>) -> Result<Box<dyn LocalDriver>, Error> {
        match self.kind {
            Kind::IoUring => match super::uring::Uring::new(limits.local_depth) {
                Ok(ring) => Ok(Box::new(ring)),
                Err(error) => {
                    // Rings are limited by memory and descriptors, so a later one may fail where the probe did not.
                    tracing::warn!(%error, "a lane has no io_uring and reads by threads instead");
                    Ok(disk_threads(limits, wake))
                }
            },
            Kind::PreadThreads => Ok(disk_threads(limits, wake)),
            // Each read in flight is a thread that waits.
            Kind::RemoteThreads => {
                let threads_max = limits.waiting_threads().min(limits.local_depth);
                Ok(Box::new(PreadThreads::new(wake, threads_max, WaitsFor::Network)))
            }
        }
    }
}

fn disk_threads(limits: &Limits, wake: &Arc<Wake>) -> Box<dyn LocalDriver> {
    let threads_max = DISK_THREADS_MAX.min(limits.local_depth);
    Box::new(PreadThreads::new(wake, threads_max, WaitsFor::Device))
}

/// Chooses for the files below `directory`.
pub(super) fn choose(access: FileAccess, directory: &OwnedFd) -> Result<Mechanism, Error> {
    let remote = remote_name(directory);
    if access == FileAccess::PreadThreads {
        let kind = if remote.is_some() { Kind::RemoteThreads } else { Kind::PreadThreads };
        return Ok(Mechanism { kind, reason: "asked for".to_owned() });
    }
    if let Some(name) = remote.filter(|_| access != FileAccess::IoUring) {
        let reason = format!("{name} is not local: io_uring may wait for its reads one by one");
        return Ok(Mechanism { kind: Kind::RemoteThreads, reason });
    }
    match super::uring::probe(directory) {
        Ok(what) => {
            Ok(Mechanism { kind: Kind::IoUring, reason: format!("a probe read of {what} completed") })
        }
        Err(error) if access == FileAccess::IoUring => {
            Err(Error::new(ErrorKind::Unsupported, format!("io_uring does not work here: {error}")))
        }
        Err(error) => Ok(Mechanism {
            kind: Kind::PreadThreads,
            reason: format!("io_uring does not work here: {error}"),
        }),
    }
}
