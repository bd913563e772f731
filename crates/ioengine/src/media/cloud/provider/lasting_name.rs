//! The name that tells a location from all others, in other processes and later too.

use super::Context;
use super::place::Service;
use ring::pbkdf2::{PBKDF2_HMAC_SHA256, derive};
use std::fmt::Write;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Options that say who asks. Secrets are not among them: they change while who asks stays the same.
const REQUESTER: [&str; 12] = [
    "access_key_id",
    "application_credentials",
    "client_id",
    "profile",
    "project",
    "requester_pays",
    "role_arn",
    "service_account",
    "skip_signature",
    "tenant_id",
    "token_source",
    "username",
];

/// Headers that are secrets, in lower case.
const SECRET_HEADERS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// Names are stored, and user names and queries may be guessed: each guess shall take as long.
const ROUNDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(9_999);

/// The name of the bucket, container or web server: of the service's URL, the account, the bucket and who asks.
pub(super) fn lasting_name(context: Context<'_>, service: &str, account: &str) -> Arc<str> {
    let place = context.place;
    let kind = match place.service {
        Service::Amazon => "s3",
        Service::Google => "gs",
        Service::Azure => "az",
        Service::Web => "web",
    };
    // None of the parts has a space in it.
    format!("{kind} {service} {account} {} {}", place.bucket, requester(context)).into()
}

/// A digest of what the URL and the options say of who asks and what else is sent with each request; `-` where they say
/// nothing.
fn requester(context: Context<'_>) -> String {
    let Context { place, options, .. } = context;
    let mut said = String::new();
    let mut say = |name: &str, value: &str| {
        // The length keeps values from running into each other. Writing to a text does not fail.
        let _ = write!(said, "{name}:{}:{value};", value.len());
    };
    for name in REQUESTER {
        if let Some(value) = options.get(name) {
            say(name, value);
        }
    }
    for (name, value) in options.headers().filter(|(name, _)| !SECRET_HEADERS.contains(name)) {
        say("header", name);
        say("value", value);
    }
    let access = place.access.as_ref();
    if let Some((user, _)) = access.and_then(|access| access.user.as_ref()) {
        say("user", user);
    }
    // Azure's are signatures, and nothing but credentials.
    if place.service == Service::Web
        && let Some(query) = access.and_then(|access| access.query.as_ref())
    {
        say("query", query);
    }
    if said.is_empty() { "-".to_owned() } else { digest(said.as_bytes()) }
}

fn digest(said: &[u8]) -> String {
    let mut bytes = [0; 16];
    derive(PBKDF2_HMAC_SHA256, ROUNDS, b"swath lasting name", said, &mut bytes);
    let digits = |byte: u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(u32::from(digit), 16));
    bytes.into_iter().flat_map(digits).flatten().collect()
}
