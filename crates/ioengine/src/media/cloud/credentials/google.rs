//! Credentials of Google Cloud Storage: what was given, the application's default credentials, the machine's.

use super::cached::{Cached, Fetched};
use super::environment::Environment;
use super::own::{printable, quiet, store_error};
use super::renewal::Renewal;
use super::timestamp::soon;
use super::token_requests::{FORM, Patience, TokenRequests, request, text};
use crate::media::cloud::CloudOptions;
use crate::{Error, ErrorKind};
use async_trait::async_trait;
use http::Method;
use object_store::client::{HttpConnector, HttpRequest, HttpRequestBody};
use object_store::gcp::{GcpCredential, GcpCredentialProvider, GoogleCloudStorageBuilder};
use object_store::{CredentialProvider, StaticCredentialProvider};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use url::form_urlencoded::Serializer;

/// Bytes of a file of credentials at most.
const FILE_LEN_MAX: usize = 1 << 20;

const METADATA_HOST: &str = "metadata.google.internal";

/// How to log in, decided without a request.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Login {
    /// Not at all.
    Anonymous,
    /// By a token that somebody else got.
    Bearer(String),
    /// By the text of a file of credentials.
    File(String),
    /// As the machine: its metadata server's host.
    Machine(String),
}

impl Login {
    /// True where nobody gave credentials.
    pub(crate) fn is_a_guess(&self) -> bool {
        matches!(self, Login::Machine(_))
    }
}

/// Chooses: options, then environment, then the file that `gcloud auth application-default login` writes, then the
/// machine. Reads the file that was chosen.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for ways to log in that are not there; [`PermissionDenied`](
/// ErrorKind::PermissionDenied) for a file that cannot be read.
pub(crate) fn login(options: &CloudOptions, environment: &Environment) -> Result<Login, Error> {
    let machine = || {
        let host = environment.first(&["GCE_METADATA_HOST", "GCE_METADATA_ROOT"]).unwrap_or(METADATA_HOST);
        Login::Machine(host.to_owned())
    };
    if options.truth("skip_signature")? {
        return Ok(Login::Anonymous);
    }
    match options.get("token_source") {
        Some("anon") => return Ok(Login::Anonymous),
        Some("cloud") => return Ok(machine()),
        Some(word @ ("cache" | "browser")) => {
            let message = format!(
                "gcsfs's token={word:?} is not supported; log in by gcloud auth application-default login"
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        _ => {}
    }
    if let Some(found) = given(&|name, _| options.get(name), environment)? {
        return Ok(found);
    }
    if let Some(found) = given(&|_, variables| environment.first(variables), environment)? {
        return Ok(found);
    }
    if environment.get("STORAGE_EMULATOR_HOST").is_some() {
        return Ok(Login::Anonymous);
    }
    match well_known(environment).filter(|file| file.is_file()) {
        Some(file) => read(&file).map(Login::File),
        None => Ok(machine()),
    }
}

/// What is given by options or by variables.
fn given<'a>(
    get: &dyn Fn(&str, &[&str]) -> Option<&'a str>,
    environment: &Environment,
) -> Result<Option<Login>, Error> {
    if let Some(token) = get("token", &["GOOGLE_BEARER_TOKEN", "GOOGLE_OAUTH_ACCESS_TOKEN"]) {
        let path = environment.path(token.trim());
        return if token.trim_start().starts_with('{') {
            Ok(Some(Login::File(token.to_owned())))
        } else if path.is_file() {
            read(&path).map(|text| Some(Login::File(text)))
        } else {
            printable("the token of Google", token.to_owned()).map(|token| Some(Login::Bearer(token)))
        };
    }
    if let Some(key) = get("service_account_key", &["GOOGLE_SERVICE_ACCOUNT_KEY"]) {
        return Ok(Some(Login::File(key.to_owned())));
    }
    let file =
        get("service_account", &["GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "SERVICE_ACCOUNT"])
            .or_else(|| get("application_credentials", &["GOOGLE_APPLICATION_CREDENTIALS"]));
    file.map(|file| read(&environment.path(file)).map(Login::File)).transpose()
}

fn well_known(environment: &Environment) -> Option<PathBuf> {
    let folder = environment
        .get("CLOUDSDK_CONFIG")
        .map(PathBuf::from)
        .or_else(|| {
            environment.get("APPDATA").filter(|_| cfg!(windows)).map(|path| Path::new(path).join("gcloud"))
        })
        .or_else(|| Some(environment.home()?.join(".config").join("gcloud")));
    folder.map(|folder| folder.join("application_default_credentials.json"))
}

fn read(file: &Path) -> Result<String, Error> {
    let failed = |how: &dyn std::fmt::Display| {
        Error::new(ErrorKind::PermissionDenied, format!("credentials of Google in {}: {how}", file.display()))
    };
    match std::fs::read_to_string(file) {
        Ok(text) if text.len() <= FILE_LEN_MAX => Ok(text),
        Ok(_) => Err(failed(&"more than 1 MiB")),
        Err(error) => Err(failed(&error.kind())),
    }
}

/// The credentials of a login.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for files of a kind that is not known or that lack a part.
pub(crate) fn provider(
    login: &Login,
    connector: impl HttpConnector,
    requests: TokenRequests,
    renewal: &Renewal,
) -> Result<GcpCredentialProvider, Error> {
    let fixed = |bearer: &str| {
        quiet(Arc::new(StaticCredentialProvider::new(GcpCredential { bearer: bearer.to_owned() })))
    };
    let fetched = |grant| {
        Arc::new(Google { grant: Arc::new(grant), requests, cache: Cached::new(renewal) })
            as GcpCredentialProvider
    };
    let json = match login {
        Login::Anonymous => return Ok(fixed("")),
        Login::Bearer(token) => return Ok(fixed(token)),
        Login::Machine(host) => return Ok(fetched(Grant::Machine { host: host.clone() })),
        Login::File(json) => json,
    };
    let file: Value = serde_json::from_str(json).map_err(|_| wrong("are no JSON"))?;
    let needs =
        |name: &str| text(&file, name).map(str::to_owned).ok_or_else(|| wrong(&format!("have no {name:?}")));
    match text(&file, "type") {
        Some("authorized_user") => Ok(fetched(Grant::User {
            url: text(&file, "token_uri").unwrap_or("https://oauth2.googleapis.com/token").to_owned(),
            client_id: needs("client_id")?,
            client_secret: needs("client_secret")?,
            refresh_token: needs("refresh_token")?,
        })),
        Some("service_account") | None => {
            for name in ["private_key", "private_key_id", "client_email"] {
                needs(name)?;
            }
            // Its words may hold parts of the key.
            let built = GoogleCloudStorageBuilder::new()
                .with_bucket_name("credentials")
                .with_service_account_key(json)
                .with_http_connector(connector)
                .build()
                .map_err(|_| wrong("have a private key that cannot be used"))?;
            Ok(quiet(Arc::clone(built.credentials())))
        }
        Some(other) => {
            Err(wrong(&format!("are of the type {other:?}; service_account and authorized_user are known")))
        }
    }
}

fn wrong(how: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("the credentials of Google {how}"))
}

/// What tokens are fetched for.
enum Grant {
    User { url: String, client_id: String, client_secret: String, refresh_token: String },
    Machine { host: String },
}

/// Fetches tokens and keeps them.
struct Google {
    grant: Arc<Grant>,
    requests: TokenRequests,
    cache: Cached<GcpCredential>,
}

impl std::fmt::Debug for Google {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("the credentials of Google Cloud Storage")
    }
}

async fn fetch(grant: Arc<Grant>, requests: TokenRequests) -> Result<Fetched<GcpCredential>, Error> {
    let (what, request, patience) = grant.request()?;
    let answer = requests.send(what, request, patience).await;
    let json = answer.and_then(|answer| answer.json(what)).map_err(|error| grant.explain(error))?;
    let token = text(&json, "access_token");
    let token = token.ok_or_else(|| Error::new(ErrorKind::Io, format!("{what} gave no token")))?;
    let seconds = json.get("expires_in").and_then(Value::as_u64).unwrap_or(60);
    let expires = SystemTime::now().checked_add(Duration::from_secs(seconds));
    Ok(Fetched {
        credential: GcpCredential { bearer: printable("the token of Google", token.to_owned())? },
        expires: Some(expires.unwrap_or_else(soon)),
    })
}

impl Grant {
    fn request(&self) -> Result<(&'static str, HttpRequest, Patience), Error> {
        match self {
            Grant::User { url, client_id, client_secret, refresh_token } => {
                const WHAT: &str = "the renewal of a Google login";
                let form = Serializer::new(String::new())
                    .append_pair("grant_type", "refresh_token")
                    .append_pair("client_id", client_id)
                    .append_pair("client_secret", client_secret)
                    .append_pair("refresh_token", refresh_token)
                    .finish();
                Ok((WHAT, request(WHAT, Method::POST, url, &[FORM], form.into())?, Patience::SERVICE))
            }
            Grant::Machine { host } => {
                const WHAT: &str = "the machine's metadata server";
                let url = format!("http://{host}/computeMetadata/v1/instance/service-accounts/default/token");
                let headers = [("metadata-flavor", "Google")];
                let request = request(WHAT, Method::GET, &url, &headers, HttpRequestBody::empty())?;
                Ok((WHAT, request, Patience { attempts: 2, ..Patience::METADATA }))
            }
        }
    }

    fn explain(&self, error: Error) -> Error {
        match self {
            Grant::User { .. } => error,
            Grant::Machine { .. } => Error::new(
                ErrorKind::PermissionDenied,
                format!(
                    "no credentials for Google Cloud Storage were found: looked at the options, \
                     GOOGLE_APPLICATION_CREDENTIALS, the file of gcloud auth application-default login, and the machine's \
                     metadata server ({}). For public data give the option anon=True",
                    error.message()
                ),
            ),
        }
    }
}

#[async_trait]
impl CredentialProvider for Google {
    type Credential = GcpCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<GcpCredential>> {
        let fetch = || fetch(Arc::clone(&self.grant), self.requests.clone());
        let found = self.cache.get(SystemTime::now, fetch).await;
        found.map_err(|error| store_error("Google Cloud Storage", error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> CloudOptions {
        let mut options = CloudOptions::new();
        for (name, value) in pairs {
            options.set(name, *value).unwrap();
        }
        options
    }

    #[test]
    fn options_then_environment_then_file_then_machine() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().to_str().unwrap();
        let none = Environment::of(&[("HOME", path)]);
        let is_machine = |login: Login| login == Login::Machine(METADATA_HOST.into());
        assert!(is_machine(login(&options(&[]), &none).unwrap()));
        let folder = home.path().join(".config/gcloud");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("application_default_credentials.json"), "{\"a\":1}").unwrap();
        let file = || Login::File("{\"a\":1}".into());
        assert!(login(&options(&[]), &none).unwrap() == file());
        assert!(login(&options(&[("token", "google_default")]), &none).unwrap() == file());
        assert!(is_machine(login(&options(&[("token", "cloud")]), &none).unwrap()));
        assert!(login(&options(&[("token", "anon")]), &none).unwrap() == Login::Anonymous);
        assert!(login(&options(&[("anon", "true")]), &none).unwrap() == Login::Anonymous);
        assert!(login(&options(&[("token", "ya29")]), &none).unwrap() == Login::Bearer("ya29".into()));
        assert!(login(&options(&[("token", "{}")]), &none).unwrap() == Login::File("{}".into()));
        assert!(login(&options(&[("token", "browser")]), &none).is_err());
        let set = Environment::of(&[("HOME", path), ("GOOGLE_APPLICATION_CREDENTIALS", "/not/there.json")]);
        let Err(error) = login(&options(&[]), &set) else { panic!("read a file that is not there") };
        assert!(error.message().contains("/not/there.json"), "{error}");
        let set = Environment::of(&[("STORAGE_EMULATOR_HOST", "http://localhost:1")]);
        assert!(login(&options(&[]), &set).unwrap() == Login::Anonymous);
    }
}
