//! Google Cloud Storage.

use super::endpoint::{endpoint, origin};
use super::lasting_name::lasting_name;
use super::place::{Form, unsupported};
use super::request_layer::{Additions, RequestLayer};
use super::{Abilities, Built, Context, client_options, no_retries};
use crate::Error;
use crate::media::cloud::credentials::{
    GoogleLogin, Renewal, TokenRequests, google_login, google_provider, own_google,
};
use crate::media::cloud::option_names::truth;
use object_store::ClientOptions;
use object_store::client::HttpConnector;
use object_store::gcp::GoogleCloudStorageBuilder;
use std::sync::Arc;

const ENDPOINT: &str = "https://storage.googleapis.com";

/// Builds the store of a bucket.
///
/// # Errors
///
/// As [`connect`](super::connect).
pub(super) fn build<C: HttpConnector + Clone>(
    context: Context<'_>,
    connect: impl FnOnce(&str) -> Result<C, Error>,
) -> Result<Built<C>, Error> {
    let Context { place, options, environment } = context;
    let own = options.credentials();
    let login = match own {
        Some(_) => GoogleLogin::Anonymous,
        None => google_login(options, environment)?,
    };
    // Who writes a web address expects public data to need no login.
    let is_public = place.form == Form::Web && login.is_a_guess();
    let login = if is_public { GoogleLogin::Anonymous } else { login };
    let unsigned = own.is_none() && login == GoogleLogin::Anonymous;
    let endpoint = service(context, &login)?;
    let service = origin(&endpoint);
    let connector = connect(&endpoint)?;
    let client =
        connector.connect(&ClientOptions::new()).map_err(|_| unsupported("connections cannot be made"))?;
    let renewal = Renewal::default();
    let credentials = match own {
        Some(own) => own_google(Arc::clone(own), &renewal),
        None => google_provider(&login, connector.clone(), TokenRequests::new(client), &renewal)?,
    };
    let mut additions = Additions::new(options, None)?;
    if let Some(project) = payer(context)? {
        additions.set("x-goog-user-project", &project)?;
    }
    let layer = RequestLayer::new(connector.clone(), &service, additions);
    let store = GoogleCloudStorageBuilder::new()
        .with_bucket_name(&place.bucket)
        .with_base_url(&endpoint)
        .with_credentials(credentials)
        .with_skip_signature(unsigned)
        .with_client_options(client_options(options))
        .with_retry(no_retries())
        .with_http_connector(layer)
        .build()
        .map_err(|_| unsupported("the options of Google Cloud Storage cannot be used together"))?;
    let abilities = Abilities { suffix_ranges: true, lists: true, conditional_puts: true };
    let lasting_name = lasting_name(context, &endpoint, "");
    Ok(Built {
        reads: None,
        store: Arc::new(store),
        endpoint: service,
        lasting_name,
        abilities,
        web: None,
        connector,
        renewal,
    })
}

/// URL of the service: of the URL, by option, of an emulator, as the account's file says (fake servers do), Google's.
fn service(context: Context<'_>, login: &GoogleLogin) -> Result<String, Error> {
    let environment = context.environment;
    let of_file = match login {
        GoogleLogin::File(json) => serde_json::from_str::<serde_json::Value>(json)
            .ok()
            .and_then(|file| file.get("gcs_base_url")?.as_str().map(str::to_owned)),
        _ => None,
    };
    let given = context.place.endpoint.as_deref().or(context.options.get("endpoint"));
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        return endpoint(given, "https");
    }
    match environment.first(&["STORAGE_EMULATOR_HOST", "GOOGLE_BASE_URL"]) {
        Some(emulator) => endpoint(emulator, "http"),
        None => endpoint(of_file.as_deref().unwrap_or(ENDPOINT), "https"),
    }
}

/// The project that pays for requests, where the requester does.
fn payer(context: Context<'_>) -> Result<Option<String>, Error> {
    const NAME: &str = "requester_pays";
    let Some(value) = context.options.get(NAME) else { return Ok(None) };
    match truth(NAME, value) {
        Ok(false) => Ok(None),
        Ok(true) => {
            let variables = ["GOOGLE_CLOUD_QUOTA_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"];
            let project = context.options.get("project").or_else(|| context.environment.first(&variables));
            let missing = || {
                unsupported(
                    "requester_pays is given, and no project that pays: give project, or its name in requester_pays",
                )
            };
            project.map(|project| Some(project.to_owned())).ok_or_else(missing)
        }
        // gcsfs takes the name of the project here too.
        Err(_) => Ok(Some(value.to_owned())),
    }
}
