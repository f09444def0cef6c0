//! The service and its future.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use controllers::Note;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::{
    Admission, AtHead, CarryNotes, Classify, NoNotes, NoTags, OnRefusal, Outcomes, Refused,
    admitted::{AdmittedRequest, Held},
    defaults::{ServerOutcomes, ServerRefusal},
    end::{ResponseEnd, ResponseEnding},
    site::Entry,
};

/// What a layer does with requests and responses.
#[derive(Debug, Clone)]
pub(crate) struct Handling<C, R, O, E, N> {
    pub(crate) tags: C,
    pub(crate) refusal: R,
    pub(crate) outcomes: O,
    pub(crate) end: E,
    pub(crate) notes: N,
}

/// A service behind admission control; [`crate::AdmissionLayer`] makes it. Clones share the policy.
///
/// It is ready when the inner service is: the policy is asked in `call`, where there is a request to ask about. A
/// request that is held waits in the response
/// future; one whose future is dropped leaves, or ends as abandoned.
pub struct AdmissionService<S, C = NoTags, R = ServerRefusal, O = ServerOutcomes, E = AtHead, N = NoNotes> {
    inner: S,
    admission: Admission,
    handling: Arc<Handling<C, R, O, E, N>>,
}

impl<S, C, R, O, E, N> AdmissionService<S, C, R, O, E, N> {
    pub(crate) fn new(inner: S, admission: Admission, handling: Handling<C, R, O, E, N>) -> Self {
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

impl<S: Clone, C, R, O, E, N> Clone for AdmissionService<S, C, R, O, E, N> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), admission: self.admission.clone(), handling: Arc::clone(&self.handling) }
    }
}

impl<S: fmt::Debug, C, R, O, E, N> fmt::Debug for AdmissionService<S, C, R, O, E, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inner, admission, .. } = self;
        f.debug_struct("AdmissionService").field("inner", inner).field("admission", admission).finish_non_exhaustive()
    }
}

impl<S, Req, C, R, O, E, N> Service<Req> for AdmissionService<S, C, R, O, E, N>
where
    S: Service<Req> + Clone,
    C: Classify<Req>,
    R: OnRefusal<Req, S::Response, S::Error>,
    O: Outcomes<S::Response, S::Error>,
    E: ResponseEnd<Req, S::Response>,
    N: CarryNotes<Req, S::Response>,
{
    type Response = E::Response;
    type Error = R::Error;
    type Future = AdmissionFuture<S, Req, C, R, O, E, N>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(|error| self.handling.refusal.error(error))
    }

    fn call(&mut self, mut request: Req) -> Self::Future {
        let Handling { tags, end, notes, .. } = &*self.handling;
        let bodyless = end.bodyless(&request);
        let mut about = tags.tags(&request);
        about.note = about.note.or_else(|| notes.of_request(&request));
        let brought = about.note;
        let state = match self.admission.enter(about) {
            Entry::Go(admitted) => {
                note_request(notes, &admitted, brought, &mut request);
                State::Running { future: self.inner.call(request), admitted: Some(admitted) }
            }
            Entry::Refused(refused) => {
                // What the inner service reserved when it said that it was ready is given back.
                self.inner = self.inner.clone();
                State::Refused { answer: Some(self.handling.refuse(request, refused)) }
            }
            Entry::Held(held) => {
                let fresh = self.inner.clone();
                let ready = std::mem::replace(&mut self.inner, fresh);
                State::Held { held, brought, waiting: Some((ready, request)) }
            }
        };
        AdmissionFuture { state, handling: Arc::clone(&self.handling), bodyless }
    }
}

impl<C, R, O, E, N> Handling<C, R, O, E, N> {
    /// The answer to a request that is refused, with the policy's note.
    fn refuse<Req, Res, Err>(&self, request: Req, refused: Refused) -> Result<Res, R::Error>
    where
        R: OnRefusal<Req, Res, Err>,
        N: CarryNotes<Req, Res>,
    {
        let mut response = self.refusal.refuse(request, refused)?;
        refused.note.into_iter().for_each(|note| self.notes.put_on_response(&mut response, note));
        Ok(response)
    }
}

/// Puts the note of a client's policy on a request before it is sent.
fn note_request<Req, Res>(
    notes: &impl CarryNotes<Req, Res>,
    admitted: &AdmittedRequest,
    brought: Option<Note>,
    request: &mut Req,
) {
    admitted.note(brought).into_iter().for_each(|note| notes.put_on_request(request, note));
}

pin_project! {
    /// The response of an [`AdmissionService`]. It waits while the policy holds the request.
    pub struct AdmissionFuture<S, Req, C, R, O, E, N>
    where
        S: Service<Req>,
        R: OnRefusal<Req, S::Response, S::Error>,
    {
        #[pin]
        state: State<S, Req, S::Future, Result<S::Response, R::Error>>,
        handling: Arc<Handling<C, R, O, E, N>>,
        bodyless: bool,
    }
}

pin_project! {
    #[project = StateNow]
    enum State<S, Req, F, A> {
        /// The policy holds the request.
        Held { #[pin] held: Held, brought: Option<Note>, waiting: Option<(S, Req)> },
        /// The inner service works on it.
        Running { #[pin] future: F, admitted: Option<AdmittedRequest> },
        Refused { answer: Option<A> },
    }
}

impl<S, Req, C, R, O, E, N> fmt::Debug for AdmissionFuture<S, Req, C, R, O, E, N>
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

impl<S, Req, C, R, O, E, N> Future for AdmissionFuture<S, Req, C, R, O, E, N>
where
    S: Service<Req>,
    R: OnRefusal<Req, S::Response, S::Error>,
    O: Outcomes<S::Response, S::Error>,
    E: ResponseEnd<Req, S::Response>,
    N: CarryNotes<Req, S::Response>,
{
    type Output = Result<E::Response, R::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let Handling { refusal, outcomes, end, notes, .. } = &**this.handling;
        loop {
            let next = match this.state.as_mut().project() {
                StateNow::Held { held, brought, waiting } => {
                    let fate = ready!(held.poll(cx));
                    let Some((mut service, mut request)) = waiting.take() else { polled_again() };
                    match fate {
                        Ok(mut admitted) => {
                            admitted.started();
                            note_request(notes, &admitted, *brought, &mut request);
                            State::Running { future: service.call(request), admitted: Some(admitted) }
                        }
                        Err(refused) => State::Refused { answer: Some(this.handling.refuse(request, refused)) },
                    }
                }
                StateNow::Running { future, admitted } => {
                    let result = ready!(future.poll(cx));
                    let Some(admitted) = admitted.take() else { polled_again() };
                    let outcome = outcomes.outcome(result.as_ref());
                    let told = result.as_ref().ok().and_then(|response| notes.of_response(response));
                    return Poll::Ready(match result {
                        Ok(response) => {
                            let ending =
                                ResponseEnding { admitted: Some(admitted), outcome, told, bodyless: *this.bodyless };
                            Ok(end.end(response, ending, notes))
                        }
                        Err(error) => {
                            admitted.end(outcome, None);
                            Err(refusal.error(error))
                        }
                    });
                }
                StateNow::Refused { answer } => {
                    let Some(answer) = answer.take() else { polled_again() };
                    return Poll::Ready(
                        answer.map(|response| end.end(response, ResponseEnding::of_refusal(), &NoNotes)),
                    );
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
