//! Which credentials to fetch: decided once, from options, environment and profiles, without a request.

use super::super::environment::Environment;
use super::super::own::amazon_keys;
use super::profile::of_profile;
use super::{Profiles, container};
use crate::media::cloud::CloudOptions;
use crate::{Error, ErrorKind};
use std::path::PathBuf;

/// Where credentials come from.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// Keys that do not change.
    Keys { id: String, secret: String, token: Option<String> },
    /// A role, for a token in a file (`AssumeRoleWithWebIdentity`).
    WebIdentity { file: PathBuf, role: Role },
    /// A role, for other credentials (`AssumeRole`).
    Role { base: Box<Choice>, role: Role },
    /// What a program prints.
    Process(String),
    /// A role that somebody has logged in to by a browser.
    Sso(SsoLogin),
    /// The container that we run in.
    Container { url: String, token: Option<String>, token_file: Option<PathBuf> },
    /// The machine that we run on.
    Instance { endpoint: String, first_version: FirstVersion },
    /// Nowhere. What was looked at is told.
    Nowhere { looked_at: String },
}

/// Whether the metadata service may be asked without a session (IMDSv1) where it refuses one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstVersion {
    Never,
    WhereRefused,
}

/// A role to take on.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Role {
    pub(super) arn: String,
    pub(super) session_name: String,
    pub(super) external_id: Option<String>,
    pub(super) seconds: u64,
}

/// A login by `aws sso login`.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SsoLogin {
    pub(super) profile: String,
    pub(super) start_url: String,
    pub(super) region: String,
    pub(super) account_id: String,
    pub(super) role_name: String,
    /// Name of the `sso-session`; `None` for logins of the older kind.
    pub(super) session: Option<String>,
}

/// What the decision is made from.
pub(super) struct Inputs<'a> {
    pub(super) options: &'a CloudOptions,
    pub(super) environment: &'a Environment,
    pub(super) profiles: &'a Profiles,
}

/// Seconds that keys of a role last where nothing is said.
pub(super) const ROLE_SECONDS: u64 = 3600;

/// Chooses. An option always wins; a profile that an option names wins over the environment's keys.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for half a key or a profile that is not there.
pub(super) fn choose(inputs: &Inputs<'_>) -> Result<Choice, Error> {
    let options = inputs.options;
    let explicit = given_keys(options)?;
    let role_arn = options.get("role_arn");
    if let (None, Some(file), Some(arn)) = (&explicit, options.get("web_identity_token_file"), role_arn) {
        let role = role(options, arn);
        return Ok(Choice::WebIdentity { file: inputs.environment.path(file), role });
    }
    let base = match (explicit, options.get("profile")) {
        (Some(keys), _) => keys,
        (None, Some(profile)) => of_profile(inputs, profile)?,
        (None, None) => of_surroundings(inputs)?,
    };
    Ok(match role_arn {
        Some(arn) => Choice::Role { base: Box::new(base), role: role(options, arn) },
        None => base,
    })
}

/// What environment, profile, container and machine say, in this order.
fn of_surroundings(inputs: &Inputs<'_>) -> Result<Choice, Error> {
    if let Some(keys) = environment_keys(inputs.environment)? {
        return Ok(keys);
    }
    let environment = inputs.environment;
    if let (Some(file), Some(arn)) =
        (environment.get("AWS_WEB_IDENTITY_TOKEN_FILE"), environment.get("AWS_ROLE_ARN"))
    {
        let mut role = role(inputs.options, arn);
        if let Some(name) = environment.get("AWS_ROLE_SESSION_NAME") {
            role.session_name = name.to_owned();
        }
        return Ok(Choice::WebIdentity { file: environment.path(file), role });
    }
    let named = environment.first(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]);
    if named.is_some() || inputs.profiles.has("default") {
        let found = of_profile(inputs, named.unwrap_or("default"))?;
        // A profile without credentials, that of a region only say, does not end the search.
        if !matches!(found, Choice::Nowhere { .. }) {
            return Ok(found);
        }
    }
    if let Some(found) = container::choice(inputs)? {
        return Ok(found);
    }
    Ok(instance(inputs, named.unwrap_or("default")))
}

/// Keys that options give; `None` where they give none.
fn given_keys(options: &CloudOptions) -> Result<Option<Choice>, Error> {
    let token = options.get("token").map(str::to_owned);
    match (options.get("access_key_id"), options.get("secret_access_key")) {
        (Some(id), Some(secret)) => keys(id, secret, token).map(Some),
        (None, None) if token.is_none() => Ok(None),
        (None, None) => {
            Err(unsupported("a session token is given without access_key_id and secret_access_key"))
        }
        (Some(_), None) => Err(unsupported("access_key_id is given without secret_access_key")),
        (None, Some(_)) => Err(unsupported("secret_access_key is given without access_key_id")),
    }
}

/// Keys of the environment; `None` where there are none.
pub(super) fn environment_keys(environment: &Environment) -> Result<Option<Choice>, Error> {
    let id = environment.first(&["AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY"]);
    let secret = environment.first(&["AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY"]);
    let token = environment.first(&["AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"]);
    match (id, secret) {
        (Some(id), Some(secret)) => keys(id, secret, token.map(str::to_owned)).map(Some),
        (None, None) => Ok(None),
        _ => Err(unsupported("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set")),
    }
}

/// Keys, checked to be sendable.
pub(super) fn keys(id: &str, secret: &str, token: Option<String>) -> Result<Choice, Error> {
    let checked = amazon_keys(id.to_owned(), secret.to_owned(), token)?;
    Ok(Choice::Keys { id: checked.key_id, secret: checked.secret_key, token: checked.token })
}

fn role(options: &CloudOptions, arn: &str) -> Role {
    Role {
        arn: arn.to_owned(),
        session_name: options.get("role_session_name").unwrap_or("swath").to_owned(),
        external_id: options.get("external_id").map(str::to_owned),
        seconds: ROLE_SECONDS,
    }
}

/// The machine's metadata service, unless it is switched off.
pub(super) fn instance(inputs: &Inputs<'_>, profile: &str) -> Choice {
    let environment = inputs.environment;
    let disabled =
        environment.get("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
    if disabled {
        return Choice::Nowhere {
            looked_at: looked_at(profile, "the machine's metadata service (switched off)"),
        };
    }
    let given = inputs
        .options
        .get("metadata_endpoint")
        .or_else(|| environment.first(&["AWS_EC2_METADATA_SERVICE_ENDPOINT", "AWS_METADATA_ENDPOINT"]));
    let by_mode = match environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE") {
        Some(mode) if mode.eq_ignore_ascii_case("ipv6") => "http://[fd00:ec2::254]",
        _ => "http://169.254.169.254",
    };
    let endpoint = given.unwrap_or(by_mode).trim_end_matches('/').to_owned();
    let first_version = match inputs.options.truth("imdsv1_fallback") {
        Ok(true) => FirstVersion::WhereRefused,
        _ => FirstVersion::Never,
    };
    Choice::Instance { endpoint, first_version }
}

/// What was looked at before the last source.
pub(super) fn looked_at(profile: &str, last: &str) -> String {
    format!(
        "looked at the options, AWS_ACCESS_KEY_ID, AWS_WEB_IDENTITY_TOKEN_FILE, the profile {profile:?} of ~/.aws/config and \
         ~/.aws/credentials, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and .._FULL_URI, and {last}"
    )
}

pub(super) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message.into())
}
