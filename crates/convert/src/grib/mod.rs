//! What a GRIB file says of its fields, apart from their values: messages are found and their sections taken apart without I/O.

mod earth;
mod edition1;
mod edition2;
mod field;
mod grid;
mod level;
mod message;
mod octets;
mod packing;
mod product;
mod reading;
mod timing;
mod walk;

pub use earth::Earth;
pub use field::{Bitmap, Damage, DamageKind, DataPlace, Field, Found, Span};
pub use grid::{Area, Grid, GridKind, Place, Projected, Rotation, ScanningMode, SpaceView, Spacing};
pub use level::{Level, Surface};
pub use packing::{Complex, Entropy, Levels, MissingValues, Packing, PackingKind};
pub use product::{Ensemble, Parameter};
pub use timing::{DateTime, Duration, Step, TimeUnit};
pub use walk::Walk;

pub(crate) use message::fields;
pub(crate) use octets::{Octets, signed};
