//! Azure Blob Storage.

use super::endpoint::{endpoint, origin};
use super::lasting_name::lasting_name;
use super::place::{Form, unsupported};
use super::request_layer::{Additions, RequestLayer};
use super::{Abilities, Built, Context, client_options, no_retries};
use crate::Error;
use crate::media::cloud::credentials::{
    AzureLogin, ConnectionString, EMULATOR_ACCOUNT, EMULATOR_ENDPOINT, EMULATOR_KEY, Renewal, azure_login,
    azure_provider, own_azure,
};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::HttpConnector;
use std::sync::Arc;

/// Where the account is.
struct Account {
    name: String,
    /// URL of its blob service.
    endpoint: String,
    is_emulator: bool,
}

/// Builds the store of a container.
///
/// # Errors
///
/// As [`connect`](super::connect).
pub(super) fn build<C: HttpConnector + Clone>(
    context: Context<'_>,
    connect: impl FnOnce(&str) -> Result<C, Error>,
) -> Result<Built<C>, Error> {
    let Context { place, options, environment } = context;
    let connection = connection(context)?;
    let account = account(context, connection.as_ref())?;
    let own = options.credentials();
    let login = match (own, place.access.as_ref().and_then(|access| access.query.clone())) {
        (Some(_), _) => AzureLogin::Anonymous,
        (None, Some(signature)) => AzureLogin::Sas(signature),
        (None, None) => match azure_login(options, environment, connection.as_ref())? {
            login if login.is_a_guess() && account.is_emulator => AzureLogin::Key(EMULATOR_KEY.to_owned()),
            // Who writes a web address expects public data to need no login.
            login if login.is_a_guess() && place.form == Form::Web => AzureLogin::Anonymous,
            login => login,
        },
    };
    let unsigned = own.is_none() && login == AzureLogin::Anonymous;
    let service = origin(&account.endpoint);
    let connector = connect(&account.endpoint)?;
    let renewal = Renewal::default();
    let credentials = match own {
        Some(own) => own_azure(Arc::clone(own), &renewal),
        None => azure_provider(&login, connector.clone(), &renewal)?,
    };
    let layer = RequestLayer::new(connector.clone(), &service, Additions::new(options, None)?);
    let mut builder = MicrosoftAzureBuilder::new()
        .with_account(&account.name)
        .with_container_name(&place.bucket)
        .with_endpoint(account.endpoint.clone())
        .with_credentials(credentials)
        .with_skip_signature(unsigned)
        .with_client_options(client_options(options))
        .with_retry(no_retries())
        .with_http_connector(layer);
    for (name, key) in [
        ("disable_tagging", AzureConfigKey::DisableTagging),
        ("encryption_key", AzureConfigKey::EncryptionKey),
    ] {
        if let Some(value) = options.get(name) {
            builder = builder.with_config(key, value);
        }
    }
    let store = builder.build().map_err(|_| unsupported("the options of Azure cannot be used together"))?;
    let abilities = Abilities { suffix_ranges: false, lists: true, conditional_puts: true };
    let lasting_name = lasting_name(context, &account.endpoint, &account.name);
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

/// The connection string of an option, or of the environment where neither URL nor options name another account.
fn connection(context: Context<'_>) -> Result<Option<ConnectionString>, Error> {
    if let Some(text) = context.options.get("connection_string") {
        return ConnectionString::parse(text).map(Some);
    }
    let Some(text) = context.environment.get("AZURE_STORAGE_CONNECTION_STRING") else { return Ok(None) };
    let found = ConnectionString::parse(text)?;
    let named = context.place.account.as_deref().or(context.options.get("account_name"));
    Ok(Some(found).filter(|found| named.is_none() || found.account.as_deref() == named))
}

fn account(context: Context<'_>, connection: Option<&ConnectionString>) -> Result<Account, Error> {
    let Context { place, options, environment } = context;
    let said = [
        place.account.as_deref(),
        options.get("account_name"),
        connection.and_then(|it| it.account.as_deref()),
    ];
    let mut names = said.into_iter().flatten();
    let first = names.next();
    if let (Some(first), Some(other)) = (first, names.find(|name| Some(*name) != first)) {
        return Err(unsupported(format!(
            "the accounts {first:?} and {other:?} are given: only one can be meant"
        )));
    }
    let by_option = options.truth("use_emulator")?;
    let by_variable =
        environment.get("AZURE_STORAGE_USE_EMULATOR").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    let is_emulator = by_option || (by_variable && place.account.is_none());
    let variables = ["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"];
    let name = match first.or_else(|| environment.first(&variables)) {
        Some(name) => name.to_owned(),
        None if is_emulator => EMULATOR_ACCOUNT.to_owned(),
        None => {
            let message = "the URL names no account of Azure: write abfs://container@account.dfs.core.windows.net/key, or give \
                           the option account_name";
            return Err(unsupported(message));
        }
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    if name.is_empty() || !name.chars().all(allowed) {
        return Err(unsupported("the account of Azure is not a name of letters and digits"));
    }
    let given = place
        .endpoint
        .as_deref()
        .or(options.get("endpoint"))
        .or(options.get("account_host"))
        .or(connection.and_then(|connection| connection.endpoint.as_deref()));
    let endpoint = match (given, is_emulator) {
        (Some(given), _) => endpoint(given, "https")?,
        (None, true) => match environment.get("AZURITE_BLOB_STORAGE_URL") {
            Some(url) => format!("{}/{name}", endpoint(url, "http")?),
            None => EMULATOR_ENDPOINT.replace(EMULATOR_ACCOUNT, &name),
        },
        (None, false) => match environment.get("AZURE_STORAGE_ENDPOINT") {
            Some(given) => endpoint(given, "https")?,
            None => format!("https://{name}.blob.core.windows.net"),
        },
    };
    Ok(Account { name, endpoint, is_emulator })
}
