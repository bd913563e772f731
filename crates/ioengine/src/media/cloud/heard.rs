//! What connections hear of an answer and `object_store` does not pass on.

use super::credentials::http_date;
use crate::engine::lock;
use async_trait::async_trait;
use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use object_store::client::{HttpError, HttpRequest, HttpResponse, HttpService};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::task_local;

/// Goes with a request, as one of its extensions or [around](Heard::during) what makes it; whoever makes the request notes
/// the head of the answer in it. Where nobody does, nothing was heard. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard(Arc<Mutex<Head>>);

task_local! {
    /// Of the operation that is being polled: not all of `object_store`'s take extensions for their requests.
    static HEARD: Heard;
}

/// A way to make requests that notes the heads of answers in the [`Heard`] of their requests.
#[derive(Debug)]
pub(crate) struct Hearing<S>(pub(crate) S);

#[async_trait]
impl<S: HttpService> HttpService for Hearing<S> {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let heard = request.extensions().get::<Heard>().cloned();
        let heard = heard.or_else(|| HEARD.try_with(Heard::clone).ok());
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
    /// Does some work, and hears the last answer to its requests that carry nothing of their own to hear with.
    pub(super) fn during<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        HEARD.scope(self.clone(), work)
    }

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

/// The longest pause that a server is given: whatever it asks for, no deadline of use is longer.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(86_400);

/// RFC 9110 section 10.2.3: a number of seconds, or a date, from which the answer's own `Date` is taken, so that it does not
/// matter what the clock here says. At most [`RETRY_AFTER_MAX`].
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let asked = text(RETRY_AFTER)?;
    if let Ok(seconds) = asked.trim().parse() {
        return Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX));
    }
    let now = text(DATE).and_then(http_date).unwrap_or_else(SystemTime::now);
    // A time that is over asks for no pause.
    Some(http_date(asked)?.duration_since(now).unwrap_or_default().min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood() {
        let heard = Heard::default();
        assert_eq!((heard.status(), heard.retry_after()), (None, None));
        let headers = HeaderMap::from_iter([(RETRY_AFTER, "7".parse().unwrap())]);
        heard.clone().note(StatusCode::SERVICE_UNAVAILABLE, &headers);
        assert_eq!(heard.status(), Some(StatusCode::SERVICE_UNAVAILABLE));
        assert_eq!(heard.retry_after(), Some(Duration::from_secs(7)));
        for (date, after, asked) in [
            ("Fri, 31 Dec 1999 23:59:50 GMT", "Fri, 31 Dec 1999 23:59:59 GMT", Some(9)),
            ("Fri, 31 Dec 1999 23:59:50 GMT", "Sat, 01 Jan 2000 00:00:20 GMT", Some(30)),
            ("Fri, 31 Dec 1999 23:59:50 GMT", "Fri, 31 Dec 1999 23:00:00 GMT", Some(0)),
            // Without a date of the answer's the clock here counts.
            ("nonsense", "Fri, 31 Dec 1999 23:59:59 GMT", Some(0)),
            ("Fri, 31 Dec 1999 23:59:50 GMT", "Fri, 31 Dec 2099 23:00:00 GMT", Some(86_400)),
            ("Fri, 31 Dec 1999 23:59:50 GMT", "18446744073709551615", Some(86_400)),
            ("Fri, 31 Dec 1999 23:59:50 GMT", "soon", None),
            ("Fri, 31 Dec 1999 23:59:50 GMT", "-5", None),
        ] {
            let headers = [(DATE, date.parse().unwrap()), (RETRY_AFTER, after.parse().unwrap())];
            heard.note(StatusCode::OK, &HeaderMap::from_iter(headers));
            assert_eq!(heard.retry_after(), asked.map(Duration::from_secs), "{date} {after}");
        }
    }
}
