//! Names that outlive the process.

use super::built;
use crate::media::cloud::credentials::answering::Answering;
use std::collections::BTreeSet;

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn name(url: &str, set: Pairs<'_>, variables: Pairs<'_>) -> String {
    built(url, set, variables, &Answering::with("")).unwrap().lasting_name.to_string()
}

const ANON: (&str, &str) = ("anon", "1");

#[test]
fn what_differs_has_names_that_differ() {
    let s3: Pairs<'_> = &[ANON];
    let azure: Pairs<'_> = &[ANON, ("account_name", "one")];
    let cases: [(&str, Pairs<'_>, Pairs<'_>); 24] = [
        ("s3://b", s3, &[]),
        ("s3://c", s3, &[]),
        ("s3://b", &[], &[]),
        ("s3://b", &[ANON, ("region", "cn-north-1")], &[]),
        ("s3://b", &[ANON, ("endpoint", "http://h:1")], &[]),
        ("s3://b", &[ANON, ("endpoint", "https://h:1")], &[]),
        ("s3://b", &[ANON, ("endpoint", "http://h:1/tenant")], &[]),
        ("s3://b", s3, &[("AWS_ENDPOINT_URL", "http://h:2")]),
        ("s3://b", &[ANON, ("requester_pays", "true")], &[]),
        ("s3://b", &[("key", "AKIA1"), ("secret", "s")], &[]),
        ("s3://b", &[("key", "AKIA2"), ("secret", "s")], &[]),
        ("gs://b", s3, &[]),
        ("gs://b", s3, &[("STORAGE_EMULATOR_HOST", "h:3")]),
        ("gs://b", &[ANON, ("requester_pays", "mine")], &[]),
        ("az://b", azure, &[]),
        ("az://b", s3, &[("AZURE_STORAGE_ACCOUNT_NAME", "two")]),
        ("az://b", &[ANON, ("account_name", "one"), ("endpoint", "http://h:4")], &[]),
        ("az://b", &[ANON, ("account_name", "two"), ("endpoint", "http://h:4")], &[]),
        ("https://h/a", &[], &[]),
        ("http://h/a", &[], &[]),
        ("https://h:5/a", &[], &[]),
        ("https://me@h/a", &[], &[]),
        ("https://h/a?version=1", &[], &[]),
        ("https://h/a", &[("headers.X-Tenant", "1")], &[]),
    ];
    let names: BTreeSet<String> =
        cases.iter().map(|(url, set, variables)| name(url, set, variables)).collect();
    assert_eq!(names.len(), cases.len(), "{names:#?}");
}

#[test]
fn what_is_the_same_has_one_name() {
    let same: [[(&str, Pairs<'_>, Pairs<'_>); 2]; 7] = [
        [("s3://b/k", &[ANON], &[]), ("s3a://b/other", &[ANON, ("region", "eu-west-1")], &[])],
        [
            ("s3://b", &[ANON, ("endpoint", "http://h:1/")], &[]),
            ("s3://b", &[ANON], &[("AWS_ENDPOINT_URL_S3", "http://h:1")]),
        ],
        [
            ("s3://b", &[ANON], &[]),
            ("s3://b", &[ANON, ("addressing_style", "virtual"), ("concurrency", "9")], &[]),
        ],
        [
            ("s3://b", &[("key", "AKIA"), ("secret", "one")], &[]),
            ("s3://b", &[("key", "AKIA"), ("secret", "other"), ("token", "t")], &[]),
        ],
        [
            ("az://b", &[("account_name", "one"), ("sas_token", "sig=1")], &[]),
            ("abfs://b@one.dfs.core.windows.net/k", &[("sas_token", "sig=2")], &[]),
        ],
        [("https://h/a", &[], &[]), ("https://h/b/c", &[("headers.Authorization", "Bearer t")], &[])],
        [("https://me:one@h/a", &[], &[]), ("https://me:other@h/a", &[], &[])],
    ];
    for [one, other] in same {
        assert_eq!(name(one.0, one.1, one.2), name(other.0, other.1, other.2), "{one:?} {other:?}");
    }
}

#[test]
fn names_hold_no_secrets() {
    let names = [
        name("s3://b", &[("key", "S3CRET"), ("secret", "S3CRET"), ("token", "S3CRET")], &[]),
        name("https://S3CRET:S3CRET@h/a?sig=S3CRET", &[("headers.X", "S3CRET")], &[]),
        name("az://b", &[("account_name", "one"), ("sas_token", "sig=S3CRET")], &[]),
    ];
    assert!(names.iter().all(|name| !name.contains("S3CRET")), "{names:?}");
}
