//! Notes: numbers that requests and responses carry between the policies of both sides.

use controllers::Note;

/// Says how requests and responses carry notes: numbers that the policies of client and server send each other, and
/// that only they interpret. `dagor` does: a client's puts the level of a request on it, and a server's puts the
/// levels that it admits on responses and refusals, so that its clients refuse by themselves what it would refuse.
///
/// - A server's policy is told the note of a request with the request. What it notes about a request is put on the
///   response, or on the refusal, in the place of a note that is there already.
/// - A client's policy is told the note of a response with the end of its request. What it notes about a request is put
///   on the request before it is sent. A request about which it notes nothing carries the note of the request on
///   whose behalf it is sent ([`crate::RequestTags::note`]).
/// - In shadow mode a policy is told notes, and none of its own is sent.
///
/// The end of a request with notes waits for the lock of its policy, since the response carries what the policy says
/// then. With [`crate::AdmissionLayer::end_at_body`] the head of the response is sent before the end, so that notes
/// go out on refusals alone.
///
/// Implement it for requests and responses that are not [`HttpNotes`]'s.
///
/// [`HttpNotes`]: crate::HttpNotes
pub trait CarryNotes<Req, Res> {
    /// False if nothing is carried: then no end waits for a note.
    const CARRIES: bool = true;

    /// The note of a request.
    fn of_request(&self, request: &Req) -> Option<Note>;

    /// Puts a note on a request, in the place of the one that it has.
    fn put_on_request(&self, request: &mut Req, note: Note);

    /// The note of a response.
    fn of_response(&self, response: &Res) -> Option<Note>;

    /// Puts a note on a response, in the place of the one that it has.
    fn put_on_response(&self, response: &mut Res, note: Note);
}

/// Carries no notes: the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoNotes;

impl<Req, Res> CarryNotes<Req, Res> for NoNotes {
    const CARRIES: bool = false;

    fn of_request(&self, _: &Req) -> Option<Note> {
        None
    }

    fn put_on_request(&self, _: &mut Req, _: Note) {}

    fn of_response(&self, _: &Res) -> Option<Note> {
        None
    }

    fn put_on_response(&self, _: &mut Res, _: Note) {}
}
