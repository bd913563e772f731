//! Signatures against those that AWS published, and those that object_store makes.

use super::canonical::Canonical;
use super::{Payload, Signer};
use crate::media::cloud::credentials::compact;
use crate::media::cloud::provider::region::Pays;
use crate::random::Random;
use http::{HeaderName, HeaderValue, Method, Request};
use object_store::StaticCredentialProvider;
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::client::{HttpRequest, HttpRequestBody};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

fn request(uri: &str, headers: &[(&str, &str)]) -> HttpRequest {
    let mut request = Request::builder().method(Method::GET).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(HttpRequestBody::empty()).unwrap()
}

fn credential(secret: &str, token: Option<&str>) -> Arc<AwsCredential> {
    Arc::new(AwsCredential {
        key_id: "AKIAIOSFODNN7EXAMPLE".into(),
        secret_key: secret.into(),
        token: token.map(str::to_owned),
    })
}

fn signer(payload: Payload, pays: Pays) -> Signer {
    let provider = StaticCredentialProvider::new(AwsCredential {
        key_id: "unused".into(),
        secret_key: "unused".into(),
        token: None,
    });
    Signer::new(Arc::new(provider), "us-east-1", payload, pays)
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// 2013-05-24, the day of the examples.
const EXAMPLE: u64 = 1_369_353_600;
const EXAMPLE_SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

/// The examples of "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)" without a body.
#[test]
fn examples_of_aws() {
    let host = "https://examplebucket.s3.amazonaws.com";
    for (path, headers, names, signature) in [
        (
            "/test.txt",
            &[("range", "bytes=0-9")][..],
            "host;range;x-amz-content-sha256;x-amz-date",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "?lifecycle",
            &[],
            "host;x-amz-content-sha256;x-amz-date",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            "?max-keys=2&prefix=J",
            &[],
            "host;x-amz-content-sha256;x-amz-date",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ] {
        let mut request = request(&format!("{host}{path}"), headers);
        let signer = signer(Payload::Signed, Pays::Owner);
        signer.sign_at(&mut request, None, credential(EXAMPLE_SECRET, None), at(EXAMPLE)).unwrap();
        let wanted = format!(
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
             SignedHeaders={names}, Signature={signature}"
        );
        assert_eq!(request.headers()["authorization"], wanted, "{path}");
        assert_eq!(request.headers()["x-amz-date"], "20130524T000000Z");
        assert!(request.headers()["authorization"].is_sensitive());
    }
}

/// The digest of the canonical request of the first example, which AWS shows as well.
#[test]
fn the_canonical_request_of_an_example() {
    let digest = Payload::Signed.digest();
    let headers =
        [("Range", "bytes=0-9"), ("x-amz-content-sha256", digest), ("x-amz-date", "20130524T000000Z")];
    let request = request("https://examplebucket.s3.amazonaws.com/test.txt", &headers);
    let canonical = Canonical::of(&request, digest).unwrap();
    let letters: String = canonical.digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(letters, "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972");
}

/// Any text of some letters, among them all that must be encoded or put in order.
fn text(random: &mut Random, letters: &str, len: u64) -> String {
    let letters: Vec<char> = letters.chars().collect();
    let len = random.below(len + 1);
    let letter = |random: &mut Random| letters[usize::try_from(random.below(letters.len() as u64)).unwrap()];
    (0..len).map(|_| letter(random)).collect()
}

fn random_request(random: &mut Random) -> HttpRequest {
    let host = [
        "https://b.s3.eu-west-1.amazonaws.com",
        "http://127.0.0.1:9000",
        "https://Host:443",
        "http://[::1]:80",
    ][usize::try_from(random.below(4)).unwrap()];
    let key = object_store::path::Path::from(text(random, "abZ09-._~/ +%&=?#*'()!$,;:@äß漢\"<>|", 40));
    let strict = percent_encoding(key.as_ref());
    let mut uri = format!("{host}/bucket/{strict}");
    if random.chance(300) {
        let pair = |random: &mut Random| {
            format!("{}={}", text(random, "aB-._~%20+", 1), text(random, "abc-+~*.", 6))
        };
        let pairs: Vec<String> = (0..=random.below(3)).map(|_| pair(random)).collect();
        uri = format!("{uri}?{}", pairs.join("&").replace('%', "%25"));
    }
    let mut request = request(&uri, &[]);
    for name in
        ["range", "if-match", "x-amz-server-side-encryption-customer-key", "user-agent", "content-length"]
    {
        for _ in 0..random.below(3) {
            let value = HeaderValue::try_from(text(random, "ab  \t=-\"09", 30)).unwrap();
            request.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
    request
}

/// As object_store encodes keys: all but unreserved letters and `/`.
fn percent_encoding(key: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(byte);
    let encode =
        |byte: u8| if is_plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    key.bytes().map(encode).collect()
}

#[test]
fn signatures_are_those_of_object_store() {
    for seed in 0..2_000 {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let token = text(&mut random, "abcXYZ+/=", 60);
        let token = (!token.is_empty()).then_some(token.as_str());
        let credential = credential(&text(&mut random, "abcXYZ+/=09", 80), token);
        let payload = if random.chance(500) { Payload::Signed } else { Payload::Unsigned };
        let pays = if random.chance(500) { Pays::Owner } else { Pays::Requester };
        let region = ["us-east-1", "eu-north-1", "auto"][usize::try_from(random.below(3)).unwrap()];
        let mut ours = random_request(&mut random);
        let mut theirs = ours.clone();
        AwsAuthorizer::new(&credential, "s3", region)
            .with_sign_payload(payload == Payload::Signed)
            .with_request_payer(pays == Pays::Requester)
            .try_authorize(&mut theirs, None)
            .unwrap();
        let time = time_of(theirs.headers()["x-amz-date"].to_str().unwrap());
        let signer = signer(payload, pays);
        // Twice: by a key that was just made, and by the one that was kept.
        for _ in 0..2 {
            signer.sign_at(&mut ours, Some(region), Arc::clone(&credential), time).unwrap();
            assert_eq!(ours.headers(), theirs.headers(), "{}", ours.uri());
        }
    }
}

/// The time that a text of `compact` stands for, within a day of now.
fn time_of(text: &str) -> SystemTime {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let seconds = (0..86_400).map(|back| now - back);
    let found = seconds.map(at).find(|time| compact(*time) == text.as_bytes());
    found.unwrap_or_else(|| panic!("{text} is not of today"))
}

#[test]
fn a_key_is_kept_until_the_day_the_region_or_the_credential_changes() {
    let signer = signer(Payload::Signed, Pays::Owner);
    let kept = || Arc::as_ptr(signer.kept.lock().unwrap().as_ref().unwrap());
    let sign = |region: Option<&str>, credential: &Arc<AwsCredential>, time| {
        let mut request = request("http://h/b/k", &[]);
        signer.sign_at(&mut request, region, Arc::clone(credential), at(time)).unwrap();
        (request.headers()["authorization"].to_str().unwrap().to_owned(), kept())
    };
    let one = credential("one", None);
    let (first, key) = sign(None, &one, EXAMPLE + 1);
    assert_eq!(sign(None, &one, EXAMPLE + 1), (first.clone(), key));
    assert_eq!(
        sign(None, &credential("one", None), EXAMPLE + 86_399).1,
        key,
        "equal credentials, the same day"
    );
    for (region, credential, time) in [
        (None, &one, EXAMPLE + 86_400),
        (Some("eu-west-1"), &one, EXAMPLE + 1),
        (None, &credential("two", None), EXAMPLE + 1),
        (None, &credential("one", Some("token")), EXAMPLE + 1),
    ] {
        let (other, _) = sign(region, credential, time);
        assert_ne!(other, first);
        assert_eq!(sign(None, &one, EXAMPLE + 1).0, first);
    }
}

#[test]
fn secrets_are_in_no_error_and_no_debug() {
    let signer = signer(Payload::Signed, Pays::Owner);
    let mut request = request("http://h/b/k", &[]);
    let bad = credential("S3CRET", Some("S3CRET\n"));
    let error = signer.sign_at(&mut request, None, bad, at(EXAMPLE)).unwrap_err();
    signer.sign_at(&mut request, None, credential("S3CRET", Some("S3CRET")), at(EXAMPLE)).unwrap();
    let told = format!("{error} {error:?} {signer:?} {:?}", request.headers());
    assert!(!told.contains("S3CRET"), "{told}");
}
