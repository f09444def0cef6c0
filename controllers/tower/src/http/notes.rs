//! Notes as headers.

use controllers::Note;
use http::{HeaderMap, HeaderName, Request, Response};

use super::number;
use crate::CarryNotes;

/// Carries notes as `X-Note`, a whole number: in gRPC it is metadata of the same name. What is malformed is no note.
///
/// A server's policy believes the notes of requests, as it believes tags: use it where the callers are trusted, or
/// remove the header at the edge.
///
/// ```
/// use tower_admission::{AdmissionLayer, HttpNotes, trusted_headers};
///
/// let server = AdmissionLayer::new("dagor").classify(trusted_headers::<String>).notes(HttpNotes);
/// let client = AdmissionLayer::client("dagor").classify(trusted_headers::<String>).notes(HttpNotes);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct HttpNotes;

static NOTE: HeaderName = HeaderName::from_static("x-note");

impl<In, Out> CarryNotes<Request<In>, Response<Out>> for HttpNotes {
    fn of_request(&self, request: &Request<In>) -> Option<Note> {
        read(request.headers())
    }

    fn put_on_request(&self, request: &mut Request<In>, note: Note) {
        write(request.headers_mut(), note);
    }

    fn of_response(&self, response: &Response<Out>) -> Option<Note> {
        read(response.headers())
    }

    fn put_on_response(&self, response: &mut Response<Out>, note: Note) {
        write(response.headers_mut(), note);
    }
}

fn read(headers: &HeaderMap) -> Option<Note> {
    number(headers.get(&NOTE)?).map(Note)
}

fn write(headers: &mut HeaderMap, Note(note): Note) {
    headers.insert(NOTE.clone(), note.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_one_whole_number() {
        let mut headers = HeaderMap::new();
        assert_eq!(read(&headers), None);
        for malformed in ["-1", "1.5", "", "x"] {
            headers.insert(&NOTE, malformed.parse().unwrap());
            assert_eq!(read(&headers), None, "{malformed}");
        }
        write(&mut headers, Note(u64::MAX));
        write(&mut headers, Note(7));
        assert_eq!((read(&headers), headers.len()), (Some(Note(7)), 1));
    }
}
