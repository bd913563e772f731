//! Profiles: `~/.aws/config` and `~/.aws/credentials`.

use super::super::environment::Environment;
use crate::{Error, ErrorKind};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

/// Bytes of a file of profiles at most.
const FILE_LEN_MAX: usize = 4 << 20;

/// Settings of a section; nested ones are written with a dot: `s3.endpoint_url`.
type Section = BTreeMap<String, String>;

/// The sections of both files.
#[derive(Default)]
pub(crate) struct Profiles {
    profiles: BTreeMap<String, Section>,
    sso_sessions: BTreeMap<String, Section>,
    services: BTreeMap<String, Section>,
}

impl Profiles {
    /// Reads the files that `AWS_CONFIG_FILE` and `AWS_SHARED_CREDENTIALS_FILE` name, or those in the user's folder. Files
    /// that are not there are empty.
    ///
    /// # Errors
    ///
    /// As the operating system tells where a file is there and cannot be read.
    pub(crate) fn load(environment: &Environment) -> Result<Profiles, Error> {
        let file = |variable, name| {
            let named = environment.get(variable).map(|text| environment.path(text));
            named.or_else(|| Some(environment.home()?.join(".aws").join(name)))
        };
        let config = read(file("AWS_CONFIG_FILE", "config"))?;
        let credentials = read(file("AWS_SHARED_CREDENTIALS_FILE", "credentials"))?;
        Ok(Profiles::parse(&config, &credentials))
    }

    /// Takes both files apart. Where both set something, the file of credentials wins. Lines that mean nothing are passed
    /// over, as Amazon's own tools do.
    pub(super) fn parse(config: &str, credentials: &str) -> Profiles {
        let mut all = Profiles::default();
        for (header, section) in sections(config) {
            let (kind, name) = header.split_once(char::is_whitespace).unwrap_or(("", &header));
            let name = name.trim().trim_matches(['"', '\'']).to_owned();
            let group = match kind {
                "sso-session" => &mut all.sso_sessions,
                "services" => &mut all.services,
                "" | "profile" => &mut all.profiles,
                _ => continue,
            };
            group.entry(name).or_default().extend(section);
        }
        for (header, section) in sections(credentials) {
            all.profiles.entry(header).or_default().extend(section);
        }
        all
    }

    pub(super) fn has(&self, profile: &str) -> bool {
        self.profiles.contains_key(profile)
    }

    /// A setting of a profile that is not empty.
    pub(super) fn get(&self, profile: &str, name: &str) -> Option<&str> {
        setting(self.profiles.get(profile)?, name)
    }

    /// A setting of a profile's `sso_session`, or of the profile itself where that is not there.
    pub(super) fn sso(&self, profile: &str, name: &str) -> Option<&str> {
        let session = self.get(profile, "sso_session").and_then(|session| self.sso_sessions.get(session));
        session.and_then(|section| setting(section, name)).or_else(|| self.get(profile, name))
    }

    /// True where the profile's `sso_session` has a section.
    pub(super) fn has_sso_session(&self, name: &str) -> bool {
        self.sso_sessions.contains_key(name)
    }

    /// The endpoint that a profile sets for a service (`s3`, `sts`): that of its `services`, else the one for all.
    pub(super) fn endpoint(&self, profile: &str, service: &str) -> Option<&str> {
        self.own_endpoint(profile, service).or_else(|| self.get(profile, "endpoint_url"))
    }

    /// The endpoint that the `services` of a profile set for a service.
    pub(super) fn own_endpoint(&self, profile: &str, service: &str) -> Option<&str> {
        let services = self.get(profile, "services").and_then(|name| self.services.get(name));
        services.and_then(|section| setting(section, &format!("{service}.endpoint_url")))
    }
}

fn setting<'a>(section: &'a Section, name: &str) -> Option<&'a str> {
    section.get(name).map(String::as_str).filter(|value| !value.is_empty())
}

fn read(file: Option<PathBuf>) -> Result<String, Error> {
    let Some(file) = file else { return Ok(String::new()) };
    match std::fs::read(&file) {
        Ok(bytes) if bytes.len() <= FILE_LEN_MAX => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Ok(_) => Err(Error::new(ErrorKind::LimitExceeded, format!("{} has more than 4 MiB", file.display()))),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(String::new())
        }
        Err(error) => Err(Error::new(ErrorKind::PermissionDenied, format!("{}: {error}", file.display()))),
    }
}

/// The sections of a file, in its order.
fn sections(text: &str) -> Vec<(String, Section)> {
    let mut all: Vec<(String, Section)> = Vec::new();
    let mut parent = String::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(rest) = trimmed.strip_prefix('[') {
            let header = rest.split(']').next().unwrap_or_default();
            all.push((header.trim().trim_matches(['"', '\'']).to_owned(), Section::new()));
            parent.clear();
            continue;
        }
        let (Some((_, section)), Some((name, value))) = (all.last_mut(), trimmed.split_once('=')) else {
            continue;
        };
        let name = name.trim().to_ascii_lowercase();
        let value = without_comment(value.trim()).to_owned();
        if line.starts_with(char::is_whitespace) && !parent.is_empty() {
            section.insert(format!("{parent}.{name}"), value);
        } else {
            parent.clone_from(&name);
            section.insert(name, value);
        }
    }
    all
}

/// A value without the comment that a space and `#` or `;` begin.
fn without_comment(value: &str) -> &str {
    let end = [" #", " ;", "\t#", "\t;"].iter().filter_map(|mark| value.find(mark)).min();
    value[..end.unwrap_or(value.len())].trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = r"
# a comment
[default]
region = eu-west-1   # where we are
[profile work]
role_arn = arn:aws:iam::1:role/x
source_profile=default
s3 =
    addressing_style = virtual
services = local
sso_session = one
[sso-session one]
sso_region = us-east-2
[services local]
s3 =
  endpoint_url = http://localhost:9000
sts =
  endpoint_url = http://localhost:9001
nonsense
[profile 'with space']
endpoint_url = http://all
";

    #[test]
    fn sections_of_both_files() {
        let credentials = "[default]\naws_access_key_id = AKIA\naws_secret_access_key = a#b;c=\nregion=eu-west-2\n[other]\n";
        let profiles = Profiles::parse(CONFIG, credentials);
        assert_eq!(profiles.get("default", "region"), Some("eu-west-2"));
        assert_eq!(profiles.get("default", "aws_secret_access_key"), Some("a#b;c="));
        assert_eq!(profiles.get("work", "source_profile"), Some("default"));
        assert_eq!(profiles.get("work", "s3.addressing_style"), Some("virtual"));
        assert_eq!(profiles.endpoint("work", "s3"), Some("http://localhost:9000"));
        assert_eq!(profiles.endpoint("with space", "s3"), Some("http://all"));
        assert_eq!(profiles.endpoint("default", "s3"), None);
        assert_eq!(profiles.sso("work", "sso_region"), Some("us-east-2"));
        assert!(profiles.has("other") && !profiles.has("one") && !profiles.has("nobody"));
    }

    #[test]
    fn files_that_are_not_there_are_empty() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap();
        assert!(!Profiles::load(&Environment::of(&[("HOME", home)])).unwrap().has("default"));
        std::fs::create_dir(folder.path().join(".aws")).unwrap();
        std::fs::write(folder.path().join(".aws/config"), "[default]\nregion=a\n").unwrap();
        let profiles = Profiles::load(&Environment::of(&[("HOME", home)])).unwrap();
        assert_eq!(profiles.get("default", "region"), Some("a"));
    }
}
