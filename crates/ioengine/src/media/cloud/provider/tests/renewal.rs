//! Credentials that a service refuses, and those that nobody gives, as a fetch meets them.

use super::super::{Built, build};
use super::options;
use crate::media::cloud::CloudSettings;
use crate::media::cloud::concurrency::Bounds;
use crate::media::cloud::credentials::Environment;
use crate::media::cloud::credentials::answering::{Answering, ok, status};
use crate::media::cloud::endpoint::Endpoint;
use crate::media::cloud::service::Service;
use crate::media::cloud::{CloudCredentials, CloudKeys, CredentialSource};
use crate::{ByteRange, Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

/// Numbers its tokens, and says that each holds for a year.
#[derive(Default)]
struct Numbered(AtomicU32);

impl CredentialSource for Numbered {
    fn credentials(&self) -> Result<CloudCredentials, Error> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        let expires = SystemTime::now().checked_add(Duration::from_secs(365 * 86_400));
        Ok(CloudCredentials { keys: amazon(&format!("token-{number}-")), expires })
    }
}

struct Fails;

impl CredentialSource for Fails {
    fn credentials(&self) -> Result<CloudCredentials, Error> {
        Err(Error::new(
            ErrorKind::PermissionDenied,
            "the credential_provider raised ValueError: no keys today",
        ))
    }
}

fn amazon(token: &str) -> CloudKeys {
    CloudKeys::Amazon {
        access_key_id: "id".into(),
        secret_access_key: "SECRET".into(),
        session_token: Some(token.to_owned()),
    }
}

fn service(source: Arc<dyn CredentialSource>, answers: &Answering) -> Service {
    let set = options(&[]).with_credentials(source);
    let built = build("s3://b", &set, &Environment::default(), |_| Ok(answers.clone())).unwrap();
    let Built { store, reads, endpoint, abilities, renewal, .. } = built;
    let endpoint = Arc::new(Endpoint::new(endpoint, Bounds { min: 1, initial: 16, max: 16 }));
    let settings = CloudSettings::default();
    Service {
        store,
        reads,
        endpoint,
        lasting_name: None,
        abilities,
        settings,
        gather: None,
        transport: None,
        renewal,
    }
}

const WHOLE: ByteRange = ByteRange::Whole { len_max: 100 };

fn refusal() -> crate::media::cloud::credentials::answering::Answer {
    status(400, "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>")
}

#[tokio::test]
async fn credentials_that_a_service_refuses_are_renewed_once_for_all() {
    let source = Arc::new(Numbered::default());
    let answers = Answering::new(|request| if request.contains("token-0-") { refusal() } else { ok("body") });
    let service = service(Arc::clone(&source) as _, &answers);
    let fetches = (0..10).map(|_| service.fetch("k", WHOLE, None));
    for fetched in futures_util::future::join_all(fetches).await {
        assert_eq!(fetched.unwrap().bytes, "body");
    }
    assert_eq!(source.0.load(Ordering::Relaxed), 2);
    // One for each fetch, and one more for each that was refused before the renewal.
    assert!((11..=20).contains(&answers.asked().len()));
}

#[tokio::test]
async fn a_service_that_refuses_all_credentials_is_asked_twice() {
    let source = Arc::new(Numbered::default());
    let answers = Answering::new(|_| refusal());
    let error = service(Arc::clone(&source) as _, &answers).fetch("k", WHOLE, None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.message().contains("The provided token has expired"), "{error}");
    assert_eq!((source.0.load(Ordering::Relaxed), answers.asked().len()), (2, 2));
}

#[tokio::test]
async fn what_a_source_of_credentials_says_is_what_the_fetch_says() {
    let answers = Answering::with("body");
    let service = service(Arc::new(Fails), &answers);
    let error = service.fetch("k", WHOLE, None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert_eq!(error.message(), "the credential_provider raised ValueError: no keys today");
    let error = service.list("").await.unwrap_err();
    assert!(error.message().contains("no keys today"), "{error}");
    assert_eq!(answers.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn what_was_looked_at_for_keys_is_told() {
    let environment = Environment::of(&[("AWS_EC2_METADATA_DISABLED", "true"), ("HOME", "/nowhere")]);
    let answers = Answering::with("body");
    let built = build("s3://b", &options(&[]), &environment, |_| Ok(answers.clone())).unwrap();
    let Built { store, reads, endpoint, abilities, renewal, .. } = built;
    let endpoint = Arc::new(Endpoint::new(endpoint, Bounds { min: 1, initial: 16, max: 16 }));
    let settings = CloudSettings::default();
    let service = Service {
        store,
        reads,
        endpoint,
        lasting_name: None,
        abilities,
        settings,
        gather: None,
        transport: None,
        renewal,
    };
    let error = service.fetch("k", WHOLE, None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    for words in ["no credentials for S3 were found", "AWS_ACCESS_KEY_ID", "anon=True"] {
        assert!(error.message().contains(words), "{error}");
    }
}
