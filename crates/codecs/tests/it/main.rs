//! Behaviour of swath-codecs from outside.

mod chains;
mod corrupt;
mod fixtures;
