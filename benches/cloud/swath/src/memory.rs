//! What the kernel says of this process's memory.

use protocol::Failure;

/// Bytes in memory now.
///
/// # Errors
///
/// Where the system does not say.
pub fn resident_bytes() -> Result<u64, Failure> {
    status("VmRSS:")
}

/// Most bytes that were in memory at once.
///
/// # Errors
///
/// Where the system does not say.
pub fn peak_bytes() -> Result<u64, Failure> {
    status("VmHWM:")
}

fn status(name: &str) -> Result<u64, Failure> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kibibytes = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    let kibibytes: u64 = kibibytes.ok_or_else(|| format!("the system says no {name}"))?.trim().parse()?;
    Ok(kibibytes * 1024)
}
