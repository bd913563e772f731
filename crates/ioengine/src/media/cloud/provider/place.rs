//! What a URL says: service, bucket, key, and what of it is nobody's business.

use super::hosts;
use super::key::{decoded, literal};
use crate::{Error, ErrorKind};
use std::fmt;
use url::Url;

/// The kinds of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    Amazon,
    Google,
    Azure,
    Web,
}

/// How the URL is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `s3://`: who writes it wants credentials to be looked for.
    Bucket,
    /// `https://`: who writes it expects public data to be read without credentials.
    Web,
}

/// A URL taken apart.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) service: Service,
    pub(super) form: Form,
    /// Bucket or container; nothing for web servers.
    pub(super) bucket: String,
    pub(super) key: String,
    /// URL of the service where the URL says it, without a slash at its end; the origin of web servers.
    pub(super) endpoint: Option<String>,
    pub(super) region: Option<String>,
    /// Azure's account.
    pub(super) account: Option<String>,
    pub(super) access: Option<Access>,
}

/// User, password and query of a URL: part of requests, of no name and no output.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Access {
    /// User and password, decoded.
    pub(super) user: Option<(String, String)>,
    /// The query without `?`, as it was written.
    pub(super) query: Option<String>,
}

impl fmt::Debug for Access {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("hidden")
    }
}

impl Place {
    /// Takes a URL apart. Errors do not repeat it: it may hold a password or a signature.
    pub(super) fn parse(url: &str) -> Result<Place, Error> {
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| unsupported("a URL of cloud storage has a scheme, as in s3://bucket/key"))?;
        match scheme.to_ascii_lowercase().as_str() {
            "s3" | "s3a" | "s3n" => bucket_url(Service::Amazon, rest),
            "gs" | "gcs" => bucket_url(Service::Google, rest),
            "az" | "azure" | "abfs" | "abfss" | "adl" | "wasb" | "wasbs" => bucket_url(Service::Azure, rest),
            "http" | "https" => web_url(url),
            _ => {
                let known = "s3, s3a, gs, gcs, az, azure, abfs, abfss, adl, http and https are known";
                Err(unsupported(format!("the scheme {scheme:?} is not one of cloud storage; {known}")))
            }
        }
    }

    /// The URL of bucket, container or origin.
    pub(super) fn root(&self) -> String {
        let bucket = &self.bucket;
        match (self.service, self.form, &self.endpoint) {
            (Service::Web, _, Some(origin)) => origin.clone(),
            (_, Form::Web, Some(endpoint)) => format!("{endpoint}/{bucket}"),
            (Service::Azure, _, Some(endpoint)) => {
                let host = endpoint.split_once("://").map_or(endpoint.as_str(), |(_, host)| host);
                format!("abfss://{bucket}@{}", host.replacen(".blob.", ".dfs.", 1))
            }
            (Service::Amazon, ..) => format!("s3://{bucket}"),
            (Service::Google, ..) => format!("gs://{bucket}"),
            _ => format!("az://{bucket}"),
        }
    }
}

/// `bucket/key`, and for Azure `container@account.dfs.core.windows.net/key` too.
fn bucket_url(service: Service, rest: &str) -> Result<Place, Error> {
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if rest.contains('?') {
        return Err(unsupported(
            "a bucket's URL has no query: a key with '?' cannot be written, and settings and signatures go into options",
        ));
    }
    let mut place = Place {
        service,
        form: Form::Bucket,
        bucket: authority.to_owned(),
        key: literal(path)?,
        endpoint: None,
        region: None,
        account: None,
        access: None,
    };
    if let Some((container, host)) = authority.split_once('@') {
        let known = (service == Service::Azure).then(|| hosts::azure_account(host)).flatten();
        let (account, endpoint) = known.ok_or_else(|| {
            unsupported("a bucket's URL has no user and password: give them as options (Azure's is container@account.dfs.core.windows.net)")
        })?;
        container.clone_into(&mut place.bucket);
        place.account = Some(account);
        place.endpoint = Some(endpoint);
    }
    check_bucket(&place.bucket)?;
    Ok(place)
}

/// Names of buckets are letters, digits, `.`, `-` and `_`; Azure's `$root` and `$web` begin with `$`.
pub(super) fn check_bucket(name: &str) -> Result<(), Error> {
    let rest = name.strip_prefix('$').unwrap_or(name);
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match !rest.is_empty()
        && rest.len() <= 222
        && rest.chars().all(allowed)
        && !rest.chars().all(|c| c == '.')
    {
        true => Ok(()),
        false => Err(unsupported(
            "the URL names no bucket: after the scheme comes a name of letters, digits, '.', '-' and '_'",
        )),
    }
}

fn web_url(text: &str) -> Result<Place, Error> {
    let mut url =
        Url::parse(text).map_err(|error| unsupported(format!("the web URL cannot be read: {error}")))?;
    // What follows `#` is for browsers.
    url.set_fragment(None);
    let user = user_of(&url)?;
    let query = url.query().filter(|query| !query.is_empty()).map(str::to_owned);
    let access = (user.is_some() || query.is_some()).then_some(Access { user, query });
    if let Some(place) = hosts::service(&url, access.as_ref())? {
        return Ok(place);
    }
    Ok(Place {
        service: Service::Web,
        form: Form::Web,
        bucket: String::new(),
        key: decoded(url.path())?,
        endpoint: Some(url.origin().ascii_serialization()),
        region: None,
        account: None,
        access,
    })
}

fn user_of(url: &Url) -> Result<Option<(String, String)>, Error> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok(None);
    }
    let part = |text: &str| {
        super::key::percent_decoded(text)
            .ok_or_else(|| unsupported("user and password of the URL are not Unicode"))
    };
    Ok(Some((part(url.username())?, part(url.password().unwrap_or_default())?)))
}

pub(super) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message.into())
}
