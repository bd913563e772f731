//! What the benches share: the arrays they read, the floor they compare with, and how they time.

pub mod crops;
pub mod floor;
pub mod satellite;
pub mod timing;
