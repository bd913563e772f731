//! Behaviour of swath-codecs from outside.
