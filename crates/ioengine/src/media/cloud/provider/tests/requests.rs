//! The requests that stores make.

use super::super::{Abilities, build};
use super::{asked, built, options, run, ways};
use crate::media::cloud::credentials::Environment;
use crate::media::cloud::credentials::answering::{Answering, ok};
use crate::media::cloud::{CloudCredentials, CloudKeys, CredentialSource};
use crate::{Error, ErrorKind};
use object_store::ObjectStoreExt;
use object_store::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const KEYS: [(&str, &str); 2] = [("key", "AKIA"), ("secret", "s")];
const ANON: [(&str, &str); 1] = [("anon", "True")];

/// Set and the URL that a request goes to.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)], &'a str);

#[test]
fn keys_and_endpoints_make_urls() {
    let port: &[(&str, &str)] = &[("endpoint_url", "http://localhost:9000/"), ("anon", "1")];
    let cases: [Case<'_>; 16] = [
        ("s3://b/k", &ANON, &[], "https://s3.us-east-1.amazonaws.com/b/a%20b%2Bc%25d/%C3%BC"),
        (
            "s3://b/k",
            &ANON,
            &[("AWS_REGION", "eu-west-1")],
            "https://s3.eu-west-1.amazonaws.com/b/a%20b%2Bc%25d/%C3%BC",
        ),
        (
            "s3://b",
            &[("anon", "1"), ("region", "cn-north-1")],
            &[],
            "https://s3.cn-north-1.amazonaws.com.cn/b/a%20b%2Bc%25d/%C3%BC",
        ),
        ("s3://b", port, &[], "http://localhost:9000/b/a%20b%2Bc%25d/%C3%BC"),
        (
            "s3://b",
            &[("anon", "1"), ("addressing_style", "virtual")],
            &[],
            "https://b.s3.us-east-1.amazonaws.com/a%20b%2Bc%25d/%C3%BC",
        ),
        (
            "s3://b",
            &[("anon", "1"), ("endpoint", "h:1"), ("use_ssl", "False")],
            &[],
            "http://h:1/b/a%20b%2Bc%25d/%C3%BC",
        ),
        ("s3://b", &ANON, &[("AWS_ENDPOINT_URL", "http://h:1")], "http://h:1/b/a%20b%2Bc%25d/%C3%BC"),
        (
            "https://b.s3.eu-west-1.amazonaws.com/k",
            &[],
            &[],
            "https://s3.eu-west-1.amazonaws.com/b/a%20b%2Bc%25d/%C3%BC",
        ),
        ("gs://b", &ANON, &[], "https://storage.googleapis.com/b/a%20b%2Bc%25d%2F%C3%BC"),
        (
            "gs://b",
            &[],
            &[("STORAGE_EMULATOR_HOST", "localhost:4443")],
            "http://localhost:4443/b/a%20b%2Bc%25d%2F%C3%BC",
        ),
        (
            "az://c",
            &[("anon", "1"), ("account_name", "acc")],
            &[],
            "https://acc.blob.core.windows.net/c/a%20b+c%25d/%C3%BC",
        ),
        (
            "abfss://c@acc.dfs.core.windows.net/k",
            &ANON,
            &[],
            "https://acc.blob.core.windows.net/c/a%20b+c%25d/%C3%BC",
        ),
        (
            "az://c",
            &[("use_emulator", "1")],
            &[],
            "http://127.0.0.1:10000/devstoreaccount1/c/a%20b+c%25d/%C3%BC",
        ),
        (
            "az://c",
            &[("connection_string", "UseDevelopmentStorage=true")],
            &[],
            "http://127.0.0.1:10000/devstoreaccount1/c/a%20b+c%25d/%C3%BC",
        ),
        ("https://h/x", &[], &[], "https://h/a%20b+c%25d/%C3%BC"),
        ("http://u:p@h:1/x?q=%2B&r", &[], &[], "http://h:1/a%20b+c%25d/%C3%BC?q=%2B&r"),
    ];
    for (url, set, variables, wanted) in cases {
        let request = asked(url, set, variables, "a b+c%d/\u{fc}");
        let line = request.lines().next().unwrap();
        assert_eq!(line.replace("%2F", "/"), format!("GET {}", wanted.replace("%2F", "/")), "{url} {set:?}");
    }
}

#[test]
fn signed_where_there_are_keys() {
    let signed = asked("s3://b", &KEYS, &[("AWS_REGION", "eu-west-1")], "k");
    assert!(signed.contains("authorization: AWS4-HMAC-SHA256 Credential=AKIA/"), "{signed}");
    assert!(signed.contains("/eu-west-1/s3/aws4_request"), "{signed}");
    let token = asked("gs://b", &[("token", "ya29.x")], &[], "k");
    assert!(token.contains("authorization: Bearer ya29.x"), "{token}");
    let azure = asked("az://c", &[("account_name", "acc"), ("account_key", "a2V5")], &[], "k");
    assert!(azure.contains("authorization: SharedKey acc:"), "{azure}");
    let signature = asked("https://acc.blob.core.windows.net/c/x?sv=1&sig=a%2Bb", &[], &[], "k");
    assert!(signature.contains("/c/k?sv=1&sig=a%2Bb"), "{signature}");
    let web = asked("https://user:p%40ss@h/x", &[], &[], "k");
    assert!(web.contains("authorization: Basic dXNlcjpwQHNz"), "{web}");
    for (url, set) in [
        ("s3://b", &ANON[..]),
        ("https://b.s3.amazonaws.com/k", &[]),
        ("https://acc.blob.core.windows.net/c/k", &[]),
    ] {
        let plain = asked(url, set, &[("AWS_EC2_METADATA_DISABLED", "true")], "k");
        assert!(!plain.contains("authorization"), "{plain}");
    }
}

/// What reads are signed by, and what goes with them, whatever the options.
#[test]
fn reads_are_signed_here_but_of_directory_buckets() {
    let token = [KEYS[0], KEYS[1], ("token", "tok")];
    let signed = asked("s3://b", &token, &[], "k");
    assert!(
        signed.contains("x-amz-security-token: tok") && signed.contains(";x-amz-security-token,"),
        "{signed}"
    );
    let unsigned = asked("s3://b", &[KEYS[0], KEYS[1], ("unsigned_payload", "true")], &[], "k");
    assert!(unsigned.contains("x-amz-content-sha256: UNSIGNED-PAYLOAD"), "{unsigned}");
    let headers = asked("s3://b", &[KEYS[0], KEYS[1], ("headers.x-mine", "v")], &[], "k");
    assert!(headers.contains("x-mine: v") && !headers.contains(";x-mine"), "{headers}");
    for set in [&[("virtual_hosted_style_request", "true")][..], &[("endpoint", "http://h:80/below")], &[]] {
        asked("s3://b", &[&KEYS[..], set].concat(), &[], "a b/c+d%20e/\u{fc}*'(){}~");
    }
    let answers = Answering::with("body");
    for (url, set, has_reads) in [
        ("s3://b", &KEYS[..], true),
        ("s3://b", &ANON, false),
        ("s3://b--use1-az4--x-s3", &KEYS, false),
        ("s3://b--use1-az4--x-s3", &[KEYS[0], KEYS[1], ("s3_express", "true")], false),
    ] {
        assert_eq!(built(url, set, &[], &answers).unwrap().reads.is_some(), has_reads, "{url} {set:?}");
    }
}

#[test]
fn requesters_pay_where_they_say_so() {
    let set = [KEYS[0], KEYS[1], ("requester_pays", "True")];
    let amazon = asked("s3://b", &set, &[], "k");
    assert!(
        amazon.contains("x-amz-request-payer: requester")
            && amazon.contains("x-amz-request-payer,") | amazon.contains(";x-amz-request-payer"),
        "{amazon}"
    );
    let google =
        asked("gs://b", &[("token", "t"), ("requester_pays", "true"), ("project", "mine")], &[], "k");
    assert!(google.contains("x-goog-user-project: mine"), "{google}");
    let google = asked("gs://b", &[("token", "t"), ("requester_pays", "theirs")], &[], "k");
    assert!(google.contains("x-goog-user-project: theirs"), "{google}");
    let error = built("gs://b", &[("token", "t"), ("requester_pays", "true")], &[], &Answering::with(""))
        .err()
        .unwrap();
    assert!(error.message().contains("project"), "{error}");
}

#[test]
fn headers_go_to_the_service_and_not_to_who_gives_its_tokens() {
    let answers = Answering::new(|request| match request.contains("/token\n") {
        true => ok(r#"{"access_token":"fresh","expires_in":3600}"#),
        false => ok("body"),
    });
    let login = r#"{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r","token_uri":"https://login.example/token"}"#;
    let set = [("token", login), ("headers.X-Mine", "v")];
    let built = built("gs://b", &set, &[], &answers).unwrap();
    for _ in 0..3 {
        run(async { built.store.get(&Path::from("k")).await }).unwrap();
    }
    let asked = answers.asked();
    assert_eq!(asked.len(), 4);
    assert!(
        asked[0].starts_with("POST https://login.example/token\n") && !asked[0].contains("x-mine"),
        "{}",
        asked[0]
    );
    assert!(asked[1].contains("x-mine: v") && asked[1].contains("Bearer fresh"), "{}", asked[1]);
    let error =
        super::built("s3://b", &[("anon", "1"), ("headers.x-amz-acl", "v")], &[], &answers).err().unwrap();
    assert!(error.message().contains("x-amz-acl"), "{error}");
}

#[test]
fn buckets_are_followed_to_their_region() {
    for (set, first) in [(&KEYS[..], 0), (&KEYS[..], 1), (&ANON[..], 0)] {
        let answers =
            Answering::new(|request| match request.contains("https://s3.eu-north-1.amazonaws.com/b/") {
                true => ok("body"),
                false => Some((301, vec![("x-amz-bucket-region", "eu-north-1".to_owned())], String::new())),
            });
        let built = built("s3://b", set, &[], &answers).unwrap();
        let signed = set.len() == 2;
        let mut ways = ways(&built);
        assert_eq!(ways.len(), 1 + usize::from(signed));
        // Whichever learns of the region first, the other one knows it.
        ways.rotate_left(first);
        for way in ways.iter().chain(&ways).take(2) {
            let got = run(async { way.get(&Path::from("k")).await?.bytes().await }).unwrap();
            assert_eq!(&got[..], b"body");
        }
        let asked = answers.asked();
        assert_eq!(asked.len(), 3, "asked in vain once only");
        assert!(asked[0].starts_with("GET https://s3.us-east-1.amazonaws.com/b/k\n"), "{}", asked[0]);
        for request in &asked[1..] {
            assert_eq!(request.contains("/eu-north-1/s3/aws4_request"), signed, "{request}");
            assert_eq!(request.matches("authorization:").count(), usize::from(signed));
        }
    }
}

#[test]
fn a_region_that_is_no_name_is_not_believed() {
    for told in ["evil.example.com/", "", "a.b", "us-east-1"] {
        let answers = Answering::new(move |_| {
            Some((301, vec![("x-amz-bucket-region", told.to_owned())], String::new()))
        });
        for set in [&ANON[..], &KEYS[..]] {
            for way in ways(&built("s3://b", set, &[], &answers).unwrap()) {
                let before = answers.asked().len();
                assert!(run(async { way.get(&Path::from("k")).await }).is_err());
                assert_eq!(answers.asked().len(), before + 1, "{told}");
            }
        }
    }
}

#[test]
fn what_services_can_do() {
    let of = |url, set: &[(&str, &str)]| {
        let built = built(url, set, &[], &Answering::with("")).unwrap();
        (built.abilities, built.endpoint.to_string())
    };
    let all = Abilities { suffix_ranges: true, lists: true, conditional_puts: true };
    assert_eq!(of("s3://b", &ANON), (all, "https://s3.us-east-1.amazonaws.com".to_owned()));
    assert_eq!(of("gs://b", &ANON), (all, "https://storage.googleapis.com".to_owned()));
    let azure = of("abfss://c@acc.dfs.core.windows.net/k", &ANON);
    assert_eq!(
        azure,
        (Abilities { suffix_ranges: false, ..all }, "https://acc.blob.core.windows.net".to_owned())
    );
    let web = of("http://h:1/x/y", &[]);
    assert_eq!(
        web,
        (Abilities { suffix_ranges: true, lists: false, conditional_puts: false }, "http://h:1".to_owned())
    );
    assert!(!of("s3://b", &[("anon", "1"), ("conditional_put", "disabled")]).0.conditional_puts);
}

/// Counts how often it is asked.
struct Counting(AtomicU32, CloudKeys);

impl CredentialSource for Counting {
    fn credentials(&self) -> Result<CloudCredentials, Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(CloudCredentials { keys: self.1.clone(), expires: None })
    }
}

#[test]
fn own_credentials_are_asked_for_once() {
    let keys = CloudKeys::Amazon {
        access_key_id: "OWN".into(),
        secret_access_key: "s".into(),
        session_token: Some("t".into()),
    };
    let source = Arc::new(Counting(AtomicU32::new(0), keys));
    let set = options(&[]).with_credentials(Arc::clone(&source) as _);
    let answers = Answering::with("body");
    // A profile that is not there matters to nobody who has keys.
    let environment = Environment::of(&[("AWS_PROFILE", "nobody")]);
    let built = build("s3://b", &set, &environment, |_| Ok(answers.clone())).unwrap();
    assert_eq!(source.0.load(Ordering::Relaxed), 0);
    run(async {
        let key = Path::from("k");
        for way in ways(&built) {
            let all = (0..10).map(|_| way.get(&key));
            assert!(futures_util::future::join_all(all).await.iter().all(Result::is_ok));
        }
    });
    assert_eq!(source.0.load(Ordering::Relaxed), 1);
    assert!(answers.asked().iter().all(|request| request.contains("Credential=OWN/")));
    let built = build("gs://b", &set, &environment, |_| Ok(answers.clone())).unwrap();
    let error = run(async { built.store.get(&Path::from("k")).await }).err().unwrap();
    assert!(error.to_string().contains("Google Cloud Storage were wanted"), "{error}");
}

#[test]
fn contradictions_are_errors() {
    type Wrong<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let cases: [Wrong<'_>; 9] = [
        ("s3://b", &[("anon", "1"), ("key", "AKIA")], "anon"),
        ("gs://b", &[("anon", "1"), ("service_account_key", "{}")], "anon"),
        ("az://b", &[("anon", "1"), ("sas_token", "sig=1")], "anon"),
        ("s3://b", &[("anon", "1"), ("http1_only", "1"), ("http2_only", "1")], "http2_only"),
        ("http://h/x", &[("allow_http", "false")], "allow_http"),
        ("abfs://c@one.dfs.core.windows.net/k", &[("account_name", "two")], "\"two\""),
        ("az://c/k", &[], "account_name"),
        ("s3://b", &[("anon", "1"), ("connect_timeout", "soon")], "connect_timeout"),
        ("s3://b", &[("anon", "1"), ("region", "evil/host")], "region"),
    ];
    for (url, set, words) in cases {
        let answers = Answering::with("");
        let error =
            super::super::build(url, &options(set), &Environment::default(), |_| Ok(answers.clone())).err();
        let error = error.unwrap_or_else(|| panic!("{url} {set:?} was taken"));
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains(words), "{error}");
    }
}
