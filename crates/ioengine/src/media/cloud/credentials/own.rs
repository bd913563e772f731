//! Users' own credentials, as object_store asks for them.

use super::cached::{Cached, Fetched};
use super::renewal::Renewal;
use super::source::{CloudKeys, CredentialSource};
use crate::{Error, ErrorKind};
use async_trait::async_trait;
use object_store::CredentialProvider;
use object_store::aws::{AwsCredential, AwsCredentialProvider};
use object_store::azure::{AzureAccessKey, AzureCredential, AzureCredentialProvider, split_sas};
use object_store::gcp::{GcpCredential, GcpCredentialProvider};
use std::sync::Arc;
use std::time::SystemTime;
use tokio::task::spawn_blocking;

/// Asks a source for credentials of one service.
struct Own<T> {
    source: Arc<dyn CredentialSource>,
    service: &'static str,
    convert: fn(CloudKeys) -> Result<Option<T>, Error>,
    cache: Cached<T>,
}

impl<T> std::fmt::Debug for Own<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "the caller's own credentials for {}", self.service)
    }
}

impl<T> Own<T> {
    fn fetch(&self) -> impl Future<Output = Result<Fetched<T>, Error>> + Send + use<T> {
        let (source, wanted, convert) = (Arc::clone(&self.source), self.service, self.convert);
        async move {
            let asked = spawn_blocking(move || source.credentials()).await;
            let given = asked
                .map_err(|_| Error::new(ErrorKind::Panicked, "the source of credentials panicked"))??;
            let service = given.keys.service();
            let wrong = || {
                let message =
                    format!("credentials for {wanted} were wanted, and the source gave some for {service}");
                Error::new(ErrorKind::PermissionDenied, message)
            };
            let credential = convert(given.keys)?.ok_or_else(wrong)?;
            Ok(Fetched { credential, expires: given.expires })
        }
    }
}

#[async_trait]
impl<T: std::fmt::Debug + Send + Sync + 'static> CredentialProvider for Own<T> {
    type Credential = T;

    async fn get_credential(&self) -> object_store::Result<Arc<T>> {
        self.cache
            .get(SystemTime::now, || self.fetch())
            .await
            .map_err(|error| store_error(self.service, error))
    }
}

/// The credentials of S3 that a source gives.
pub(crate) fn own_amazon(source: Arc<dyn CredentialSource>, renewal: &Renewal) -> AwsCredentialProvider {
    let convert = |keys| match keys {
        CloudKeys::Amazon { access_key_id, secret_access_key, session_token } => {
            amazon_keys(access_key_id, secret_access_key, session_token).map(Some)
        }
        _ => Ok(None),
    };
    Arc::new(Own { source, service: "S3", convert, cache: Cached::new(renewal) })
}

/// The credentials of Google Cloud Storage that a source gives.
pub(crate) fn own_google(source: Arc<dyn CredentialSource>, renewal: &Renewal) -> GcpCredentialProvider {
    let convert = |keys| match keys {
        CloudKeys::Google { bearer } => Ok(Some(GcpCredential { bearer: printable("the token", bearer)? })),
        _ => Ok(None),
    };
    Arc::new(Own { source, service: "Google Cloud Storage", convert, cache: Cached::new(renewal) })
}

/// The credentials of Azure that a source gives.
pub(crate) fn own_azure(source: Arc<dyn CredentialSource>, renewal: &Renewal) -> AzureCredentialProvider {
    let convert = |keys| match keys {
        CloudKeys::AzureBearer(token) => {
            Ok(Some(AzureCredential::BearerToken(printable("the token of Azure", token)?)))
        }
        CloudKeys::AzureKey(key) => azure_key(&key).map(Some),
        CloudKeys::AzureSas(sas) => azure_sas(&sas).map(Some),
        _ => Ok(None),
    };
    Arc::new(Own { source, service: "Azure", convert, cache: Cached::new(renewal) })
}

/// Credentials that object_store keeps, without the `Debug` of object_store, which shows tokens, and which its stores' own
/// `Debug` shows.
struct Quiet<T>(Arc<dyn CredentialProvider<Credential = T>>);

/// The same credentials, of which `Debug` shows nothing.
pub(super) fn quiet<T: std::fmt::Debug + Send + Sync + 'static>(
    provider: Arc<dyn CredentialProvider<Credential = T>>,
) -> Arc<dyn CredentialProvider<Credential = T>> {
    Arc::new(Quiet(provider))
}

impl<T> std::fmt::Debug for Quiet<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("hidden credentials")
    }
}

#[async_trait]
impl<T: std::fmt::Debug + Send + Sync + 'static> CredentialProvider for Quiet<T> {
    type Credential = T;

    async fn get_credential(&self) -> object_store::Result<Arc<T>> {
        self.0.get_credential().await
    }
}

/// Keys of S3 that can be sent: object_store takes for granted that each is a header's value.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for keys with line ends or letters outside ASCII in them.
pub(super) fn amazon_keys(
    key_id: String,
    secret: String,
    token: Option<String>,
) -> Result<AwsCredential, Error> {
    let token = token.filter(|token| !token.trim().is_empty());
    Ok(AwsCredential {
        key_id: printable("the access key id", key_id)?,
        secret_key: printable("the secret access key", secret)?,
        token: token.map(|token| printable("the session token", token)).transpose()?,
    })
}

/// The key of an Azure account.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) where it is not base 64.
pub(super) fn azure_key(key: &str) -> Result<AzureCredential, Error> {
    let wrong = |_| Error::new(ErrorKind::Unsupported, "the account key of Azure is not base 64");
    AzureAccessKey::try_new(key.trim()).map(AzureCredential::AccessKey).map_err(wrong)
}

/// A shared access signature, with or without `?` before it.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) where it is not a query.
pub(super) fn azure_sas(sas: &str) -> Result<AzureCredential, Error> {
    let wrong = |_| Error::new(ErrorKind::Unsupported, "the shared access signature of Azure is not a query");
    split_sas(sas.trim()).map(AzureCredential::SASToken).map_err(wrong)
}

/// A text without space around it that can stand in a header.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) where it cannot. The text is not told.
pub(super) fn printable(what: &str, text: String) -> Result<String, Error> {
    let trimmed = text.trim();
    match !trimmed.is_empty() && trimmed.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        true => Ok(trimmed.to_owned()),
        false => Err(Error::new(
            ErrorKind::Unsupported,
            format!("{what} is empty or has characters that cannot be sent"),
        )),
    }
}

/// The error as object_store hands it on. Ours is its source, for the one who reads it to find.
pub(super) fn store_error(service: &'static str, error: Error) -> object_store::Error {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            object_store::Error::Unauthenticated { path: service.to_owned(), source: Box::new(error) }
        }
        _ => object_store::Error::Generic { store: service, source: Box::new(error) },
    }
}
