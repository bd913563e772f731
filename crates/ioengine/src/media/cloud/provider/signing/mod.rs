//! Signatures of reads from S3, by a key that is kept.
//!
//! `object_store` derives the key of a day from the secret for each request, and formats all that is signed piece by piece:
//! 115,000 of the 185,000 instructions of a read of 4 KiB. Reads are the requests of which there are many, so they are signed
//! here; all others by `object_store`.

mod canonical;
mod key;

use super::region::Pays;
use crate::engine::lock;
use crate::media::cloud::credentials::{COMPACT_DAY_LEN, COMPACT_LEN, compact};
use bytes::Bytes;
use canonical::Canonical;
use http::{HeaderName, HeaderValue};
use key::SigningKey;
use object_store::aws::{AwsCredential, AwsCredentialProvider};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest};
use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Signs requests without a body, as `AWS4-HMAC-SHA256` (AWS, "Signature Version 4"; for S3, "Authenticating Requests:
/// Using the Authorization Header").
pub(super) struct Signer {
    credentials: AwsCredentialProvider,
    /// The region of requests that say no other.
    region: String,
    payload: Payload,
    pays: Pays,
    /// The last key. Requests of one process nearly always sign with one.
    kept: Mutex<Option<Arc<SigningKey>>>,
}

/// What signatures say of the body of a request that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// Its digest.
    Signed,
    /// That they do not cover it.
    Unsigned,
}

impl Payload {
    fn digest(self) -> &'static str {
        match self {
            // SHA-256 of no bytes.
            Payload::Signed => "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            Payload::Unsigned => "UNSIGNED-PAYLOAD",
        }
    }
}

const AUTHORIZATION: HeaderName = http::header::AUTHORIZATION;
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const DIGEST: HeaderName = HeaderName::from_static("x-amz-content-sha256");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
const PAYER: HeaderName = HeaderName::from_static("x-amz-request-payer");

impl fmt::Debug for Signer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Signer").field("region", &self.region).finish_non_exhaustive()
    }
}

impl Signer {
    pub(super) fn new(
        credentials: AwsCredentialProvider,
        region: &str,
        payload: Payload,
        pays: Pays,
    ) -> Signer {
        Signer { credentials, region: region.to_owned(), payload, pays, kept: Mutex::new(None) }
    }

    /// Signs a request for a region, or for the one of the options, with the credentials of now.
    ///
    /// # Errors
    ///
    /// What getting credentials failed with; a failed request for credentials that no header can hold.
    pub(super) async fn sign(
        &self,
        request: &mut HttpRequest,
        region: Option<&str>,
    ) -> Result<(), HttpError> {
        let credential = self.credentials.get_credential().await.map_err(|error| failed(Box::new(error)))?;
        self.sign_at(request, region, credential, SystemTime::now())
    }

    /// The same with other credentials, at another time.
    fn sign_at(
        &self,
        request: &mut HttpRequest,
        region: Option<&str>,
        credential: Arc<AwsCredential>,
        time: SystemTime,
    ) -> Result<(), HttpError> {
        let time = compact(time);
        let region = region.unwrap_or(&self.region);
        let key = self.key(&credential, day(&time), region)?;
        let headers = request.headers_mut();
        headers.insert(DATE, value(Bytes::copy_from_slice(&time))?);
        headers.insert(DIGEST, HeaderValue::from_static(self.payload.digest()));
        if let Some(token) = key.token() {
            headers.insert(TOKEN, token.clone());
        }
        if self.pays == Pays::Requester {
            headers.insert(PAYER, HeaderValue::from_static("requester"));
        }
        let canonical = Canonical::of(request, self.payload.digest())?;
        let mut signed = value(key.authorization(&canonical, &time).into())?;
        signed.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, signed);
        Ok(())
    }

    /// The key that is kept where it is of this credential, day and region, or a new one.
    fn key(
        &self,
        credential: &Arc<AwsCredential>,
        day: [u8; COMPACT_DAY_LEN],
        region: &str,
    ) -> Result<Arc<SigningKey>, HttpError> {
        if let Some(key) = lock(&self.kept).as_ref().filter(|key| key.is_of(credential, day, region)) {
            return Ok(Arc::clone(key));
        }
        let key = Arc::new(SigningKey::derive(credential, day, region)?);
        *lock(&self.kept) = Some(Arc::clone(&key));
        Ok(key)
    }
}

fn day(time: &[u8; COMPACT_LEN]) -> [u8; COMPACT_DAY_LEN] {
    let mut day = [0; COMPACT_DAY_LEN];
    day.copy_from_slice(&time[..COMPACT_DAY_LEN]);
    day
}

/// A header's value; an error does not show it.
fn value(bytes: Bytes) -> Result<HeaderValue, HttpError> {
    HeaderValue::from_maybe_shared(bytes)
        .map_err(|_| failed("the credentials cannot be sent in a header".into()))
}

fn failed(source: Box<dyn StdError + Send + Sync>) -> HttpError {
    HttpError::new_boxed(HttpErrorKind::Request, source)
}

#[cfg(test)]
mod tests;
