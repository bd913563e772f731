//! Stores by URL.

use crate::catalog::icechunk::IcechunkOptions;
use crate::catalog::references::ReferenceTargets;
use crate::percent::decoded;
use crate::store::StoreRecipe;
use crate::store_path::{
    is_parquet_name, is_reference_name, is_zip_name, local_object, read_references, zip_url,
};
use crate::{Error, ErrorKind, Store};
use std::borrow::Cow;
use std::path::Path;
use swath_ioengine::{CloudLocation, CloudMedium, CloudOptions, Medium, MemoryMedium, ObjectRef};

impl Store {
    /// Whatever a URL names: `s3://`, `gs://`, `az://`, `abfs[s]://`, `http[s]://`, `memory://`, `file://`, or a path of the
    /// local file system. Options are the cloud's; nothing is connected before the first read.
    ///
    /// What ends in `.zip` is a zip archive, as fsspec's `zip://DIRECTORY::URL` is, whose root is then that directory of the
    /// archive, and `zip::URL`: see [`Store::zip`]. A local directory may have any name, and so may a remote one whose URL ends
    /// in `/`. What ends in `.json`, `.parq` or `.parquet`, or begins with `reference::`, are references, which are
    /// read at once: see [`Store::open_references`].
    ///
    /// What begins with `icechunk::`, or with `icechunk://`, what is said of it and `::`, is an Icechunk repository, of which a snapshot
    /// is read: `icechunk://tag=v1&virtual=s3://source/::s3://bucket/repository`. See [`IcechunkOptions`] and [`Store::icechunk`].
    ///
    /// `memory://NAME/PATH` is the process's own medium of that name, empty when it is first asked for. In a `file://` URL
    /// percent signs stand for bytes where two hexadecimal digits follow them, and `?` and `#` for themselves.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a scheme or an option that is not known, and for files of another host; as [`Store::path`] for
    /// local files and directories.
    pub fn open(url: &str, options: &CloudOptions) -> Result<Store, Error> {
        if references_of(url).is_some() {
            return Store::open_references(url, options, ReferenceTargets::new());
        }
        if let Some((told, repository)) = icechunk_of(url) {
            return open_icechunk(told, repository, options);
        }
        if let Some((root, archive)) = zip_of(url) {
            return match object(archive, options)? {
                Place::Local(path) => Store::zip_file(&*path, root),
                Place::Elsewhere(archive) => Ok(archive.zip(root, true)),
            };
        }
        match object(url, options)? {
            Place::Local(path) => Store::path(&*path),
            Place::Elsewhere(place) if place.is_named(url, is_zip_name) => Ok(place.zip(None, false)),
            Place::Elsewhere(place) if place.is_named(url, is_reference_name) => {
                place.references(options, ReferenceTargets::new(), false)
            }
            Place::Elsewhere(place) if place.is_named(url, is_parquet_name) => {
                place.parquet_references(options, ReferenceTargets::new(), false)
            }
            Place::Elsewhere(place) => {
                Ok(Store::new(place.medium, &place.key, &place.name).with_recipe(place.recipe))
            }
        }
    }
}

impl Store {
    /// References by the URL or path of their document, whatever its name, with `reference::` in front or not: see
    /// [`Store::references`]. Where it ends in `.parq`, `.parquet` or `/`, or is a local directory, they are in Parquet: see
    /// [`Store::parquet_references`]. Options are those of the document; unless `targets` has others, they are those of remote
    /// targets too, but for what [`ReferenceTargets`] says of secrets. Of a local document all of them are for its targets.
    ///
    /// # Errors
    ///
    /// As [`Store::open`] and [`Store::references`].
    pub fn open_references(
        url: &str,
        options: &CloudOptions,
        targets: ReferenceTargets,
    ) -> Result<Store, Error> {
        let told = references_of(url);
        match object(told.unwrap_or(url), options)? {
            Place::Local(path) => Store::reference_file(&*path, targets.or_options(options)),
            Place::Elsewhere(place) if place.is_folder_of_references(url) => {
                place.parquet_references(options, targets, told.is_some())
            }
            Place::Elsewhere(place) => {
                let is_told = told.is_some() || !place.is_named(url, is_reference_name);
                place.references(options, targets, is_told)
            }
        }
    }
}

/// The URL of what the object at a URL lies in: where nothing stands behind the host, bucket or container, that itself.
fn folder_of(name: &str) -> &str {
    match name.rsplit_once('/') {
        Some((folder, _)) if folder.contains("://") => folder,
        _ => name,
    }
}

/// The directory within an archive, where one is named, and the archive's URL, of a URL that says that it is a zip archive.
fn zip_of(url: &str) -> Option<(Option<&str>, &str)> {
    let (zip, archive) = url.split_once("::")?;
    match zip.split_once("://") {
        None if zip.eq_ignore_ascii_case("zip") => Some((None, archive)),
        Some((scheme, root)) if scheme.eq_ignore_ascii_case("zip") => Some((Some(root), archive)),
        _ => None,
    }
}

/// The options of an Icechunk repository and its URL, of a URL that says that it is one.
fn icechunk_of(url: &str) -> Option<(&str, &str)> {
    let (told, repository) = url.split_once("::")?;
    let (scheme, options) = told.split_once("://").unwrap_or((told, ""));
    scheme.eq_ignore_ascii_case("icechunk").then_some((options, repository))
}

/// The repository at a URL. Of its options, what is secret goes to no other host, bucket or container.
fn open_icechunk(told: &str, repository: &str, options: &CloudOptions) -> Result<Store, Error> {
    let told = IcechunkOptions::parse(told)?;
    match object(repository, options)? {
        Place::Local(path) => {
            let targets = ReferenceTargets::new().with_options(options.clone());
            Store::icechunk(Store::directory(&*path)?, &told, targets)
        }
        Place::Elsewhere(Object { medium, key, name, recipe }) => {
            let targets = ReferenceTargets::new().at(&name, options);
            let root = Store::new(medium, &key, name.trim_end_matches('/')).with_recipe(recipe);
            Store::icechunk(root, &told, targets)
        }
    }
}

/// The URL of references, of a URL that says that it is one.
fn references_of(url: &str) -> Option<&str> {
    let (scheme, references) = url.split_once("::")?;
    scheme.trim_end_matches("://").eq_ignore_ascii_case("reference").then_some(references)
}

/// The one object that a URL names.
pub(crate) fn remote_object(url: &str, options: &CloudOptions) -> Result<ObjectRef, Error> {
    match object(url, options)? {
        Place::Local(path) => local_object(path.as_ref().as_ref()),
        Place::Elsewhere(Object { medium, key, .. }) => Ok(ObjectRef { medium, key: key.into() }),
    }
}

/// What a URL names.
enum Place<'a> {
    Local(Cow<'a, str>),
    Elsewhere(Object),
}

/// A key of a medium.
struct Object {
    medium: Medium,
    key: String,
    name: String,
    recipe: StoreRecipe,
}

fn object<'a>(url: &'a str, options: &CloudOptions) -> Result<Place<'a>, Error> {
    let Some((scheme, rest)) = url.split_once("://") else { return Ok(Place::Local(Cow::Borrowed(url))) };
    match scheme.to_ascii_lowercase().as_str() {
        "file" => file_path(rest).map(Place::Local).map_err(|error| error.with_object(url)),
        "memory" => memory(rest).map(Place::Elsewhere),
        _ => cloud(url, options).map(Place::Elsewhere),
    }
}

fn cloud(url: &str, options: &CloudOptions) -> Result<Object, Error> {
    let CloudLocation { medium, prefix, name } = CloudMedium::open(url, options)?;
    let (open, withheld) = options.without_secrets();
    let options = open.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let recipe = StoreRecipe { url: name.clone(), options, withheld };
    Ok(Object { medium, key: prefix, name, recipe })
}

fn memory(rest: &str) -> Result<Object, Error> {
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let medium = MemoryMedium::named(name)?.medium();
    let url = format!("memory://{rest}");
    let recipe = StoreRecipe { url: url.clone(), ..StoreRecipe::default() };
    Ok(Object { medium, key: path.trim_matches('/').to_owned(), name: url, recipe })
}

impl Object {
    /// Whether the URL that it was opened by has such a suffix.
    fn is_named(&self, url: &str, has_suffix: impl Fn(&Path) -> bool) -> bool {
        let is_directory = url.split(['?', '#']).next().is_some_and(|url| url.ends_with('/'));
        !is_directory && has_suffix(self.key.as_ref())
    }

    /// Whether the URL that it was opened by names references in Parquet, where it names some.
    fn is_folder_of_references(&self, url: &str) -> bool {
        self.is_named(url, is_parquet_name)
            || url.split(['?', '#']).next().is_some_and(|url| url.ends_with('/'))
    }

    fn parquet_references(
        self,
        options: &CloudOptions,
        targets: ReferenceTargets,
        is_told: bool,
    ) -> Result<Store, Error> {
        let Object { medium, key, name, mut recipe } = self;
        let name = name.trim_end_matches('/');
        let is_plain = targets.is_plain();
        let targets = targets.beside(Some(folder_of(name))).at(name, options);
        if is_told {
            recipe.url = format!("reference::{}", recipe.url);
        }
        let store = Store::parquet_references(Store::new(medium, &key, name), targets)?;
        Ok(if is_plain { store.with_recipe(recipe) } else { store })
    }

    fn references(
        self,
        options: &CloudOptions,
        targets: ReferenceTargets,
        is_told: bool,
    ) -> Result<Store, Error> {
        let Object { medium, key, name, mut recipe } = self;
        let document = read_references(&ObjectRef { medium, key: key.into() });
        let document = document.map_err(|error| error.about(&name))?;
        let is_plain = targets.is_plain();
        let targets = targets.beside(Some(folder_of(&name))).at(&name, options);
        if is_told {
            recipe.url = format!("reference::{name}");
        }
        let store = Store::references(&document, targets, &name)?;
        Ok(if is_plain { store.with_recipe(recipe) } else { store })
    }

    fn zip(self, root: Option<&str>, is_told: bool) -> Store {
        let Object { medium, key, name, mut recipe } = self;
        if is_told {
            recipe.url = root.map_or_else(|| format!("zip::{name}"), |root| zip_url(&name, root));
        }
        Store::zip(ObjectRef { medium, key: key.into() }, root, &name).with_recipe(recipe)
    }
}

/// The path in what follows `file://`.
fn file_path(rest: &str) -> Result<Cow<'_, str>, Error> {
    let path = match rest.strip_prefix("localhost") {
        Some(path) if path.starts_with('/') => path,
        _ => rest,
    };
    if !path.starts_with('/') {
        let message = "wanted `file:///` and an absolute path, found a host";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    decoded(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(rest: &str) -> Result<String, ErrorKind> {
        file_path(rest).map(Cow::into_owned).map_err(|error| error.kind())
    }

    #[test]
    fn folders_of_urls_are_urls() {
        for (name, folder) in [
            ("s3://a/b/c.json", "s3://a/b"),
            ("s3://a/b", "s3://a"),
            ("http://host/", "http://host"),
            ("http://host", "http://host"),
            ("memory://", "memory://"),
        ] {
            assert_eq!(folder_of(name), folder, "{name}");
        }
    }

    #[test]
    fn file_urls_give_paths() {
        assert_eq!(path("/a/b.zarr"), Ok("/a/b.zarr".to_owned()));
        assert_eq!(path("localhost/a%20b%2f%C3%B6"), Ok("/a b/ö".to_owned()));
        assert_eq!(path("/100%/%g0/%4"), Ok("/100%/%g0/%4".to_owned()));
        assert_eq!(path("/%ff"), Err(ErrorKind::Invalid));
        assert_eq!(path("server/share"), Err(ErrorKind::Unsupported));
        assert_eq!(path("localhost"), Err(ErrorKind::Unsupported));
    }

    #[test]
    fn archives_are_told_by_suffix_or_by_scheme() {
        assert_eq!(zip_of("zip://a/b::s3://c/d"), Some((Some("a/b"), "s3://c/d")));
        assert_eq!(zip_of("ZIP::/data/x"), Some((None, "/data/x")));
        assert_eq!(zip_of("zip://::x.zip"), Some((Some(""), "x.zip")));
        assert_eq!(zip_of("simplecache::s3://c/d"), None);
        assert_eq!(zip_of("/a/zip"), None);
        let is_archive = |url: &str| Store::open(url, &CloudOptions::new()).unwrap().catalog().is_some();
        assert!(is_archive("memory://store_url_zip/a.ZIP"));
        assert!(is_archive("zip::memory://store_url_zip/a"));
        assert!(!is_archive("memory://store_url_zip/a.zip/"));
        let store = Store::open("zip://x::memory://store_url_zip/a.zip", &CloudOptions::new()).unwrap();
        assert_eq!(store.recipe().unwrap().url, "zip://x::memory://store_url_zip/a.zip");
        assert_eq!(store.name(), "memory://store_url_zip/a.zip");
    }

    #[test]
    fn memory_is_found_again_by_its_name() {
        let open = |url: &str| Store::open(url, &CloudOptions::new()).unwrap();
        let first = open("memory://store_url/a");
        let object = first.object("zarr.json");
        object.medium.put(&object.key, (&b"{}"[..]).into(), &swath_ioengine::PutCondition::Always).unwrap();
        assert_eq!(open("memory://store_url").list("a").unwrap().len(), 1);
        assert_eq!(open("MEMORY://store_url/a/").list("").unwrap().len(), 1);
        assert!(open("memory://store_url_2/a").list("").unwrap().is_empty());
        assert_eq!(first.name(), "memory://store_url/a");
        assert_eq!(first.recipe().unwrap().url, "memory://store_url/a");
        assert!(first.remote_stats().is_none());
    }

    #[test]
    fn local_directories_are_opened_by_url_and_by_path() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("a b")).unwrap();
        let root = directory.path().to_str().unwrap();
        for url in
            [format!("{root}/a b"), format!("file://{root}/a%20b"), format!("FILE://localhost{root}/a b")]
        {
            assert!(Store::open(&url, &CloudOptions::new()).is_ok(), "{url}");
        }
        let missing = Store::open(&format!("file://{root}/none"), &CloudOptions::new()).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }
}
