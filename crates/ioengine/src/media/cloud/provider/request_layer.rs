//! What each request to a service gets besides what object_store puts in it: headers, a query, a region that was learned, and
//! a signature of ours.
//!
//! It is put on below object_store, so that its errors, which have URLs in them, have none of it; and only on requests to
//! the service itself, so that the services that give tokens get none of it.

use super::place::{Access, unsupported};
use super::region::{RegionFollower, Resigner};
use super::signing::Signer;
use crate::Error;
use crate::media::cloud::CloudOptions;
use async_trait::async_trait;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::AUTHORIZATION;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use std::fmt;
use std::sync::Arc;

/// What is put on.
#[derive(Clone, Default)]
pub(super) struct Additions {
    headers: HeaderMap,
    query: Option<String>,
}

impl Additions {
    /// The headers that options give, and what of the URL is part of requests.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for headers that cannot be sent. Their values are not told.
    pub(super) fn new(options: &CloudOptions, access: Option<&Access>) -> Result<Additions, Error> {
        let mut additions = Additions::default();
        for (name, value) in options.headers() {
            additions.set(name, value)?;
        }
        if let Some(access) = access {
            additions.query.clone_from(&access.query);
            if let Some((user, password)) = &access.user {
                additions.login(user, password)?;
            }
        }
        Ok(additions)
    }

    /// Sets a header.
    ///
    /// # Errors
    ///
    /// As [`new`](Additions::new).
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let wrong = || unsupported(format!("the header {name:?} has a name or a value that cannot be sent"));
        let key = HeaderName::try_from(name).map_err(|_| wrong())?;
        let mut sent = HeaderValue::try_from(value).map_err(|_| wrong())?;
        sent.set_sensitive(true);
        self.headers.insert(key, sent);
        Ok(())
    }

    /// Logs in by user and password (RFC 7617).
    ///
    /// # Errors
    ///
    /// As [`new`](Additions::new).
    pub(super) fn login(&mut self, user: &str, password: &str) -> Result<(), Error> {
        let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
        self.set(AUTHORIZATION.as_str(), &format!("Basic {encoded}"))
    }

    fn is_empty(&self) -> bool {
        self.headers.is_empty() && self.query.is_none()
    }

    fn apply(&self, request: &mut HttpRequest) -> Result<(), HttpError> {
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        if let Some(query) = &self.query {
            *request.uri_mut() = with_query(request.uri(), query)?;
        }
        Ok(())
    }
}

fn with_query(uri: &Uri, query: &str) -> Result<Uri, HttpError> {
    let path = uri.path();
    let full = match uri.query() {
        Some(before) => format!("{path}?{before}&{query}"),
        None => format!("{path}?{query}"),
    };
    let wrong = || HttpError::new(HttpErrorKind::Request, std::io::Error::other("the query cannot be sent"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(full).map_err(|_| wrong())?);
    Uri::from_parts(parts).map_err(|_| wrong())
}

/// Connections that put it on.
#[derive(Clone)]
pub(super) struct RequestLayer<C> {
    connector: C,
    service: Arc<Layered>,
}

/// The service that is meant, and what its requests get.
struct Layered {
    /// Host and port, as requests have them.
    authority: String,
    additions: Additions,
    region: Option<RegionFollower>,
    signing: Signing,
}

/// Who signs requests.
pub(super) enum Signing {
    /// Nobody, or object_store, for whatever region it is set up for.
    Above,
    /// object_store, and this where a request moves to another region.
    AboveAndMoved(Resigner),
    /// This layer.
    Here(Signer),
}

impl<C> RequestLayer<C> {
    /// `origin` is scheme, host and port of the service.
    pub(super) fn new(connector: C, origin: &str, additions: Additions) -> RequestLayer<C> {
        RequestLayer::signed(connector, origin, additions, None, Signing::Above)
    }

    /// The same, of requests that follow a bucket to its region and are signed as that says.
    pub(super) fn signed(
        connector: C,
        origin: &str,
        additions: Additions,
        region: Option<RegionFollower>,
        signing: Signing,
    ) -> RequestLayer<C> {
        let authority = origin.split_once("://").map_or(origin, |(_, authority)| authority).to_owned();
        RequestLayer { connector, service: Arc::new(Layered { authority, additions, region, signing }) }
    }
}

impl<C> fmt::Debug for RequestLayer<C> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "requests to {}", self.service.authority)
    }
}

impl<C: HttpConnector> HttpConnector for RequestLayer<C> {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = self.connector.connect(options)?;
        let service = &self.service;
        let signs = matches!(service.signing, Signing::Here(_));
        if service.additions.is_empty() && service.region.is_none() && !signs {
            return Ok(client);
        }
        Ok(HttpClient::new(LayeredClient { client, service: Arc::clone(&self.service) }))
    }
}

/// A client that puts it on.
struct LayeredClient {
    client: HttpClient,
    service: Arc<Layered>,
}

impl fmt::Debug for LayeredClient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "requests to {}", self.service.authority)
    }
}

#[async_trait]
impl HttpService for LayeredClient {
    async fn call(&self, mut request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        if authority != Some(self.service.authority.as_str()) {
            return self.client.execute(request).await;
        }
        let Some(follower) = &self.service.region else { return self.send(request, None).await };
        if let Some(region) = follower.learned() {
            follower.move_to(&mut request, region)?;
            return self.send(request, Some(region)).await;
        }
        let response = self.send(request.clone(), None).await?;
        let Some(region) = follower.learn(&response) else { return Ok(response) };
        drop(response);
        follower.move_to(&mut request, region)?;
        self.send(request, Some(region)).await
    }
}

impl LayeredClient {
    /// Sends a request to the region that it is made for, or to one that it was moved to.
    async fn send(&self, mut request: HttpRequest, moved: Option<&str>) -> Result<HttpResponse, HttpError> {
        match (&self.service.signing, moved) {
            (Signing::Here(signer), moved) => signer.sign(&mut request, moved).await?,
            (Signing::AboveAndMoved(resigner), Some(region)) => resigner.sign(&mut request, region).await?,
            (Signing::AboveAndMoved(_), None) | (Signing::Above, _) => {}
        }
        // Behind the signature, which does not cover them: connections on the way may change such headers as these.
        self.service.additions.apply(&mut request)?;
        self.client.execute(request).await
    }
}
