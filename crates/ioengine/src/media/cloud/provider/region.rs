//! The region of a bucket at Amazon, learned from its answers: who asks the wrong one is told the right one, and asks
//! there from then on.

use http::header::AUTHORIZATION;
use http::uri::Authority;
use http::{StatusCode, Uri};
use object_store::aws::{AwsAuthorizer, AwsCredentialProvider};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse};
use std::sync::{Arc, OnceLock};

/// Where Amazon tells the region of a bucket.
const REGION_HEADER: &str = "x-amz-bucket-region";

const DIGEST_HEADER: &str = "x-amz-content-sha256";

/// Letters of the longest name of a region that is believed.
const REGION_LEN_MAX: usize = 32;

/// Follows a bucket to its region. Cloning shares what was learned.
#[derive(Clone)]
pub(super) struct RegionFollower {
    /// The region that requests are made for.
    configured: Arc<str>,
    learned: Arc<OnceLock<String>>,
}

/// Who pays for requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pays {
    Owner,
    Requester,
}

impl RegionFollower {
    pub(super) fn new(configured: &str) -> RegionFollower {
        RegionFollower { configured: Arc::from(configured), learned: Arc::default() }
    }

    /// The region that was learned.
    pub(super) fn learned(&self) -> Option<&str> {
        self.learned.get().map(String::as_str)
    }

    /// Learns from the answer to a request that was made where the options say. Tells the region to make it in once more: an
    /// answer from there that names yet another is handed on.
    pub(super) fn learn(&self, response: &HttpResponse) -> Option<&str> {
        let region = told(response, &self.configured)?;
        let known = self.learned.get_or_init(|| {
            tracing::debug!(configured = %self.configured, %region, "the bucket is in another region");
            region
        });
        Some(known)
    }

    /// Sends a request to the host of another region. Its signature is not one of there.
    ///
    /// # Errors
    ///
    /// A failed request, for a region that makes no host.
    pub(super) fn move_to(&self, request: &mut HttpRequest, region: &str) -> Result<(), HttpError> {
        *request.uri_mut() = in_region(request.uri(), &self.configured, region)?;
        Ok(())
    }
}

/// Signs requests of `object_store`'s anew, for another region.
pub(super) struct Resigner {
    credentials: AwsCredentialProvider,
    pays: Pays,
}

impl Resigner {
    pub(super) fn new(credentials: AwsCredentialProvider, pays: Pays) -> Resigner {
        Resigner { credentials, pays }
    }

    /// Puts a signature for a region in place of the one that is there.
    ///
    /// # Errors
    ///
    /// What getting credentials failed with.
    pub(super) async fn sign(&self, request: &mut HttpRequest, region: &str) -> Result<(), HttpError> {
        let credential = self.credentials.get_credential().await.map_err(|error| failed(Box::new(error)))?;
        let headers = request.headers_mut();
        for name in [AUTHORIZATION.as_str(), "x-amz-date", "x-amz-security-token"] {
            headers.remove(name);
        }
        let digest = headers.remove(DIGEST_HEADER);
        let digest = digest.and_then(|value| unhex(value.as_bytes()));
        AwsAuthorizer::new(&credential, "s3", region)
            .with_sign_payload(digest.is_some())
            .with_request_payer(self.pays == Pays::Requester)
            .try_authorize(request, digest.as_deref())
            .map_err(|error| failed(Box::new(error)))
    }
}

/// The region that an answer names, where it is not the one that was asked.
fn told(response: &HttpResponse, asked: &str) -> Option<String> {
    let says_no = response.status().is_redirection() || response.status().is_client_error();
    if !says_no || response.status() == StatusCode::NOT_FOUND {
        return None;
    }
    let region = response.headers().get(REGION_HEADER)?.to_str().ok()?;
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_name = !region.is_empty() && region.len() <= REGION_LEN_MAX && region.bytes().all(allowed);
    (is_name && region != asked).then(|| region.to_owned())
}

/// The same at another region's host: `s3.us-east-1.amazonaws.com`, `bucket.s3.dualstack.us-east-1.amazonaws.com`, and
/// `s3.amazonaws.com`, which has none.
fn in_region(uri: &Uri, from: &str, to: &str) -> Result<Uri, HttpError> {
    let host = uri.authority().map(Authority::as_str).unwrap_or_default();
    let named = format!(".{from}.amazonaws.com");
    let moved = match host.contains(&named) {
        true => host.replacen(&named, &format!(".{to}.amazonaws.com"), 1),
        false => host.replacen("s3.amazonaws.com", &format!("s3.{to}.amazonaws.com"), 1),
    };
    let wrong = || failed("the region makes no host".into());
    let mut parts = uri.clone().into_parts();
    parts.authority = Some(Authority::try_from(moved).map_err(|_| wrong())?);
    Uri::from_parts(parts).map_err(|_| wrong())
}

/// The bytes of a digest in hexadecimal; `None` for words in its place (`UNSIGNED-PAYLOAD`).
fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() != 64 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    text.chunks(2).map(|pair| Some(digit(pair[0])? * 16 + digit(pair[1])?)).collect()
}

fn failed(source: Box<dyn std::error::Error + Send + Sync>) -> HttpError {
    HttpError::new_boxed(HttpErrorKind::Request, source)
}
