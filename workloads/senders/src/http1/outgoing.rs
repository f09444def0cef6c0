use std::{io::Write as _, time::Duration};

use workloads::headers::{
    ATTEMPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, DRAW, HOST, REQUEST_NUMBER, TIMEOUT_MS, USER,
};

/// Facts about a request that a run of ours tells its own service, and that service the services that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The request's number in the run, sent as `X-Request-Number`; calls for a request have none.
    pub number: Option<u64>,
    /// The number of the user, sent as `X-User`; a call has it in its header lines.
    pub user: Option<u64>,
    /// The time that the user still waits, sent as `X-Timeout-Ms`; a call has it in its header lines.
    pub left: Option<Duration>,
    /// The key of all draws that belong to it, sent as `X-Draw`: the same request has the same service time in every arm, live
    /// and in virtual time (common random numbers).
    pub draw: u64,
}

/// A request to be written. It borrows its parts: writing copies each once, into the connection's buffer.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// `GET`, `POST`.
    pub method: &'a str,
    /// Path and query. Bytes that cannot stand in a request line are percent-encoded; a fragment is cut off.
    pub path: &'a str,
    /// The `Host` header.
    pub host: &'a str,
    /// Further header lines, each whole and ending in CR LF; empty if none. `Host`, `Content-Type` and `Connection`
    /// among them replace the ones that would be written.
    pub headers: &'a str,
    /// The body, form-encoded unless the header lines name another type.
    pub body: Option<&'a str>,
    /// Number of the retry, sent as `X-Attempt`; 0 for a first attempt, which sends none.
    pub attempt: u8,
    /// Facts for the service; `None`: it is told nothing.
    pub known: Option<Known>,
    /// Asks the server to close after the answer.
    pub close: bool,
}

impl Outgoing<'_> {
    /// Appends the request to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.method.as_bytes());
        out.push(b' ');
        write_path(self.path, out);
        out.extend_from_slice(b" HTTP/1.1\r\n");
        let given = Given::among(self.headers);
        if !given.host {
            for part in [HOST, ": ", self.host, "\r\n"] {
                out.extend_from_slice(part.as_bytes());
            }
        }
        out.extend_from_slice(self.headers.as_bytes());
        // Writing into a Vec cannot fail.
        if self.attempt > 0 {
            let _ = write!(out, "{ATTEMPT}: {}\r\n", self.attempt);
        }
        if let Some(Known { number, user, left, draw }) = self.known {
            if let Some(number) = number {
                let _ = write!(out, "{REQUEST_NUMBER}: {number}\r\n");
            }
            if let Some(user) = user {
                let _ = write!(out, "{USER}: {user}\r\n");
            }
            if let Some(left) = left {
                let _ = write!(out, "{TIMEOUT_MS}: {}\r\n", left.as_millis());
            }
            let _ = write!(out, "{DRAW}: {draw}\r\n");
        }
        if self.close && !given.connection {
            let _ = write!(out, "{CONNECTION}: close\r\n");
        }
        match self.body {
            Some(body) => {
                if !given.content_type {
                    let _ = write!(out, "{CONTENT_TYPE}: {FORM}\r\n");
                }
                let _ = write!(out, "{CONTENT_LENGTH}: {}\r\n\r\n", body.len());
                out.extend_from_slice(body.as_bytes());
            }
            // A POST without a body says so (RFC 9110, section 8.6).
            None if self.method == "POST" => {
                let _ = write!(out, "{CONTENT_LENGTH}: 0\r\n\r\n");
            }
            None => out.extend_from_slice(b"\r\n"),
        }
    }
}

/// The type of a body, unless header lines name another.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// Which default header lines the user overrides.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Given {
    pub(crate) host: bool,
    pub(crate) content_type: bool,
    pub(crate) connection: bool,
}

impl Given {
    /// Most requests have no such lines, or few: a search costs less than storing its result.
    pub(crate) fn among(headers: &str) -> Self {
        let mut given = Self::default();
        for (name, _) in headers.lines().filter_map(|line| line.split_once(':')) {
            given.host |= name.eq_ignore_ascii_case(HOST);
            given.content_type |= name.eq_ignore_ascii_case(CONTENT_TYPE);
            given.connection |= name.eq_ignore_ascii_case(CONNECTION);
        }
        given
    }
}

/// Writes a path. It comes from a page of the service: a blank or line end in it must not become a second request.
pub(crate) fn write_path(path: &str, out: &mut Vec<u8>) {
    let path = path.split('#').next().unwrap_or_default();
    if !path.starts_with('/') {
        out.push(b'/');
    }
    if path.bytes().all(|b| b.is_ascii_graphic()) {
        out.extend_from_slice(path.as_bytes());
        return;
    }
    for byte in path.bytes() {
        if byte.is_ascii_graphic() {
            out.push(byte);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
}
