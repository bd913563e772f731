//! Threads that are woken often, and run shortly each time.

#[cfg(target_os = "linux")]
pub(super) use linux::ask_for_short_slices;

/// Nothing: the system has no such wish.
#[cfg(not(target_os = "linux"))]
pub(super) fn ask_for_short_slices() {}

#[cfg(target_os = "linux")]
mod linux {
    use libc::{SCHED_FLAG_KEEP_POLICY, SYS_sched_setattr, c_long, sched_attr, syscall};
    use rustix::process::getpriority_process;

    /// The least that the kernel takes. A thread's share of a core stays what it is; it comes in more parts.
    const SLICE_NS: u64 = 100_000;

    /// Asks the kernel to give this thread its share of a core in short slices: once woken it then goes before threads with
    /// longer ones, as lanes are that decode. From Linux 6.12 on; before, and where it is refused, nothing changes. Needs no
    /// privilege. A real-time thread stays what it is.
    #[expect(unsafe_code, reason = "sched_setattr")]
    pub(in super::super) fn ask_for_short_slices() {
        // The call sets both, and asks for what is there: to be less nice would need a privilege.
        let Ok(sched_nice) = getpriority_process(None) else { return };
        let wish = sched_attr {
            size: u32::try_from(size_of::<sched_attr>()).unwrap_or(0),
            sched_policy: 0,
            sched_flags: u64::from(SCHED_FLAG_KEEP_POLICY.unsigned_abs()),
            sched_nice,
            sched_priority: 0,
            sched_runtime: SLICE_NS,
            sched_deadline: 0,
            sched_period: 0,
        };
        let this_thread: c_long = 0;
        // SAFETY: the kernel reads `size` bytes of a structure that is as long, and keeps no address.
        let _refused = unsafe { syscall(SYS_sched_setattr, this_thread, &raw const wish, 0u32) };
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use libc::SYS_sched_getattr;

        /// Policy, niceness and slice of this thread.
        #[expect(unsafe_code, reason = "sched_getattr")]
        fn standing() -> (u32, i32, u64) {
            let mut found = [0u64; 16];
            let len = u32::try_from(size_of_val(&found)).unwrap();
            let this_thread: c_long = 0;
            // SAFETY: the kernel writes at most `len` bytes, which are there.
            let status = unsafe { syscall(SYS_sched_getattr, this_thread, found.as_mut_ptr(), len, 0u32) };
            assert_eq!(status, 0);
            // SAFETY: the array is longer, and numbers are all there is in the structure.
            let found: sched_attr = unsafe { found.as_ptr().cast::<sched_attr>().read() };
            (found.sched_policy, found.sched_nice, found.sched_runtime)
        }

        #[test]
        fn only_the_slice_changes() {
            let (policy, nice, slice) = standing();
            ask_for_short_slices();
            let (policy_now, nice_now, slice_now) = standing();
            assert_eq!((policy, nice), (policy_now, nice_now));
            if slice == 0 {
                println!("skipped: the kernel has no slices to ask for");
            } else {
                assert_eq!(slice_now, SLICE_NS);
            }
        }
    }
}
