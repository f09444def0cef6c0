//! The beginning of a head, kept here until the rest of it has come. hyper would hold 16 KiB meanwhile, for a client that has sent a
//! dozen bytes.

use std::{
    io,
    task::{Poll, ready},
};

use httparse::{Request, Status};
use tokio::io::ReadBuf;

use super::conn::Conn;

/// The longest beginning that is kept, bytes.
const MOST: usize = 8 * 1024;
/// As many header lines as hyper parses without allocating.
const HEADERS: usize = 100;

/// Bytes that were read and that the parser has not got yet.
#[derive(Debug, Default)]
pub struct HeadStart {
    kept: Vec<u8>,
    /// As many of them, from the first, are for the parser.
    ready: usize,
}

impl HeadStart {
    /// Reads by `read` until there is something for the parser, or the end.
    pub fn poll_read(
        &mut self,
        conn: &Conn,
        into: &mut ReadBuf<'_>,
        mut read: impl FnMut(&mut ReadBuf<'_>) -> Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        let switched = !self.kept.is_empty() && conn.open_head() == 0;
        let mut is_given = if switched { self.release(into) } else { self.give(into) };
        while !is_given {
            let before = into.filled().len();
            ready!(read(into))?;
            if into.filled().len() == before {
                self.release(into);
                break;
            }
            let open = conn.received(&into.filled()[before..]);
            is_given = self.take(into, before, open);
        }
        Poll::Ready(Ok(()))
    }

    /// Gives the parser all that is kept. False if nothing is.
    pub fn release(&mut self, into: &mut ReadBuf<'_>) -> bool {
        self.ready = self.kept.len();
        self.give(into)
    }

    /// Gives the parser what is ready for it. False if nothing is.
    fn give(&mut self, into: &mut ReadBuf<'_>) -> bool {
        let given = self.ready.min(into.remaining());
        if given == 0 {
            return false;
        }
        into.put_slice(&self.kept[..given]);
        self.ready -= given;
        if self.ready == 0 && given == self.kept.len() {
            self.kept = Vec::new(); // the memory too
        } else {
            self.kept.drain(..given);
            self.kept.shrink_to_fit();
        }
        true
    }

    /// Takes in what was read into `into` behind `before` bytes. `open`: the number of bytes that have come of a head that has no end yet.
    /// True if something is for the parser.
    fn take(&mut self, into: &mut ReadBuf<'_>, before: usize, open: usize) -> bool {
        if self.kept.is_empty() {
            let whole = &into.filled()[before..];
            let begin = whole.len().checked_sub(open).filter(|begin| open > 0 && may_become_head(&whole[*begin..]));
            let Some(begin) = begin else { return true };
            self.kept = whole[begin..].to_vec();
            into.set_filled(before + begin);
            return begin > 0;
        }
        self.kept.extend_from_slice(&into.filled()[before..]);
        into.set_filled(before);
        let begin = self.kept.len().checked_sub(open).filter(|begin| may_become_head(&self.kept[*begin..]));
        self.ready = begin.unwrap_or(self.kept.len());
        self.give(into)
    }
}

/// True if a parser would ask for more.
fn may_become_head(bytes: &[u8]) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    bytes.len() <= MOST && Request::new(&mut headers).parse(bytes) == Ok(Status::Partial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::framing::Framing;

    /// What a parser gets of these parts, one entry for each part.
    fn given(parts: &[&[u8]]) -> Vec<String> {
        let (mut start, mut framing, mut room) = (HeadStart::default(), Framing::default(), [0; 16 * 1024]);
        let mut all = Vec::new();
        for part in parts {
            let mut into = ReadBuf::new(&mut room);
            into.put_slice(part);
            framing.scan(part);
            start.take(&mut into, 0, framing.open_head());
            all.push(String::from_utf8(into.filled().to_vec()).unwrap());
        }
        all
    }

    #[test]
    fn a_head_is_given_whole() {
        assert_eq!(given(&[b"GET / HTTP/1.1\r\n\r\n"]), ["GET / HTTP/1.1\r\n\r\n"]);
        assert_eq!(given(&[b"GE", b"T / HTTP/1.1\r\nA", b": b\r\n\r\n"]), ["", "", "GET / HTTP/1.1\r\nA: b\r\n\r\n"]);
    }

    #[test]
    fn the_beginning_of_the_next_one_waits_behind_a_whole_one_and_behind_a_body() {
        let (post, next) = ("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n", "GET /b HTTP/1.1\r\n\r\n");
        let parts = [format!("{post}ab"), format!("c{}", &next[..6]), next[6..].to_owned()];
        let parts: Vec<&[u8]> = parts.iter().map(String::as_bytes).collect();
        assert_eq!(given(&parts), [format!("{post}ab").as_str(), "c", next]);
    }

    #[test]
    fn what_cannot_become_a_head_is_given_at_once() {
        assert_eq!(given(&[b"GET / HTTP/1.1\r\nA : b"]), ["GET / HTTP/1.1\r\nA : b"]);
        assert_eq!(given(&[b"\x16\x03\x01", b"\x02"]), ["\x16\x03\x01", "\x02"]);
    }

    #[test]
    fn a_long_head_is_given_as_it_comes() {
        let begin = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(MOST));
        assert_eq!(given(&[b"GET", &begin.as_bytes()[3..], b"a", b"\r\n\r\n"]), ["", &begin, "a", "\r\n\r\n"]);
    }

    #[test]
    fn what_the_room_does_not_hold_comes_next() {
        let (mut start, mut room) = (HeadStart::default(), [0; 4]);
        start.take(
            &mut {
                let mut into = ReadBuf::new(&mut room);
                into.put_slice(b"GET ");
                into
            },
            0,
            4,
        );
        let mut rest = Vec::new();
        let mut into = ReadBuf::new(&mut room);
        into.put_slice(b"/\n\n");
        let mut goes_on = start.take(&mut into, 0, 0);
        while goes_on {
            rest.extend_from_slice(into.filled());
            into.clear();
            goes_on = start.give(&mut into);
        }
        assert_eq!((rest, start.kept), (b"GET /\n\n".to_vec(), Vec::new()));
    }
}
