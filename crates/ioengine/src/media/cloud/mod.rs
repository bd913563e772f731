//! S3, Google Cloud Storage, Azure Blob Storage and web servers, as one [`RemoteSource`](crate::RemoteSource).
//!
//! `object_store` makes the requests and their signatures; connections, concurrency, retries, resumed bodies and costs are
//! ours. Requests run on a tokio runtime of the process; bytes go from there to the lane that asked, which decodes them.

mod attempt;
mod backoff;
mod cancelling;
mod concurrency;
mod cost_estimate;
mod credentials;
mod descriptors;
mod endpoint;
mod failure;
mod fetch;
mod first_bytes;
mod gather;
mod heard;
mod hedging;
mod history;
mod limiter;
mod listing;
mod medium;
mod network;
mod option_names;
mod options;
mod provider;
mod received;
mod retrying;
mod service;
mod settings;
mod short_slices;
mod source;
#[cfg(test)]
mod tests;
mod transport;
mod version;
mod writes;

pub use credentials::{CloudCredentials, CloudKeys, CredentialSource};
pub use medium::{CloudLocation, CloudMedium};
pub use options::CloudOptions;
pub use settings::{CloudSettings, Hedging};
