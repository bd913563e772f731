//! Containers of virtual chunks: beginnings of URLs below which a repository may name objects, and a reader may follow.
//!
//! A location counts where the longest container whose beginning it has is one that the reader authorised. Icechunk has it so.

use crate::Error;
use crate::percent::decoded;
use std::borrow::Cow;
use std::cmp::Reverse;

/// A container that a repository's configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Container {
    /// Ends in `/`.
    prefix: String,
    name: Option<String>,
}

/// The containers of a repository, and which of them may be read from.
#[derive(Clone, Debug, Default)]
pub(super) struct Containers {
    /// The longest ones first; `None` where the configuration is not understood.
    known: Option<Vec<Container>>,
    /// Each ends in `/`.
    authorized: Vec<String>,
}

impl Container {
    pub(super) fn new(prefix: &str, name: Option<String>) -> Container {
        Container { prefix: with_slash(prefix), name }
    }
}

fn with_slash(prefix: &str) -> String {
    match prefix.ends_with('/') {
        true => prefix.to_owned(),
        false => format!("{prefix}/"),
    }
}

impl Containers {
    /// Containers, `None` where which there are is not understood, and beginnings of URLs that the reader authorised.
    pub(super) fn new(mut known: Option<Vec<Container>>, authorized: &[String]) -> Containers {
        if let Some(known) = &mut known {
            known.sort_by_key(|container| Reverse(container.prefix.len()));
        }
        Containers { known, authorized: authorized.iter().map(|prefix| with_slash(prefix)).collect() }
    }

    /// The URL of a location, as it is opened; of files percent signs are decoded.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a location that is in no container, or in one that is not authorised, or whose path is not plain: it may
    /// lead out of its container; and for all locations where the configuration is not understood.
    pub(super) fn resolve(&self, location: &str) -> Result<String, Error> {
        let known = self.known.as_ref().ok_or_else(|| {
            Error::unsupported(
                "virtual chunks of a repository whose configuration says in a way that is not understood which containers \
                 they are in",
            )
        })?;
        let url = expanded(known, location)?;
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| Error::invalid("wanted a virtual chunk with the URL of an object, found none"))?;
        let path = decoded(rest)?;
        // Parsers of URLs leave control characters out, and spaces at the ends.
        let is_odd = |part: &str| matches!(part.trim(), "." | "..");
        let is_folder = path.ends_with('/');
        if is_folder
            || path.split(['/', '\\']).any(is_odd)
            || rest.contains(['?', '#'])
            || path.contains(char::is_control)
            || rest.contains(char::is_control)
            || path.trim() != path
        {
            return Err(Error::unsupported("virtual chunks in objects whose URL is not plain"));
        }
        let plain = format!("{scheme}://{path}");
        // By what is opened, and by what is written: an escaped slash is none in the key of a cloud.
        let matches = |prefix: &str| plain.starts_with(&*plain_prefix(prefix)) && url.starts_with(prefix);
        let container = known.iter().find(|container| matches(&container.prefix));
        let container = container.ok_or_else(|| {
            Error::unsupported(format!(
                "a virtual chunk at {url:?}, which is in no container that the repository's configuration names"
            ))
        })?;
        if !self.authorized.contains(&container.prefix) {
            return Err(Error::unsupported(format!(
                "virtual chunks in {:?}, unless their container is authorised by name",
                container.prefix
            )));
        }
        Ok(match scheme.to_ascii_lowercase().as_str() {
            "file" => plain,
            "gcs" => format!("gs://{rest}"),
            "azure" => format!("az://{rest}"),
            _ => url.into_owned(),
        })
    }
}

/// The URL of a location that names its container.
fn expanded<'a>(known: &[Container], location: &'a str) -> Result<Cow<'a, str>, Error> {
    let Some(rest) = location.strip_prefix("vcc://") else { return Ok(Cow::Borrowed(location)) };
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let container = known.iter().find(|container| container.name.as_deref() == Some(name));
    let container = container.ok_or_else(|| {
        Error::unsupported(format!(
            "a virtual chunk in the container {name:?}, which the repository's configuration does not name"
        ))
    })?;
    Ok(Cow::Owned(format!("{}{path}", container.prefix)))
}

/// A beginning of URLs with its percent signs decoded.
fn plain_prefix(prefix: &str) -> Cow<'_, str> {
    decoded(prefix).unwrap_or(Cow::Borrowed(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn containers(known: &[(&str, Option<&str>)], authorized: &[&str]) -> Containers {
        let known = known.iter().map(|(prefix, name)| Container::new(prefix, name.map(str::to_owned)));
        let authorized: Vec<String> = authorized.iter().map(|&prefix| prefix.to_owned()).collect();
        Containers::new(Some(known.collect()), &authorized)
    }

    #[test]
    fn locations_are_resolved_in_containers_that_are_authorised() {
        let found = containers(
            &[("s3://a/b", Some("ab")), ("file:///data", None), ("gcs://g/", None)],
            &["s3://a/b/", "file:///data", "gcs://g/"],
        );
        for (location, url) in [
            ("s3://a/b/c", "s3://a/b/c"),
            ("s3://a/b/c%20d", "s3://a/b/c%20d"),
            ("vcc://ab/c/d", "s3://a/b/c/d"),
            ("file:///data/x%20y.nc", "file:///data/x y.nc"),
            ("gcs://g/h", "gs://g/h"),
        ] {
            assert_eq!(found.resolve(location).unwrap(), url);
        }
    }

    #[test]
    fn nothing_else_is_followed() {
        let found = containers(
            &[
                ("s3://a/b/", Some("ab")),
                ("s3://a/b/secret/", None),
                ("file:///data/", None),
                ("https://web/a/", None),
            ],
            &["s3://a/b/", "file:///data/", "https://web/a/", "https://not-configured/"],
        );
        for wrong in [
            "s3://a/bc",
            "s3://a/b/secret/x",
            "s3://a/b/../c",
            "s3://a/b/%2e%2e/c",
            "s3://a/b/./c",
            "s3://a/b/c?versionId=1",
            "s3://a/b/c#d",
            "s3://other/b/c",
            "file:///data/../etc/passwd",
            "file:///data/%2e%2e/etc/passwd",
            "file:///data/a%2f..%2f..%2fetc/passwd",
            "file:///data/a%00",
            "https://web/a/.\t./secret",
            "https://web/a/.%2e\t/secret",
            "https://web/a/\n../secret",
            "https://web/a/.. ",
            "https://web/a/ ../secret",
            "https://web/a/%09../secret",
            "file:///etc/passwd",
            "file:/etc/passwd",
            "/data/x",
            "vcc://other/x",
            "vcc://ab/../x",
            "vcc://ab",
            "https://not-configured/x",
            "FILE:///etc/x",
            "",
        ] {
            let resolved = found.resolve(wrong);
            assert!(resolved.is_err(), "{wrong}: {resolved:?}");
        }
    }
}
