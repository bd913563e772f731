//! The files that references point to.

use crate::store_path::local_object;
use crate::{Error, ErrorKind};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
#[cfg(feature = "cache")]
use swath_ioengine::CacheTier;
#[cfg(feature = "cloud")]
use swath_ioengine::CloudOptions;
use swath_ioengine::{Medium, MediumId, ObjectRef};

/// What the paths of references are relative to, and how their targets are reached.
///
/// Of references at a URL, what the document's own options hold that is secret goes to no other host, bucket or container: where
/// no options are given for targets, those elsewhere are asked for without secrets.
#[derive(Clone, Debug, Default)]
pub struct ReferenceTargets {
    folder: Option<String>,
    scheme: Option<String>,
    default: Option<String>,
    /// Whether the references do not lie in the local file system: who wrote them chooses no local file.
    is_far: bool,
    #[cfg(feature = "cloud")]
    options: Option<CloudOptions>,
    /// The scheme and authority of the document's URL, and the options that it was reached with.
    #[cfg(feature = "cloud")]
    home: Option<(String, CloudOptions)>,
}

impl ReferenceTargets {
    /// Targets that nothing is known of but what the references say.
    #[must_use]
    pub fn new() -> ReferenceTargets {
        ReferenceTargets::default()
    }

    /// The folder, or URL of one, that relative paths start from; where none is named, it is the one that the references lie in.
    /// Local paths that are not there start from the working directory, and so do all where there is no folder. What stands behind
    /// `file://` is a local path as it is.
    ///
    /// A local folder lets references at a URL read no local file: that takes [`ReferenceTargets::with_scheme`] with `file`.
    #[must_use]
    pub fn with_folder(self, folder: &str) -> ReferenceTargets {
        ReferenceTargets { folder: Some(folder.to_owned()), ..self }
    }

    /// The scheme of targets that are named without one: fsspec's `remote_protocol`.
    #[must_use]
    pub fn with_scheme(self, scheme: &str) -> ReferenceTargets {
        ReferenceTargets { scheme: Some(scheme.to_ascii_lowercase()), ..self }
    }

    /// The target of references that name none: fsspec's `target`.
    #[must_use]
    pub fn with_default(self, url: &str) -> ReferenceTargets {
        ReferenceTargets { default: Some(url.to_owned()), ..self }
    }

    /// The options of remote targets, secrets included, wherever they are: fsspec's `remote_options`.
    #[cfg(feature = "cloud")]
    #[must_use]
    pub fn with_options(self, options: CloudOptions) -> ReferenceTargets {
        ReferenceTargets { options: Some(options), ..self }
    }

    /// Whether nothing is said of targets, so that references are opened again by their URL alone. Said before anything is
    /// noted of where they are.
    pub(crate) fn is_plain(&self) -> bool {
        #[cfg(feature = "cloud")]
        if self
            .options
            .as_ref()
            .is_some_and(|options| options.credentials().is_some() || options.iter().next().is_some())
        {
            return false;
        }
        self.folder.is_none() && self.scheme.is_none() && self.default.is_none()
    }

    /// Notes options of targets, where none were given.
    #[cfg(feature = "cloud")]
    pub(crate) fn or_options(self, options: &CloudOptions) -> ReferenceTargets {
        ReferenceTargets { options: self.options.or_else(|| Some(options.clone())), ..self }
    }

    /// Notes where the references are, in place of what was not said.
    pub(crate) fn beside(self, folder: Option<&str>) -> ReferenceTargets {
        ReferenceTargets { folder: self.folder.or_else(|| folder.map(str::to_owned)), ..self }
    }

    /// Notes the URL of the references, and the options that they were reached with.
    #[cfg(feature = "cloud")]
    pub(crate) fn at(self, url: &str, options: &CloudOptions) -> ReferenceTargets {
        ReferenceTargets { home: Some((authority(url).to_owned(), options.clone())), ..self.taken_for_far() }
    }

    /// Notes that the references do not lie in the local file system.
    pub(crate) fn taken_for_far(self) -> ReferenceTargets {
        ReferenceTargets { is_far: true, ..self }
    }
}

/// Scheme, host and port, bucket or container.
#[cfg(feature = "cloud")]
fn authority(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |at| start + at);
    &url[..end]
}

/// Targets by number, each opened when it is first asked for.
pub(crate) struct Targets {
    targets: Vec<Target>,
    base: ReferenceTargets,
    /// The media of targets that were opened, by id: those of one bucket share one.
    media: Mutex<HashMap<MediumId, Medium>>,
    #[cfg(feature = "cache")]
    cache: Option<CacheTier>,
}

struct Target {
    url: String,
    object: OnceLock<ObjectRef>,
}

impl Targets {
    /// The targets of these URLs.
    pub(crate) fn new(urls: Vec<String>, base: ReferenceTargets) -> Targets {
        let target = |url: String| Target { url, object: OnceLock::new() };
        Targets {
            targets: urls.into_iter().map(target).collect(),
            base,
            media: Mutex::default(),
            #[cfg(feature = "cache")]
            cache: None,
        }
    }

    /// The same targets, kept in a cache as they are read where they are remote.
    #[cfg(feature = "cache")]
    pub(in crate::catalog) fn with_cache(&self, cache: &CacheTier) -> Targets {
        let urls = self.targets.iter().map(|target| target.url.clone()).collect();
        Targets { cache: Some(cache.clone()), ..Targets::new(urls, self.base.clone()) }
    }

    /// The object of a target.
    ///
    /// # Errors
    ///
    /// `Io` where there is no such local file; `Unsupported` for a scheme or an option that is not known.
    pub(super) fn object(&self, number: u32) -> Result<ObjectRef, Error> {
        let target = usize::try_from(number).ok().and_then(|number| self.targets.get(number));
        let target = target.ok_or_else(|| Error::new(ErrorKind::Internal, "a target that is not there"))?;
        if let Some(object) = target.object.get() {
            return Ok(object.clone());
        }
        let object = self.open(&target.url)?;
        Ok(target.object.get_or_init(|| object).clone())
    }

    /// The object of any URL, whether it is one of these targets or not.
    ///
    /// # Errors
    ///
    /// As [`Targets::object`].
    pub(crate) fn open(&self, url: &str) -> Result<ObjectRef, Error> {
        Ok(self.cached(self.shared(self.base.open(url)?)))
    }

    /// The same object, of the medium of its id that others use already.
    fn shared(&self, object: ObjectRef) -> ObjectRef {
        let mut media = self.media.lock().unwrap_or_else(PoisonError::into_inner);
        let medium = media.entry(object.medium.id()).or_insert(object.medium);
        ObjectRef { medium: medium.clone(), key: object.key }
    }

    #[cfg(feature = "cache")]
    fn cached(&self, object: ObjectRef) -> ObjectRef {
        match (&self.cache, &object.medium) {
            (Some(cache), Medium::Remote(_)) => {
                ObjectRef { medium: cache.wrap_named(&object.medium), key: object.key }
            }
            _ => object,
        }
    }

    #[cfg(not(feature = "cache"))]
    fn cached(&self, object: ObjectRef) -> ObjectRef {
        object
    }
}

impl ReferenceTargets {
    fn open(&self, url: &str) -> Result<ObjectRef, Error> {
        let url = match (url, &self.default) {
            ("", Some(default)) => default,
            ("", None) => return Err(Error::invalid("a reference without a URL")),
            _ => url,
        };
        if url.contains("::") {
            return Err(Error::unsupported("references into archives, or through chained URLs"));
        }
        let (scheme, path) = match url.split_once("://") {
            Some((scheme, path)) => (Some(scheme.to_ascii_lowercase()), path),
            None => (self.scheme.clone(), url.strip_prefix("file:").unwrap_or(url)),
        };
        let folder = Folder::of(self.folder.as_deref());
        let is_far = self.is_far || matches!(folder, Folder::Url(_));
        match scheme.as_deref() {
            Some("file" | "local") if is_far && self.scheme != scheme => Err(far()),
            Some("file" | "local") => folder.file(path),
            Some(_) if url.contains("://") => self.remote(url),
            Some(scheme) => self.remote(&format!("{scheme}://{}", path.trim_start_matches('/'))),
            None => match folder {
                Folder::Url(folder) if !Path::new(path).is_absolute() => {
                    self.remote(&url_below(folder, path))
                }
                _ if is_far => Err(far()),
                _ => folder.file(path),
            },
        }
    }

    #[cfg(feature = "cloud")]
    fn remote(&self, url: &str) -> Result<ObjectRef, Error> {
        crate::store_url::remote_object(url, &self.options_of(url))
    }

    /// The options of a remote target.
    #[cfg(feature = "cloud")]
    fn options_of(&self, url: &str) -> CloudOptions {
        match (&self.options, &self.home) {
            (Some(options), _) => options.clone(),
            (None, Some((home, options))) if home.eq_ignore_ascii_case(authority(url)) => options.clone(),
            (None, Some((_, options))) => options.without_secrets().0,
            (None, None) => CloudOptions::new(),
        }
    }

    #[cfg(not(feature = "cloud"))]
    fn remote(&self, url: &str) -> Result<ObjectRef, Error> {
        let scheme = url.split("://").next().unwrap_or_default();
        Err(Error::unsupported(format!("references to {scheme}:// without the feature `cloud`")))
    }
}

/// Who publishes references shall not choose which local files are read.
fn far() -> Error {
    Error::unsupported(
        "references at a URL that point to local files, unless the scheme of their targets is given as `file`",
    )
}

/// What relative paths start from.
#[derive(Clone, Copy)]
enum Folder<'a> {
    /// The working directory.
    None,
    Local(&'a str),
    Url(&'a str),
}

impl<'a> Folder<'a> {
    fn of(folder: Option<&'a str>) -> Folder<'a> {
        let Some(folder) = folder else { return Folder::None };
        match folder.split_once("://") {
            None => Folder::Local(folder),
            Some((scheme, path)) if scheme.eq_ignore_ascii_case("file") => Folder::Local(path),
            Some(_) => Folder::Url(folder),
        }
    }

    /// The local file at a path.
    fn file(self, path: &str) -> Result<ObjectRef, Error> {
        missing_is_an_error(local_object(&local_path(self, path)))
    }
}

/// The URL of a path below a URL, which stays a URL whatever it is.
fn url_below(folder: &str, path: &str) -> String {
    let trimmed = folder.trim_end_matches('/');
    match trimmed.contains("://") {
        true => format!("{trimmed}/{path}"),
        false => format!("{folder}{path}"),
    }
}

/// Where a path of local references leads: below their folder, or else below the working directory, as fsspec has it.
fn local_path(folder: Folder<'_>, path: &str) -> PathBuf {
    let Folder::Local(folder) = folder else { return PathBuf::from(path) };
    let beside = Path::new(folder).join(path);
    match beside.is_file() || !Path::new(path).is_file() {
        true => beside,
        false => PathBuf::from(path),
    }
}

/// A key whose target is not there is not one that is not stored.
fn missing_is_an_error(found: Result<ObjectRef, Error>) -> Result<ObjectRef, Error> {
    found.map_err(|error| {
        let object = error.object().unwrap_or_default().to_owned();
        crate::catalog::absent(error).about(&object)
    })
}

impl fmt::Debug for Targets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Targets({})", self.targets.len())
    }
}

#[cfg(test)]
#[cfg(feature = "cloud")]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_at_home() {
        let mut options = CloudOptions::new();
        options.set("headers.authorization", "S3CRET").unwrap();
        options.set("region", "x").unwrap();
        let targets = ReferenceTargets::new().at("https://a.org:81/refs/a.json", &options);
        let secret = |targets: &ReferenceTargets, url: &str| {
            let found = targets.options_of(url);
            assert_eq!(found.get("region"), Some("x"));
            found.get("headers.authorization").is_some()
        };
        assert!(secret(&targets, "https://a.org:81/data/b"));
        assert!(secret(&targets, "HTTPS://A.org:81?x"));
        let elsewhere = [
            "https://a.org/b",
            "http://a.org:81/b",
            "https://a.org:81@evil.org/b",
            "https://a.org.evil/",
            "s3://a",
        ];
        for url in elsewhere {
            assert!(!secret(&targets, url), "{url}");
        }
        assert!(secret(&targets.with_options(options), "https://b.org"));
    }
}
