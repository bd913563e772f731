//! Roles of people who logged in by a browser: `aws sso login`.

use super::super::cached::Fetched;
use super::super::own::amazon_keys;
use super::super::timestamp::soon;
use super::super::token_requests::{Patience, TokenRequests, request, text};
use super::choice::SsoLogin;
use super::sso_token::access_token;
use crate::{Error, ErrorKind};
use http::Method;
use object_store::aws::AwsCredential;
use object_store::client::HttpRequestBody;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use url::form_urlencoded::Serializer;

/// Where the services of SSO and the tokens of logins are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SsoPlaces {
    /// In place of `https://portal.sso.REGION.amazonaws.com`.
    pub(super) portal: Option<String>,
    /// In place of `https://oidc.REGION.amazonaws.com`.
    pub(super) oidc: Option<String>,
    /// `~/.aws/sso/cache`; `None` where there is no home.
    pub(super) cache: Option<PathBuf>,
}

/// The keys of the role that a login names.
///
/// # Errors
///
/// [`PermissionDenied`](ErrorKind::PermissionDenied) that says `aws sso login` where the login is over.
pub(super) async fn fetch(
    requests: &TokenRequests,
    places: &SsoPlaces,
    login: &SsoLogin,
) -> Result<Fetched<AwsCredential>, Error> {
    const WHAT: &str = "the request for the role of an SSO login";
    let token = access_token(requests, places, login).await?;
    let base =
        places.portal.clone().unwrap_or_else(|| format!("https://portal.sso.{}.amazonaws.com", login.region));
    let query = Serializer::new(String::new())
        .append_pair("role_name", &login.role_name)
        .append_pair("account_id", &login.account_id)
        .finish();
    let url = format!("{}/federation/credentials?{query}", base.trim_end_matches('/'));
    let headers = [("x-amz-sso_bearer_token", token.as_str())];
    let request = request(WHAT, Method::GET, &url, &headers, HttpRequestBody::empty())?;
    let answer = requests.send(WHAT, request, Patience::SERVICE).await?;
    if answer.status == 401 {
        return Err(login_again(login));
    }
    let json = answer.json(WHAT)?;
    let keys = json.get("roleCredentials").unwrap_or(&json);
    let missing = || Error::new(ErrorKind::Io, format!("{WHAT} gave no keys"));
    let owned = |name| text(keys, name).map(str::to_owned);
    let written = keys.get("expiration").filter(|written| !written.is_null());
    let end = |millis| SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis));
    let expires = written.map(|written| written.as_u64().and_then(end).unwrap_or_else(soon));
    Ok(Fetched {
        credential: amazon_keys(
            owned("accessKeyId").ok_or_else(missing)?,
            owned("secretAccessKey").ok_or_else(missing)?,
            owned("sessionToken"),
        )?,
        expires,
    })
}

/// The error of a login that is over or was never made.
pub(super) fn login_again(login: &SsoLogin) -> Error {
    let message = format!(
        "the SSO login of the profile {:?} is not there or over: run `aws sso login --profile {}`",
        login.profile, login.profile
    );
    Error::new(ErrorKind::PermissionDenied, message)
}
