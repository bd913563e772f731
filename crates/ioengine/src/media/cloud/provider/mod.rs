//! From a URL and options to a store of `object_store`.

use super::CloudOptions;
use super::transport::{Transport, TransportSettings};
use crate::{Error, ErrorKind};
use object_store::ObjectStore;
use std::sync::Arc;

/// A URL taken apart, before anything is connected: pure, so that a pickle or a `Store` can be made without a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// Bucket, container or origin, as people write it, without credentials and query: `s3://bucket`.
    pub(crate) root: String,
    /// Key below the root, without slashes around it.
    pub(crate) prefix: String,
}

/// A store that requests can be made of. Made once a process and location.
pub(crate) struct Connected {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// What shares limits and costs: scheme, host and port of the service.
    pub(crate) endpoint: Arc<str>,
    /// What the service can do.
    pub(crate) abilities: Abilities,
    /// The connections, for statistics.
    pub(crate) transport: Transport,
}

/// What a service can do besides bounded ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// `Range: bytes=-n` (Azure has none).
    pub(crate) suffix_ranges: bool,
    /// Listing below a prefix (plain web servers have none).
    pub(crate) lists: bool,
    /// `put` on condition of an entity tag or of absence.
    pub(crate) conditional_puts: bool,
}

/// Takes a URL apart: `s3://bucket/key`, `gs://`, `az://`, `abfs[s]://`, `http[s]://` (also those of the three services).
pub(crate) fn parse(_url: &str, _options: &CloudOptions) -> Result<Parsed, Error> {
    Err(Error::new(ErrorKind::Unsupported, "not there yet"))
}

/// Builds the store of a location. `transport` makes connections with the settings that the options ask for.
pub(crate) fn connect(
    _url: &str,
    _options: &CloudOptions,
    _transport: impl FnOnce(TransportSettings) -> Result<Transport, Error>,
) -> Result<Connected, Error> {
    Err(Error::new(ErrorKind::Unsupported, "not there yet"))
}
