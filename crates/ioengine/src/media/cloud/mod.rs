//! S3, Google Cloud Storage, Azure Blob Storage and web servers, as one [`RemoteSource`](crate::RemoteSource).
//!
//! `object_store` makes the requests and their signatures; connections, concurrency, retries, resumed bodies and costs are
//! ours. Requests run on a tokio runtime of the process; bytes go from there to the lane that asked, which decodes them.

mod medium;
mod options;
mod provider;
mod transport;

pub use medium::{CloudLocation, CloudMedium};
pub use options::CloudOptions;
