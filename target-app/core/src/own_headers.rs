//! The headers of the lab's own protocol in the head of a request or an answer.

use controllers::Note;
use http::{HeaderMap, HeaderName, HeaderValue};
use workloads::headers::NOTE;

/// The note of the sender's policy.
static NOTE_NAME: HeaderName = HeaderName::from_static(NOTE);

/// The headers of the lab's own protocol in a head, all of which begin with `x-`. Most heads have no such header: one look at
/// the names costs less than a search for each.
#[derive(Debug, Clone, Copy)]
pub struct OwnHeaders<'a>(Option<&'a HeaderMap>);

impl<'a> OwnHeaders<'a> {
    pub fn of(headers: &'a HeaderMap) -> Self {
        Self(headers.keys().any(|name| name.as_str().starts_with("x-")).then_some(headers))
    }

    /// No headers: whoever sends them is not believed.
    pub fn none() -> Self {
        Self(None)
    }

    /// The number in the header of this name; `None` if it is missing or malformed.
    pub fn number<N: std::str::FromStr>(self, name: &HeaderName) -> Option<N> {
        self.text(name)?.parse().ok()
    }

    /// The note of the sender's policy, or of a reply.
    pub fn note(self) -> Option<Note> {
        workloads::client::note(self.get(&NOTE_NAME)?.as_bytes())
    }

    pub(super) fn text(self, name: &HeaderName) -> Option<&'a str> {
        Some(self.get(name)?.to_str().ok()?.trim())
    }

    fn get(self, name: &HeaderName) -> Option<&'a HeaderValue> {
        self.0?.get(name)
    }
}
