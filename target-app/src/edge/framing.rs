//! What a request's head says about the length of its body, read beside the parser.
//!
//! A head with both `Content-Length` and `Transfer-Encoding` is how requests are smuggled. hyper follows the RFC's second
//! choice (the encoding wins, the length is removed, the connection closes after the answer); this service takes the
//! first, a refusal, and hyper removes the evidence before a service sees it. So the lines are looked at as they come in.

/// Looks at the beginnings of lines until the empty line that ends a head.
#[derive(Debug, Default, Clone)]
pub(crate) struct Framing {
    line: [u8; LONGEST],
    length: usize,
    done: bool,
    content_length: bool,
    transfer_encoding: bool,
}

const CONTENT_LENGTH: &[u8] = b"content-length:";
const TRANSFER_ENCODING: &[u8] = b"transfer-encoding:";
const LONGEST: usize = 18;

impl Framing {
    /// True if the head names both.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.content_length && self.transfer_encoding
    }

    /// Takes in the next bytes.
    pub(crate) fn scan(&mut self, mut bytes: &[u8]) {
        while !self.done && !bytes.is_empty() {
            let (line, rest) = match memchr::memchr(b'\n', bytes) {
                Some(end) => (&bytes[..end], Some(&bytes[end + 1..])),
                None => (bytes, None),
            };
            self.keep(line);
            let Some(rest) = rest else { return };
            self.line_ends();
            bytes = rest;
        }
    }

    fn keep(&mut self, part: &[u8]) {
        for (slot, byte) in self.line[self.length.min(LONGEST)..].iter_mut().zip(part) {
            *slot = byte.to_ascii_lowercase();
        }
        self.length = self.length.saturating_add(part.len());
    }

    fn line_ends(&mut self) {
        let line = &self.line[..self.length.min(LONGEST)];
        self.content_length |= line.starts_with(CONTENT_LENGTH);
        self.transfer_encoding |= line.starts_with(TRANSFER_ENCODING);
        self.done = line.is_empty() || (self.length == 1 && line == b"\r");
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &[u8] =
        b"POST / HTTP/1.1\r\nHost: a\r\ncontent-LENGTH: 3\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n";

    #[test]
    fn both_are_found_however_the_bytes_are_cut() {
        for cut in 0..BOTH.len() {
            let mut framing = Framing::default();
            framing.scan(&BOTH[..cut]);
            framing.scan(&BOTH[cut..]);
            assert!(framing.is_ambiguous(), "cut at {cut}");
        }
    }

    #[test]
    fn a_body_is_not_looked_at() {
        let mut framing = Framing::default();
        framing.scan(b"POST / HTTP/1.1\r\nContent-Length: 30\r\n\r\nTransfer-Encoding: chunked\r\n");
        assert!(!framing.is_ambiguous());
    }

    #[test]
    fn names_that_only_begin_alike_do_not_count() {
        let mut framing = Framing::default();
        framing.scan(b"POST / HTTP/1.1\r\nContent-Length-X: 30\r\nTransfer-Encoding: chunked\r\n\r\n");
        assert!(!framing.is_ambiguous());
    }
}
