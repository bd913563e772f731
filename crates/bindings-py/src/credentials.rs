//! Credentials that a Python callable gives, as obstore's credential providers do.

use crate::interpreter::attached;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyPermissionError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::time::{Duration, SystemTime};
use swath::ioengine::{CloudCredentials, CloudKeys, CredentialSource, Error, ErrorKind};

/// A Python callable that is asked for credentials whenever some are needed.
pub(crate) struct PythonCredentials {
    provider: Py<PyAny>,
    service: Service,
}

/// Whose credentials are wanted, where what is given could be for several.
#[derive(Clone, Copy)]
enum Service {
    Google,
    Azure,
}

impl PythonCredentials {
    /// Credentials for the service of a URL.
    pub(crate) fn new(provider: Py<PyAny>, url: &str) -> PythonCredentials {
        let is_google = url.starts_with("gs:") || url.starts_with("gcs:") || url.contains(".googleapis.com");
        let service = if is_google { Service::Google } else { Service::Azure };
        PythonCredentials { provider, service }
    }

    /// The callable, for a pickle.
    pub(crate) fn provider(&self, py: Python<'_>) -> Py<PyAny> {
        self.provider.clone_ref(py)
    }

    fn ask(&self, py: Python<'_>) -> PyResult<CloudCredentials> {
        let answer = py.import("swath.credentials")?.getattr("fetch")?.call1((&self.provider,))?;
        let (values, expires_at): (Bound<'_, PyDict>, Option<f64>) = answer.extract()?;
        let text = |name: &str| -> PyResult<Option<String>> {
            values.get_item(name)?.map(|value| value.extract()).transpose()
        };
        let required = |name: &str| -> PyResult<String> {
            let missing =
                || pyo3::exceptions::PyKeyError::new_err(format!("the credential_provider gave no {name}"));
            text(name)?.ok_or_else(missing)
        };
        let token = text("token")?;
        let keys = if let Some(key) = text("access_key")? {
            CloudKeys::AzureKey(key)
        } else if let Some(signature) = text("sas_token")? {
            CloudKeys::AzureSas(signature)
        } else if let (Some(bearer), None) = (&token, text("access_key_id")?) {
            match self.service {
                Service::Google => CloudKeys::Google { bearer: bearer.clone() },
                Service::Azure => CloudKeys::AzureBearer(bearer.clone()),
            }
        } else {
            CloudKeys::Amazon {
                access_key_id: required("access_key_id")?,
                secret_access_key: required("secret_access_key")?,
                session_token: token,
            }
        };
        let since_epoch = expires_at.map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)));
        let expires =
            since_epoch.and_then(Result::ok).and_then(|time| SystemTime::UNIX_EPOCH.checked_add(time));
        Ok(CloudCredentials { keys, expires })
    }
}

impl CredentialSource for PythonCredentials {
    fn credentials(&self) -> Result<CloudCredentials, Error> {
        let gone =
            || Error::new(ErrorKind::Unavailable, "Python is ending, and its credential_provider with it");
        let asked = attached(|py| self.ask(py).map_err(|raised| failed(py, &raised)));
        asked.ok_or_else(gone)?
    }
}

/// The exception of a provider as an error: its class and its message, which its author answers for.
fn failed(py: Python<'_>, raised: &PyErr) -> Error {
    let message = raised.value(py).str().map_or_else(|_| String::new(), |text| text.to_string());
    let class = raised.get_type(py).name().map_or_else(|_| "an error".to_owned(), |name| name.to_string());
    let kind = if is_passing(py, raised) { ErrorKind::Unavailable } else { ErrorKind::PermissionDenied };
    Error::new(kind, format!("the credential_provider raised {class}: {message}"))
}

/// True for exceptions after which another try may succeed: those of a network, timeouts among them, but not of files that
/// are not there or may not be read.
fn is_passing(py: Python<'_>, raised: &PyErr) -> bool {
    raised.is_instance_of::<PyOSError>(py)
        && !raised.is_instance_of::<PyFileNotFoundError>(py)
        && !raised.is_instance_of::<PyPermissionError>(py)
}
