//! The chain of credentials, against answers of the tests' own and profiles in folders of their own.

use super::super::answering::{Answer, Answering, ok, status};
use super::super::environment::Environment;
use super::super::token_requests::TokenRequests;
use super::settings::Search;
use super::{Amazon, Profiles, settings};
use crate::Error;
use crate::media::cloud::CloudOptions;
use crate::media::cloud::credentials::Renewal;
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;

/// Everything that a test sets.
struct Case<'a> {
    options: &'a [(&'a str, &'a str)],
    variables: &'a [(&'a str, &'a str)],
    config: &'a str,
    answers: Answering,
}

const STS: &str = "<R><Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>sec</SecretAccessKey>\
                   <SessionToken>tok</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></R>";
const JSON: &str =
    r#"{"AccessKeyId":"ASIA","SecretAccessKey":"sec","Token":"tok","Expiration":"2099-01-01T00:00:00Z"}"#;

impl Case<'_> {
    fn provider(&self, home: &Path) -> Result<Amazon, Error> {
        let mut options = CloudOptions::new();
        for (name, value) in self.options {
            options.set(name, *value).unwrap();
        }
        let home = home.to_str().unwrap().to_owned();
        let mut variables = self.variables.to_vec();
        variables.push(("HOME", &home));
        let environment = Environment::of(&variables);
        let profiles = Profiles::parse(self.config, "");
        let settings = settings(&options, &environment, &profiles, Search::Chain)?;
        Ok(Amazon::new(settings, TokenRequests::new(self.answers.client()), &Renewal::default()))
    }

    fn get(&self, home: &Path) -> Result<Arc<AwsCredential>, String> {
        let provider = self.provider(home).map_err(|error| error.to_string())?;
        run(provider.get_credential()).map_err(|error| error.to_string())
    }

    /// Without a home.
    fn keys(&self) -> (String, Option<String>) {
        let found = self.get(Path::new("/nowhere")).unwrap();
        (found.key_id.clone(), found.token.clone())
    }

    fn error(&self) -> String {
        self.get(Path::new("/nowhere")).unwrap_err()
    }
}

fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn temporary() -> (String, Option<String>) {
    ("ASIA".to_owned(), Some("tok".to_owned()))
}

#[test]
fn options_win_over_environment_and_profile() {
    let config = "[default]\naws_access_key_id=PROFILE\naws_secret_access_key=x\n[profile other]\naws_access_key_id=OTHER\naws_secret_access_key=x";
    let variables = [("AWS_ACCESS_KEY_ID", "ENV"), ("AWS_SECRET_ACCESS_KEY", "x")];
    let keys = [("key", "OPTION"), ("secret", "x")];
    let of = |options: &[(&str, &str)], variables: &[(&str, &str)]| {
        Case { options, variables, config, answers: nobody() }.keys().0
    };
    assert_eq!(of(&keys, &variables), "OPTION");
    assert_eq!(of(&[("profile", "other")], &variables), "OTHER");
    assert_eq!(of(&[], &variables), "ENV");
    assert_eq!(of(&[], &[("AWS_PROFILE", "other")]), "OTHER");
    assert_eq!(of(&[], &[]), "PROFILE");
}

#[test]
fn half_a_key_and_profiles_that_are_not_there_are_errors() {
    let error =
        |options: &[(&str, &str)]| Case { options, variables: &[], config: "", answers: nobody() }.error();
    assert!(error(&[("key", "AKIA")]).contains("without secret_access_key"));
    assert!(error(&[("secret", "S3CRET")]).contains("without access_key_id"));
    assert!(error(&[("profile", "nobody")]).contains("\"nobody\""));
    assert!(!error(&[("key", "AKIA"), ("secret", "S3C\nRET")]).contains("RET"));
}

#[test]
fn roles_are_taken_on_with_the_keys_of_their_source() {
    let config = "[default]\nregion=eu-west-1\naws_access_key_id=BASE\naws_secret_access_key=x\n\
                  [profile role]\nrole_arn=arn:aws:iam::1:role/a\nsource_profile=default\nexternal_id=e 1\nduration_seconds=900";
    let answers = Answering::with(STS);
    let case =
        Case { options: &[("profile", "role")], variables: &[("AWS_REGION", "eu-west-1")], config, answers };
    assert_eq!(case.keys(), temporary());
    let asked = case.answers.asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with("POST https://sts.eu-west-1.amazonaws.com/\n"), "{}", asked[0]);
    assert!(asked[0].contains("Credential=BASE/") && asked[0].contains("/eu-west-1/sts/aws4_request"));
    assert!(asked[0].ends_with(
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa&RoleSessionName=swath&\
         DurationSeconds=900&ExternalId=e+1"
    ));
}

#[test]
fn a_refused_role_tells_the_services_words() {
    let refusal = "<E><Code>AccessDenied</Code><Message>not you</Message><Other>S3CRET</Other></E>";
    let answers = Answering::new(move |_| status(403, refusal));
    let options = [("key", "a"), ("secret", "S3CRET"), ("role_arn", "arn:x")];
    let error = Case { options: &options, variables: &[], config: "", answers }.error();
    assert!(error.contains("AccessDenied: not you") && error.contains("arn:x"), "{error}");
    assert!(!error.contains("S3CRET"), "{error}");
}

#[test]
fn profiles_that_cannot_work_say_why() {
    let config = "[profile a]\nrole_arn=x\nsource_profile=b\n[profile b]\nrole_arn=x\nsource_profile=a\n\
                  [profile mfa]\nrole_arn=x\nsource_profile=a\nmfa_serial=y\n[profile lost]\nrole_arn=x\n\
                  [profile odd]\nrole_arn=x\ncredential_source=Moon\n[profile self]\nrole_arn=x\nsource_profile=self\n\
                  aws_access_key_id=OWN\naws_secret_access_key=x";
    let case = |options: &[(&str, &str)]| {
        Case { options, variables: &[], config, answers: Answering::with(STS) }.error()
    };
    assert!(case(&[("profile", "a")]).contains("lead to each other"));
    assert!(case(&[("profile", "mfa")]).contains("mfa_serial"));
    assert!(case(&[("profile", "lost")]).contains("source_profile and credential_source"));
    assert!(case(&[("profile", "odd")]).contains("Moon"));
    let own = Case { options: &[("profile", "self")], variables: &[], config, answers: Answering::with(STS) };
    assert_eq!(own.keys(), temporary());
    assert!(own.answers.asked()[0].contains("Credential=OWN/"));
}

#[test]
fn web_identity_reads_its_file_each_time_and_signs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "eyJ.S3CRET\n").unwrap();
    let file = file.to_str().unwrap();
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", file),
        ("AWS_ROLE_ARN", "arn:r"),
        ("AWS_ROLE_SESSION_NAME", "me"),
        ("AWS_ENDPOINT_URL_STS", "http://sts.local:1"),
    ];
    let case = Case { options: &[], variables: &variables, config: "", answers: Answering::with(STS) };
    assert_eq!(case.keys(), temporary());
    let asked = case.answers.asked();
    assert!(
        asked[0].starts_with("POST http://sts.local:1/\n") && !asked[0].contains("authorization"),
        "{}",
        asked[0]
    );
    assert!(asked[0].contains("RoleSessionName=me&") && asked[0].ends_with("&WebIdentityToken=eyJ.S3CRET"));
    let missing = [("AWS_WEB_IDENTITY_TOKEN_FILE", "/not/there"), ("AWS_ROLE_ARN", "arn:r")];
    assert!(Case { variables: &missing, answers: nobody(), ..plain() }.error().contains("/not/there"));
}

#[cfg(unix)]
#[test]
fn programs_print_keys() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    std::fs::write(&file, format!("{{\"Version\":1,{}", &JSON.replace("Token", "SessionToken")[1..]))
        .unwrap();
    let config = format!("[default]\ncredential_process = cat '{}'", file.display());
    assert_eq!(Case { config: &config, answers: nobody(), ..plain() }.keys(), temporary());
    let config = "[default]\ncredential_process = echo S3CRET";
    let error = Case { config, answers: nobody(), ..plain() }.error();
    assert!(error.contains("credential_process") && !error.contains("S3CRET"), "{error}");
}

#[test]
fn containers_are_asked_with_their_token() {
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "let me in"),
    ];
    let case = Case { variables: &variables, answers: Answering::with(JSON), ..plain() };
    assert_eq!(case.keys(), temporary());
    assert!(case.answers.asked()[0].starts_with("GET http://169.254.170.23/v1/credentials\n"));
    assert!(case.answers.asked()[0].contains("authorization: let me in"));
    let variables = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x")];
    let case = Case { variables: &variables, answers: Answering::with(JSON), ..plain() };
    assert_eq!(case.keys(), temporary());
    assert!(case.answers.asked()[0].starts_with("GET http://169.254.170.2/v2/x\n"));
    let strangers = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://example.com/")];
    assert!(Case { variables: &strangers, answers: nobody(), ..plain() }.error().contains("neither HTTPS"));
}

#[test]
fn machines_are_asked_by_sessions_only() {
    let machine = |asked: &str| -> Answer {
        if asked.starts_with("PUT http://169.254.169.254/latest/api/token") {
            return ok("session");
        }
        assert!(asked.contains("x-aws-ec2-metadata-token: session"), "{asked}");
        if asked.contains("security-credentials/role\n") { ok(JSON) } else { ok("role\n") }
    };
    let case = Case { answers: Answering::new(machine), ..plain() };
    assert_eq!(case.keys(), temporary());
    assert_eq!(case.answers.asked().len(), 3);
    let refusing = Case { answers: Answering::new(|_| status(403, "")), ..plain() };
    assert!(refusing.error().contains("status 403"));
    assert_eq!(refusing.answers.asked().len(), 1);
}

#[test]
fn nothing_found_tells_where_was_looked() {
    let error = Case { answers: nobody(), ..plain() }.error();
    for word in
        ["anon=True", "AWS_ACCESS_KEY_ID", "~/.aws/config", "\"default\"", "metadata service (", "CONTAINER"]
    {
        assert!(error.contains(word), "{word}: {error}");
    }
    let disabled = Case { variables: &[("AWS_EC2_METADATA_DISABLED", "true")], answers: nobody(), ..plain() };
    assert!(disabled.error().contains("switched off"));
    assert!(disabled.answers.asked().is_empty());
}

#[test]
fn logins_by_browser() {
    let config = "[default]\nsso_session=s\nsso_account_id=1\nsso_role_name=r\n\
                  [sso-session s]\nsso_start_url=https://x\nsso_region=eu-west-1";
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".aws/sso/cache");
    std::fs::create_dir_all(&folder).unwrap();
    // SHA-1 of "s".
    let file = folder.join("a0f1490a20d0211c997b44bc357e1972deab8ae3.json");
    let answers = || {
        Answering::new(|asked| {
            if asked.starts_with("POST https://oidc.eu-west-1.amazonaws.com/token") {
                return ok(r#"{"accessToken":"new","expiresIn":3600,"refreshToken":"r2"}"#);
            }
            ok(
                r#"{"roleCredentials":{"accessKeyId":"ASIA","secretAccessKey":"sec","sessionToken":"tok","expiration":4070908800000}}"#,
            )
        })
    };
    let get = |case: &Case<'_>| case.get(home.path());
    let case = Case { config, answers: answers(), ..plain() };
    assert!(get(&case).unwrap_err().contains("aws sso login"));

    std::fs::write(&file, r#"{"accessToken":"old","expiresAt":"2099-01-01T00:00:00Z"}"#).unwrap();
    assert_eq!(get(&case).unwrap().key_id, "ASIA");
    let asked = case.answers.asked();
    assert!(asked[0].starts_with(
        "GET https://portal.sso.eu-west-1.amazonaws.com/federation/credentials?role_name=r&account_id=1\n"
    ));
    assert!(asked[0].contains("x-amz-sso_bearer_token: old"));

    std::fs::write(&file, r#"{"accessToken":"old","expiresAt":"2020-01-01T00:00:00UTC"}"#).unwrap();
    assert!(get(&case).unwrap_err().contains("aws sso login"));

    let renewable = r#"{"accessToken":"old","expiresAt":"2020-01-01T00:00:00Z","clientId":"i","clientSecret":"c","refreshToken":"r1"}"#;
    std::fs::write(&file, renewable).unwrap();
    let case = Case { config, answers: answers(), ..plain() };
    assert_eq!(get(&case).unwrap().key_id, "ASIA");
    assert!(case.answers.asked()[1].contains("x-amz-sso_bearer_token: new"));
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("\"new\"") && kept.contains("\"r2\"") && kept.contains("\"clientId\""), "{kept}");
}

#[test]
fn regions_and_endpoints_by_option_environment_and_profile() {
    let config = "[default]\nregion=profile\nendpoint_url=http://profile/\n";
    let of = |options: &[(&str, &str)], variables: &[(&str, &str)]| {
        let mut set = CloudOptions::new();
        for (name, value) in options {
            set.set(name, *value).unwrap();
        }
        let environment = Environment::of(variables);
        let found = settings(&set, &environment, &Profiles::parse(config, ""), Search::Nowhere).unwrap();
        format!("{} {}", found.region.unwrap(), found.endpoint.unwrap_or_default())
    };
    let both = [
        ("AWS_REGION", "r"),
        ("AWS_DEFAULT_REGION", "d"),
        ("AWS_ENDPOINT_URL", "http://all"),
        ("AWS_ENDPOINT_URL_S3", "http://s3"),
    ];
    assert_eq!(of(&[("region_name", "o"), ("endpoint_url", "http://o")], &both), "o http://o");
    assert_eq!(of(&[], &both), "r http://s3");
    assert_eq!(of(&[], &both[1..3]), "d http://all");
    assert_eq!(of(&[], &[]), "profile http://profile");
    assert_eq!(of(&[], &[("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")]), "profile ");
}

fn nobody() -> Answering {
    Answering::new(|_| None)
}

/// Nothing set.
fn plain() -> Case<'static> {
    Case { options: &[], variables: &[], config: "", answers: nobody() }
}
