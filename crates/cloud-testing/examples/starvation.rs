//! How long bytes wait for a core: from the moment when a server writes an answer until a lane's inbox would have it, while
//! as many threads as there are cores are busy.
//!
//! `starvation [FETCHES [ROUNDS]]` takes the ways to schedule in turn, and prints for each how long the bytes waited. The
//! answers come from a process of its own, each with the time of the clock that all processes share when it was written.
#![expect(unsafe_code, reason = "a thread's time slice is set by a system call that has no safe wrapper")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a measurement for developers")]

#[cfg(target_os = "linux")]
#[path = "starvation/linux.rs"]
mod linux;

fn main() {
    #[cfg(target_os = "linux")]
    linux::main();
    #[cfg(not(target_os = "linux"))]
    println!("how threads are scheduled is set by means of Linux alone");
}
