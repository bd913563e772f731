//! Credentials of the container that we run in (ECS, EKS pod identity).

use super::super::cached::Fetched;
use super::super::token_requests::{Patience, TokenRequests, request};
use super::choice::{Choice, Inputs, unsupported};
use super::instance::keys_of_json;
use crate::{Error, ErrorKind};
use http::Method;
use object_store::aws::AwsCredential;
use object_store::client::HttpRequestBody;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use url::{Host, Url};

/// Where a relative URI leads.
const RELATIVE_BASE: &str = "http://169.254.170.2";

/// What options and environment say of a container; `None` where they say nothing.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for an address over plain HTTP that is neither this machine's nor one of the two
/// services': a token would go to strangers.
pub(super) fn choice(inputs: &Inputs<'_>) -> Result<Option<Choice>, Error> {
    let get = |option: &str, variable: &str| {
        inputs.options.get(option).or_else(|| inputs.environment.get(variable)).map(str::to_owned)
    };
    let relative = get("container_credentials_relative_uri", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    let full = get("container_credentials_full_uri", "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    let url = match (relative, full) {
        (Some(relative), _) => format!("{RELATIVE_BASE}/{}", relative.trim_start_matches('/')),
        (None, Some(full)) => full,
        (None, None) => return Ok(None),
    };
    if !is_trusted(&url) {
        let message = "the address of the container's credentials is neither HTTPS nor on this machine";
        return Err(unsupported(message));
    }
    let token = inputs.environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN").map(str::to_owned);
    let token_file = get("container_authorization_token_file", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    Ok(Some(Choice::Container { url, token, token_file: token_file.map(PathBuf::from) }))
}

fn is_trusted(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let address = match url.host() {
        _ if url.scheme() == "https" => return true,
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        Some(Host::Domain(name)) => return url.scheme() == "http" && name == "localhost",
        None => return false,
    };
    let services = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];
    let known =
        services.iter().any(|service| service.parse::<IpAddr>().is_ok_and(|service| service == address));
    url.scheme() == "http" && (address.is_loopback() || known)
}

/// Asks the container's agent.
///
/// # Errors
///
/// Where it does not answer, or with no keys.
pub(super) async fn fetch(
    requests: &TokenRequests,
    url: &str,
    token: Option<&str>,
    token_file: Option<&Path>,
) -> Result<Fetched<AwsCredential>, Error> {
    const WHAT: &str = "the request for the container's credentials";
    let token = match token_file {
        Some(file) => Some(super::sts::token_of_file(file).await?),
        None => token.map(str::to_owned),
    };
    let headers: Vec<(&str, &str)> = token.iter().map(|token| ("authorization", token.as_str())).collect();
    let request = request(WHAT, Method::GET, url, &headers, HttpRequestBody::empty())?;
    let answer = requests.send(WHAT, request, Patience::SERVICE).await?;
    keys_of_json(&answer.json(WHAT)?)
        .ok_or_else(|| Error::new(ErrorKind::PermissionDenied, format!("{WHAT} gave no keys")))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_to_no_strangers() {
        for url in [
            "https://example.com/x",
            "http://127.0.0.1:80/x",
            "http://localhost/x",
            "http://169.254.170.23/v1/credentials",
            "http://[fd00:ec2::23]/v1",
            "http://[::1]/v1",
        ] {
            assert!(is_trusted(url), "{url}");
        }
        for url in [
            "http://example.com/x",
            "http://10.0.0.1/",
            "http://localhost.evil/",
            "ftp://localhost/",
            "",
            "x",
        ] {
            assert!(!is_trusted(url), "{url}");
        }
    }
}
