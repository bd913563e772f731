//! Stores by URL.

use crate::store::StoreRecipe;
use crate::{Error, ErrorKind, Store};
use std::borrow::Cow;
use swath_ioengine::{CloudLocation, CloudMedium, CloudOptions, MemoryMedium};

impl Store {
    /// Whatever a URL names: `s3://`, `gs://`, `az://`, `abfs[s]://`, `http[s]://`, `memory://`, `file://`, or the path of a
    /// local directory. Options are the cloud's; nothing is connected before the first read.
    ///
    /// `memory://NAME/PATH` is the process's own medium of that name, empty when it is first asked for. In a `file://` URL
    /// percent signs stand for bytes where two hexadecimal digits follow them, and `?` and `#` for themselves.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a scheme or an option that is not known, and for files of another host; as [`Store::directory`]
    /// for local directories.
    pub fn open(url: &str, options: &CloudOptions) -> Result<Store, Error> {
        let Some((scheme, rest)) = url.split_once("://") else { return Store::directory(url) };
        match scheme.to_ascii_lowercase().as_str() {
            "file" => Store::directory(&*file_path(rest).map_err(|error| error.with_object(url))?),
            "memory" => memory(rest),
            _ => cloud(url, options),
        }
    }
}

fn cloud(url: &str, options: &CloudOptions) -> Result<Store, Error> {
    let CloudLocation { medium, prefix, name } = CloudMedium::open(url, options)?;
    let (open, withheld) = options.without_secrets();
    let options = open.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let recipe = StoreRecipe { url: name.clone(), options, withheld };
    Ok(Store::new(medium, &prefix, &name).with_recipe(recipe))
}

fn memory(rest: &str) -> Result<Store, Error> {
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let medium = MemoryMedium::named(name)?.medium();
    let url = format!("memory://{rest}");
    let recipe = StoreRecipe { url: url.clone(), ..StoreRecipe::default() };
    Ok(Store::new(medium, path, &url).with_recipe(recipe))
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

/// The text with what is percent-encoded in it decoded.
///
/// Source: RFC 3986, section 2.1.
fn decoded(text: &str) -> Result<Cow<'_, str>, Error> {
    if !text.contains('%') {
        return Ok(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let found = match (first, after) {
            (b'%', [high, low, after @ ..]) => byte_of(*high, *low).map(|byte| (byte, after)),
            _ => None,
        };
        let (byte, after) = found.unwrap_or((*first, after));
        bytes.push(byte);
        rest = after;
    }
    let path = String::from_utf8(bytes).map_err(|_| Error::invalid("wanted a path in UTF-8"))?;
    Ok(Cow::Owned(path))
}

fn byte_of(high: u8, low: u8) -> Option<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(rest: &str) -> Result<String, ErrorKind> {
        file_path(rest).map(Cow::into_owned).map_err(|error| error.kind())
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
