//! The cache as a whole.
