//! Roles, from Amazon's Security Token Service.

use super::super::cached::Fetched;
use super::super::own::amazon_keys;
use super::super::timestamp::end;
use super::super::token_requests::{Answer, FORM, Patience, TokenRequests, request};
use super::choice::Role;
use crate::{Error, ErrorKind};
use http::Method;
use object_store::aws::{AwsAuthorizer, AwsCredential};
use std::path::Path;
use url::form_urlencoded::Serializer;

/// Letters of a server's own words that are told.
const WORDS_MAX: usize = 300;

/// Bytes of a token's file at most.
const TOKEN_LEN_MAX: usize = 1 << 20;

/// The service: its URL, and the region that requests are signed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TokenService {
    pub(super) endpoint: String,
    pub(super) region: String,
}

/// A role for credentials that may take it on.
///
/// # Errors
///
/// [`PermissionDenied`](ErrorKind::PermissionDenied) with the service's words where it refuses.
pub(super) async fn assume_role(
    requests: &TokenRequests,
    service: &TokenService,
    role: &Role,
    base: &AwsCredential,
) -> Result<Fetched<AwsCredential>, Error> {
    let external = role.external_id.as_deref().map(|id| ("ExternalId", id));
    let form = form("AssumeRole", role, external);
    let what = format!("AssumeRole of {}", role.arn);
    let mut request = request(&what, Method::POST, &service.endpoint, &[FORM], form.into())?;
    AwsAuthorizer::new(base, "sts", &service.region)
        .try_authorize(&mut request, None)
        .map_err(|_| Error::new(ErrorKind::Io, format!("{what} could not be signed")))?;
    keys(&what, &requests.send(&what, request, Patience::SERVICE).await?)
}

/// A role for the token in a file, which is read anew each time: its owner renews it.
///
/// # Errors
///
/// As [`assume_role`], and where the file cannot be read.
pub(super) async fn assume_role_with_web_identity(
    requests: &TokenRequests,
    service: &TokenService,
    role: &Role,
    file: &Path,
) -> Result<Fetched<AwsCredential>, Error> {
    let token = token_of_file(file).await?;
    let form = form("AssumeRoleWithWebIdentity", role, Some(("WebIdentityToken", &token)));
    let what = format!("AssumeRoleWithWebIdentity of {}", role.arn);
    let request = request(&what, Method::POST, &service.endpoint, &[FORM], form.into())?;
    keys(&what, &requests.send(&what, request, Patience::SERVICE).await?)
}

/// A token in a file, without space around it.
///
/// # Errors
///
/// [`PermissionDenied`](ErrorKind::PermissionDenied) with the file's name where it cannot be read.
pub(super) async fn token_of_file(file: &Path) -> Result<String, Error> {
    let path = file.to_owned();
    let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(path)).await;
    let failed = |how: &dyn std::fmt::Display| {
        Error::new(
            ErrorKind::PermissionDenied,
            format!("the token file {} could not be read: {how}", file.display()),
        )
    };
    match read {
        Ok(Ok(text)) if text.len() <= TOKEN_LEN_MAX => Ok(text.trim().to_owned()),
        Ok(Ok(_)) => Err(failed(&"more than 1 MiB")),
        Ok(Err(error)) => Err(failed(&error.kind())),
        Err(_) => Err(failed(&"abandoned")),
    }
}

fn form(action: &str, role: &Role, more: Option<(&str, &str)>) -> String {
    let mut form = Serializer::new(String::new());
    form.append_pair("Action", action)
        .append_pair("Version", "2011-06-15")
        .append_pair("RoleArn", &role.arn)
        .append_pair("RoleSessionName", &role.session_name)
        .append_pair("DurationSeconds", &role.seconds.to_string());
    if let Some((name, value)) = more {
        form.append_pair(name, value);
    }
    form.finish()
}

fn keys(what: &str, answer: &Answer) -> Result<Fetched<AwsCredential>, Error> {
    let text = String::from_utf8_lossy(&answer.body);
    if let Err(error) = answer.accepted(what) {
        let words: Vec<&str> =
            [element(&text, "Code"), element(&text, "Message")].into_iter().flatten().collect();
        let words: String = words.join(": ").chars().take(WORDS_MAX).collect();
        return Err(match words.is_empty() {
            true => error,
            false => Error::new(error.kind(), format!("{}: {words}", error.message())),
        });
    }
    let owned = |name| element(&text, name).map(str::to_owned);
    match (owned("AccessKeyId"), owned("SecretAccessKey")) {
        (Some(id), Some(secret)) => Ok(Fetched {
            credential: amazon_keys(id, secret, owned("SessionToken"))?,
            expires: end(element(&text, "Expiration")),
        }),
        _ => Err(Error::new(ErrorKind::Io, format!("{what} gave no keys"))),
    }
}

/// What stands in an element without attributes and without children, as all elements of these answers are.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once(&format!("</{name}>"))?.0.trim())
}
