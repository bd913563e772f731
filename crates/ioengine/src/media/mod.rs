//! The media that come with the engine.

#[cfg(feature = "cache")]
pub(crate) mod cache;
#[cfg(feature = "cloud")]
pub(crate) mod cloud;
pub(crate) mod faulty;
pub(crate) mod file_access;
#[cfg(target_os = "linux")]
pub(crate) mod files;
#[cfg(not(target_os = "linux"))]
#[path = "portable_files/mod.rs"]
pub(crate) mod files;
mod folder_entries;
pub(crate) mod memory;
/// Other platforms' files, tested on this one.
#[cfg(all(test, target_os = "linux"))]
#[expect(dead_code, unreachable_pub, reason = "what only the crate's users call")]
mod portable_files;
mod positioned;
pub(crate) mod simulated;
