//! The public face: a location in the cloud as a medium of the engine.

use super::provider::parse;
use super::source::{Origin, Source};
use super::{CloudOptions, CloudSettings};
use crate::{Error, Medium, MediumId, fork};
use object_store::ObjectStore;
use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Where a URL leads: a medium, and a key on it.
#[derive(Clone, Debug)]
pub struct CloudLocation {
    /// The bucket, container or web server. Equal URLs and options give media of equal ids.
    pub medium: Medium,
    /// Key of what the URL names, without slashes around it.
    pub prefix: String,
    /// The URL without credentials, for people.
    pub name: String,
}

/// Media of cloud storage.
pub struct CloudMedium;

impl CloudMedium {
    /// The location that a URL and options name. Nothing is connected before the first read; in a forked child everything
    /// is connected anew.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a scheme that is not known, or an option whose value cannot be
    /// read.
    pub fn open(url: &str, options: &CloudOptions) -> Result<CloudLocation, Error> {
        let parsed = parse(url, options)?;
        let settings = CloudSettings::from_options(options)?;
        let id = id_of(&parsed.root, credentials_of(url), options);
        let origin = Origin::Location { url: url.to_owned(), options: options.clone(), settings };
        let name = if parsed.prefix.is_empty() {
            parsed.root.clone()
        } else {
            format!("{}/{}", parsed.root.trim_end_matches('/'), parsed.prefix)
        };
        let medium = Medium::Remote(Arc::new(Source::new(id, parsed.root, origin)));
        Ok(CloudLocation { medium, prefix: parsed.prefix, name })
    }

    /// Any store of the `object_store` crate, as a medium. `name` says what it is, for people and statistics; stores of one
    /// name share limits and costs, and each is a medium of its own. The store's own retries should be off
    /// (`RetryConfig::max_retries` of 0): they would multiply with those of `settings`. Works only in the process that made
    /// the store, not in its forked children.
    ///
    /// ```
    /// use object_store::memory::InMemory;
    /// use std::sync::Arc;
    /// use swath_ioengine::{CloudMedium, CloudSettings, PutCondition};
    ///
    /// let medium = CloudMedium::from_object_store(Arc::new(InMemory::new()), "mine", CloudSettings::default());
    /// medium.put("a/b", vec![1, 2, 3].into(), &PutCondition::Absent)?;
    /// assert_eq!(medium.list("a/")?[0].name(), "b");
    /// # Ok::<(), swath_ioengine::Error>(())
    /// ```
    pub fn from_object_store(store: Arc<dyn ObjectStore>, name: &str, settings: CloudSettings) -> Medium {
        let origin = Origin::Store { store, settings, generation: fork::generation() };
        Medium::Remote(Arc::new(Source::new(MediumId::unique(), name.to_owned(), origin)))
    }
}

/// The part of a URL that may hold credentials: user information and query.
fn credentials_of(url: &str) -> (&str, &str) {
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let authority = url.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(""));
    (authority.rsplit_once('@').map_or("", |(user, _)| user), query)
}

/// Equal for equal roots, credentials and options under an equal environment, in this process and its children. What options
/// leave open comes from the environment: were it left out, a medium that is about to go would serve another place.
fn id_of(root: &str, credentials: (&str, &str), options: &CloudOptions) -> MediumId {
    let mut environment: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| may_matter(name)).collect();
    environment.sort_unstable();
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, root, credentials, &environment).hash(&mut hasher);
        options.iter().for_each(|option| option.hash(&mut hasher));
        // Sources of credentials are told apart as objects: what they give is not known before it is needed.
        let source = options.credentials().map(|source| Arc::as_ptr(source).cast::<()>().addr());
        source.hash(&mut hasher);
        u128::from(hasher.finish())
    };
    MediumId(half(1) << 64 | half(2))
}

/// Whether an environment variable may say how a store is reached, by its name.
fn may_matter(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    ENVIRONMENT.iter().any(|known| name.starts_with(known)) || name.ends_with("_PROXY")
}

/// What names of such variables begin with, those of proxies aside.
const ENVIRONMENT: [&str; 9] = [
    "AWS_",
    "AZURE_",
    "GOOGLE_",
    "GCE_",
    "GCLOUD_",
    "CLOUDSDK_",
    "IDENTITY_",
    "STORAGE_EMULATOR_HOST",
    "HOME",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::media::cloud::{CloudCredentials, CredentialSource};

    #[test]
    fn ids_tell_credentials_and_options_apart() {
        let id = |url: &str, options: &CloudOptions| id_of("s3://a", credentials_of(url), options);
        let none = CloudOptions::new();
        assert_eq!(id("s3://a/b", &none), id("s3://a/c/d", &none));
        assert_ne!(id("s3://a/b?sig=1", &none), id("s3://a/b?sig=2", &none));
        assert_ne!(id("https://u:p@a/b", &none), id("https://a/b", &none));
        let mut options = CloudOptions::new();
        options.set("region", "eu-west-1").unwrap();
        assert_ne!(id("s3://a/b", &options), id("s3://a/b", &none));
        struct Nobody(#[expect(dead_code, reason = "gives each an address of its own")] u8);
        impl CredentialSource for Nobody {
            fn credentials(&self) -> Result<CloudCredentials, Error> {
                Err(Error::new(ErrorKind::PermissionDenied, "nobody"))
            }
        }
        let one = none.clone().with_credentials(Arc::new(Nobody(1)));
        let other = none.clone().with_credentials(Arc::new(Nobody(2)));
        assert_eq!(id("s3://a/b", &one), id("s3://a/b", &one.clone()));
        assert_ne!(id("s3://a/b", &one), id("s3://a/b", &other));
        assert_ne!(id("s3://a/b", &one), id("s3://a/b", &none));
    }

    #[test]
    fn the_environment_counts_where_it_may_matter() {
        for name in [
            "AWS_ENDPOINT_URL",
            "aws_region",
            "GOOGLE_BASE_URL",
            "AZURE_STORAGE_ENDPOINT",
            "HTTPS_PROXY",
            "no_proxy",
            "HOME",
        ] {
            assert!(may_matter(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "LANG", "PWD", "MY_AWS_REGION", "RUST_BACKTRACE"] {
            assert!(!may_matter(OsStr::new(name)), "{name}");
        }
    }
}
