//! Answers of the edge itself, without the service and without hyper.

use std::{io::Write as _, net::Shutdown, net::TcpStream, sync::LazyLock};

use crate::security_headers;

/// The answer to a head that takes too long.
pub static LATE: LazyLock<String> = LazyLock::new(|| whole("408 Request Timeout", "", ""));
/// The answer to HTTP without TLS where TLS is spoken.
pub static PLAIN: LazyLock<String> = LazyLock::new(|| {
    let kind = "Content-Type: text/plain; charset=utf-8\r\n";
    whole("400 Bad Request", kind, "this port speaks HTTPS: ask it with https:// in place of http://\n")
});
/// The answer to a connection that is refused.
static CROWDED: LazyLock<String> = LazyLock::new(|| whole("503 Service Unavailable", "X-Refused: connections\r\n", ""));

static SECURITY_HEADERS: LazyLock<String> = LazyLock::new(security_headers::lines);

fn whole(status: &str, more: &str, body: &str) -> String {
    let (own, length) = (&*SECURITY_HEADERS, body.len());
    format!("HTTP/1.1 {status}\r\n{more}{own}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// hyper's own answer (to a head that it cannot parse), with the headers that all others have.
pub(super) fn completed(answer: &[u8]) -> Vec<u8> {
    let line = memchr::memchr(b'\n', answer).map_or(0, |end| end + 1);
    [&answer[..line], SECURITY_HEADERS.as_bytes(), &answer[line..]].concat()
}

/// Sends the reason in the one write that fits, and closes.
pub(crate) fn turn_away(mut stream: &TcpStream) {
    let _ = stream.set_nonblocking(true);
    let _ = stream.write(CROWDED.as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_between_status_and_the_rest() {
        let text = String::from_utf8(completed(b"HTTP/1.1 400 Bad Request\r\ndate: x\r\n\r\n")).unwrap();
        assert!(text.starts_with("HTTP/1.1 400 Bad Request\r\ncontent-security-policy: default-src 'none';"), "{text}");
        assert!(text.ends_with("cache-control: no-store\r\ndate: x\r\n\r\n"), "{text}");
    }
}
