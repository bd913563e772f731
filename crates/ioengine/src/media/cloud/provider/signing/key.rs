//! The key of one day, region and credential.

use super::canonical::Canonical;
use super::value;
use crate::media::cloud::credentials::{COMPACT_DAY_LEN, COMPACT_LEN};
use bytes::Bytes;
use http::HeaderValue;
use object_store::aws::AwsCredential;
use object_store::client::HttpError;
use ring::hmac::{HMAC_SHA256, Key, sign};
use std::sync::Arc;

/// What signs all requests of one day, region and credential, and what stands in all of them. It has no `Debug`.
pub(super) struct SigningKey {
    credential: Arc<AwsCredential>,
    day: [u8; COMPACT_DAY_LEN],
    region: String,
    key: Key,
    /// `day/region/s3/aws4_request`.
    scope: String,
    token: Option<HeaderValue>,
}

impl SigningKey {
    /// Derives the key of a secret.
    ///
    /// # Errors
    ///
    /// A failed request for a session token that no header can hold.
    pub(super) fn derive(
        credential: &Arc<AwsCredential>,
        day: [u8; COMPACT_DAY_LEN],
        region: &str,
    ) -> Result<SigningKey, HttpError> {
        let secret = format!("AWS4{}", credential.secret_key);
        let steps: [&[u8]; 4] = [&day, region.as_bytes(), b"s3", b"aws4_request"];
        let key = steps.iter().fold(Key::new(HMAC_SHA256, secret.as_bytes()), |key, step| {
            Key::new(HMAC_SHA256, sign(&key, step).as_ref())
        });
        let token = credential.token.as_ref().map(|token| -> Result<HeaderValue, HttpError> {
            let mut token = value(Bytes::copy_from_slice(token.as_bytes()))?;
            token.set_sensitive(true);
            Ok(token)
        });
        Ok(SigningKey {
            credential: Arc::clone(credential),
            day,
            region: region.to_owned(),
            key,
            scope: format!("{}/{region}/s3/aws4_request", String::from_utf8_lossy(&day)),
            token: token.transpose()?,
        })
    }

    /// True where this is the key of the same.
    pub(super) fn is_of(
        &self,
        credential: &Arc<AwsCredential>,
        day: [u8; COMPACT_DAY_LEN],
        region: &str,
    ) -> bool {
        // Sources that keep nothing give equal credentials anew each time.
        let is_same = || Arc::ptr_eq(&self.credential, credential) || self.credential == *credential;
        self.day == day && self.region == region && is_same()
    }

    /// The session token, which is signed as a header.
    pub(super) fn token(&self) -> Option<&HeaderValue> {
        self.token.as_ref()
    }

    /// The value of `Authorization` for a request of a time of this key's day.
    pub(super) fn authorization(&self, canonical: &Canonical, time: &[u8; COMPACT_LEN]) -> Vec<u8> {
        let mut text = Vec::with_capacity(ALGORITHM.len() + 128 + self.scope.len());
        for piece in
            [ALGORITHM, b"\n", time, b"\n", self.scope.as_bytes(), b"\n", &hex(canonical.digest.as_ref())]
        {
            text.extend_from_slice(piece);
        }
        let signature = hex(sign(&self.key, &text).as_ref());
        text.clear();
        for piece in [
            ALGORITHM,
            b" Credential=",
            self.credential.key_id.as_bytes(),
            b"/",
            self.scope.as_bytes(),
            b", SignedHeaders=",
            canonical.signed_headers.as_bytes(),
            b", Signature=",
            &signature,
        ] {
            text.extend_from_slice(piece);
        }
        text
    }
}

const ALGORITHM: &[u8] = b"AWS4-HMAC-SHA256";

/// The letters of 32 bytes; of more, those of the first.
fn hex(bytes: &[u8]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}
