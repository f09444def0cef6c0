//! The service and its future.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use pin_project_lite::pin_project;
use tower_service::Service;

use crate::{
    Admission, AtHead, Classify, NoTags, OnRefusal, Outcomes,
    defaults::{ServerOutcomes, ServerRefusal},
    end::{ResponseEnd, ResponseEnding},
    site::Entry,
    ticket::{Held, Ticket},
};

/// What a layer does with requests and responses.
#[derive(Debug, Clone)]
pub(crate) struct Handling<C, R, O, E> {
    pub(crate) tags: C,
    pub(crate) refusal: R,
    pub(crate) outcomes: O,
    pub(crate) end: E,
}

/// A service behind admission control; [`crate::AdmissionLayer`] makes it. Clones share the policy.
///
/// It is ready when the inner service is: the policy is asked in `call`, where there is a request to ask about. A
/// request that is held waits in the response
/// future; one whose future is dropped leaves, or ends as abandoned.
pub struct AdmissionService<S, C = NoTags, R = ServerRefusal, O = ServerOutcomes, E = AtHead> {
    inner: S,
    admission: Admission,
    handling: Arc<Handling<C, R, O, E>>,
}

impl<S, C, R, O, E> AdmissionService<S, C, R, O, E> {
    pub(crate) fn new(inner: S, admission: Admission, handling: Handling<C, R, O, E>) -> Self {
        Self { inner, admission, handling: Arc::new(handling) }
    }

    /// The running policy.
    #[must_use]
    pub fn admission(&self) -> &Admission {
        &self.admission
    }

    /// The inner service.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S: Clone, C, R, O, E> Clone for AdmissionService<S, C, R, O, E> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), admission: self.admission.clone(), handling: Arc::clone(&self.handling) }
    }
}

impl<S: fmt::Debug, C, R, O, E> fmt::Debug for AdmissionService<S, C, R, O, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inner, admission, .. } = self;
        f.debug_struct("AdmissionService").field("inner", inner).field("admission", admission).finish_non_exhaustive()
    }
}

impl<S, Req, C, R, O, E> Service<Req> for AdmissionService<S, C, R, O, E>
where
    S: Service<Req> + Clone,
    C: Classify<Req>,
    R: OnRefusal<Req, S::Response, S::Error>,
    O: Outcomes<S::Response, S::Error>,
    E: ResponseEnd<Req, S::Response>,
{
    type Response = E::Response;
    type Error = R::Error;
    type Future = AdmissionFuture<S, Req, C, R, O, E>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(|error| self.handling.refusal.error(error))
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let Handling { tags, refusal, end, .. } = &*self.handling;
        let bodyless = end.bodyless(&request);
        let state = match self.admission.enter(tags.tags(&request)) {
            Entry::Go(ticket) => State::Running { future: self.inner.call(request), ticket: Some(ticket) },
            Entry::Refused(refused) => {
                // What the inner service reserved when it said that it was ready is given back.
                self.inner = self.inner.clone();
                State::Refused { answer: Some(refusal.refuse(request, refused)) }
            }
            Entry::Held(held) => {
                let fresh = self.inner.clone();
                let ready = std::mem::replace(&mut self.inner, fresh);
                State::Held { held, waiting: Some((ready, request)) }
            }
        };
        AdmissionFuture { state, handling: Arc::clone(&self.handling), bodyless }
    }
}

pin_project! {
    /// The response of an [`AdmissionService`]. It waits while the policy holds the request.
    pub struct AdmissionFuture<S, Req, C, R, O, E>
    where
        S: Service<Req>,
        R: OnRefusal<Req, S::Response, S::Error>,
    {
        #[pin]
        state: State<S, Req, S::Future, Result<S::Response, R::Error>>,
        handling: Arc<Handling<C, R, O, E>>,
        bodyless: bool,
    }
}

pin_project! {
    #[project = StateNow]
    enum State<S, Req, F, A> {
        /// The policy holds the request.
        Held { #[pin] held: Held, waiting: Option<(S, Req)> },
        /// The inner service works on it.
        Running { #[pin] future: F, ticket: Option<Ticket> },
        Refused { answer: Option<A> },
    }
}

impl<S, Req, C, R, O, E> fmt::Debug for AdmissionFuture<S, Req, C, R, O, E>
where
    S: Service<Req>,
    R: OnRefusal<Req, S::Response, S::Error>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Held { .. } => "held",
            State::Running { .. } => "running",
            State::Refused { .. } => "refused",
        };
        f.debug_struct("AdmissionFuture").field("state", &state).finish_non_exhaustive()
    }
}

impl<S, Req, C, R, O, E> Future for AdmissionFuture<S, Req, C, R, O, E>
where
    S: Service<Req>,
    R: OnRefusal<Req, S::Response, S::Error>,
    O: Outcomes<S::Response, S::Error>,
    E: ResponseEnd<Req, S::Response>,
{
    type Output = Result<E::Response, R::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Handling { refusal, outcomes, end, .. } = &**this.handling;
        loop {
            let next = match this.state.as_mut().project() {
                StateNow::Held { held, waiting } => {
                    let fate = ready!(held.poll(cx));
                    let Some((mut service, request)) = waiting.take() else { polled_again() };
                    match fate {
                        Ok(mut ticket) => {
                            ticket.started();
                            State::Running { future: service.call(request), ticket: Some(ticket) }
                        }
                        Err(refused) => State::Refused { answer: Some(refusal.refuse(request, refused)) },
                    }
                }
                StateNow::Running { future, ticket } => {
                    let result = ready!(future.poll(cx));
                    let Some(ticket) = ticket.take() else { polled_again() };
                    let outcome = outcomes.outcome(result.as_ref());
                    return Poll::Ready(match result {
                        Ok(response) => {
                            let ending = ResponseEnding { ticket: Some(ticket), outcome, bodyless: *this.bodyless };
                            Ok(end.end(response, ending))
                        }
                        Err(error) => {
                            ticket.end(outcome);
                            Err(refusal.error(error))
                        }
                    });
                }
                StateNow::Refused { answer } => {
                    let Some(answer) = answer.take() else { polled_again() };
                    return Poll::Ready(answer.map(|response| end.end(response, ResponseEnding::of_refusal())));
                }
            };
            this.state.set(next);
        }
    }
}

#[track_caller]
fn polled_again() -> ! {
    panic!("a response future is polled after its end")
}
