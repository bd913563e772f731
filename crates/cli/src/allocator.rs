//! What the C library's allocator keeps of memory that was given back to it.

/// Has blocks of a MiB and more mapped one by one, and so go back to the system as soon as they are freed. By itself
/// glibc raises that bound to 32 MiB as such blocks are freed, keeps what lies below it in a heap for each of the threads
/// that come and go: so a copy that was to take 512 MB held 690 MB. A mapping costs its pages' zeros, about as much as
/// one more copy of the bytes. Nothing happens with other C libraries.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "mallopt")]
pub(crate) fn give_large_blocks_back() {
    // SAFETY: mallopt takes two numbers, and locks what it changes. A refusal, which its answer would tell, changes nothing.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
    }
}

/// Has large blocks go back to the system as soon as they are freed, where the allocator keeps them: nothing happens here.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_large_blocks_back() {}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BYTES: libc::c_int = 1 << 20;
