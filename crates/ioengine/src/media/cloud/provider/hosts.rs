//! Web addresses of the three services.

use super::key::decoded;
use super::place::{Access, Form, Place, Service, check_bucket};
use crate::Error;
use url::Url;

/// Domains of Azure's accounts, after `account.blob.` or `account.dfs.`.
const AZURE_DOMAINS: [&str; 5] = [
    "core.windows.net",
    "core.chinacloudapi.cn",
    "core.usgovcloudapi.net",
    "core.cloudapi.de",
    "fabric.microsoft.com",
];

/// The place of a URL that leads to one of the services; `None` for web servers, for URLs that name no bucket, and for
/// those with a query (signed ones, mostly), which are asked for as they are. Signatures of Azure are credentials, with which
/// all of its container can be read.
pub(super) fn service(url: &Url, access: Option<&Access>) -> Result<Option<Place>, Error> {
    let Some(host) = url.host_str().filter(|_| url.scheme() == "https" && url.port().is_none()) else {
        return Ok(None);
    };
    let has_user = access.is_some_and(|access| access.user.is_some());
    let query = access.and_then(|access| access.query.as_deref());
    let is_signature = query.is_some_and(|query| query.split('&').any(|pair| pair.starts_with("sig=")));
    if has_user {
        return Ok(None);
    }
    let Some(found) = amazon(host).or_else(|| google(host)).or_else(|| azure(host)) else { return Ok(None) };
    if query.is_some() && !(is_signature && found.service == Service::Azure) {
        return Ok(None);
    }
    let path = decoded(url.path())?;
    let (bucket, key) = match &found.bucket {
        Some(bucket) => (bucket.clone(), path),
        None => {
            let (bucket, key) = path.split_once('/').unwrap_or((&path, ""));
            (bucket.to_owned(), key.to_owned())
        }
    };
    if check_bucket(&bucket).is_err() {
        return Ok(None);
    }
    Ok(Some(Place {
        service: found.service,
        form: Form::Web,
        bucket,
        key,
        endpoint: Some(found.endpoint),
        region: found.region,
        account: found.account,
        access: access.cloned(),
    }))
}

/// What a host says.
struct Found {
    service: Service,
    /// Where it is part of the host.
    bucket: Option<String>,
    endpoint: String,
    region: Option<String>,
    account: Option<String>,
}

/// `[bucket.]s3[.dualstack][.region].amazonaws.com[.cn]`, the older `s3-region`, and Cloudflare's
/// `account[.jurisdiction].r2.cloudflarestorage.com`.
fn amazon(host: &str) -> Option<Found> {
    if host.ends_with(".r2.cloudflarestorage.com") {
        let (endpoint, region) = (format!("https://{host}"), Some("auto".to_owned()));
        return Some(Found { service: Service::Amazon, bucket: None, endpoint, region, account: None });
    }
    let (before, domain) = [".amazonaws.com.cn", ".amazonaws.com"]
        .iter()
        .find_map(|domain| Some((host.strip_suffix(domain)?, *domain)))?;
    let labels: Vec<&str> = before.split('.').collect();
    let is_s3 = |label: &str| label == "s3" || label.strip_prefix("s3-").is_some_and(is_region);
    let at = labels.iter().rposition(|label| is_s3(label))?;
    let (bucket, after) = labels.split_at(at);
    let (dualstack, region) = match after {
        ["s3"] => ("", None),
        ["s3", "dualstack", region] if is_region(region) => (".dualstack", Some((*region).to_owned())),
        ["s3", region] if is_region(region) => ("", Some((*region).to_owned())),
        [label] => ("", label.strip_prefix("s3-").map(str::to_owned)),
        _ => return None,
    };
    let endpoint = match &region {
        Some(region) => format!("https://s3{dualstack}.{region}{domain}"),
        None => format!("https://s3{domain}"),
    };
    let bucket = (!bucket.is_empty()).then(|| bucket.join("."));
    Some(Found { service: Service::Amazon, bucket, endpoint, region, account: None })
}

/// `us-east-1`, `us-gov-west-1`, `eusc-de-east-1`: words, a short one first, and a number. Not the `website-us-east-1` of sites.
fn is_region(label: &str) -> bool {
    let parts: Vec<&str> = label.split('-').collect();
    let (Some((number, words)), true) = (parts.split_last(), 3 <= parts.len()) else { return false };
    let is_word = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let begins_short = words.first().is_some_and(|word| word.len() <= 4);
    begins_short
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && words.iter().all(is_word)
}

/// `storage.googleapis.com/bucket` and `bucket.storage.googleapis.com`.
fn google(host: &str) -> Option<Found> {
    const HOST: &str = "storage.googleapis.com";
    let bucket = match host {
        HOST | "storage.cloud.google.com" => None,
        _ => Some(host.strip_suffix(HOST)?.strip_suffix('.')?.to_owned()),
    };
    let endpoint = format!("https://{HOST}");
    Some(Found { service: Service::Google, bucket, endpoint, region: None, account: None })
}

fn azure(host: &str) -> Option<Found> {
    let (account, endpoint) = azure_account(host)?;
    Some(Found { service: Service::Azure, bucket: None, endpoint, region: None, account: Some(account) })
}

/// The account and the URL of the blob service of `account.dfs.core.windows.net` and the like.
pub(super) fn azure_account(host: &str) -> Option<(String, String)> {
    let host = host.to_ascii_lowercase();
    let domain = AZURE_DOMAINS.iter().find(|domain| host.ends_with(&format!(".{domain}")))?;
    let before = host.strip_suffix(domain)?.strip_suffix('.')?;
    let account = before.strip_suffix(".dfs").or_else(|| before.strip_suffix(".blob"))?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    if account.is_empty() || !account.chars().all(allowed) {
        return None;
    }
    Some((account.to_owned(), format!("https://{account}.blob.{domain}")))
}
