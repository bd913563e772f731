//! Connections against servers of the tests' own.

mod certificates;
mod http1;
mod http2;
mod proxies;
mod redirects;
mod server;
mod tls;

use super::{HttpVersion, ProxySettings, Transport, TransportSettings};
use bytes::Bytes;
use http::{Method, Request};
use object_store::client::{HttpError, HttpRequest, HttpRequestBody, HttpResponse, HttpService};
use std::future::Future;
use std::time::Duration;
use tokio::time::timeout;

/// Far beyond what any of these tests takes: a hang is a failure, and not a wait.
const HANG: Duration = Duration::from_secs(180);

fn settings(version: HttpVersion) -> TransportSettings {
    TransportSettings {
        version,
        connect_timeout: Duration::from_secs(10),
        idle_timeout: Duration::from_secs(60),
        connections_max: 16,
        allow_invalid_certificates: false,
        root_certificates: Vec::new(),
        proxy: None,
        user_agent: None,
    }
}

fn transport(version: HttpVersion) -> Transport {
    Transport::new(settings(version)).unwrap()
}

fn get(url: &str) -> HttpRequest {
    request(Method::GET, url, Bytes::new())
}

fn request(method: Method, url: &str, body: Bytes) -> HttpRequest {
    Request::builder().method(method).uri(url).body(HttpRequestBody::from(body)).unwrap()
}

/// The answer's head, or why there is none.
async fn send(transport: &Transport, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    within(transport.call(request)).await
}

/// The whole body of an answer.
async fn fetch(transport: &Transport, url: &str) -> Result<Bytes, HttpError> {
    within(send(transport, get(url)).await?.into_body().bytes()).await
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(HANG, future).await.expect("a hang")
}

/// Waits until something is so; other tasks run meanwhile.
async fn until(mut condition: impl FnMut() -> bool) {
    within(async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
