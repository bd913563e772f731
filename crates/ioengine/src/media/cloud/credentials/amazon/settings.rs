//! What options, environment and profiles say of S3: credentials, region, endpoint.

use super::super::environment::Environment;
use super::Profiles;
use super::choice::{Choice, Inputs, choose};
use super::sso::SsoPlaces;
use super::sts::TokenService;
use crate::Error;
use crate::media::cloud::CloudOptions;

/// Settings of S3, decided without a request.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AmazonSettings {
    pub(super) choice: Choice,
    pub(super) token_service: TokenService,
    pub(super) sso: SsoPlaces,
    /// Where nobody says a region: `None`.
    pub(crate) region: Option<String>,
    /// URL of the service, for stores that are not Amazon's.
    pub(crate) endpoint: Option<String>,
    /// `addressing_style` of the profile.
    pub(crate) addressing_style: Option<String>,
}

impl AmazonSettings {
    /// True where the only credentials would be those of the machine, or none: nobody gave any.
    pub(crate) fn is_a_guess(&self) -> bool {
        matches!(self.choice, Choice::Instance { .. } | Choice::Nowhere { .. })
    }
}

/// Whether to look for credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// In all the usual places, unless options say that there is to be no signature.
    Chain,
    /// They come from elsewhere.
    Nowhere,
}

/// Reads settings from options, then environment, then profile.
///
/// # Errors
///
/// [`Unsupported`](crate::ErrorKind::Unsupported) for what contradicts itself or is not there.
pub(crate) fn settings(
    options: &CloudOptions,
    environment: &Environment,
    profiles: &Profiles,
    search: Search,
) -> Result<AmazonSettings, Error> {
    let inputs = Inputs { options, environment, profiles };
    let named = options.get("profile").or_else(|| environment.first(&["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]));
    let profile = named.unwrap_or("default");
    let region = options
        .get("region")
        .or_else(|| environment.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]))
        .or_else(|| profiles.get(profile, "region"));
    // Without credentials nothing of the profile matters but its region and endpoint.
    let choice = match search {
        Search::Chain if !options.truth("skip_signature")? => choose(&inputs)?,
        _ => Choice::Nowhere { looked_at: "none were looked for".to_owned() },
    };
    let sts_region = region.filter(|region| *region != "auto").unwrap_or("us-east-1");
    let sts = endpoint(&inputs, profile, "sts_endpoint", "AWS_ENDPOINT_URL_STS", "sts");
    let suffix = if sts_region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    Ok(AmazonSettings {
        choice,
        token_service: TokenService {
            endpoint: sts.unwrap_or_else(|| format!("https://sts.{sts_region}.{suffix}")) + "/",
            region: sts_region.to_owned(),
        },
        sso: SsoPlaces {
            portal: environment.get("AWS_ENDPOINT_URL_SSO").map(str::to_owned),
            oidc: environment.get("AWS_ENDPOINT_URL_SSO_OIDC").map(str::to_owned),
            cache: environment.home().map(|home| home.join(".aws").join("sso").join("cache")),
        },
        region: region.map(str::to_owned),
        endpoint: endpoint(&inputs, profile, "endpoint", "AWS_ENDPOINT_URL_S3", "s3"),
        addressing_style: profiles.get(profile, "s3.addressing_style").map(str::to_owned),
    })
}

/// The endpoint of a service: option, its own variable, the variable for all services, profile. The variable for all is
/// not for tokens: who sets it for a store of their own means S3 only.
fn endpoint(
    inputs: &Inputs<'_>,
    profile: &str,
    option: &str,
    variable: &str,
    service: &str,
) -> Option<String> {
    let environment = inputs.environment;
    let trimmed = |text: &str| text.trim_end_matches('/').to_owned();
    if let Some(given) = inputs.options.get(option).filter(|given| !given.is_empty()) {
        return Some(trimmed(given));
    }
    let ignored = environment.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    if ignored.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return None;
    }
    let for_all = match service {
        "s3" => environment.first(&["AWS_ENDPOINT_URL", "AWS_ENDPOINT"]),
        _ => None,
    };
    let configured = || match service {
        "s3" => inputs.profiles.endpoint(profile, service),
        _ => inputs.profiles.own_endpoint(profile, service),
    };
    environment.get(variable).or(for_all).or_else(configured).map(trimmed)
}
