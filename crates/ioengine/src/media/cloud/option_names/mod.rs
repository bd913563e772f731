//! Names of options: every spelling that users know leads to one name.

mod nearest;
mod table;
mod values;

pub(crate) use values::{DURATION_MAX, duration, number, truth};

use crate::{Error, ErrorKind};
use std::borrow::Cow;
use table::{ROWS, Row, WITHOUT_EFFECT};

/// Whether the value of an option may be shown and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    Open,
    Secret,
}

/// Prefixes that other libraries put before names that are known without them.
const PREFIXES: [&str; 8] = [
    "client_options.",
    "storage_options.",
    "aws_",
    "google_",
    "azure_storage_",
    "azure_",
    "fs.",
    "client_kwargs.client_options.",
];

/// Where headers of each request are, by library. What follows is the header's name.
const HEADERS: [&str; 5] = [
    "headers.",
    "default_headers.",
    "client_options.default_headers.",
    "client_kwargs.headers.",
    "client_options.headers.",
];

/// The name that an option of this spelling is stored under, in any case and with `-` for `_`. Headers are stored as
/// `headers.` and their name in lower case.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for a name that no service knows, with the nearest one that is known.
pub(super) fn canonical(spelling: &str) -> Result<Cow<'static, str>, Error> {
    let lower = spelling.trim().to_ascii_lowercase();
    if let Some(header) = HEADERS.iter().find_map(|prefix| lower.strip_prefix(prefix)) {
        return match header.is_empty() {
            true => Err(unknown(spelling)),
            false => Ok(Cow::Owned(format!("headers.{header}"))),
        };
    }
    let plain = lower.replace('-', "_");
    let mut shortened = PREFIXES.iter().filter_map(|prefix| plain.strip_prefix(prefix));
    let known = known(&plain).or_else(|| shortened.find_map(known));
    known.map(Cow::Borrowed).ok_or_else(|| unknown(spelling))
}

/// True for canonical names whose values must not be shown or stored: all that the table does not say are open.
pub(super) fn is_secret(name: &str) -> bool {
    let row = rows().find(|row| row.name == name);
    !WITHOUT_EFFECT.contains(&name) && row.is_none_or(|row| row.shows == Shows::Secret)
}

fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().flat_map(|rows| rows.iter())
}

fn known(name: &str) -> Option<&'static str> {
    let row = rows().find(|row| row.name == name || row.spellings.contains(&name));
    row.map(|row| row.name).or_else(|| WITHOUT_EFFECT.iter().copied().find(|other| *other == name))
}

/// The names of options are no secrets, but what is too long to be one may be.
fn unknown(spelling: &str) -> Error {
    const NAME_LEN_MAX: usize = 64;
    if NAME_LEN_MAX < spelling.len() {
        return Error::new(ErrorKind::Unsupported, "an option whose name is longer than any that is known");
    }
    let lower = spelling.to_ascii_lowercase().replace('-', "_");
    let names = rows().flat_map(|row| row.spellings.iter().copied().chain([row.name]));
    let hint = match nearest::nearest(&lower, names) {
        Some(name) => format!("; did you mean {name:?}?"),
        None => String::new(),
    };
    Error::new(ErrorKind::Unsupported, format!("unknown option {spelling:?} of cloud storage{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_every_library_lead_to_one_name() {
        let cases = [
            ("aws_access_key_id", "access_key_id"),
            ("AWS_ACCESS_KEY_ID", "access_key_id"),
            ("access_key_id", "access_key_id"),
            ("key", "access_key_id"),
            ("secret", "secret_access_key"),
            ("anon", "skip_signature"),
            ("aws_skip_signature", "skip_signature"),
            ("google_skip_signature", "skip_signature"),
            ("client_kwargs.endpoint_url", "endpoint"),
            ("AWS_ENDPOINT_URL", "endpoint"),
            ("azure_storage_account_name", "account_name"),
            ("azure_storage_sas_token", "sas_token"),
            ("client_kwargs.region_name", "region"),
            ("config_kwargs.s3.addressing_style", "addressing_style"),
            ("client_options.timeout", "timeout"),
            ("client_options.default_headers.X-My-Header", "headers.x-my-header"),
            ("headers.Authorization", "headers.authorization"),
            ("retry_config.backoff.init_backoff", "backoff_initial"),
            ("connect-timeout", "connect_timeout"),
            ("default_fill_cache", "default_fill_cache"),
        ];
        for (spelling, name) in cases {
            assert_eq!(canonical(spelling).unwrap(), name, "{spelling}");
        }
    }

    #[test]
    fn unknown_names_are_told_with_the_nearest() {
        let error = canonical("regin").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("\"regin\"") && error.message().contains("\"region\""), "{error}");
        assert!(!canonical("xyzzyfrobnicate").unwrap_err().message().contains("did you mean"));
        assert!(!canonical(&"S3CRET".repeat(20)).unwrap_err().message().contains("S3CRET"));
        assert!(canonical("headers.").is_err());
    }

    #[test]
    fn no_spelling_stands_twice() {
        let mut all: Vec<&str> =
            rows().flat_map(|row| row.spellings.iter().copied().chain([row.name])).collect();
        all.extend(WITHOUT_EFFECT);
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn secret_unless_the_table_says_open() {
        for name in ["token", "secret_access_key", "headers.x", "connection_string", "sas_token", "not_there"]
        {
            assert!(is_secret(name), "{name}");
        }
        for name in ["region", "endpoint", "skip_signature", "max_retries", "block_size"] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
