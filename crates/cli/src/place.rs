//! Where an argument points: a directory, or a URL and its options.

use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use swath::ioengine::cache_bytes;
use swath::{CacheConfig, CacheTier, CloudOptions, Error, Group, Node, Objects, ReferenceTargets, Store};

/// The arguments of every command that are about URLs.
#[derive(clap::Args)]
pub(crate) struct UrlArguments {
    /// An option of a URL's storage, such as region=eu-central-1, by the names of obstore, s3fs, gcsfs or adlfs; may be
    /// given again. Other users of the machine see arguments: leave secrets to the environment.
    #[arg(short = 'O', long = "option", value_name = "NAME=VALUE")]
    options: Vec<String>,
    /// Sign no requests: for public buckets.
    #[arg(long)]
    anon: bool,
    /// Keep what is read from a URL in a cache of this size, such as 2GB or 512MiB: in memory, or with --cache-dir in files.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    cache: Option<u64>,
    /// Keep what is read from a URL in files of this folder, 64 GiB unless --cache is given; later commands read from there.
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
}

fn parse_size(text: &str) -> Result<u64, String> {
    cache_bytes(text).map_err(|error| error.message().to_owned())
}

/// A directory, or a URL and its options.
pub(crate) enum Place {
    /// A path of the local file system.
    Directory(PathBuf),
    /// Anything with `://`, or with `reference::` in front, and the cache of its bytes.
    Url(String, CloudOptions, Option<CacheConfig>),
}

/// Stands before the path or URL of references of any name.
const REFERENCES: &str = "reference::";

fn is_references(path: &Path) -> bool {
    let is = |known: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(known));
    is("json") && path.is_file() || (is("parq") || is("parquet")) && path.join(".zmetadata").is_file()
}

impl Place {
    /// What a path or a URL on the command line names.
    ///
    /// # Errors
    ///
    /// Options that are not known, and options of a path. No message has a value, which may be a secret.
    pub(crate) fn new(path: &Path, arguments: &UrlArguments) -> anyhow::Result<Place> {
        let options = arguments.options()?;
        let is_url = |text: &&str| text.contains("://") || text.starts_with(REFERENCES);
        let url = path.to_str().filter(is_url);
        // Options are those of what references lead to.
        let references = path.to_str().filter(|_| options.iter().next().is_some() && is_references(path));
        if let (None, Some(references)) = (url, references) {
            return Ok(Place::Url(format!("{REFERENCES}{references}"), options, arguments.cache()));
        }
        match url {
            Some(url) => Ok(Place::Url(url.to_owned(), options, arguments.cache())),
            None if options.iter().next().is_some() => {
                bail!("{}: options of storage are for URLs, and this is a local path", path.display())
            }
            None => Ok(Place::Directory(path.to_owned())),
        }
    }

    /// As [`Place::new`], for commands of two places: options are for those that are URLs, and of no concern to a path.
    ///
    /// # Errors
    ///
    /// As [`Place::new`].
    pub(crate) fn either(path: &Path, arguments: &UrlArguments) -> anyhow::Result<Place> {
        match path.to_str().filter(|text| text.contains("://")) {
            Some(_) => Place::new(path, arguments),
            None => Ok(Place::Directory(path.to_owned())),
        }
    }

    /// Opens the store; nothing is connected yet.
    ///
    /// # Errors
    ///
    /// Those of the library.
    pub(crate) fn store(&self) -> Result<Store, Error> {
        match self {
            Place::Directory(path) => Store::path(path),
            Place::Url(url, options, cache) => {
                let store = Store::open(url, options)?;
                match cache {
                    Some(config) => Ok(store.with_cache(&CacheTier::shared(config.clone())?)),
                    None => Ok(store),
                }
            }
        }
    }

    /// Opens the node.
    ///
    /// # Errors
    ///
    /// Those of the library.
    pub(crate) fn node(&self) -> Result<Node, Error> {
        Node::open_in(&self.store()?, "")
    }

    /// What people call the place of a node: the path as it was given, or the URL without credentials.
    pub(crate) fn name_of(&self, node: &Node) -> String {
        match (self, node) {
            (Place::Directory(path), _) => path.display().to_string(),
            (Place::Url(..), Node::Array(array)) => array.name(),
            (Place::Url(..), Node::Group(group)) => group.name(),
        }
    }

    /// What people call a place that an error is about.
    pub(crate) fn name_in(&self, error: &Error) -> String {
        match self {
            Place::Directory(path) => path.display().to_string(),
            Place::Url(..) => error.object().unwrap_or("the URL").to_owned(),
        }
    }

    /// The nearest group above, and the path from there. One that cannot be opened is passed over.
    pub(crate) fn group_above(&self) -> Option<(Group, String)> {
        let parts = match self {
            Place::Directory(path) => return group_above(path),
            Place::Url(url, ..) => UrlParts::of(url),
        };
        let names: Vec<&str> = parts.path.split('/').filter(|name| !name.is_empty()).collect();
        (0..names.len()).rev().find_map(|kept| {
            let above = self.with_url(parts.with_path(&names[..kept]));
            match above.node() {
                Ok(Node::Group(group)) => Some((group, names[kept..].join("/"))),
                _ => None,
            }
        })
    }

    fn with_url(&self, url: String) -> Place {
        match self {
            Place::Directory(path) => Place::Directory(path.clone()),
            Place::Url(_, options, cache) => Place::Url(url, options.clone(), cache.clone()),
        }
    }
}

impl UrlArguments {
    /// The same, with other options of the storage, each NAME=VALUE.
    pub(crate) fn with_options(&self, options: &[String]) -> UrlArguments {
        let UrlArguments { anon, cache, cache_dir, .. } = self;
        UrlArguments { options: options.to_vec(), anon: *anon, cache: *cache, cache_dir: cache_dir.clone() }
    }

    /// Files of any format by their paths and URLs.
    ///
    /// # Errors
    ///
    /// Options that are not known; a cache, which single files have none of.
    pub(crate) fn objects(&self) -> anyhow::Result<Objects> {
        if self.cache().is_some() {
            bail!("--cache and --cache-dir are for archives, and not for single files");
        }
        Ok(Objects::new(self.targets()?))
    }

    /// How what references lead to is reached.
    ///
    /// # Errors
    ///
    /// Options that are not known.
    pub(crate) fn targets(&self) -> anyhow::Result<ReferenceTargets> {
        Ok(ReferenceTargets::new().with_options(self.options()?))
    }

    fn cache(&self) -> Option<CacheConfig> {
        CacheConfig::sized(self.cache, self.cache_dir.clone())
    }

    fn options(&self) -> anyhow::Result<CloudOptions> {
        let mut options = CloudOptions::new();
        for option in &self.options {
            let (name, value) = option.split_once('=').context("wanted --option NAME=VALUE, found no '='")?;
            options.set(name, value).map_err(|error| anyhow::anyhow!("--option: {}", error.message()))?;
        }
        if self.anon {
            options.set("anon", "true").map_err(|error| anyhow::anyhow!("--anon: {}", error.message()))?;
        }
        Ok(options)
    }
}

/// A URL taken apart: `scheme://host`, `/a/b`, and `?query`.
struct UrlParts<'a> {
    root: &'a str,
    path: &'a str,
    query: &'a str,
}

impl<'a> UrlParts<'a> {
    fn of(url: &'a str) -> UrlParts<'a> {
        let (plain, query) = url.find(['?', '#']).map_or((url, ""), |end| url.split_at(end));
        let authority = plain.find("://").map_or(0, |colon| colon + 3);
        let end = plain[authority..].find('/').map_or(plain.len(), |slash| authority + slash);
        let (root, path) = plain.split_at(end);
        UrlParts { root, path, query }
    }

    fn with_path(&self, names: &[&str]) -> String {
        let path: String = names.iter().map(|name| format!("/{name}")).collect();
        let path = if path.is_empty() && self.root.ends_with("//") { "/" } else { &path };
        format!("{}{path}{}", self.root, self.query)
    }
}

/// The nearest group that is a directory above `path`, and the path from there.
fn group_above(path: &Path) -> Option<(Group, String)> {
    use std::path::Component;
    for above in path.ancestors().skip(1) {
        let rest = path.strip_prefix(above).ok()?;
        let names: Option<Vec<&str>> = rest
            .components()
            .map(|component| match component {
                Component::Normal(name) => name.to_str(),
                _ => None,
            })
            .collect();
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        if let Ok(Node::Group(group)) = Node::open(above) {
            return Some((group, names?.join("/")));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_keep_their_query_on_the_way_up() {
        let parts = UrlParts::of("https://user@host:1/a/b/?sig=1");
        assert_eq!((parts.root, parts.path, parts.query), ("https://user@host:1", "/a/b/", "?sig=1"));
        assert_eq!(parts.with_path(&["a"]), "https://user@host:1/a?sig=1");
        assert_eq!(parts.with_path(&[]), "https://user@host:1?sig=1");
        let parts = UrlParts::of("file:///a");
        assert_eq!((parts.with_path(&[]), parts.with_path(&["b"])), ("file:///".into(), "file:///b".into()));
        assert_eq!(UrlParts::of("s3://bucket").path, "");
    }

    #[test]
    fn wrong_options_are_told_without_their_values() {
        let wrong = |options: &[&str]| {
            let options = options.iter().map(|option| (*option).to_owned()).collect();
            let arguments = UrlArguments { options, anon: false, cache: None, cache_dir: None };
            Place::new(Path::new("s3://bucket/a"), &arguments).err().map(|error| error.to_string())
        };
        assert!(
            wrong(&["S3CRET"]).is_some_and(|line| line.contains("NAME=VALUE") && !line.contains("S3CRET"))
        );
        assert_eq!(wrong(&["region=a=b", "endpoint=http://127.0.0.1:1"]), None);
    }
}
