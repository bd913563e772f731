//! Where a store is that a URL names.

use crate::credentials::PythonCredentials;
use crate::errors::raised;
use crate::hdf5;
use crate::references::{References, TextReferences};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
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
    /// What else is known of references, where the URL names some.
    references: Option<References>,
    /// The store that lies in an HDF5 file, once it is listed.
    listed: OnceLock<Store>,
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
    /// What else is known of references.
    pub(crate) references: Option<TextReferences>,
}

impl Remote {
    /// # Errors
    ///
    /// `Unsupported` for an option that is not known.
    pub(crate) fn new(portable: Portable) -> Result<Remote, Error> {
        let Portable { url, options, provider, withheld, references } = portable;
        let options = options_of(options)?;
        let references = references.map(References::new).transpose()?;
        let credentials = provider.map(|provider| Arc::new(PythonCredentials::new(provider, &url)));
        let (name, listed) = (without_credentials(&url), OnceLock::new());
        Ok(Remote { name, url, options, credentials, withheld, references, listed })
    }

    /// The same place; of an Icechunk repository the snapshot that its branch or tag leads to now, so that whoever is handed the node,
    /// in another process even, reads the same.
    ///
    /// # Errors
    ///
    /// Why that cannot be found out.
    pub(crate) fn pinned(self) -> Result<Remote, Error> {
        let Some((told, repository)) = archive_of(&self.url) else { return Ok(self) };
        let is_repository = is_scheme(scheme_of(told), &["icechunk"]);
        if !is_repository || told.contains("snapshot=") {
            return Ok(self);
        }
        let store = self.store()?;
        let recipe = store.recipe().and_then(|recipe| recipe.url.split_once("::"));
        let Some((pinned, _)) = recipe else { return Ok(self) };
        let url = format!("{pinned}::{repository}");
        Ok(Remote { name: without_credentials(&url), url, ..self })
    }

    /// Lists an HDF5 file, and says what of it cannot be read: where it is, and why. Others have nothing to say.
    ///
    /// # Errors
    ///
    /// Why that cannot be found out.
    pub(crate) fn listed(&self) -> Result<Vec<(String, String)>, Error> {
        match archive_of(&self.url) {
            Some((hdf5::PREFIX, file)) => {
                let (store, left_out) = hdf5::store(file, &self.with_credentials(&self.options))?;
                // Threads that get here at the same time each list the file, and all use the first one's.
                let _ = self.listed.set(store);
                Ok(left_out)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn with_credentials(&self, options: &CloudOptions) -> CloudOptions {
        match &self.credentials {
            None => options.clone(),
            Some(credentials) => options.clone().with_credentials(Arc::clone(credentials) as _),
        }
    }

    /// The URL without credentials and without a slash at its end.
    pub(crate) fn name(&self) -> &str {
        self.name.trim_end_matches('/')
    }

    /// Names of the secrets that a pickle left out, so that the environment of this process has to have them.
    pub(crate) fn withheld(&self) -> &[String] {
        &self.withheld
    }

    /// True where the same URL, query and user included, is asked for in the same way, whatever the secrets of the options.
    pub(crate) fn is_same(&self, other: &Remote) -> bool {
        let public = |remote: &Remote| remote.options.without_secrets().0;
        let url = |remote: &Remote| remote.url.trim_end_matches('/').to_owned();
        let is_same_set = match (&self.references, &other.references) {
            (None, None) => true,
            (Some(one), Some(other)) => one.is_same(other),
            _ => false,
        };
        is_same_set && url(self) == url(other) && public(self) == public(other)
    }

    /// The store; nothing is connected yet, and no credentials are asked for.
    pub(crate) fn store(&self) -> Result<Store, Error> {
        let options = self.with_credentials(&self.options);
        match (&self.references, archive_of(&self.url)) {
            (None, Some((hdf5::PREFIX, _))) => match self.listed.get() {
                Some(store) => Ok(store.clone()),
                None => self.listed().and_then(|_| self.store()),
            },
            (None, _) => Store::open(&self.url, &options),
            (Some(references), _) => {
                references.store(&self.url, &options, |options| self.with_credentials(options))
            }
        }
    }

    /// What a pickle may hold.
    pub(crate) fn portable(&self, py: Python<'_>) -> Portable {
        let (options, mut withheld) = self.options.without_secrets();
        withheld.extend(self.withheld.iter().cloned());
        let references = self.references.as_ref().map(|references| references.portable(&mut withheld));
        if self.name != self.url {
            withheld.push("what the URL held".to_owned());
        }
        withheld.sort();
        withheld.dedup();
        Portable {
            url: self.name.clone(),
            options: texts(&options),
            provider: self.credentials.as_ref().map(|credentials| credentials.provider(py)),
            withheld,
            references,
        }
    }
}

/// Options by their names.
///
/// # Errors
///
/// `Unsupported` for an option that is not known.
pub(crate) fn options_of(values: TextOptions) -> Result<CloudOptions, Error> {
    let mut options = CloudOptions::new();
    for (name, value) in values {
        options.set(&name, value)?;
    }
    Ok(options)
}

/// Names and values of options, secrets included.
pub(crate) fn texts(options: &CloudOptions) -> TextOptions {
    options.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// What stands before the URL of an archive, of references or of an Icechunk repository, `zip`, `zip://FOLDER`, `reference` or
/// `icechunk://OPTIONS`, and the URL.
pub(crate) fn archive_of(url: &str) -> Option<(&str, &str)> {
    let (zip, archive) = url.split_once("::")?;
    is_scheme(scheme_of(zip), &[hdf5::PREFIX, "icechunk", "reference", "zip"]).then_some((zip, archive))
}

fn scheme_of(url: &str) -> &str {
    url.split_once("://").map_or(url, |(scheme, _)| scheme)
}

/// A URL without user, password, query and fragment: queries of blob storage are signatures. What stands before an `@`
/// of `abfs[s]://` is no user but the container. Passwords may hold a `/`, `?` or `#` that should have been escaped: all up
/// to the last `@` is left out then, but for web servers where an `@` stands before it: paths hold some too.
pub(crate) fn without_credentials(url: &str) -> String {
    if let Some((zip, archive)) = archive_of(url) {
        return format!("{zip}::{}", without_credentials(archive));
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return without_query(url).to_owned();
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let shown = match (path.rsplit_once('@'), authority.rsplit_once('@')) {
        (Some((_, place)), _) if is_password_begun(scheme, authority) => place.to_owned(),
        (_, Some((user, host))) if !is_scheme(scheme, &["abfs", "abfss"]) || user.contains(':') => {
            format!("{host}{path}")
        }
        _ => rest.to_owned(),
    };
    format!("{scheme}://{}", without_query(&shown))
}

/// True where what stands before the first `/` is no host or bucket but a user and the beginning of a password. Only web
/// servers have ports, and users of their own.
fn is_password_begun(scheme: &str, authority: &str) -> bool {
    let Some((_, last)) = authority.rsplit_once(':') else { return false };
    let is_host = || {
        let is_port = last.len() <= PORT_DIGITS_MAX && last.bytes().all(|digit| digit.is_ascii_digit());
        authority.contains('@') || authority.ends_with(']') || is_port
    };
    !is_scheme(scheme, &["http", "https"]) || !is_host()
}

/// Digits of 65535.
const PORT_DIGITS_MAX: usize = 5;

fn is_scheme(scheme: &str, names: &[&str]) -> bool {
    names.iter().any(|name| scheme.eq_ignore_ascii_case(name))
}

fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

/// Return options without secrets: pickles hold these.
#[pyfunction]
#[pyo3(name = "_public_options", signature = (options))]
pub(crate) fn public_options(py: Python<'_>, options: TextOptions) -> PyResult<TextOptions> {
    let options = options_of(options).map_err(|error| raised(py, &error))?;
    Ok(texts(&options.without_secrets().0))
}

/// Return the name that an option has among all its spellings; the name itself where none is known.
#[pyfunction]
#[pyo3(name = "_option_name")]
pub(crate) fn option_name(name: &str) -> String {
    let mut options = CloudOptions::new();
    let known = options.set(name, "").is_ok();
    let canonical = options.iter().next().filter(|_| known).map(|(canonical, _)| canonical.to_owned());
    canonical.unwrap_or_else(|| name.to_owned())
}
