//! Where a store is that a URL names.

use crate::credentials::PythonCredentials;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use swath::{CloudOptions, Error, Store};

/// A URL and how to get there.
pub(crate) struct Remote {
    /// As it was given: it may hold credentials.
    url: String,
    /// The URL without credentials, for people and pickles.
    name: String,
    options: CloudOptions,
    /// Gives credentials, where the caller does.
    credentials: Option<Arc<PythonCredentials>>,
    /// Names of what a pickle left out.
    withheld: Vec<String>,
}

/// Options as text, by name.
pub(crate) type TextOptions = BTreeMap<String, String>;

/// What a pickle holds of a remote location.
pub(crate) struct Portable {
    /// The URL without credentials.
    pub(crate) url: String,
    /// The options that are no secrets.
    pub(crate) options: TextOptions,
    /// The credential provider, if there is one.
    pub(crate) provider: Option<Py<PyAny>>,
    /// Names of what was left out.
    pub(crate) withheld: Vec<String>,
}

impl Remote {
    /// # Errors
    ///
    /// `Unsupported` for an option that is not known.
    pub(crate) fn new(portable: Portable) -> Result<Remote, Error> {
        let Portable { url, options: values, provider, withheld } = portable;
        let mut options = CloudOptions::new();
        for (name, value) in values {
            options.set(&name, value)?;
        }
        let credentials = provider.map(|provider| Arc::new(PythonCredentials::new(provider, &url)));
        Ok(Remote { name: without_credentials(&url), url, options, credentials, withheld })
    }

    /// The URL without credentials and without a slash at its end.
    pub(crate) fn name(&self) -> &str {
        self.name.trim_end_matches('/')
    }

    /// Names of the secrets that a pickle left out, so that the environment of this process has to have them.
    pub(crate) fn withheld(&self) -> &[String] {
        &self.withheld
    }

    /// True where the same URL is asked for in the same way, whatever the secrets.
    pub(crate) fn is_same(&self, other: &Remote) -> bool {
        let public = |remote: &Remote| remote.options.without_secrets().0;
        self.name() == other.name() && public(self) == public(other)
    }

    /// The store; nothing is connected yet, and no credentials are asked for.
    pub(crate) fn store(&self) -> Result<Store, Error> {
        let options = self.options.clone();
        match &self.credentials {
            None => Store::open(&self.url, &options),
            Some(credentials) => {
                Store::open(&self.url, &options.with_credentials(Arc::clone(credentials) as _))
            }
        }
    }

    /// What a pickle may hold.
    pub(crate) fn portable(&self, py: Python<'_>) -> Portable {
        let (options, mut withheld) = self.options.without_secrets();
        withheld.extend(self.withheld.iter().cloned());
        if self.name != self.url {
            withheld.push("what the URL held".to_owned());
        }
        withheld.sort();
        withheld.dedup();
        Portable {
            url: self.name.clone(),
            options: options.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            provider: self.credentials.as_ref().map(|credentials| credentials.provider(py)),
            withheld,
        }
    }
}

/// A URL without user, password, query and fragment: queries of blob storage are signatures. What stands before an `@`
/// of `abfs[s]://` is no user but the container.
pub(crate) fn without_credentials(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    let Some((scheme, rest)) = plain.split_once("://") else {
        return plain.to_owned();
    };
    let (authority, path) = rest.find('/').map_or((rest, ""), |slash| rest.split_at(slash));
    let host = match authority.rsplit_once('@') {
        Some((user, host)) if !scheme.to_ascii_lowercase().starts_with("abfs") || user.contains(':') => host,
        _ => authority,
    };
    format!("{scheme}://{host}{path}")
}
