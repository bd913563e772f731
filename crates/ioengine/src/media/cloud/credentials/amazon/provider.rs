//! Fetches what was chosen, and keeps it until it has to be renewed.

use super::super::cached::{Cached, Fetched};
use super::super::command::{output_of, words};
use super::super::own::{amazon_keys, store_error};
use super::super::renewal::Renewal;
use super::super::token_requests::TokenRequests;
use super::choice::looked_at;
use super::instance::keys_of_json;
use super::{AmazonSettings, Choice, container, instance, sso, sts};
use crate::{Error, ErrorKind};
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use std::sync::Arc;
use std::time::SystemTime;

/// The credentials of S3.
pub(crate) struct Amazon {
    ways: Ways,
    cache: Cached<AwsCredential>,
}

/// How credentials are fetched. Cloning shares it.
#[derive(Clone)]
struct Ways {
    settings: Arc<AmazonSettings>,
    requests: TokenRequests,
}

impl Amazon {
    pub(crate) fn new(settings: AmazonSettings, requests: TokenRequests, renewal: &Renewal) -> Amazon {
        Amazon { ways: Ways { settings: Arc::new(settings), requests }, cache: Cached::new(renewal) }
    }
}

impl Ways {
    /// What the settings chose.
    async fn fetch_chosen(self) -> Result<Fetched<AwsCredential>, Error> {
        self.fetch(&self.settings.choice).await
    }

    /// Boxed, because a role is fetched for what is fetched before it.
    fn fetch<'a>(&'a self, choice: &'a Choice) -> BoxFuture<'a, Result<Fetched<AwsCredential>, Error>> {
        let requests = &self.requests;
        let service = &self.settings.token_service;
        Box::pin(async move {
            match choice {
                Choice::Keys { id, secret, token } => {
                    let credential = amazon_keys(id.clone(), secret.clone(), token.clone())?;
                    Ok(Fetched { credential, expires: None })
                }
                Choice::WebIdentity { file, role } => {
                    sts::assume_role_with_web_identity(requests, service, role, file).await
                }
                Choice::Role { base, role } => {
                    let base = self.fetch(base).await?;
                    sts::assume_role(requests, service, role, &base.credential).await
                }
                Choice::Process(line) => process(line).await,
                Choice::Sso(login) => sso::fetch(requests, &self.settings.sso, login).await,
                Choice::Container { url, token, token_file } => {
                    container::fetch(requests, url, token.as_deref(), token_file.as_deref()).await
                }
                Choice::Instance { endpoint, first_version } => {
                    let fetched = instance::fetch(requests, endpoint, *first_version).await;
                    fetched.map_err(|error| {
                        let last = format!("the machine's metadata service ({})", error.message());
                        nothing_found(&looked_at("default", &last))
                    })
                }
                Choice::Nowhere { looked_at } => Err(nothing_found(looked_at)),
            }
        })
    }
}

/// The keys that a program prints (`credential_process`).
async fn process(line: &str) -> Result<Fetched<AwsCredential>, Error> {
    const NAME: &str = "the credential_process";
    let mut words = words(line).into_iter();
    let program = words.next().unwrap_or_default();
    let output = output_of(NAME, program, words.collect()).await?;
    let json: serde_json::Value = serde_json::from_slice(&output)
        .map_err(|_| Error::new(ErrorKind::PermissionDenied, format!("{NAME} printed no JSON")))?;
    if json.get("Version").and_then(serde_json::Value::as_u64) != Some(1) {
        return Err(Error::new(ErrorKind::PermissionDenied, format!("{NAME} printed no keys of version 1")));
    }
    keys_of_json(&json)
        .ok_or_else(|| Error::new(ErrorKind::PermissionDenied, format!("{NAME} printed no keys")))?
}

fn nothing_found(looked_at: &str) -> Error {
    let message =
        format!("no credentials for S3 were found: {looked_at}. For public data give the option anon=True");
    Error::new(ErrorKind::PermissionDenied, message)
}

#[async_trait]
impl CredentialProvider for Amazon {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let fetch = || self.ways.clone().fetch_chosen();
        self.cache.get(SystemTime::now, fetch).await.map_err(|error| store_error("S3", error))
    }
}

impl std::fmt::Debug for Amazon {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("the credentials of S3")
    }
}
