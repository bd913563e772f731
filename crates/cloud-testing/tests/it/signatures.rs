//! Signed reads of a server that checks signatures.

use crate::stand::engine;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};
use swath_cloud_testing::{S3_ACCESS_KEY, S3_SECRET_KEY, S3Server};
use swath_ioengine::{
    ByteRange, CloudCredentials, CloudKeys, CloudMedium, CloudOptions, CredentialSource, Error, ErrorKind,
    Medium, ObjectRef, PutCondition, RangeRead, RunOptions,
};

/// Keys whose letters are encoded in paths, or have a meaning there.
const KEYS: [&str; 6] =
    ["plain", "a b/c+d", "per%20cent", "q?x=1&y#z", "\u{e4}\u{6f22}/~-_.", "!*'();:@=$,[]"];

fn options(server: &S3Server) -> CloudOptions {
    let mut options = CloudOptions::new();
    options.set("endpoint", server.endpoint()).unwrap();
    options.set("max_retries", "0").unwrap();
    options
}

fn medium(server: &S3Server, secret: &str, extra: &[(&str, &str)]) -> Medium {
    let mut options = options(server);
    options.set("access_key_id", S3_ACCESS_KEY).unwrap();
    options.set("secret_access_key", secret).unwrap();
    extra.iter().for_each(|(name, value)| options.set(name, *value).unwrap());
    CloudMedium::open("s3://bucket", &options).unwrap().medium
}

/// Reads a range and the last bytes of an object of 1,000.
fn read(medium: &Medium, key: &str) -> Result<[Vec<u8>; 2], Error> {
    let object = ObjectRef { medium: medium.clone(), key: key.into() };
    let ranges = [ByteRange::Bounded { offset: 100, len: 50 }, ByteRange::Suffix { len: 7 }];
    let found = std::sync::Mutex::new([Ok(Vec::new()), Ok(Vec::new())]);
    let sink = |index: usize, result: Result<&[u8], Error>| {
        found.lock().unwrap()[index] = result.map(<[u8]>::to_vec);
    };
    let reads = ranges.map(|range| RangeRead { object: 0, range });
    engine(4).read_ranges(&[object], &reads, sink, &RunOptions::default())?;
    let [bounded, suffix] = found.into_inner().unwrap();
    Ok([bounded?, suffix?])
}

fn object(seed: usize) -> Vec<u8> {
    (0..1000).map(|at| u8::try_from((at * 7 + seed * 13) % 251).unwrap()).collect()
}

#[test]
fn reads_and_writes_of_any_key_are_accepted() {
    let server = S3Server::start("bucket").unwrap();
    for extra in
        [&[][..], &[("unsigned_payload", "true")], &[("requester_pays", "true"), ("headers.x-mine", "a  b")]]
    {
        let medium = medium(&server, S3_SECRET_KEY, extra);
        for (seed, key) in KEYS.iter().enumerate() {
            let bytes = object(seed);
            medium.put(key, bytes.clone().into(), &PutCondition::Always).unwrap();
            let found = read(&medium, key).unwrap();
            assert_eq!(found, [bytes[100..150].to_vec(), bytes[993..].to_vec()], "{key} {extra:?}");
        }
        assert!(!medium.list("").unwrap().is_empty());
    }
}

#[test]
fn a_wrong_secret_is_refused_and_not_told() {
    let server = S3Server::start("bucket").unwrap();
    server.put("plain", object(0)).unwrap();
    let error = read(&medium(&server, "another-S3CRET", &[]), "plain").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(!format!("{error} {error:?}").contains("S3CRET"), "{error}");
    assert!(read(&medium(&server, S3_SECRET_KEY, &[]), "plain").is_ok());
}

/// Gives right and wrong keys in turn, each for no time.
struct InTurn(AtomicUsize);

impl CredentialSource for InTurn {
    fn credentials(&self) -> Result<CloudCredentials, Error> {
        let is_right = self.0.load(Ordering::SeqCst).is_multiple_of(2);
        let keys = CloudKeys::Amazon {
            access_key_id: S3_ACCESS_KEY.into(),
            secret_access_key: if is_right { S3_SECRET_KEY } else { "wrong" }.into(),
            session_token: None,
        };
        Ok(CloudCredentials { keys, expires: SystemTime::now().checked_sub(Duration::from_secs(1)) })
    }
}

#[test]
fn each_request_is_signed_with_the_credentials_of_its_time() {
    let server = S3Server::start("bucket").unwrap();
    server.put("plain", object(0)).unwrap();
    let source = Arc::new(InTurn(AtomicUsize::new(0)));
    let options = options(&server).with_credentials(Arc::clone(&source) as _);
    let medium = CloudMedium::open("s3://bucket", &options).unwrap().medium;
    for turn in 0..6 {
        source.0.store(turn, Ordering::SeqCst);
        match read(&medium, "plain") {
            Ok(found) => assert!(turn % 2 == 0 && found[0] == object(0)[100..150], "{turn}"),
            Err(error) => assert_eq!((turn % 2, error.kind()), (1, ErrorKind::PermissionDenied)),
        }
    }
}
