//! The configuration of a repository as format 1 has it: a file `config.yaml`. Only the containers of virtual chunks are taken, from
//! the block style that Icechunk writes.
//!
//! All of them are, or none: were one left out that is written in another style, a shorter one could count in its place.
//!
//! Source: YAML 1.2, "Block styles".

use super::containers::Container;

/// The containers in a configuration: what stands below `virtual_chunk_containers`, by key, each with a `url_prefix` and perhaps
/// a `name`. `None` where something of it is written in a way that is not understood.
pub(super) fn containers_in_yaml(text: &str) -> Option<Vec<Container>> {
    let is_said = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let mut lines = text.lines().filter(is_said).peekable();
    lines.next_if(|line| line.trim_end() == "---");
    let mut found = None;
    while let Some(line) = lines.next() {
        let (key, value) = field(line)?;
        let mut below = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with([' ', '\t'])) {
            below.push(line);
        }
        if key != "virtual_chunk_containers" {
            continue;
        }
        let containers = match value {
            "" => containers(&below)?,
            "{}" | "null" | "~" if below.is_empty() => Vec::new(),
            _ => return None,
        };
        // Twice the same key is no YAML.
        if found.replace(containers).is_some() {
            return None;
        }
    }
    Some(found.unwrap_or_default())
}

/// The containers in the lines below their key.
fn containers(lines: &[&str]) -> Option<Vec<Container>> {
    let mut found: Vec<Fields> = Vec::new();
    let depth = lines.first().map_or(Some(0), |line| indent(line))?;
    for line in lines {
        match (indent(line)?, found.last_mut()) {
            (at, _) if at == depth => {
                is_key(line.trim()).then(|| found.push(Fields::default()))?;
            }
            (at, Some(fields)) if depth < at => fields.add(at, line.trim())?,
            _ => return None,
        }
    }
    found.into_iter().map(Fields::container).collect()
}

/// What is said of one container.
#[derive(Default)]
struct Fields {
    /// Where its fields begin.
    depth: Option<usize>,
    prefix: Option<String>,
    name: Option<String>,
    /// Whether lines that stand deeper belong to a field that does not matter.
    is_other: bool,
}

impl Fields {
    /// Takes a line that stands at a depth.
    fn add(&mut self, at: usize, line: &str) -> Option<()> {
        let depth = *self.depth.get_or_insert(at);
        if depth < at && self.is_other {
            return Some(());
        }
        if at != depth {
            return None;
        }
        let (key, value) = field(line)?;
        self.is_other = false;
        match key {
            "url_prefix" if self.prefix.is_none() => self.prefix = Some(scalar(value)??),
            "name" if self.name.is_none() => self.name = scalar(value)?,
            "url_prefix" | "name" => return None,
            _ => self.is_other = true,
        }
        Some(())
    }

    fn container(self) -> Option<Container> {
        Some(Container::new(&self.prefix?, self.name))
    }
}

/// Blanks in front of a line; `None` where there are tabs among them.
fn indent(line: &str) -> Option<usize> {
    let rest = line.trim_start_matches(' ');
    (!rest.starts_with('\t')).then(|| line.len() - rest.len())
}

/// A key of plain letters and its value, which may be empty.
fn field(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_plain = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !key.is_empty();
    let is_apart = value.is_empty() || value.starts_with(' ');
    (is_plain && is_apart).then(|| (key, value.trim()))
}

/// Whether a line is a key with nothing behind it. What the key of a container is does not matter.
fn is_key(line: &str) -> bool {
    let Some(key) = line.strip_suffix(':') else { return false };
    match key.starts_with(['"', '\'']) {
        true => quoted(key).is_some(),
        false => is_plain(key),
    }
}

/// A text that is plain or between quotes, or `None` for nothing; `None` of that for what is written in another way.
fn scalar(value: &str) -> Option<Option<String>> {
    match value {
        "null" | "~" | "" => Some(None),
        _ if value.starts_with(['"', '\'']) => quoted(value).map(Some),
        _ => is_plain(value).then(|| Some(value.to_owned())),
    }
}

/// A text between single quotes, or between double ones if it is one of JSON as well.
fn quoted(value: &str) -> Option<String> {
    let Some(inner) = value.strip_prefix('\'') else { return serde_json::from_str(value).ok() };
    let inner = inner.strip_suffix('\'')?;
    let is_one = !inner.replace("''", "").contains('\'');
    is_one.then(|| inner.replace("''", "'"))
}

/// Whether a text stands for itself without quotes.
fn is_plain(value: &str) -> bool {
    let is_begun = value.starts_with([
        '"', '\'', '|', '>', '&', '*', '!', '{', '}', '[', ']', ',', '#', '%', '@', '`', '?', '-', '<', ':',
    ]);
    !is_begun && !value.is_empty() && ![" #", ": ", "\t"].iter().any(|odd| value.contains(odd))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_are_found_in_yaml() {
        let text = "\
---
caching: null
# What is read elsewhere.
virtual_chunk_containers:
  a:
    name: null
    url_prefix: file:///data/
    store: !local_file_system /data
  s3://b/:
    name: 'it''s'
    url_prefix: s3://b/c
    store: !s3
      region: x
      url_prefix: s3://evil/

  \"odd\":
    store: {s3: {region: x}}
    url_prefix: \"s3://quoted/\"
manifest:
  splitting:
    split_sizes:
    - - !name_matches
        regex: split
  url_prefix: s3://other/
";
        let wanted = [
            Container::new("file:///data/", None),
            Container::new("s3://b/c/", Some("it's".to_owned())),
            Container::new("s3://quoted/", None),
        ];
        assert_eq!(containers_in_yaml(text).unwrap(), wanted);
        for none in ["", "virtual_chunk_containers: {}\n", "virtual_chunk_containers:\ncaching: null\n"] {
            assert_eq!(containers_in_yaml(none), Some(Vec::new()), "{none}");
        }
    }

    /// A container among others in another style: all would count but that one.
    #[test]
    fn other_styles_are_not_understood() {
        let sound = "  a:\n    url_prefix: s3://b/\n";
        let head = "virtual_chunk_containers:";
        assert_eq!(containers_in_yaml(&format!("{head}\n{sound}")).unwrap().len(), 1);
        for below in [
            "  b: {url_prefix: s3://b/c/}\n",
            "  b: *other\n",
            "  <<: *others\n",
            "  ? b\n  : url_prefix: s3://b/c/\n",
            "  b: # said below\n    url_prefix: s3://b/c/\n",
            "  b:\n    name: x\n",
            "  b:\n    url_prefix: >\n      s3://b/c/\n",
            "  b:\n    url_prefix:\n      s3://b/c/\n",
            "  b:\n    url_prefix: s3://b/c\n      d\n",
            "  b:\n    url_prefix: \"s3://b/\\x63/\"\n",
            "  b:\n    url_prefix: &x s3://b/c/\n",
            "  b:\n    url_prefix: s3://b/c/ # see there\n",
            "  b:\n    \"url_prefix\": s3://b/c/\n",
            "  b:\n    url_prefix: s3://b/c/\n    url_prefix: s3://b/d/\n",
            "  b:\n    <<: *other\n",
            "  b:\n\turl_prefix: s3://b/c/\n",
            " b:\n    url_prefix: s3://b/c/\n",
            "virtual_chunk_containers:\n  b:\n    url_prefix: s3://b/c/\n",
            "- b\n",
            "\"virtual_chunk_containers\": {b: {url_prefix: s3://b/c/}}\n",
        ] {
            let text = format!("{head}\n{sound}{below}");
            assert_eq!(containers_in_yaml(&text), None, "{text}");
        }
        for text in [
            "{virtual_chunk_containers: {}}",
            "  virtual_chunk_containers:\n    a:\n      url_prefix: s3://b/\n",
            "virtual_chunk_containers: {a: {url_prefix: s3://b/}}\n",
            "virtual_chunk_containers: null\n  a:\n",
            "virtual_chunk_containers:\n- a\n",
            "%YAML 1.2\n---\n",
            "caching: null\n---\nvirtual_chunk_containers: {}\n",
        ] {
            assert_eq!(containers_in_yaml(text), None, "{text}");
        }
    }
}
