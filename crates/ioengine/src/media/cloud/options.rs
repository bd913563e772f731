//! Options of cloud storage, by the names that users know them under.

use super::credentials::CredentialSource;
use super::option_names::{canonical, duration, is_secret, number, truth};
use crate::{Error, ErrorKind};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Options of one cloud location: names as obstore and object_store, s3fs, gcsfs and adlfs have them, and values as text.
/// Nested dictionaries are written with dots: `client_kwargs.endpoint_url`. Options of services that a URL does not lead
/// to are not looked at, so that one set can serve several.
///
/// Secrets are in no output: `Debug` gives names, and values of what is not secret.
///
/// ```
/// use swath_ioengine::CloudOptions;
///
/// let mut options = CloudOptions::new();
/// options.set("client_kwargs.region_name", "eu-central-1")?;
/// options.set("key", "AKIA")?;
/// assert_eq!(options.get("aws_region"), Some("eu-central-1"));
/// assert_eq!(format!("{options:?}"), r#"{"access_key_id": hidden, "region": "eu-central-1"}"#);
/// assert!(options.set("regoin", "x").is_err());
/// # Ok::<(), swath_ioengine::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct CloudOptions {
    values: BTreeMap<String, Value>,
    credentials: Option<Arc<dyn CredentialSource>>,
}

/// A value, and the spelling it was given under.
#[derive(Clone)]
struct Value {
    text: String,
    spelling: String,
}

/// The values of gcsfs's `token` that say where to look, and are no token.
const TOKEN_SOURCES: [&str; 5] = ["anon", "google_default", "cloud", "cache", "browser"];

impl CloudOptions {
    /// No options: what the environment says.
    pub fn new() -> CloudOptions {
        CloudOptions::default()
    }

    /// Sets an option, whatever its spelling: `region`, `aws_region`, `AWS_REGION`, `client_kwargs.region_name`. The same
    /// spelling again replaces the value.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a name that no service knows, and for another value under another
    /// spelling of an option that is set; for a URL with a user or a password in it, in an option that is no secret.
    pub fn set(&mut self, name: &str, value: impl Into<String>) -> Result<(), Error> {
        let text = value.into();
        let mut key = canonical(name)?;
        if key == "token" && TOKEN_SOURCES.contains(&text.as_str()) {
            key = "token_source".into();
        }
        if !is_secret(&key) && has_user(&text) {
            let message = format!("the option {name:?} should be a URL without user and password");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        if let Some(found) = self.values.get(key.as_ref())
            && found.spelling != name
            && found.text != text
        {
            let message = format!("{:?} and {name:?} name the same option and differ", found.spelling);
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        self.values.insert(key.into_owned(), Value { text, spelling: name.to_owned() });
        Ok(())
    }

    /// The value of an option, whatever its spelling. May be a secret.
    pub fn get(&self, name: &str) -> Option<&str> {
        let key = canonical(name).ok()?;
        self.values.get(key.as_ref()).map(|value| value.text.as_str())
    }

    /// Takes the credentials from here, and from nowhere else.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Arc<dyn CredentialSource>) -> CloudOptions {
        self.credentials = Some(credentials);
        self
    }

    /// The users' own source of credentials.
    pub fn credentials(&self) -> Option<&Arc<dyn CredentialSource>> {
        self.credentials.as_ref()
    }

    /// Names and values, sorted by name. Values may be secrets.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.text.as_str()))
    }

    /// True for names whose values must not be shown or stored; names that are not known are taken for secrets.
    pub fn is_secret(name: &str) -> bool {
        canonical(name).map_or(true, |name| is_secret(&name))
    }

    /// The same options without the secret ones and without the users' own source of credentials, and the names of those
    /// that are left out (`credentials` for the source).
    pub fn without_secrets(&self) -> (CloudOptions, Vec<String>) {
        let (secret, values): (BTreeMap<_, _>, BTreeMap<_, _>) =
            self.values.clone().into_iter().partition(|(name, _)| is_secret(name));
        let mut names: Vec<String> = secret.into_keys().collect();
        names.extend(self.credentials.is_some().then(|| "credentials".to_owned()));
        (CloudOptions { values, credentials: None }, names)
    }

    /// An option that is true or false; `false` where it is not set.
    pub(crate) fn truth(&self, name: &str) -> Result<bool, Error> {
        self.get(name).map_or(Ok(false), |value| truth(name, value))
    }

    /// An option that is a whole number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Error> {
        self.get(name).map(|value| number(name, value)).transpose()
    }

    /// An option that is a time.
    pub(crate) fn duration(&self, name: &str) -> Result<Option<Duration>, Error> {
        self.get(name).map(|value| duration(name, value)).transpose()
    }

    /// The headers of each request, by their names in lower case. Values are secrets.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter_map(|(name, value)| Some((name.strip_prefix("headers.")?, value)))
    }
}

/// True for a URL with something before `@` in its authority.
fn has_user(text: &str) -> bool {
    let after = text.split_once("://").map_or("", |(_, after)| after);
    after.split('/').next().is_some_and(|authority| authority.contains('@'))
}

impl PartialEq for CloudOptions {
    /// Equal by names and values, and by the source of credentials being the same object.
    fn eq(&self, other: &CloudOptions) -> bool {
        let same_source = match (&self.credentials, &other.credentials) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        same_source && self.iter().eq(other.iter())
    }
}

impl Eq for CloudOptions {}

impl fmt::Debug for CloudOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = out.debug_map();
        for (name, value) in self.iter() {
            match is_secret(name) {
                true => map.entry(&name, &format_args!("hidden")),
                false => map.entry(&name, &value),
            };
        }
        if self.credentials.is_some() {
            map.entry(&"credentials", &format_args!("hidden"));
        }
        map.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_one_option_must_agree() {
        let mut options = CloudOptions::new();
        options.set("region", "a").unwrap();
        options.set("region", "b").unwrap();
        options.set("aws_region", "b").unwrap();
        let error = options.set("client_kwargs.region_name", "c").unwrap_err();
        assert!(
            error.message().contains("aws_region") && error.message().contains("client_kwargs.region_name")
        );
        assert_eq!(options.get("AWS_REGION"), Some("b"));
    }

    #[test]
    fn what_is_shown_has_no_password() {
        let mut options = CloudOptions::new();
        let error = options.set("endpoint_url", "http://u:S3CRET@h/x").unwrap_err();
        assert!(error.message().contains("endpoint_url") && !error.message().contains("S3CRET"));
        options.set("endpoint_url", "http://h/x@y").unwrap();
        options.set("proxy_url", "http://u:S3CRET@h").unwrap();
        assert!(!format!("{options:?}").contains("S3CRET"));
    }

    #[test]
    fn words_of_gcsfs_are_no_secrets() {
        let mut options = CloudOptions::new();
        options.set("token", "anon").unwrap();
        assert_eq!(format!("{options:?}"), r#"{"token_source": "anon"}"#);
        options.set("token", "ya29.S3CRET").unwrap();
        assert_eq!(format!("{options:?}"), r#"{"token": hidden, "token_source": "anon"}"#);
    }

    #[test]
    fn without_secrets_names_what_is_left_out() {
        let mut options = CloudOptions::new();
        for (name, value) in [("secret", "S3CRET"), ("headers.Cookie", "S3CRET"), ("region", "r")] {
            options.set(name, value).unwrap();
        }
        let (open, names) = options.without_secrets();
        assert_eq!(names, ["headers.cookie", "secret_access_key"]);
        assert_eq!(open.iter().collect::<Vec<_>>(), [("region", "r")]);
        assert!(CloudOptions::is_secret("headers.x") && CloudOptions::is_secret("what is this"));
        assert!(!CloudOptions::is_secret("client_kwargs.region_name"));
    }
}
