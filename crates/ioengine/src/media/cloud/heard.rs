//! What connections hear of an answer and `object_store` does not pass on.

use crate::engine::lock;
use async_trait::async_trait;
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use object_store::client::{HttpError, HttpRequest, HttpResponse, HttpService};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Goes with a request, as one of its extensions; whoever makes the request notes the head of the answer in it. Where
/// nobody does, nothing was heard. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard(Arc<Mutex<Head>>);

/// A way to make requests that notes the heads of answers in the [`Heard`] of their requests.
#[derive(Debug)]
pub(crate) struct Hearing<S>(pub(crate) S);

#[async_trait]
impl<S: HttpService> HttpService for Hearing<S> {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let heard = request.extensions().get::<Heard>().cloned();
        let answer = self.0.call(request).await?;
        if let Some(heard) = heard {
            heard.note(answer.status(), answer.headers());
        }
        Ok(answer)
    }
}

/// Of the last answer.
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    status: Option<StatusCode>,
    retry_after: Option<Duration>,
}

impl Heard {
    fn note(&self, status: StatusCode, headers: &HeaderMap) {
        *lock(&self.0) = Head { status: Some(status), retry_after: retry_after(headers) };
    }

    /// Status of the last answer.
    pub(super) fn status(&self) -> Option<StatusCode> {
        lock(&self.0).status
    }

    /// How long the server wants to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        lock(&self.0).retry_after
    }
}

/// RFC 9110 section 10.2.3. A date, in place of a number of seconds, is not looked at: pauses are then as without it.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_understood_and_dates_are_not() {
        let heard = Heard::default();
        assert_eq!((heard.status(), heard.retry_after()), (None, None));
        let headers = HeaderMap::from_iter([(RETRY_AFTER, "7".parse().unwrap())]);
        heard.clone().note(StatusCode::SERVICE_UNAVAILABLE, &headers);
        assert_eq!(heard.status(), Some(StatusCode::SERVICE_UNAVAILABLE));
        assert_eq!(heard.retry_after(), Some(Duration::from_secs(7)));
        let headers = HeaderMap::from_iter([(RETRY_AFTER, "Fri, 31 Dec 1999 23:59:59 GMT".parse().unwrap())]);
        heard.note(StatusCode::OK, &headers);
        assert_eq!(heard.retry_after(), None);
    }
}
