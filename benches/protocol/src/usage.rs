//! Processor time of this process.

/// User and system seconds since the process began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
}

impl Usage {
    pub(crate) fn now() -> Usage {
        // SAFETY: all-zero bytes are a value of this structure of integers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a structure that the call fills.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
        Usage { user_seconds: seconds(usage.ru_utime), system_seconds: seconds(usage.ru_stime) }
    }

    pub(crate) fn since(self, earlier: Usage) -> Usage {
        Usage {
            user_seconds: self.user_seconds - earlier.user_seconds,
            system_seconds: self.system_seconds - earlier.system_seconds,
        }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 * 1e-6
}
