//! EUMETSAT's native format: images of SEVIRI, Level 1.5, as `.nat` files hold them.
//!
//! A file has product headers as text, a header of 445 KB, a record for each line with a packet for each channel, and a trailer.
//! [`Header::read`] reads some parts of the headers; [`Header::read_region`] reads pixels of one channel, and no others;
//! [`Header::calibrated`] says what radiance, reflectance or temperature each count is. [`Conversion`] writes files to Zarr.
//!
//! Made from "MSG Level 1.5 Image Data Format Description" (EUM/MSG/ICD/105), "MSG Level 1.5 Native Format File Definition"
//! (EUM/MSG/SPE/106), and what other readers make of them.

mod band;
mod bands;
mod calibration;
mod channel;
mod conversion;
mod conversion_plan;
mod geometry;
mod group;
mod header;
mod headers;
mod image;
mod layout;
mod line;
mod moment;
mod naming;
mod pixel_layout;
mod placement;
mod plan;
mod product;
mod record;
mod satellites;
mod summary;
mod ten_bits;
mod trailer;
mod window;
mod work;
mod write;

pub use calibration::{COUNTS, CoefficientSet, Coefficients, Quantity};
pub use channel::Channel;
pub use conversion::{Conversion, ConversionOptions, Variable};
pub use conversion_plan::{ConversionPlan, PlannedImage, View};
pub use geometry::{Grid, Projection};
pub use header::Header;
pub use image::Image;
pub use line::Line;
pub use moment::Moment;
pub use naming::{are_nat_names, refuse_references};
pub use pixel_layout::PixelLayout;
pub use plan::{Region, RowSpans};
pub use trailer::Scan;
pub use window::Window;
pub use write::{LineFailure, WriteOptions};

/// The journal of a [`ConversionPlan`].
pub type Journal = crate::journal::Journal<ConversionPlan>;

/// What the journal of a [`ConversionPlan`] says is done: by the numbers of images, the lines that could not be written, whose files
/// are numbered as in the plan.
pub type Finished = crate::journal::Finished<LineFailure>;
