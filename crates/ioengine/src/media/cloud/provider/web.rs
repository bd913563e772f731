//! Plain web servers: only their reading is used, by ranges.

use super::lasting_name::lasting_name;
use super::place::unsupported;
use super::request_layer::{Additions, RequestLayer};
use super::{Abilities, Built, Context, WebServer, client_options, no_retries};
use crate::Error;
use crate::media::cloud::credentials::Renewal;
use http::header::AUTHORIZATION;
use object_store::client::HttpConnector;
use object_store::http::HttpBuilder;
use std::sync::Arc;
use url::Url;

/// Builds the store of a web server. User, password and query of the URL are part of each request, and of no error: the same
/// query for all that is read below it.
///
/// # Errors
///
/// As [`connect`](super::connect).
pub(super) fn build<C: HttpConnector + Clone>(
    context: Context<'_>,
    connect: impl FnOnce(&str) -> Result<C, Error>,
) -> Result<Built<C>, Error> {
    let Context { place, options, .. } = context;
    if options.credentials().is_some() {
        return Err(unsupported("a source of credentials is for buckets; give headers to web servers"));
    }
    let origin: Arc<str> = place.endpoint.as_deref().unwrap_or_default().into();
    let connector = connect(&origin)?;
    let mut additions = Additions::new(options, place.access.as_ref())?;
    match (options.get("username"), options.get("token")) {
        (Some(user), None) => additions.login(user, options.get("password").unwrap_or_default())?,
        (None, Some(token)) => additions.set(AUTHORIZATION.as_str(), &format!("Bearer {token}"))?,
        (None, None) => {}
        _ => return Err(unsupported("username and token are given: only one can be meant")),
    }
    let layer = RequestLayer::new(connector.clone(), &origin, additions);
    let unusable = || unsupported("the options of web servers cannot be used together");
    let client = layer.connect(&client_options(options)).map_err(|_| unusable())?;
    let root = Url::parse(&origin).map_err(|_| unusable())?;
    let store = HttpBuilder::new()
        .with_url(&*origin)
        .with_client_options(client_options(options))
        .with_retry(no_retries())
        .with_http_connector(layer)
        .build()
        .map_err(|_| unusable())?;
    let abilities = Abilities { suffix_ranges: true, lists: false, conditional_puts: false };
    let web = Some(WebServer { client, root });
    let lasting_name = lasting_name(context, &origin, "");
    Ok(Built {
        reads: None,
        store: Arc::new(store),
        endpoint: origin,
        lasting_name,
        abilities,
        web,
        connector,
        renewal: Renewal::default(),
    })
}
