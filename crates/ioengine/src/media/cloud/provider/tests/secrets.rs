//! Secrets are in no output.

use super::{built, options, run, ways};
use crate::media::cloud::credentials::answering::{Answering, status};
use object_store::ObjectStoreExt;
use object_store::path::Path;

/// URLs and options with marked secrets everywhere.
const CASES: &[(&str, &[(&str, &str)])] = &[
    ("s3://b", &[("key", "AK-S3CRET"), ("secret", "S3CRET"), ("token", "tok-S3CRET")]),
    ("s3://b", &[("key", "a"), ("secret", "S3CRET"), ("role_arn", "arn:x"), ("external_id", "S3CRET")]),
    ("s3://b", &[("anon", "1"), ("sse_customer_key_base64", "S3CRET!"), ("server_side_encryption", "sse-c")]),
    ("s3://b", &[("anon", "1"), ("proxy_url", "http://u:S3CRET@h")]),
    ("s3://b", &[("anon", "1"), ("headers.cookie", "S3CRET")]),
    ("s3://b", &[("anon", "1"), ("headers.cookie", "S3CRET\n")]),
    ("gs://b", &[("token", "S3CRET")]),
    ("gs://b", &[("service_account_key", "S3CRET")]),
    (
        "gs://b",
        &[(
            "service_account_key",
            r#"{"type":"service_account","private_key":"S3CRET","private_key_id":"S3CRET","client_email":"e"}"#,
        )],
    ),
    (
        "gs://b",
        &[(
            "token",
            r#"{"type":"authorized_user","client_id":"i","client_secret":"S3CRET","refresh_token":"S3CRET"}"#,
        )],
    ),
    ("az://c", &[("account_name", "a"), ("account_key", "S3CRETS3CRET")]),
    ("az://c", &[("account_name", "a"), ("account_key", "S3CRET!")]),
    ("az://c", &[("account_name", "a"), ("sas_token", "sv=1&sig=S3CRET")]),
    ("az://c", &[("account_name", "a"), ("sas_token", "S3CRET")]),
    ("az://c", &[("account_name", "a"), ("client_id", "i"), ("tenant_id", "t"), ("client_secret", "S3CRET")]),
    ("az://c", &[("account_name", "a"), ("token", "S3CRET")]),
    ("az://c", &[("account_name", "a"), ("anon", "1"), ("encryption_key", "S3CRET!")]),
    ("az://c", &[("connection_string", "AccountName=a;AccountKey=S3CRETS3CRET")]),
    ("https://acc.blob.core.windows.net/c/k?sv=1&sig=S3CRET", &[]),
    ("https://u:S3CRET@h/k?sig=S3CRET", &[]),
    ("https://b.s3.amazonaws.com/k?X-Amz-Signature=S3CRET", &[]),
    ("https://h/k", &[("username", "u"), ("password", "S3CRET")]),
    ("https://h/k", &[("token", "S3CRET")]),
];

#[test]
fn no_output_has_them() {
    let mut outputs = Vec::new();
    for (url, set) in CASES {
        let set_options = options(set);
        outputs.push(format!("{set_options:?}"));
        let (open, _) = set_options.without_secrets();
        outputs.push(format!("{:?}", open.iter().collect::<Vec<_>>()));
        for code in [403, 500, 301, 404] {
            // The servers' own words may be told; these have none of ours.
            let answers = Answering::new(move |_| status(code, "no"));
            match built(url, set, &[], &answers) {
                Ok(built) => {
                    outputs.push(format!("{} {:?} {}", built.store, built.store, built.endpoint));
                    let key = Path::from("k");
                    for way in ways(&built) {
                        let failed = run(async { way.get(&key).await }).err().unwrap();
                        outputs.push(format!("{way} {way:?} {}", told(&failed)));
                    }
                    let failed = run(async { built.store.put(&key, "x".into()).await }).err().unwrap();
                    outputs.push(told(&failed));
                }
                Err(error) => outputs.push(told(&error)),
            }
        }
        // Tokens that were fetched are secrets as well.
        let giving = Answering::with(r#"{"access_token":"S3CRET","expires_in":3600,"token_type":"Bearer"}"#);
        if let Ok(built) = built(url, set, &[], &giving) {
            // Whether that is an answer to the request itself does not matter here.
            for way in ways(&built) {
                let _ = run(async { way.get(&Path::from("k")).await });
                outputs.push(format!("{way:?}"));
            }
        }
        let gone = Answering::new(|_| None);
        if let Ok(built) = built(url, set, &[], &gone) {
            for way in ways(&built) {
                outputs.push(told(&run(async { way.get(&Path::from("k")).await }).err().unwrap()));
            }
        }
    }
    assert!(CASES.len() * 5 < outputs.len());
    for output in outputs {
        assert!(!output.contains("S3CRET"), "{output}");
    }
}

/// An error and all its causes, in both spellings.
fn told(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        text += &format!("{error} | {error:?} | ");
        next = error.source();
    }
    text
}
