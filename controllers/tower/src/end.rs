//! When a request ends: at the head of its response, or with its body.

use controllers::{Note, Outcome};

use crate::{CarryNotes, ticket::Ticket};

/// The end of a request that has a response.
#[derive(Debug)]
pub struct ResponseEnding {
    /// `None`: the policy refused the request, and is told no end.
    pub(crate) ticket: Option<Ticket>,
    pub(crate) outcome: Outcome,
    /// The note of the response.
    pub(crate) told: Option<Note>,
    /// The response has no body that anybody reads.
    #[cfg_attr(not(feature = "http"), expect(dead_code, reason = "bodies are those of HTTP"))]
    pub(crate) bodyless: bool,
}

impl ResponseEnding {
    pub(crate) fn of_refusal() -> Self {
        Self { ticket: None, outcome: Outcome::Ignored, told: None, bodyless: true }
    }

    /// The request ends now.
    pub(crate) fn now(self) {
        self.ticket.into_iter().for_each(|ticket| ticket.end(self.outcome, self.told));
    }

    /// The request ends now: returns the policy's note for its response.
    fn noted(self) -> Option<Note> {
        self.ticket?.end_noted(self.outcome, self.told)
    }
}

/// Says when a request ends.
pub trait ResponseEnd<Req, Res>: sealed::Sealed {
    /// The response of the outer service.
    type Response;

    /// True if nobody reads a body of the response to this request.
    fn bodyless(&self, request: &Req) -> bool;

    /// Ends the request, now or with its response.
    fn end<N: CarryNotes<Req, Res>>(&self, response: Res, ending: ResponseEnding, notes: &N) -> Self::Response;
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A request ends when the service returns its response: the default. A body that follows is no part of the response
/// time.
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
