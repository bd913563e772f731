//! URLs, taken apart.

use super::super::parse;
use crate::ErrorKind;
use crate::media::cloud::CloudOptions;

fn apart(url: &str) -> (String, String) {
    let parsed = parse(url, &CloudOptions::new()).unwrap_or_else(|error| panic!("{url}: {error}"));
    (parsed.root, parsed.prefix)
}

#[test]
fn golden() {
    let cases = [
        ("s3://bucket/a/b", "s3://bucket", "a/b"),
        ("s3://bucket", "s3://bucket", ""),
        ("s3://bucket/", "s3://bucket", ""),
        ("s3a://bucket/a/", "s3://bucket", "a"),
        ("S3://Bucket_1.x/a", "s3://Bucket_1.x", "a"),
        ("s3://bucket/a b/c+d/e%20f/\u{fc}/#g", "s3://bucket", "a b/c+d/e%20f/\u{fc}/#g"),
        ("gs://bucket/a", "gs://bucket", "a"),
        ("gcs://bucket/a", "gs://bucket", "a"),
        ("az://container/a", "az://container", "a"),
        ("azure://container/a", "az://container", "a"),
        ("adl://container/a", "az://container", "a"),
        ("abfs://container/a", "az://container", "a"),
        ("abfss://c@acc.dfs.core.windows.net/a/b", "abfss://c@acc.dfs.core.windows.net", "a/b"),
        ("abfs://c@acc.blob.core.windows.net/a", "abfss://c@acc.dfs.core.windows.net", "a"),
        ("wasbs://$root@acc.blob.core.windows.net/a", "abfss://$root@acc.dfs.core.windows.net", "a"),
        ("abfss://w@onelake.dfs.fabric.microsoft.com/x", "abfss://w@onelake.dfs.fabric.microsoft.com", "x"),
        ("https://example.com/a%20b/c+d/%C3%BC/e%2520f", "https://example.com", "a b/c+d/\u{fc}/e%20f"),
        ("http://example.com:8080/x", "http://example.com:8080", "x"),
        ("https://example.com:443/x/", "https://example.com", "x"),
        ("https://example.com", "https://example.com", ""),
        ("http://[::1]:9/x", "http://[::1]:9", "x"),
        ("https://u:S3CRET@example.com/x?token=S3CRET#frag", "https://example.com", "x"),
        ("https://b.s3.eu-west-1.amazonaws.com/k/l", "https://s3.eu-west-1.amazonaws.com/b", "k/l"),
        ("https://b.with.dots.s3.amazonaws.com/k", "https://s3.amazonaws.com/b.with.dots", "k"),
        ("https://s3.eu-west-1.amazonaws.com/b/k", "https://s3.eu-west-1.amazonaws.com/b", "k"),
        ("https://s3-us-gov-west-1.amazonaws.com/b/k", "https://s3.us-gov-west-1.amazonaws.com/b", "k"),
        (
            "https://b.s3.dualstack.us-east-1.amazonaws.com/k",
            "https://s3.dualstack.us-east-1.amazonaws.com/b",
            "k",
        ),
        ("https://s3.cn-north-1.amazonaws.com.cn/b/k", "https://s3.cn-north-1.amazonaws.com.cn/b", "k"),
        ("https://a1.r2.cloudflarestorage.com/b/k", "https://a1.r2.cloudflarestorage.com/b", "k"),
        ("https://storage.googleapis.com/b/k%20l", "https://storage.googleapis.com/b", "k l"),
        ("https://b.storage.googleapis.com/k", "https://storage.googleapis.com/b", "k"),
        ("https://acc.blob.core.windows.net/c/k", "https://acc.blob.core.windows.net/c", "k"),
        ("https://acc.dfs.core.windows.net/c/k", "https://acc.blob.core.windows.net/c", "k"),
        ("https://acc.blob.core.windows.net/c/k?sv=1&sig=S3CRET", "https://acc.blob.core.windows.net/c", "k"),
        // Signed for one key: asked for as they are.
        (
            "https://b.s3.eu-west-1.amazonaws.com/k?X-Amz-Signature=S3CRET",
            "https://b.s3.eu-west-1.amazonaws.com",
            "k",
        ),
        (
            "https://storage.googleapis.com/b/k?X-Goog-Signature=S3CRET",
            "https://storage.googleapis.com",
            "b/k",
        ),
        // No bucket, other services, other ports: web servers.
        ("https://storage.googleapis.com/", "https://storage.googleapis.com", ""),
        (
            "https://b.s3-website-us-east-1.amazonaws.com/k",
            "https://b.s3-website-us-east-1.amazonaws.com",
            "k",
        ),
        ("https://ec2.amazonaws.com/k", "https://ec2.amazonaws.com", "k"),
        ("https://s3.eu-west-1.amazonaws.com:8443/b/k", "https://s3.eu-west-1.amazonaws.com:8443", "b/k"),
        ("http://s3.eu-west-1.amazonaws.com/b/k", "http://s3.eu-west-1.amazonaws.com", "b/k"),
        ("https://evil-core.windows.net/c/k", "https://evil-core.windows.net", "c/k"),
    ];
    for (url, root, prefix) in cases {
        assert_eq!(apart(url), (root.to_owned(), prefix.to_owned()), "{url}");
        let parsed = parse(url, &CloudOptions::new()).unwrap();
        if parsed.access.is_none() {
            assert_eq!(apart(root), (root.to_owned(), String::new()), "the root of {url} leads to itself");
        }
        // The root and all else that is shown have no secret.
        let shown = format!("{parsed:?}");
        assert!(!shown.contains("S3CRET"), "{shown}");
    }
}

#[test]
fn what_cannot_be_expressed_is_an_error_that_does_not_repeat_it() {
    let cases = [
        ("s3://b/S3CRET//c", "empty part"),
        ("s3://b//S3CRET", "empty part"),
        ("s3://b/S3CRET//", "empty part"),
        ("s3://b/S3CRET/../c", "'..'"),
        ("s3://b/./S3CRET", "'.'"),
        ("s3://b/S3CRET\n", "control character"),
        ("s3://b/k?sig=S3CRET", "no query"),
        ("s3://key:S3CRET@b/k", "give them as options"),
        ("gs://user@b/k", "give them as options"),
        ("abfs://c@host.example.com/S3CRET", "give them as options"),
        ("s3:///S3CRET", "names no bucket"),
        ("s3://b c/S3CRET", "names no bucket"),
        ("ftp://u:S3CRET@h/k", "\"ftp\""),
        ("/local/S3CRET", "has a scheme"),
        ("https://h/a%2FS3CRET", "%2F"),
        ("https://h/%ffS3CRET", "not Unicode"),
        ("https://h/a//S3CRET", "empty part"),
        ("https://u:S3CRET@", "cannot be read"),
    ];
    for (url, words) in cases {
        let error = parse(url, &CloudOptions::new()).err().unwrap_or_else(|| panic!("{url:?} was taken"));
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{url:?}");
        assert!(error.message().contains(words), "{url:?}: {error}");
        assert!(!error.message().contains("S3CRET"), "{url:?}: {error}");
    }
}

#[test]
fn signatures_and_passwords_tell_locations_apart() {
    let of = |url| parse(url, &CloudOptions::new()).unwrap();
    assert_eq!(of("https://h/x").access, None);
    assert_ne!(of("https://h/x?a=1"), of("https://h/x?a=2"));
    assert_ne!(of("https://u:1@h/x"), of("https://u:2@h/x"));
    assert_eq!(of("https://h/x?a=1#b"), of("https://h/x?a=1"));
}
