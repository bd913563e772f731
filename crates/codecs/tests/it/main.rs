//! Behaviour of swath-codecs from outside.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_possible_truncation,
    reason = "a test stops at the first surprise, and makes its bytes by wrapping"
)]

mod chains;
mod conversions;
mod corrupt;
mod fixtures;
mod picks;
mod stitch;
mod vectors;
