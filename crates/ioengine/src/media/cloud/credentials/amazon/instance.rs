//! Credentials of the machine that we run on, from its metadata service, version 2.

use super::super::cached::Fetched;
use super::super::own::amazon_keys;
use super::super::timestamp::end;
use super::super::token_requests::{Answer, Patience, TokenRequests, request, text};
use super::choice::FirstVersion;
use crate::{Error, ErrorKind};
use http::Method;
use object_store::aws::AwsCredential;
use object_store::client::HttpRequestBody;
use serde_json::Value;

const WHAT: &str = "the machine's metadata service";

const ROLES: &str = "latest/meta-data/iam/security-credentials/";

/// Asks for a session, the machine's role, and its keys.
///
/// # Errors
///
/// [`Unavailable`](ErrorKind::Unavailable) where there is no such service, [`PermissionDenied`](ErrorKind::PermissionDenied)
/// where the machine has no role.
pub(super) async fn fetch(
    requests: &TokenRequests,
    endpoint: &str,
    first_version: FirstVersion,
) -> Result<Fetched<AwsCredential>, Error> {
    let session_ttl = [("x-aws-ec2-metadata-token-ttl-seconds", "21600")];
    let url = format!("{endpoint}/latest/api/token");
    let answer = ask(requests, Method::PUT, &url, &session_ttl).await?;
    let session = match answer.accepted(WHAT) {
        Ok(()) => Some(String::from_utf8_lossy(&answer.body).trim().to_owned()),
        Err(_) if first_version == FirstVersion::WhereRefused && answer.status == 403 => None,
        Err(error) => return Err(error),
    };
    let headers: Vec<(&str, &str)> =
        session.iter().map(|session| ("x-aws-ec2-metadata-token", session.as_str())).collect();
    let answer = ask(requests, Method::GET, &format!("{endpoint}/{ROLES}"), &headers).await?;
    if answer.status == 404 {
        return Err(Error::new(ErrorKind::PermissionDenied, "the machine has no role (instance profile)"));
    }
    answer.accepted(WHAT)?;
    let roles = String::from_utf8_lossy(&answer.body);
    let role = roles.lines().next().map(str::trim).unwrap_or_default();
    let answer = ask(requests, Method::GET, &format!("{endpoint}/{ROLES}{role}"), &headers).await?;
    keys_of_json(&answer.json(WHAT)?)
        .ok_or_else(|| Error::new(ErrorKind::PermissionDenied, format!("{WHAT} gave no keys")))?
}

async fn ask(
    requests: &TokenRequests,
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
) -> Result<Answer, Error> {
    let request = request(WHAT, method, url, headers, HttpRequestBody::empty())?;
    requests.send(WHAT, request, Patience::METADATA).await
}

/// The keys that instances, containers and programs give: `AccessKeyId`, `SecretAccessKey`, `Token` or `SessionToken`,
/// `Expiration`. `None` where there are none.
pub(super) fn keys_of_json(json: &Value) -> Option<Result<Fetched<AwsCredential>, Error>> {
    let id = text(json, "AccessKeyId")?.to_owned();
    let secret = text(json, "SecretAccessKey")?.to_owned();
    let token = text(json, "Token").or_else(|| text(json, "SessionToken")).map(str::to_owned);
    // Whatever is written there that is no text of a time.
    let written = json.get("Expiration").filter(|written| !written.is_null());
    let expires = end(written.map(|written| written.as_str().unwrap_or_default()));
    Some(amazon_keys(id, secret, token).map(|credential| Fetched { credential, expires }))
}
