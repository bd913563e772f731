//! Credentials of Azure: what was given, the surroundings' identity, the login of Azure's command line.

use super::cached::{Cached, Fetched};
use super::command::output_of;
use super::own::{azure_key, azure_sas, printable, quiet, store_error};
use super::renewal::Renewal;
use super::timestamp::soon;
use super::token_requests::text;
use super::{ConnectionString, Environment};
use crate::media::cloud::CloudOptions;
use crate::{Error, ErrorKind};
use async_trait::async_trait;
use object_store::azure::{AzureConfigKey, AzureCredential, AzureCredentialProvider, MicrosoftAzureBuilder};
use object_store::client::HttpConnector;
use object_store::{CredentialProvider, RetryConfig, StaticCredentialProvider};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use tokio::time::timeout;

/// How long the machine's identity may take to tell its first token, before the next source is tried.
const IDENTITY_TIME: Duration = Duration::from_secs(3);

/// How to log in, decided without a request.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Login {
    Anonymous,
    Key(String),
    Sas(String),
    Bearer(String),
    /// By one of object_store's ways, with the settings it needs.
    Fetched {
        way: &'static str,
        settings: Vec<(AzureConfigKey, String)>,
    },
    /// Azure's command line.
    CommandLine,
    /// Nobody gave any: the machine's identity, then the command line.
    Guess {
        settings: Vec<(AzureConfigKey, String)>,
    },
}

impl Login {
    /// True where nobody gave credentials.
    pub(crate) fn is_a_guess(&self) -> bool {
        matches!(self, Login::Guess { .. })
    }
}

/// Looks up a name by option or variable.
type Get<'a> = &'a dyn Fn(&str, &[&str]) -> Option<String>;

/// Chooses: what options give, then what the environment gives, then a guess.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for a `credential_type` that is not known or lacks a part.
pub(crate) fn login(
    options: &CloudOptions,
    environment: &Environment,
    connection: Option<&ConnectionString>,
) -> Result<Login, Error> {
    if options.truth("skip_signature")? {
        return Ok(Login::Anonymous);
    }
    let option = |name: &str| options.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
    let only_options = |name: &str, _: &[&str]| option(name);
    let both = |name: &str, variables: &[&str]| {
        option(name).or_else(|| environment.first(variables).map(str::to_owned))
    };
    match options.get("credential_type").unwrap_or("auto") {
        "auto" => {}
        wanted => return of_type(wanted, &both),
    }
    let of_connection = |connection: &ConnectionString| {
        let key = connection.key.clone().map(Login::Key);
        key.or_else(|| connection.sas.clone().map(Login::Sas))
    };
    // The string itself comes from an option or a variable; both are more explicit than the other variables.
    let found = of(&only_options).or_else(|| connection.and_then(of_connection)).or_else(|| of(&both));
    Ok(found.unwrap_or_else(|| Login::Guess { settings: identity(&both) }))
}

fn of(get: Get<'_>) -> Option<Login> {
    let token = || get("token", &["AZURE_STORAGE_TOKEN"]).map(Login::Bearer);
    let key = || get("account_key", KEY_VARIABLES).map(Login::Key);
    let sas = || get("sas_token", SAS_VARIABLES).map(Login::Sas);
    let credential = || {
        get("credential", &[])
            .map(|text| if text.contains("sig=") { Login::Sas(text) } else { Login::Key(text) })
    };
    let command_line = || {
        let uses = get("use_azure_cli", &["AZURE_USE_AZURE_CLI"]);
        uses.is_some_and(|text| text.eq_ignore_ascii_case("true") || text == "1")
            .then_some(Login::CommandLine)
    };
    token()
        .or_else(key)
        .or_else(sas)
        .or_else(credential)
        .or_else(|| workload(get))
        .or_else(|| client_secret(get))
        .or_else(command_line)
}

const KEY_VARIABLES: &[&str] =
    &["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_KEY"];
const SAS_VARIABLES: &[&str] = &["AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"];
const CLIENT_VARIABLES: &[&str] = &["AZURE_STORAGE_CLIENT_ID", "AZURE_CLIENT_ID"];
const TENANT_VARIABLES: &[&str] = &["AZURE_STORAGE_TENANT_ID", "AZURE_TENANT_ID"];

fn workload(get: Get<'_>) -> Option<Login> {
    let file = get("federated_token_file", &["AZURE_FEDERATED_TOKEN_FILE"])?;
    let mut settings = application(get)?;
    settings.push((AzureConfigKey::FederatedTokenFile, file));
    Some(Login::Fetched { way: "workload_identity", settings })
}

fn client_secret(get: Get<'_>) -> Option<Login> {
    let secret = get("client_secret", &["AZURE_STORAGE_CLIENT_SECRET", "AZURE_CLIENT_SECRET"])?;
    let mut settings = application(get)?;
    settings.push((AzureConfigKey::ClientSecret, secret));
    Some(Login::Fetched { way: "client_secret", settings })
}

/// Client and tenant; `None` unless both are there.
fn application(get: Get<'_>) -> Option<Vec<(AzureConfigKey, String)>> {
    let client = get("client_id", CLIENT_VARIABLES)?;
    let tenant = get("tenant_id", TENANT_VARIABLES)?;
    let mut settings = vec![(AzureConfigKey::ClientId, client), (AzureConfigKey::AuthorityId, tenant)];
    let host = get("authority_host", &["AZURE_AUTHORITY_HOST", "AZURE_STORAGE_AUTHORITY_HOST"]);
    settings.extend(host.map(|host| (AzureConfigKey::AuthorityHost, host)));
    Some(settings)
}

/// What says which of the machine's identities is meant.
fn identity(get: Get<'_>) -> Vec<(AzureConfigKey, String)> {
    let wanted = [
        (AzureConfigKey::ClientId, get("client_id", CLIENT_VARIABLES)),
        (AzureConfigKey::ObjectId, get("object_id", &["AZURE_OBJECT_ID"])),
        (AzureConfigKey::MsiResourceId, get("msi_resource_id", &["AZURE_MSI_RESOURCE_ID"])),
        (AzureConfigKey::MsiEndpoint, get("msi_endpoint", &["IDENTITY_ENDPOINT", "AZURE_MSI_ENDPOINT"])),
    ];
    wanted.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

fn of_type(wanted: &str, get: Get<'_>) -> Result<Login, Error> {
    let found = match wanted {
        "bearer_token" => get("token", &["AZURE_STORAGE_TOKEN"]).map(Login::Bearer),
        "access_key" => get("account_key", KEY_VARIABLES).map(Login::Key),
        "sas_token" => get("sas_token", SAS_VARIABLES).map(Login::Sas),
        "client_secret" => client_secret(get),
        "workload_identity" => workload(get),
        "managed_identity" => Some(Login::Fetched { way: "managed_identity", settings: identity(get) }),
        "azure_cli" => Some(Login::CommandLine),
        _ => {
            let message = "the option \"credential_type\" should be one of auto, bearer_token, access_key, sas_token, \
                           client_secret, workload_identity, managed_identity and azure_cli";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    };
    let missing = || {
        let message = format!("the credential_type {wanted} is asked for, and what it needs is not given");
        Error::new(ErrorKind::Unsupported, message)
    };
    found.ok_or_else(missing)
}

/// The credentials of a login.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for keys and signatures that are none.
pub(crate) fn provider(
    login: &Login,
    connector: impl HttpConnector + Clone,
    renewal: &Renewal,
) -> Result<AzureCredentialProvider, Error> {
    let fixed = |credential| quiet(Arc::new(StaticCredentialProvider::new(credential)));
    Ok(match login {
        Login::Anonymous => fixed(AzureCredential::BearerToken(String::new())),
        Login::Key(key) => fixed(azure_key(key)?),
        Login::Sas(sas) => fixed(azure_sas(sas)?),
        Login::Bearer(token) => {
            fixed(AzureCredential::BearerToken(printable("the token of Azure", token.clone())?))
        }
        Login::Fetched { way, settings } => built(way, settings, connector)?,
        Login::CommandLine => Arc::new(CommandLine { cache: Cached::new(renewal) }),
        Login::Guess { settings } => Arc::new(Guess {
            identity: built("managed_identity", settings, connector)?,
            command_line: CommandLine { cache: Cached::new(renewal) },
            has_no_identity: AtomicBool::new(false),
        }),
    })
}

/// What object_store fetches itself.
fn built(
    way: &str,
    settings: &[(AzureConfigKey, String)],
    connector: impl HttpConnector,
) -> Result<AzureCredentialProvider, Error> {
    let start = MicrosoftAzureBuilder::new()
        .with_account("credentials")
        .with_container_name("credentials")
        .with_config(AzureConfigKey::CredentialType, way)
        .with_retry(RetryConfig {
            max_retries: 2,
            retry_timeout: Duration::from_secs(20),
            ..Default::default()
        })
        .with_http_connector(connector);
    let builder = settings.iter().fold(start, |builder, (key, value)| builder.with_config(*key, value));
    // Its words may hold what was given.
    let failed =
        |_| Error::new(ErrorKind::Unsupported, format!("the credentials of Azure by {way} cannot be used"));
    Ok(quiet(Arc::clone(builder.build().map_err(failed)?.credentials())))
}

/// The login of `az login`.
#[derive(Debug)]
struct CommandLine {
    cache: Cached<AzureCredential>,
}

impl CommandLine {
    async fn get(&self) -> Result<Arc<AzureCredential>, Error> {
        self.cache.get(SystemTime::now, command_line_token).await
    }
}

async fn command_line_token() -> Result<Fetched<AzureCredential>, Error> {
    const NAME: &str = "az account get-access-token";
    let asked =
        ["account", "get-access-token", "--output", "json", "--scope", "https://storage.azure.com/.default"];
    let (program, before): (&str, &[&str]) = if cfg!(windows) { ("cmd", &["/C", "az"]) } else { ("az", &[]) };
    let arguments = before.iter().chain(&asked).map(|word| (*word).to_owned()).collect();
    let output = output_of(NAME, program.to_owned(), arguments).await?;
    let wrong = || Error::new(ErrorKind::PermissionDenied, format!("{NAME} printed no token"));
    let json: Value = serde_json::from_slice(&output).map_err(|_| wrong())?;
    let token = text(&json, "accessToken").ok_or_else(wrong)?.to_owned();
    // Older versions tell local time only; then the token is asked for again soon.
    let expires = json
        .get("expires_on")
        .and_then(Value::as_u64)
        .and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    let credential = AzureCredential::BearerToken(printable("the token of Azure", token)?);
    Ok(Fetched { credential, expires: Some(expires.unwrap_or_else(soon)) })
}

#[async_trait]
impl CredentialProvider for CommandLine {
    type Credential = AzureCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AzureCredential>> {
        self.get().await.map_err(|error| store_error("Azure", error))
    }
}

/// The machine's identity, or where it has none, the login of the command line.
#[derive(Debug)]
struct Guess {
    identity: AzureCredentialProvider,
    command_line: CommandLine,
    has_no_identity: AtomicBool,
}

#[async_trait]
impl CredentialProvider for Guess {
    type Credential = AzureCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AzureCredential>> {
        if !self.has_no_identity.load(Ordering::Relaxed)
            && let Ok(Ok(found)) = timeout(IDENTITY_TIME, self.identity.get_credential()).await
        {
            return Ok(found);
        }
        let found = self.command_line.get().await;
        self.has_no_identity.store(found.is_ok(), Ordering::Relaxed);
        let explain = |error: Error| {
            let message = format!(
                "no credentials for Azure were found: looked at the options, AZURE_STORAGE_CONNECTION_STRING, \
                 AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN, AZURE_CLIENT_ID and what belongs to it, the machine's \
                 identity, and the login of az ({}). For public data give the option anon=True",
                error.message()
            );
            store_error("Azure", Error::new(ErrorKind::PermissionDenied, message))
        };
        found.map_err(explain)
    }
}
