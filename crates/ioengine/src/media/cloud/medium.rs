//! The public face: a location in the cloud as a medium of the engine.

use super::CloudOptions;
use crate::{Error, ErrorKind, Medium};

/// Where a URL leads: a medium, and a key on it.
#[derive(Clone, Debug)]
pub struct CloudLocation {
    /// The bucket, container or web server. Equal URLs and options give media of equal ids.
    pub medium: Medium,
    /// Key of what the URL names, without slashes around it.
    pub prefix: String,
    /// The URL without credentials, for people.
    pub name: String,
}

/// Media of cloud storage.
pub struct CloudMedium;

impl CloudMedium {
    /// The location that a URL and options name. Nothing is connected before the first read; in a forked child everything
    /// is connected anew.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a scheme that is not known.
    pub fn open(_url: &str, _options: &CloudOptions) -> Result<CloudLocation, Error> {
        Err(Error::new(ErrorKind::Unsupported, "not there yet"))
    }
}
