//! The token of an SSO login, which Amazon's command line keeps in a file, and its renewal.

use super::super::timestamp::{timestamp, written};
use super::super::token_requests::{Patience, TokenRequests, request, text};
use super::choice::SsoLogin;
use super::sso::{SsoPlaces, login_again};
use crate::Error;
use http::Method;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs::{OpenOptions, remove_file, rename};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A token that is valid for less than this is renewed.
const LEFT_MIN: Duration = Duration::from_secs(60);

/// A valid token of a login: the kept one, or a new one for the kept refresh token, which is kept in the file then, as
/// Amazon's command line does.
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
    let kept = read(file.clone()).await.ok_or_else(|| login_again(login))?;
    let token = text(&kept, "accessToken").ok_or_else(|| login_again(login))?;
    let expires = text(&kept, "expiresAt").and_then(timestamp).ok_or_else(|| login_again(login))?;
    if SystemTime::now() + LEFT_MIN < expires {
        return Ok(token.to_owned());
    }
    let renewed = renew(requests, places, login, &kept).await?.ok_or_else(|| login_again(login))?;
    let token = renewed.token.clone();
    if let Some(file) = file {
        // A file that cannot be written only means that the next process renews again.
        let _ = tokio::task::spawn_blocking(move || keep(&file, kept, renewed)).await;
    }
    Ok(token)
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

/// A new token.
struct Renewed {
    token: String,
    lasts: Duration,
    /// In place of the one before.
    refresh_token: Option<String>,
}

/// Keeps a new token in the file, in one step, readable by its owner only.
fn keep(file: &Path, mut kept: Value, renewed: Renewed) -> io::Result<()> {
    let expires = written(SystemTime::now() + renewed.lasts);
    if let Value::Object(fields) = &mut kept {
        fields.insert("accessToken".to_owned(), Value::String(renewed.token));
        fields.insert("expiresAt".to_owned(), Value::String(expires));
        if let Some(token) = renewed.refresh_token {
            fields.insert("refreshToken".to_owned(), Value::String(token));
        }
    }
    let beside = file.with_extension(format!("swath-{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let outcome = options
        .open(&beside)
        .and_then(|mut out| out.write_all(kept.to_string().as_bytes()))
        .and_then(|()| rename(&beside, file));
    if outcome.is_err() {
        // What is left of a failed attempt is ours to remove; if that fails too, nothing else can be done.
        let _ = remove_file(&beside);
    }
    outcome
}

/// A new token for the refresh token; `None` where there is none or it is refused.
async fn renew(
    requests: &TokenRequests,
    places: &SsoPlaces,
    login: &SsoLogin,
    kept: &Value,
) -> Result<Option<Renewed>, Error> {
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
    let json = answer.json(WHAT)?;
    let lasts = Duration::from_secs(json.get("expiresIn").and_then(Value::as_u64).unwrap_or(0));
    let owned = |name| text(&json, name).map(str::to_owned);
    Ok(owned("accessToken").map(|token| Renewed { token, lasts, refresh_token: owned("refreshToken") }))
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
