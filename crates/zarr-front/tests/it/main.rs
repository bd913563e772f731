//! Behaviour of the Zarr front-end, one module a subject.

mod corpus;
mod hostile;
mod metadata;
