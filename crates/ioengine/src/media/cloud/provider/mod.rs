//! From a URL and options to a store of `object_store`.

mod amazon;
mod azure;
mod endpoint;
mod google;
mod hosts;
mod key;
mod lasting_name;
mod place;
mod proxy;
mod region;
mod request_layer;
mod settings;
mod signing;
#[cfg(test)]
mod tests;
mod web;

use super::CloudOptions;
use super::credentials::{Environment, Renewal};
use super::transport::{Transport, TransportSettings};
use crate::Error;
use object_store::client::{HttpClient, HttpConnector};
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use place::{Place, Service};
use std::sync::Arc;
use url::Url;

pub(crate) use place::Access;

/// A URL taken apart, before anything is connected: pure, so that a pickle or a `Store` can be made without a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// Bucket, container or origin, as people write it, without credentials and query: `s3://bucket`. A URL itself, which
    /// leads to the same store where there is no `access`.
    pub(crate) root: String,
    /// Key below the root, without slashes around it. Literally as it is stored: nothing in it is percent-encoded.
    pub(crate) prefix: String,
    /// What of the URL is part of requests and not of names: user, password and query. `Debug` does not show it. Two
    /// locations are one only where it is equal.
    pub(crate) access: Option<Access>,
}

/// A store that requests can be made of. Made once a process and location.
pub(crate) struct Connected {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// See [`Built`].
    pub(crate) reads: Option<Arc<dyn ObjectStore>>,
    /// What shares limits and costs: scheme, host and port of the service.
    pub(crate) endpoint: Arc<str>,
    /// See [`RemoteSource::lasting_name`](crate::RemoteSource::lasting_name).
    pub(crate) lasting_name: Arc<str>,
    /// What the service can do.
    pub(crate) abilities: Abilities,
    /// Of plain web servers: a way around object_store, for what it cannot ask for.
    pub(crate) web: Option<WebServer>,
    /// The connections, for statistics.
    pub(crate) transport: Transport,
    /// Where to ask for fresh credentials.
    pub(crate) renewal: Renewal,
}

/// A plain web server. Its requests get what all requests to it get.
#[derive(Debug)]
pub(crate) struct WebServer {
    pub(crate) client: HttpClient,
    /// The URL that keys are below.
    pub(crate) root: Url,
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

/// Takes a URL apart: `s3://bucket/key`, `s3a://`, `gs://`, `gcs://`, `az://`, `azure://`, `abfs[s]://`, `adl://`,
/// `http[s]://` (also those of the three services).
///
/// Keys of buckets stand literally, as the services' own tools and fsspec take them: `s3://bucket/a b%20c` has the key
/// `a b%20c`. Paths of `http[s]` URLs are decoded once.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) for other schemes, and for keys that object_store cannot express: with empty
/// parts (`a//b`), with `.` or `..` as a part, or with control characters; for `?` in a bucket's URL, which no service
/// understands there and which often holds a signature; for `%2F` in a web path.
pub(crate) fn parse(url: &str, _options: &CloudOptions) -> Result<Parsed, Error> {
    let place = Place::parse(url)?;
    Ok(Parsed { root: place.root(), prefix: place.key, access: place.access })
}

/// Builds the store of a location. `transport` makes connections with the settings that the options ask for. Reads the files
/// that options and environment name (certificates, profiles, credentials), and makes no request.
///
/// # Errors
///
/// As [`parse`]; [`Unsupported`](crate::ErrorKind::Unsupported) for options that contradict each other or cannot be
/// used; [`PermissionDenied`](crate::ErrorKind::PermissionDenied) for files of credentials that cannot be read.
pub(crate) fn connect(
    url: &str,
    options: &CloudOptions,
    transport: impl FnOnce(TransportSettings) -> Result<Transport, Error>,
) -> Result<Connected, Error> {
    let built = build(url, options, &Environment::of_process(), transport)?;
    let Built { store, reads, endpoint, lasting_name, abilities, web, connector, renewal } = built;
    Ok(Connected { store, reads, endpoint, lasting_name, abilities, web, transport: connector, renewal })
}

/// A store, and what it was built on.
struct Built<C> {
    store: Arc<dyn ObjectStore>,
    /// The same for bytes of objects and what is known of them, where requests for those are signed here.
    reads: Option<Arc<dyn ObjectStore>>,
    endpoint: Arc<str>,
    lasting_name: Arc<str>,
    abilities: Abilities,
    web: Option<WebServer>,
    connector: C,
    renewal: Renewal,
}

/// What each service's own part needs.
#[derive(Clone, Copy)]
struct Context<'a> {
    place: &'a Place,
    options: &'a CloudOptions,
    environment: &'a Environment,
}

/// As [`connect`], with any environment and any connections.
fn build<C: HttpConnector + Clone>(
    url: &str,
    options: &CloudOptions,
    environment: &Environment,
    connect: impl FnOnce(TransportSettings) -> Result<C, Error>,
) -> Result<Built<C>, Error> {
    let place = Place::parse(url)?;
    settings::check(options, place.service)?;
    let context = Context { place: &place, options, environment };
    let connector = |endpoint: &str| connect(settings::transport(context, endpoint)?);
    match place.service {
        Service::Amazon => amazon::build(context, connector),
        Service::Google => google::build(context, connector),
        Service::Azure => azure::build(context, connector),
        Service::Web => web::build(context, connector),
    }
}

/// No retries below ours: the source retries, and counts what it does.
fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

/// Settings of object_store's own that mean something with connections of ours. Plain HTTP is allowed where the endpoint
/// says it: whoever writes `http://` means it.
fn client_options(options: &CloudOptions) -> ClientOptions {
    let start = ClientOptions::new().with_allow_http(true);
    match options.get("default_content_type") {
        Some(mime) => start.with_default_content_type(mime),
        None => start,
    }
}
