//! The media that come with the engine.

pub(crate) mod faulty;
pub(crate) mod files;
pub(crate) mod memory;
pub(crate) mod simulated;
