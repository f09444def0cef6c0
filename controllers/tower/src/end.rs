//! The moment at which the policy is told that a request has ended: when its response comes, or with the response's body.

use controllers::{Note, Outcome};

use crate::{CarryNotes, admitted::AdmittedRequest};

/// What the policy is told of a request that has a response, once it ends.
#[derive(Debug)]
pub struct ResponseEnding {
    /// `None`: the policy refused the request, so that there is no end to tell.
    pub(crate) admitted: Option<AdmittedRequest>,
    /// By the head of the response; a body that fails, or the trailers of gRPC, may say otherwise.
    pub(crate) outcome: Outcome,
    /// The note that the response carries, of a policy behind this one.
    pub(crate) told: Option<Note>,
    /// Nobody will read a body (the answer to HEAD): waiting for its end would be waiting for ever.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "bodies are those of HTTP"))]
    pub(crate) bodyless: bool,
}

impl ResponseEnding {
    pub(crate) fn of_refusal() -> Self {
        Self { admitted: None, outcome: Outcome::Ignored, told: None, bodyless: true }
    }

    /// Tells the policy that the request has ended, without waiting for its note.
    pub(crate) fn now(self) {
        self.admitted.into_iter().for_each(|admitted| admitted.end(self.outcome, self.told));
    }

    /// The same, and returns the policy's note for the response.
    fn noted(self) -> Option<Note> {
        self.admitted?.end_noted(self.outcome, self.told)
    }
}

/// Decides when the policy is told that a request has ended: [`AtHead`] or `AtBody`.
pub trait ResponseEnd<Req, Res>: sealed::Sealed {
    /// The response of the outer service.
    type Response;

    /// True if the response to this request has no body to be read (HEAD).
    fn bodyless(&self, request: &Req) -> bool;

    /// Ends the request now, or makes the response's body end it.
    fn end<N: CarryNotes<Req, Res>>(&self, response: Res, ending: ResponseEnding, notes: &N) -> Self::Response;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A request ends when the service returns its response: the default. The time in which a body is sent after it is no part of
/// the response time that the policy sees.
#[derive(Debug, Clone, Copy, Default)]
pub struct AtHead;

impl sealed::Sealed for AtHead {}

impl<Req, Res> ResponseEnd<Req, Res> for AtHead {
    type Response = Res;

    fn bodyless(&self, _: &Req) -> bool {
        true
    }

    fn end<N: CarryNotes<Req, Res>>(&self, mut response: Res, ending: ResponseEnding, notes: &N) -> Res {
        if N::CARRIES {
            ending.noted().into_iter().for_each(|note| notes.put_on_response(&mut response, note));
        } else {
            ending.now();
        }
        response
    }
}
