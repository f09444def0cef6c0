//! Finds the ends of requests in the bytes of a connection, and requests with ambiguous framing, beside the parser.
//!
//! A head with both `Content-Length` and `Transfer-Encoding` is a means to smuggle requests. hyper follows the RFC's
//! second option (the encoding wins, the length is removed, the connection closes after the answer); this service takes
//! the first, a refusal, but hyper removes the evidence before a service sees it. Nor does hyper check the content of
//! chunk extensions. So the bytes are scanned on arrival, those of pipelined requests too.
//!
//! hyper decides about requests; this module only finds faults. Anything that it does not understand counts as a fault,
//! so that the two never disagree about where the next request begins.

mod chunks;

use chunks::{Chunks, Progress};

/// Scans all bytes that arrive on a connection.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    at: At,
    /// The number of complete heads.
    heads: u32,
    /// The number of the faulty request, counted from 1.
    fault: Option<u32>,
}

#[derive(Debug)]
enum At {
    Head(Head),
    /// The number of bytes of a body that are still to come.
    Body(u64),
    Chunked(Chunks),
    /// After a fault: the connection ends with that request.
    Lost,
    /// Another protocol is spoken.
    Switched,
}

impl Default for At {
    fn default() -> Self {
        Self::Head(Head::default())
    }
}

impl Framing {
    /// True if the request with this number, counted from 1, is faulty as far as it has arrived.
    pub(crate) fn is_at_fault(&self, request: u32) -> bool {
        self.fault == Some(request)
    }

    /// True if bytes beyond this number of requests have arrived.
    pub(crate) fn is_ahead(&self, requests: u32) -> bool {
        self.heads > requests || matches!(&self.at, At::Head(head) if head.begun || head.length > 0)
    }

    /// What comes from now on is no HTTP.
    pub(crate) fn ends(&mut self) {
        self.at = At::Switched;
    }

    /// The number of bytes that have come of a head that has no end yet.
    pub(crate) fn open_head(&self) -> usize {
        match &self.at {
            At::Head(head) => head.bytes,
            _ => 0,
        }
    }

    /// True if no request is in part.
    pub(crate) fn is_between(&self) -> bool {
        match &self.at {
            At::Head(head) => !head.begun && head.length == 0,
            At::Switched => true,
            At::Body(_) | At::Chunked(_) | At::Lost => false,
        }
    }

    /// Scans the next bytes.
    pub(crate) fn scan(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            bytes = match &mut self.at {
                At::Head(head) => {
                    let (rest, ended) = head.scan(bytes);
                    if ended {
                        let body = head.body();
                        self.heads = self.heads.saturating_add(1);
                        self.goes_on(body);
                    }
                    rest
                }
                At::Body(left) => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= taken as u64;
                    if *left == 0 {
                        self.at = At::default();
                    }
                    &bytes[taken..]
                }
                At::Chunked(chunks) => match chunks.scan(bytes) {
                    Progress::More => return,
                    Progress::Ended(rest) => {
                        self.at = At::default();
                        rest
                    }
                    Progress::Fault => {
                        self.goes_on(None);
                        return;
                    }
                },
                At::Lost | At::Switched => return,
            };
        }
    }

    fn goes_on(&mut self, body: Option<Body>) {
        self.at = match body {
            None => {
                self.fault = Some(self.heads);
                At::Lost
            }
            Some(Body::Length(0)) => At::default(),
            Some(Body::Length(length)) => At::Body(length),
            Some(Body::Chunked) => At::Chunked(Chunks::default()),
        };
    }
}

/// The framing of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Length(u64),
    Chunked,
}

const CONTENT_LENGTH: &[u8] = b"content-length:";
const TRANSFER_ENCODING: &[u8] = b"transfer-encoding:";
/// Room for either name with its value. A longer line has a value that no client writes.
const LONGEST: usize = 64;

/// A head, of which only the beginning of the current line is kept.
#[derive(Debug)]
struct Head {
    line: [u8; LONGEST],
    /// The length of the current line.
    length: usize,
    /// The number of its bytes so far.
    bytes: usize,
    /// True after the first line: empty ones before it are skipped, as the parser does.
    begun: bool,
    lengths: Field<u64>,
    encodings: Field<()>,
}

/// The content of a head's lines with one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field<T> {
    Absent,
    Once(T),
    /// Two lines, or a value that is not understood.
    Unclear,
}

impl Default for Head {
    fn default() -> Self {
        Self { line: [0; LONGEST], length: 0, bytes: 0, begun: false, lengths: Field::Absent, encodings: Field::Absent }
    }
}

impl Head {
    /// Scans a head. Returns the rest, and whether the head has ended before it.
    fn scan<'a>(&mut self, mut bytes: &'a [u8]) -> (&'a [u8], bool) {
        loop {
            let end = memchr::memchr(b'\n', bytes);
            self.bytes = self.bytes.saturating_add(end.map_or(bytes.len(), |end| end + 1));
            let Some(end) = end else {
                self.keep(bytes);
                return (&[], false);
            };
            self.keep(&bytes[..end]);
            bytes = &bytes[end + 1..];
            if self.line_ends() {
                return (bytes, true);
            }
        }
    }

    /// The framing of the body; `None` if it is ambiguous.
    fn body(&self) -> Option<Body> {
        match (self.lengths, self.encodings) {
            (Field::Absent, Field::Absent) => Some(Body::Length(0)),
            (Field::Once(length), Field::Absent) => Some(Body::Length(length)),
            (Field::Absent, Field::Once(())) => Some(Body::Chunked),
            _ => None,
        }
    }

    fn keep(&mut self, part: &[u8]) {
        for (slot, byte) in self.line[self.length.min(LONGEST)..].iter_mut().zip(part) {
            *slot = byte.to_ascii_lowercase();
        }
        self.length = self.length.saturating_add(part.len());
    }

    /// Ends a line; true if it was the last one.
    fn line_ends(&mut self) -> bool {
        let whole = self.length <= LONGEST;
        let line = &self.line[..self.length.min(LONGEST)];
        self.length = 0;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if whole && line.is_empty() {
            return self.begun;
        }
        self.begun = true;
        if let Some(value) = line.strip_prefix(CONTENT_LENGTH) {
            self.lengths = self.lengths.and(value_of(value, whole).and_then(length));
        } else if let Some(value) = line.strip_prefix(TRANSFER_ENCODING) {
            let chunked = value_of(value, whole).filter(|value| *value == b"chunked");
            self.encodings = self.encodings.and(chunked.map(|_| ()));
        }
        false
    }
}

impl<T> Field<T> {
    fn and(self, value: Option<T>) -> Self {
        match (self, value) {
            (Self::Absent, Some(value)) => Self::Once(value),
            _ => Self::Unclear,
        }
    }
}

/// A value without the white space around it, if all of it was kept.
fn value_of(value: &[u8], whole: bool) -> Option<&[u8]> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let from = value.iter().position(|byte| !blank(byte))?;
    let to = value.iter().rposition(|byte| !blank(byte))?;
    whole.then_some(&value[from..=to])
}

fn length(digits: &[u8]) -> Option<u64> {
    let plain = digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| plain)?.parse().ok()
}

#[cfg(test)]
mod tests;
