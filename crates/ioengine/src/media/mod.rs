//! The media that come with the engine.

#[cfg(feature = "cache")]
pub(crate) mod cache;
#[cfg(feature = "cloud")]
pub(crate) mod cloud;
pub(crate) mod faulty;
pub(crate) mod files;
pub(crate) mod memory;
pub(crate) mod simulated;
