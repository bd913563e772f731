//! Decode and encode chunks into memory that the caller owns.
