//! The token of an SSO login, which Amazon's command line keeps in a file, and its renewal.

use super::super::timestamp::timestamp;
use super::super::token_requests::{Patience, TokenRequests, request, text};
use super::choice::SsoLogin;
use super::sso::{SsoPlaces, login_again};
use crate::Error;
use http::Method;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// A token that is valid for less than this is renewed.
const LEFT_MIN: Duration = Duration::from_secs(60);

/// A valid token of a login: the kept one, or a new one for the kept refresh token. The new one is not written to the
/// file: Amazon's tools renew theirs with the same refresh token.
///
/// # Errors
///
/// One that says `aws sso login` where there is no token, or it is over and cannot be renewed.
pub(super) async fn access_token(
    requests: &TokenRequests,
    places: &SsoPlaces,
    login: &SsoLogin,
) -> Result<String, Error> {
    let file = places.cache.as_ref().map(|folder| folder.join(file_name(login)));
    let kept = read(file).await.ok_or_else(|| login_again(login))?;
    let token = text(&kept, "accessToken").ok_or_else(|| login_again(login))?;
    let expires = text(&kept, "expiresAt").and_then(timestamp).ok_or_else(|| login_again(login))?;
    if SystemTime::now() + LEFT_MIN < expires {
        return Ok(token.to_owned());
    }
    renew(requests, places, login, &kept).await?.ok_or_else(|| login_again(login))
}

/// SHA-1, in hexadecimal, of the session's name, or of the start URL for logins of the older kind.
fn file_name(login: &SsoLogin) -> String {
    let key = login.session.as_deref().unwrap_or(&login.start_url);
    let mut name = String::new();
    for byte in digest(&SHA1_FOR_LEGACY_USE_ONLY, key.as_bytes()).as_ref() {
        // Writing to a string does not fail.
        let _ = write!(name, "{byte:02x}");
    }
    name + ".json"
}

async fn read(file: Option<PathBuf>) -> Option<Value> {
    let file = file?;
    let bytes = tokio::task::spawn_blocking(move || std::fs::read(file)).await.ok()?.ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// A new token for the refresh token; `None` where there is none or it is refused.
async fn renew(
    requests: &TokenRequests,
    places: &SsoPlaces,
    login: &SsoLogin,
    kept: &Value,
) -> Result<Option<String>, Error> {
    const WHAT: &str = "the renewal of an SSO login";
    let (Some(id), Some(secret), Some(refresh)) =
        (text(kept, "clientId"), text(kept, "clientSecret"), text(kept, "refreshToken"))
    else {
        return Ok(None);
    };
    let base = places.oidc.clone().unwrap_or_else(|| format!("https://oidc.{}.amazonaws.com", login.region));
    let body = json!({
        "clientId": id, "clientSecret": secret, "refreshToken": refresh, "grantType": "refresh_token",
    });
    let url = format!("{}/token", base.trim_end_matches('/'));
    let headers = [("content-type", "application/json")];
    let request = request(WHAT, Method::POST, &url, &headers, body.to_string().into())?;
    let answer = requests.send(WHAT, request, Patience::SERVICE).await?;
    if answer.status.is_client_error() {
        return Ok(None);
    }
    Ok(text(&answer.json(WHAT)?, "accessToken").map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_as_amazons_command_line_names_them() {
        let login = |session: Option<&str>| SsoLogin {
            profile: "p".into(),
            start_url: "https://example.awsapps.com/start".into(),
            region: "r".into(),
            account_id: "1".into(),
            role_name: "x".into(),
            session: session.map(str::to_owned),
        };
        // sha1sum of "my-sso" and of the start URL.
        assert_eq!(file_name(&login(Some("my-sso"))), SESSION);
        assert_eq!(file_name(&login(None)), START_URL);
    }

    const SESSION: &str = "0ad374308c5a4e22f723adf10145eafad7c4031c.json";
    const START_URL: &str = "e8be5486177c5b5392bd9aa76563515b29358e6e.json";
}
