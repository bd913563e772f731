//! Bytes of two versions are never put together.

use super::web_server::{Fault, WebServer};
use super::{bounded, noise, service};
use crate::media::cloud::CloudSettings;
use crate::{ErrorKind, Identity};
use std::sync::{Arc, OnceLock};

/// A server whose object becomes another one, with another tag or none, with its second request.
fn changing(tags: [Option<&'static str>; 2], modified: [Option<&'static str>; 2], fault: Fault) -> WebServer {
    let itself: Arc<OnceLock<WebServer>> = Arc::default();
    let seen = Arc::clone(&itself);
    let server = WebServer::new(noise(20_000), move |number| {
        if number == 0 {
            return fault.clone();
        }
        if let (1, Some(server)) = (number, seen.get()) {
            server.change(|object| {
                object.bytes = object.bytes.iter().map(|byte| !byte).collect::<Vec<u8>>().into();
                (object.tag, object.modified) = (tags[1], modified[1]);
            });
        }
        Fault::None
    });
    server.change(|object| (object.tag, object.modified) = (tags[0], modified[0]));
    itself.set(server.clone()).unwrap();
    server
}

const NONE: [Option<&str>; 2] = [None, None];
const DATES: [Option<&str>; 2] =
    [Some("Wed, 21 Oct 2026 07:28:00 GMT"), Some("Wed, 21 Oct 2026 07:28:01 GMT")];

#[tokio::test(start_paused = true)]
async fn an_object_that_changes_between_two_parts_is_an_error() {
    for (tags, modified) in [
        ([Some("\"one\""), Some("\"two\"")], NONE),
        ([Some("W/\"one\""), Some("W/\"two\"")], NONE),
        ([Some("\"one\""), None], NONE),
        (NONE, DATES),
    ] {
        let server = changing(tags, modified, Fault::Broken(3000));
        let service = service(server.store(), CloudSettings::default());
        let error = service.fetch("a", bounded(0, 10_000), None).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed, "{tags:?}");
        assert_eq!(server.asked().len(), 2);
    }
}

/// Without any version there is nothing to compare: what came is thrown away, and all of it asked for again.
#[tokio::test(start_paused = true)]
async fn without_a_version_a_fetch_starts_over() {
    let server = changing(NONE, NONE, Fault::Broken(3000));
    let service = service(server.store(), CloudSettings::default());
    let fetched = service.fetch("a", bounded(0, 10_000), None).await.unwrap();
    let changed: Vec<u8> = noise(20_000)[..10_000].iter().map(|byte| !byte).collect();
    assert_eq!(fetched.bytes, changed);
    assert_eq!(fetched.identity, None);
}

#[tokio::test(start_paused = true)]
async fn the_version_that_a_lane_wants_is_the_one_it_gets() {
    for (tag, other) in [("\"one\"", "\"two\""), ("W/\"one\"", "W/\"two\"")] {
        let server = WebServer::new(noise(20_000), |_| Fault::None);
        server.change(|object| object.tag = Some(tag));
        let service = service(server.store(), CloudSettings::default());
        let version = service.fetch("a", bounded(0, 10), None).await.unwrap().identity;
        assert_eq!(version, Some(Identity::Tag(Arc::from(tag))));
        let again = service.fetch("a", bounded(10, 10), version.clone()).await.unwrap();
        assert_eq!(again.identity, version);
        server.change(|object| object.tag = Some(other));
        let error = service.fetch("a", bounded(10, 10), version).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changed);
        let sent = server.asked().iter().filter(|asked| asked.if_match.is_some()).count();
        assert_eq!(sent, if tag.starts_with("W/") { 0 } else { 2 });
    }
}

/// RFC 9110 section 15.3.7.3: the bytes of two answers are one object's only by a strong tag.
#[tokio::test(start_paused = true)]
async fn bodies_without_a_strong_tag_start_over() {
    for (tag, modified) in [(Some("W/\"one\""), None), (None, DATES[0])] {
        let script = |number| if number == 0 { Fault::Broken(3000) } else { Fault::None };
        let server = WebServer::new(noise(20_000), script);
        server.change(|object| (object.tag, object.modified) = (tag, modified));
        let service = service(server.store(), CloudSettings::default());
        let fetched = service.fetch("a", bounded(0, 10_000), None).await.unwrap();
        assert_eq!(fetched.bytes, noise(20_000)[..10_000]);
        let ranges: Vec<_> = server.asked().into_iter().map(|asked| asked.range.unwrap()).collect();
        assert_eq!(ranges, ["bytes=0-9999"; 2], "{tag:?}");
        assert_eq!(service.endpoint.stats().resumed, 0);
    }
}
