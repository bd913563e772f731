//! `object_store` over the simplest of connections: a client that is not swath's.

use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
    HttpService,
};

/// HTTP/1.1 without TLS, by hyper's own pool.
#[derive(Clone, Debug)]
pub(crate) struct Plain(Client<HttpConnector, HttpRequestBody>);

impl Plain {
    pub(crate) fn new() -> Plain {
        Plain(Client::builder(TokioExecutor::new()).build_http())
    }
}

impl object_store::client::HttpConnector for Plain {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait::async_trait]
impl HttpService for Plain {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer =
            self.0.request(request).await.map_err(|error| HttpError::new(HttpErrorKind::Connect, error))?;
        Ok(answer.map(|body| {
            HttpResponseBody::new(body.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error)))
        }))
    }
}

/// Runs a test's future on a runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}
