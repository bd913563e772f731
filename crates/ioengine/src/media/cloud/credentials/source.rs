//! Credentials that users hand over themselves.

use crate::Error;
use std::fmt;
use std::time::SystemTime;

/// Gives credentials whenever they are needed: at first, and again before they expire.
///
/// Asked for by one thread at a time for each location, never on the threads that move bytes, so an implementation may
/// block (a call into Python, a request of its own). It is asked again after a fork, in the child.
pub trait CredentialSource: Send + Sync {
    /// Credentials that are valid now.
    ///
    /// # Errors
    ///
    /// Whatever failed; the reads that needed the credentials fail with it. Its message must not hold secrets.
    fn credentials(&self) -> Result<CloudCredentials, Error>;
}

/// Credentials, and how long they are valid.
#[derive(Clone)]
pub struct CloudCredentials {
    /// What is presented.
    pub keys: CloudKeys,
    /// When they stop being valid; `None` for those that do not expire. New ones are asked for 5 minutes before, or when a
    /// quarter of their time is left if that is later.
    pub expires: Option<SystemTime>,
}

/// What services accept.
#[derive(Clone)]
#[non_exhaustive]
pub enum CloudKeys {
    /// Keys of S3.
    Amazon {
        /// The id of the key.
        access_key_id: String,
        /// The key, which signs requests.
        secret_access_key: String,
        /// Of temporary keys.
        session_token: Option<String>,
    },
    /// An OAuth token of Google.
    Google {
        /// Sent as `Authorization: Bearer`.
        bearer: String,
    },
    /// An OAuth token of Azure.
    AzureBearer(String),
    /// The key of an Azure account, in base 64.
    AzureKey(String),
    /// A shared access signature of Azure: `sv=..&sig=..`.
    AzureSas(String),
}

impl CloudKeys {
    /// The service that takes them.
    pub(super) fn service(&self) -> &'static str {
        match self {
            CloudKeys::Amazon { .. } => "S3",
            CloudKeys::Google { .. } => "Google Cloud Storage",
            CloudKeys::AzureBearer(_) | CloudKeys::AzureKey(_) | CloudKeys::AzureSas(_) => "Azure",
        }
    }
}

impl fmt::Debug for CloudKeys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "hidden keys of {}", self.service())
    }
}

impl fmt::Debug for CloudCredentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("CloudCredentials")
            .field("keys", &self.keys)
            .field("expires", &self.expires)
            .finish()
    }
}
