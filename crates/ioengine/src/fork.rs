//! What a forked child must know: that it is one.
//!
//! A child has none of its parent's lanes, and any lock may be held by a thread that it does not have. So nothing is
//! repaired there: a counter tells that the process was forked, and [`Engine::global`](crate::Engine::global) makes a
//! fresh engine where the counter moved.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// How many forks lie between the process in which this was first called and this one: what holds locks is not to be
/// touched in a process of another number than the one in which it was made.
pub fn generation() -> u64 {
    register();
    GENERATION.load(Ordering::Relaxed)
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "pthread_atfork, and close in its handler, have no safe wrapper")]
fn register() {
    static REGISTERED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

    extern "C" fn in_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
        for slot in &DESCRIPTORS {
            let descriptor = slot.swap(-1, Ordering::Relaxed);
            if 0 <= descriptor {
                // SAFETY: the ring's owner is a thread that this process does not have, so nobody uses it here.
                unsafe { libc::close(descriptor) };
            }
        }
    }

    // Not a `Once`: a fork in the middle of it would leave the child waiting for a thread that it does not have.
    if REGISTERED.load(Ordering::Relaxed) || REGISTERED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the handler only uses atomics and close(2), which POSIX allows between fork and exec, and it is a function
    // of this library, which is never unloaded.
    let status = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    if status != 0 {
        tracing::warn!(status, "pthread_atfork failed; forked children must not use engines of their parent");
    }
}

#[cfg(not(unix))]
fn register() {}

/// As [`close_in_child`], of an open file; nothing where there are no forks.
#[cfg(feature = "cache")]
pub(crate) fn close_file_in_child(file: &std::fs::File) {
    #[cfg(unix)]
    close_in_child(std::os::fd::AsRawFd::as_raw_fd(file));
    #[cfg(not(unix))]
    let _ = file;
}

/// As [`keep_in_child`], of an open file.
#[cfg(feature = "cache")]
pub(crate) fn keep_file_in_child(file: &std::fs::File) {
    #[cfg(unix)]
    keep_in_child(std::os::fd::AsRawFd::as_raw_fd(file));
    #[cfg(not(unix))]
    let _ = file;
}

/// Descriptors that a forked child closes: those of rings, which would otherwise live on in the child and keep the
/// kernel writing for a parent that is gone.
const DESCRIPTORS_MAX: usize = 1024;

static DESCRIPTORS: [AtomicI32; DESCRIPTORS_MAX] = [const { AtomicI32::new(-1) }; DESCRIPTORS_MAX];

/// Has forked children close `descriptor`. Beyond [`DESCRIPTORS_MAX`] of them it stays open there, until exec.
pub(crate) fn close_in_child(descriptor: i32) {
    register();
    for slot in &DESCRIPTORS {
        if slot.compare_exchange(-1, descriptor, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

/// Takes [`close_in_child`] back, before the descriptor is closed here.
pub(crate) fn keep_in_child(descriptor: i32) {
    for slot in &DESCRIPTORS {
        if slot.compare_exchange(descriptor, -1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}
