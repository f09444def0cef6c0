//! A request on its way to the backends: once, or in several attempts where the settings ask for retries.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Poll, ready},
    time::Duration,
};

use controllers::Tags;
use http::{HeaderValue, Response, request::Parts};
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};

use super::Exchange;
use crate::{
    backend::{Lease, Trouble, Unanswered},
    headers,
    observe::Observation,
    patience::Baton,
    retry::{Attempted, Attempts, Retries},
    upload::{Progress, Upload},
};

/// The result of sending a request: a backend's answer and the connection that it comes on, or the reason that there is none.
pub(super) type Sent = Result<(Response<Incoming>, Lease), Trouble>;

/// The body of a request, and how far it has got; without progress there is none.
pub(super) struct Sending {
    pub(super) upload: Upload,
    pub(super) progress: Option<Arc<Progress>>,
}

/// The longest body of an answer that is read, instead of passed on, to keep its connection; bytes, and the time for it.
const SHORT: (u64, Duration) = (64 * 1024, Duration::from_secs(1));

impl Exchange<'_> {
    /// Sends a request once.
    pub(super) async fn send(&self, mut head: Box<Parts>, sending: Sending, upgrade: Option<HeaderValue>) -> Sent {
        let spec = &self.settings.spec;
        let mut lease = self.settings.backends.lease();
        headers::to_backend(&mut head, self.client, &lease.backend().address, &spec.headers, upgrade);
        let Sending { upload, progress } = sending;
        let sent = {
            let sent = pin!(lease.send(head, upload));
            in_time(sent, spec.timeouts.response, progress.as_deref(), &self.client.timer).await
        };
        match sent {
            Some(Ok(response)) => Ok((response, lease)),
            Some(Err(Unanswered { trouble, .. })) => Err(trouble),
            None => {
                lease.failed(lease.backend());
                Err(Trouble::TooLate) // the connection is closed with the lease: the answer may still come
            }
        }
    }

    /// Sends a request, and once more where the rules and the policy of retries allow it.
    pub(super) async fn send_with_retries(
        &self,
        retries: &Arc<Retries>,
        head: &Parts,
        Sending { upload, progress }: Sending,
        tags: Tags,
        observation: &mut Option<Observation>,
    ) -> Sent {
        let mut attempts = retries.begin(tags, &self.proxy.retry_counts);
        if !attempts.may_go().await {
            return Err(Trouble::Withheld);
        }
        let (mut upload, mut tried) = (upload, Vec::new());
        loop {
            let mut lease = self.settings.backends.lease_beside(&tried);
            tried.push(lease.index());
            let sent = self.attempt(&attempts, &mut lease, head, upload, progress.as_deref()).await;
            let (end, body) = match &sent {
                Some(Ok(response)) => (Attempted::Answered(response.status(), response.headers()), None),
                Some(Err(Unanswered { trouble, unsent })) => (Attempted::Unanswered(*trouble), unsent.as_ref()),
                None => (Attempted::Unanswered(Trouble::TooLate), None),
            };
            // A body that a backend has got a part of is not there any more.
            let is_whole = body.is_some() || progress.is_none();
            let may = is_whole && retries.may_repeat(&head.method, end, body.is_some());
            let again = attempts.ended(end, may) && attempts.may_go().await;
            upload = match (sent, again) {
                (Some(Ok(response)), false) => return Ok((response, lease)),
                (Some(Err(Unanswered { trouble, .. })), false) => return Err(trouble),
                (None, _) => {
                    lease.failed(lease.backend());
                    return Err(Trouble::TooLate);
                }
                (Some(Ok(response)), true) => {
                    discard(response, lease);
                    Upload::none()
                }
                (Some(Err(Unanswered { unsent, .. })), true) => unsent.unwrap_or_else(Upload::none),
            };
            observation.iter_mut().for_each(Observation::retried);
        }
    }

    async fn attempt(
        &self,
        attempts: &Attempts<'_>,
        lease: &mut Lease,
        head: &Parts,
        upload: Upload,
        progress: Option<&Progress>,
    ) -> Option<Result<Response<Incoming>, Unanswered>> {
        let (mut head, spec) = (Box::new(head.clone()), &self.settings.spec);
        headers::to_backend(&mut head, self.client, &lease.backend().address, &spec.headers, None);
        attempts.mark(&mut head.headers);
        // A request with a body goes out once, unless nothing of it was sent: a body has limits of its own.
        let limit = if progress.is_some() { spec.timeouts.response } else { attempts.left() };
        in_time(pin!(lease.send(head, upload)), limit, progress, &self.client.timer).await
    }
}

/// Waits for the head of an answer. The time begins anew once the body of the request has gone. `None`: too late.
async fn in_time<F: Future>(
    mut sending: Pin<&mut F>,
    limit: Duration,
    progress: Option<&Progress>,
    timer: &Baton,
) -> Option<F::Output> {
    let is_uploading = || progress.is_some_and(|progress| !progress.is_all());
    let (mut patience, mut uploading) = (timer.limit(limit), is_uploading());
    let sent = poll_fn(|cx| {
        loop {
            if let Poll::Ready(sent) = sending.as_mut().poll(cx) {
                return Poll::Ready(Some(sent));
            }
            ready!(patience.poll_over(cx));
            if !uploading {
                return Poll::Ready(None);
            }
            patience.renew(limit); // a body has limits of its own
            uploading = is_uploading();
        }
    });
    let sent = sent.await;
    timer.take_back(patience);
    sent
}

/// Reads an answer that is not passed on, if it is short, so that its connection is kept.
fn discard(response: Response<Incoming>, mut lease: Lease) {
    let (body, (longest, limit)) = (response.into_body(), SHORT);
    if body.is_end_stream() {
        return lease.keep();
    }
    if body.size_hint().upper().is_some_and(|bytes| bytes <= longest) {
        lease.detach(); // no answer's relaying drives it
        tokio::spawn(async move {
            if let Ok(Ok(_)) = tokio::time::timeout(limit, body.collect()).await {
                lease.keep();
            }
        });
    }
}
