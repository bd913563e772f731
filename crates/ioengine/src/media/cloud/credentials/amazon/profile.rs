//! The credentials of a profile.

use super::Choice;
use super::choice::{
    Inputs, ROLE_SECONDS, Role, SsoLogin, environment_keys, instance, keys, looked_at, unsupported,
};
use super::container;
use crate::{Error, ErrorKind};

/// Profiles that lead to each other at most.
const DEPTH_MAX: usize = 8;

/// What a profile says; [`Choice::Nowhere`] for one that has no credentials.
///
/// # Errors
///
/// [`Unsupported`](ErrorKind::Unsupported) for a profile that is not there, that lacks a part, that leads in a circle, or
/// that wants a code from a device (MFA).
pub(super) fn of_profile(inputs: &Inputs<'_>, profile: &str) -> Result<Choice, Error> {
    resolve(inputs, profile, &mut Vec::new())
}

fn resolve(inputs: &Inputs<'_>, profile: &str, seen: &mut Vec<String>) -> Result<Choice, Error> {
    let profiles = inputs.profiles;
    if !profiles.has(profile) {
        let message =
            format!("the profile {profile:?} is neither in ~/.aws/config nor in ~/.aws/credentials");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let get = |name| profiles.get(profile, name);
    // A profile that names itself as its source means its own keys.
    let repeated = seen.iter().any(|other| other == profile);
    seen.push(profile.to_owned());
    if DEPTH_MAX < seen.len() {
        return Err(unsupported(format!("the profiles {seen:?} lead to each other")));
    }
    if let (Some(arn), false) = (get("role_arn"), repeated) {
        return of_role(inputs, profile, arn, seen);
    }
    match (get("aws_access_key_id"), get("aws_secret_access_key")) {
        (Some(id), Some(secret)) => return keys(id, secret, get("aws_session_token").map(str::to_owned)),
        (None, None) => {}
        _ => return Err(unsupported(format!("the profile {profile:?} has only one of the two keys"))),
    }
    if repeated {
        return Err(unsupported(format!("the profiles {seen:?} lead to each other")));
    }
    if get("sso_session").is_some() || get("sso_start_url").is_some() {
        return sso(inputs, profile).map(Choice::Sso);
    }
    if let Some(command) = get("credential_process") {
        return Ok(Choice::Process(command.to_owned()));
    }
    Ok(Choice::Nowhere { looked_at: looked_at(profile, "nothing else, as the profile was asked for") })
}

fn of_role(inputs: &Inputs<'_>, profile: &str, arn: &str, seen: &mut Vec<String>) -> Result<Choice, Error> {
    let get = |name| inputs.profiles.get(profile, name);
    if get("mfa_serial").is_some() {
        let message = format!(
            "the profile {profile:?} wants a code from a device (mfa_serial), which cannot be asked for here; get temporary \
             keys with it (aws sts assume-role, aws configure export-credentials) and give those"
        );
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let role = Role {
        arn: arn.to_owned(),
        session_name: get("role_session_name").unwrap_or("swath").to_owned(),
        external_id: get("external_id").map(str::to_owned),
        seconds: get("duration_seconds").and_then(|text| text.parse().ok()).unwrap_or(ROLE_SECONDS),
    };
    if let Some(file) = get("web_identity_token_file") {
        return Ok(Choice::WebIdentity { file: inputs.environment.path(file), role });
    }
    let base = match (get("source_profile"), get("credential_source")) {
        (Some(source), None) => resolve(inputs, source, seen)?,
        (None, Some(source)) => of_source(inputs, profile, source)?,
        _ => {
            let message = format!(
                "the profile {profile:?} has a role_arn and wants one of source_profile and credential_source"
            );
            return Err(unsupported(message));
        }
    };
    if matches!(base, Choice::Nowhere { .. }) {
        return Err(unsupported(format!("the source_profile of the profile {profile:?} has no credentials")));
    }
    Ok(Choice::Role { base: Box::new(base), role })
}

fn of_source(inputs: &Inputs<'_>, profile: &str, source: &str) -> Result<Choice, Error> {
    let found = match source {
        "Environment" => environment_keys(inputs.environment)?,
        "EcsContainer" => container::choice(inputs)?,
        "Ec2InstanceMetadata" => Some(instance(inputs, profile)),
        _ => {
            let message = format!(
                "the profile {profile:?} has the credential_source {source:?}; Environment, EcsContainer and \
                 Ec2InstanceMetadata are known"
            );
            return Err(unsupported(message));
        }
    };
    let missing = || {
        unsupported(format!("the credential_source {source} of the profile {profile:?} has no credentials"))
    };
    found.ok_or_else(missing)
}

fn sso(inputs: &Inputs<'_>, profile: &str) -> Result<SsoLogin, Error> {
    let get = |name| {
        let missing = || unsupported(format!("the profile {profile:?} logs in by SSO and has no {name}"));
        inputs.profiles.sso(profile, name).map(str::to_owned).ok_or_else(missing)
    };
    let session = inputs.profiles.get(profile, "sso_session").map(str::to_owned);
    if let Some(name) = &session
        && !inputs.profiles.has_sso_session(name)
    {
        return Err(unsupported(format!(
            "the profile {profile:?} names the sso-session {name:?}, which is not there"
        )));
    }
    Ok(SsoLogin {
        profile: profile.to_owned(),
        start_url: get("sso_start_url")?,
        region: get("sso_region")?,
        account_id: get("sso_account_id")?,
        role_name: get("sso_role_name")?,
        session,
    })
}
