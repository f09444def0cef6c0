//! Cases of HTTP/2 by section of RFC 9113, over TCP and TLS: what is at fault ends its stream or its connection and reaches no backend,
//! and what reaches one is one request of HTTP/1.1 that nobody can read in two ways.

use std::{net::SocketAddr, path::Path, thread};

use serde_json::{Value, json};

use crate::proxy::{
    http2_wire::{
        ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, Link, PADDED, PING, PREFACE, PRIORITY,
        PUSH_PROMISE, RST_STREAM, SETTINGS, Said, WINDOW_UPDATE, WITH_PRIORITY, block, frame, get, head, preface,
        pseudo,
    },
    proxied::Proxied,
};

struct Case {
    id: &'static str,
    bytes: Vec<u8>,
    wanted: Wanted,
}

#[derive(Debug, Clone, Copy)]
enum Wanted {
    /// Stream 1 is answered with this.
    Answered(u16),
    /// Answered with 4xx, or its stream or its connection is ended; no backend sees it.
    Refused,
    /// The stream is ended for one of these reasons, or the connection is.
    Reset(&'static [u32]),
    /// The connection is ended, for one of these reasons if any is said.
    Ended(&'static [u32]),
    /// The connection goes on.
    Ignored,
}

use Wanted::{Answered, Ended, Ignored, Refused, Reset};

const PROTOCOL: u32 = 1;
const FLOW_CONTROL: u32 = 3;
const CLOSED: u32 = 5;
const FRAME_SIZE: u32 = 6;
const COMPRESSION: u32 = 9;

/// Frames behind the client's preface.
fn case(id: &'static str, frames: &[Vec<u8>], wanted: Wanted) -> Case {
    Case { id, bytes: [preface(), frames.concat()].concat(), wanted }
}

/// One frame behind the client's preface.
fn one(id: &'static str, (kind, flags, stream, payload): (u8, u8, u32, &[u8]), wanted: Wanted) -> Case {
    case(id, &[frame(kind, flags, stream, payload)], wanted)
}

/// A request of exactly these fields.
fn only(id: &'static str, fields: &[(&str, &str)], wanted: Wanted) -> Case {
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
    case(id, &[frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(&fields))], wanted)
}

/// A GET with another field behind its pseudo-headers.
fn with(id: &'static str, name: &str, value: &str, wanted: Wanted) -> Case {
    case(id, &[head(1, END_STREAM, "GET", &[(name.as_bytes(), value.as_bytes())])], wanted)
}

/// A POST of `hello` with these fields.
fn post(id: &'static str, fields: &[(&str, &str)], wanted: Wanted) -> Case {
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect();
    case(id, &[head(1, 0, "POST", &fields), frame(DATA, END_STREAM, 1, b"hello")], wanted)
}

/// A GET with this in place of one of its pseudo-headers.
fn of(id: &'static str, name: &str, value: &str, wanted: Wanted) -> Case {
    let mut fields = pseudo("GET", "/");
    fields.iter_mut().filter(|(of, _)| *of == name.as_bytes()).for_each(|field| field.1 = value.as_bytes());
    case(id, &[frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(&fields))], wanted)
}

/// A GET with these pseudo-headers alone, and one of them taken out.
fn without(id: &'static str, name: &str, wanted: Wanted) -> Case {
    let fields: Vec<_> = pseudo("GET", "/").into_iter().filter(|(of, _)| *of != name.as_bytes()).collect();
    case(id, &[frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(&fields))], wanted)
}

/// Sections 8.2, 8.3 and 8.5: fields and pseudo-headers.
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn heads() -> Vec<Case> {
    const GET: [(&str, &str); 4] =
        [(":method", "GET"), (":scheme", "http"), (":authority", "localhost"), (":path", "/")];
    let twice = |id, name: &'static str, value| only(id, &[&GET[..], &[(name, value)]].concat(), Refused);
    vec![
        case("8.1 a whole request", &[get(1)], Answered(200)),
        with("8.2.1 a capital letter in a name", "X-A", "1", Refused),
        with("8.2.1 an empty name", "", "1", Refused),
        with("8.2.1 a space in a name", "x a", "1", Refused),
        with("8.2.1 a colon in a name", "x:a", "1", Refused),
        with("8.2.1 a NUL in a name", "x\0a", "1", Refused),
        with("8.2.1 a line feed in a name", "x\na", "1", Refused),
        with("8.2.1 a byte beyond ASCII in a name", "x\u{e9}", "1", Refused),
        with("8.2.1 a NUL in a value", "x-a", "a\0b", Refused),
        with("8.2.1 a carriage return in a value", "x-a", "a\rb", Refused),
        with("8.2.1 a line feed in a value", "x-a", "a\nb", Refused),
        with("8.2.1 a field in a value", "x-a", "1\r\ntransfer-encoding: chunked", Refused),
        with("8.2.1 a request in a value", "x-a", "1\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: localhost", Refused),
        with("8.2.1 a field in a name", "x-a: 1\r\ntransfer-encoding", "chunked", Refused),
        with("8.2.2 connection", "connection", "close", Refused),
        with("8.2.2 connection with a field's name", "connection", "x-forwarded-for", Refused),
        with("8.2.2 keep-alive", "keep-alive", "timeout=5", Refused),
        with("8.2.2 proxy-connection", "proxy-connection", "close", Refused),
        with("8.2.2 transfer-encoding", "transfer-encoding", "chunked", Refused),
        with("8.2.2 upgrade", "upgrade", "websocket", Refused),
        with("8.2.2 te with a coding", "te", "gzip", Refused),
        with("8.2.2 te with trailers and a coding", "te", "trailers, gzip", Refused),
        with("8.2.2 te with trailers", "te", "trailers", Answered(200)),
        with("an underscore in place of a hyphen: a coding", "transfer_encoding", "chunked", Refused),
        with("an underscore in place of a hyphen: a length", "content_length", "5", Refused),
        case(
            "8.2.3 cookies in two lines",
            &[head(1, END_STREAM, "GET", &[(b"cookie", b"a=1"), (b"cookie", b"b=2")])],
            Answered(200),
        ),
        only("8.3 a pseudo-header behind a field", &[&GET[..3], &[("x-a", "1"), GET[3]]].concat(), Refused),
        twice("8.3 an unknown pseudo-header", ":unknown", "1"),
        twice("8.3 a pseudo-header of answers", ":status", "200"),
        twice("8.3.1 two methods", ":method", "GET"),
        twice("8.3.1 two methods that differ", ":method", "POST"),
        twice("8.3.1 two schemes", ":scheme", "http"),
        twice("8.3.1 two paths", ":path", "/smuggled"),
        twice("8.3.1 two authorities", ":authority", "localhost"),
        without("8.3.1 no method", ":method", Refused),
        without("8.3.1 no scheme", ":scheme", Refused),
        without("8.3.1 no path", ":path", Refused),
        without("8.3.1 neither an authority nor a host", ":authority", Refused),
        only("8.3.1 a host in place of an authority", &[GET[0], GET[1], GET[3], ("host", "localhost")], Answered(200)),
        only("8.3.1 two hosts", &[GET[0], GET[1], GET[3], ("host", "localhost"), ("host", "localhost")], Refused),
        with("8.3.1 a host that is the authority", "host", "localhost", Answered(200)),
        with("8.3.1 a host that is not the authority", "host", "internal.example", Refused),
        of("8.3.1 an empty path", ":path", "", Refused),
        of("8.3.1 a path without a slash", ":path", "smuggled", Refused),
        of("8.3.1 an asterisk for GET", ":path", "*", Refused),
        of("8.3.1 a whole URL for a path", ":path", "http://internal.example/", Refused),
        of("8.3.1 a space in the path", ":path", "/a b", Refused),
        of("8.3.1 a request in the path", ":path", "/ HTTP/1.1\r\nhost: localhost\r\n\r\nGET /smuggled", Refused),
        of("8.3.1 a version in the path", ":path", "/smuggled HTTP/1.1", Refused),
        of("8.3.1 a line feed in the path", ":path", "/\nx: 1", Refused),
        of("8.3.1 a NUL in the path", ":path", "/\0", Refused),
        of("8.3.1 bytes beyond ASCII in the path", ":path", "/caf\u{e9}", Refused),
        of("8.3.1 a request in the method", ":method", "GET /smuggled HTTP/1.1\r\nhost: localhost\r\n\r\nGET", Refused),
        of("8.3.1 a space in the method", ":method", "GET /smuggled", Refused),
        of("8.3.1 an empty method", ":method", "", Refused),
        of("8.3.1 a field in the authority", ":authority", "localhost\r\ntransfer-encoding: chunked", Refused),
        of("8.3.1 a path in the authority", ":authority", "localhost/smuggled", Refused),
        of("8.3.1 a user in the authority", ":authority", "user@localhost", Refused),
        of("8.3.1 a space in the authority", ":authority", "local host", Refused),
        of("8.3.1 a port that is none", ":authority", "localhost:port", Refused),
        of("8.3.1 a field in the scheme", ":scheme", "http\r\nx-a: 1", Refused),
        of("8.3.1 an empty scheme", ":scheme", "", Refused),
        of("8.3.1 a scheme of another protocol", ":scheme", "ftp", Refused),
        of("8.3.1 the scheme of TLS", ":scheme", "https", Answered(200)),
        of("9110 9.3.8 TRACE", ":method", "TRACE", Answered(405)),
        only("8.5 CONNECT", &[(":method", "CONNECT"), (":authority", "localhost:80")], Answered(405)),
        of("8.5 CONNECT with a path", ":method", "CONNECT", Refused),
        twice("8441 a protocol for GET", ":protocol", "websocket"),
        only(
            "8441 CONNECT with a protocol",
            &[&[(":method", "CONNECT"), (":protocol", "websocket")][..], &GET[1..]].concat(),
            Refused,
        ),
    ]
}

/// Section 8.1.1 with RFC 9110, section 8.6: the length of a body, said and sent; and trailers.
fn bodies() -> Vec<Case> {
    let length = |id, value| post(id, &[("content-length", value)], Refused);
    let sent = |id, said: &str, frames: &[Vec<u8>], wanted| {
        let all = [&[head(1, 0, "POST", &[(b"content-length", said.as_bytes())])][..], frames].concat();
        case(id, &all, wanted)
    };
    let end = |body: &[u8]| frame(DATA, END_STREAM, 1, body);
    let trailers = |flags, fields: &[(&[u8], &[u8])]| frame(HEADERS, flags | END_HEADERS, 1, &block(fields));
    vec![
        post("a body without a length", &[], Answered(200)),
        post("8.1.1 a body with its length", &[("content-length", "5")], Answered(200)),
        post("9110 8.6 zeros before the length", &[("content-length", "0005")], Answered(200)),
        post("9110 8.6 the length twice", &[("content-length", "5"), ("content-length", "5")], Refused),
        post(
            "9110 8.6 the length twice, written in two ways",
            &[("content-length", "05"), ("content-length", "5")],
            Refused,
        ),
        post("9110 8.6 two lengths", &[("content-length", "5"), ("content-length", "6")], Refused),
        length("9110 8.6 a list of lengths", "5, 5"),
        length("9110 8.6 a sign", "+5"),
        length("9110 8.6 a hexadecimal length", "0x5"),
        length("9110 8.6 an empty length", ""),
        length("9110 8.6 a space in the length", "5 "),
        length("9110 8.6 a negative length", "-5"),
        length("9110 8.6 more than 64 bits", "18446744073709551621"),
        case("8.1.1 a length without a body", &[head(1, END_STREAM, "POST", &[(b"content-length", b"5")])], Refused),
        sent("8.1.1 less than said", "6", &[end(b"hello")], Reset(&[PROTOCOL])),
        sent("8.1.1 more than said", "4", &[end(b"hello")], Reset(&[PROTOCOL])),
        sent("8.1.1 more than nothing", "0", &[end(b"GET /smuggled HTTP/1.1\r\n\r\n")], Reset(&[PROTOCOL])),
        sent("8.1.1 nothing in place of five bytes", "5", &[end(b"")], Reset(&[PROTOCOL])),
        sent(
            "8.1.1 trailers before all has come",
            "6",
            &[frame(DATA, 0, 1, b"hello"), trailers(END_STREAM, &[(b"x-a", b"1")])],
            Reset(&[PROTOCOL]),
        ),
        sent(
            "8.1 trailers",
            "5",
            &[frame(DATA, 0, 1, b"hello"), trailers(END_STREAM, &[(b"x-a", b"1")])],
            Answered(200),
        ),
        sent(
            "8.1 trailers that do not end the stream",
            "5",
            &[frame(DATA, 0, 1, b"hello"), trailers(0, &[(b"x-a", b"1")])],
            Reset(&[PROTOCOL]),
        ),
        sent(
            "8.1 a capital letter in trailers",
            "5",
            &[frame(DATA, 0, 1, b"hello"), trailers(END_STREAM, &[(b"X-A", b"1")])],
            Reset(&[PROTOCOL]),
        ),
        sent(
            "8.2.2 a connection's field in trailers",
            "5",
            &[frame(DATA, 0, 1, b"hello"), trailers(END_STREAM, &[(b"transfer-encoding", b"chunked")])],
            Reset(&[PROTOCOL]),
        ),
        // Malformed by the letter; hyper hands on no pseudo-header of trailers, so that it is neither seen here nor by the backend.
        sent(
            "8.1 a pseudo-header in trailers",
            "5",
            &[frame(DATA, 0, 1, b"hello"), trailers(END_STREAM, &[(b":path", b"/smuggled")])],
            Answered(200),
        ),
        case(
            "a body that looks like the end of chunks",
            &[head(1, 0, "POST", &[]), end(b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n")],
            Answered(200),
        ),
        case(
            "a body of GET that looks like a request",
            &[head(1, 0, "GET", &[]), end(b"GET /smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n")],
            Answered(200),
        ),
    ]
}

/// Sections 3 to 6: the preface, streams, and each type of frame.
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn frames() -> Vec<Case> {
    let window = |by: u32| by.to_be_bytes();
    let whole = block(&pseudo("GET", "/"));
    let settings = |id, key: u16, value: u32, wanted| {
        let payload = [&key.to_be_bytes()[..], &value.to_be_bytes()].concat();
        one(id, (SETTINGS, 0, 0, &payload), wanted)
    };
    let raw = |id, bytes: &[&[u8]], wanted| Case { id, bytes: bytes.concat(), wanted };
    vec![
        raw("3.4 a preface with another end", &[b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"], Ended(&[PROTOCOL])),
        // hyper does not insist on them.
        raw("3.4 no SETTINGS behind the preface", &[PREFACE, &get(1)], Ignored),
        one("4.1 a frame of an unknown type", (0xbe, 0xff, 1, b"anything"), Ignored),
        case("4.1 a reserved bit", &[frame(PING, 0, 0x8000_0000, b"reserved"), get(1)], Answered(200)),
        one("4.2 a frame larger than may be", (PING, 0, 0, &[0; 16 * 1024 + 1]), Ended(&[FRAME_SIZE])),
        one("4.2 a head larger than may be", (HEADERS, END_HEADERS, 1, &[0; 16 * 1024 + 1]), Ended(&[FRAME_SIZE])),
        one(
            "4.3 an index beyond the table",
            (HEADERS, END_HEADERS | END_STREAM, 1, &[0xff, 0xff, 0x7f]),
            Ended(&[COMPRESSION]),
        ),
        one("4.3 index 0", (HEADERS, END_HEADERS | END_STREAM, 1, &[0x80]), Ended(&[COMPRESSION])),
        one("4.3 a literal without its end", (HEADERS, END_HEADERS | END_STREAM, 1, &[0, 0x7f]), Ended(&[COMPRESSION])),
        one(
            "4.3 a table larger than may be",
            (HEADERS, END_HEADERS | END_STREAM, 1, &[0x3f, 0xe2, 0x1f]),
            Ended(&[COMPRESSION]),
        ),
        one("5.1 DATA on an idle stream", (DATA, END_STREAM, 1, b"hello"), Ended(&[PROTOCOL, CLOSED])),
        one("5.1 RST_STREAM on an idle stream", (RST_STREAM, 0, 1, &window(8)), Ended(&[PROTOCOL])),
        one("5.1 WINDOW_UPDATE on an idle stream", (WINDOW_UPDATE, 0, 1, &window(1)), Ended(&[PROTOCOL])),
        one("5.1 CONTINUATION on an idle stream", (CONTINUATION, END_HEADERS, 1, &whole), Ended(&[PROTOCOL])),
        case(
            "5.1 DATA behind the end of a request",
            &[get(1), frame(DATA, END_STREAM, 1, b"hello")],
            Reset(&[CLOSED, PROTOCOL]),
        ),
        case("5.1 HEADERS behind the end of a request", &[get(1), get(1)], Reset(&[CLOSED, PROTOCOL])),
        case(
            "5.1 DATA behind RST_STREAM",
            &[head(1, 0, "POST", &[]), frame(RST_STREAM, 0, 1, &window(8)), frame(DATA, END_STREAM, 1, b"hello")],
            Reset(&[CLOSED, PROTOCOL]),
        ),
        case(
            "5.1 PRIORITY on a closed stream",
            &[head(1, 0, "POST", &[]), frame(RST_STREAM, 0, 1, &window(8)), frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 1])],
            Ignored,
        ),
        case("5.1.1 an even stream", &[get(2)], Ended(&[PROTOCOL])),
        case("5.1.1 a stream before the last one", &[get(5), get(3)], Ended(&[PROTOCOL, CLOSED])),
        case("5.1.1 stream 0", &[get(0)], Ended(&[PROTOCOL])),
        case("5.1.1 streams that are left out", &[get(7), get(1001)], Ignored),
        case(
            "5.3.1 a stream that depends on itself",
            &[frame(HEADERS, END_HEADERS | END_STREAM | WITH_PRIORITY, 1, &[&[0, 0, 0, 1, 1], &whole[..]].concat())],
            Reset(&[PROTOCOL]),
        ),
        one("5.3.1 PRIORITY that depends on itself", (PRIORITY, 0, 1, &[0, 0, 0, 1, 1]), Reset(&[PROTOCOL])),
        one("6.1 DATA on stream 0", (DATA, END_STREAM, 0, b"hello"), Ended(&[PROTOCOL])),
        case(
            "6.1 padding as long as the frame",
            &[head(1, 0, "POST", &[]), frame(DATA, END_STREAM | PADDED, 1, &[6, b'h', b'e', b'l', b'l', b'o'])],
            Ended(&[PROTOCOL]),
        ),
        case(
            "6.1 a body with padding",
            &[head(1, 0, "POST", &[]), frame(DATA, END_STREAM | PADDED, 1, &[3, b'h', b'i', 0, 0, 0])],
            Answered(200),
        ),
        one(
            "6.2 padding as long as the head",
            (HEADERS, END_HEADERS | END_STREAM | PADDED, 1, &[&[255], &whole[..]].concat()),
            Ended(&[PROTOCOL]),
        ),
        one(
            "6.2 a padded frame without a length",
            (HEADERS, END_HEADERS | END_STREAM | PADDED, 1, &[]),
            Ended(&[PROTOCOL, FRAME_SIZE]),
        ),
        one("6.3 PRIORITY on stream 0", (PRIORITY, 0, 0, &[0, 0, 0, 1, 1]), Ended(&[PROTOCOL])),
        one("6.3 PRIORITY of four bytes", (PRIORITY, 0, 1, &[0, 0, 0, 1]), Reset(&[FRAME_SIZE])),
        one("6.4 RST_STREAM on stream 0", (RST_STREAM, 0, 0, &window(8)), Ended(&[PROTOCOL])),
        case(
            "6.4 RST_STREAM of three bytes",
            &[head(1, 0, "POST", &[]), frame(RST_STREAM, 0, 1, &[0, 0, 8])],
            Ended(&[FRAME_SIZE]),
        ),
        one("6.5 SETTINGS on a stream", (SETTINGS, 0, 1, &[]), Ended(&[PROTOCOL])),
        one("6.5 an acknowledgement with a payload", (SETTINGS, ACK, 0, &[0; 6]), Ended(&[FRAME_SIZE])),
        one("6.5 SETTINGS of five bytes", (SETTINGS, 0, 0, &[0; 5]), Ended(&[FRAME_SIZE])),
        settings("6.5.2 push neither on nor off", 2, 2, Ended(&[PROTOCOL])),
        settings("6.5.2 a window too large", 4, 0x8000_0000, Ended(&[FLOW_CONTROL])),
        settings("6.5.2 frames too small", 5, 16_383, Ended(&[PROTOCOL])),
        settings("6.5.2 frames too large", 5, 16_777_216, Ended(&[PROTOCOL])),
        settings("6.5.2 an unknown setting", 0xbeef, 1, Ignored),
        one(
            "6.6 PUSH_PROMISE of a client",
            (PUSH_PROMISE, END_HEADERS, 1, &[&[0, 0, 0, 2], &whole[..]].concat()),
            Ended(&[PROTOCOL]),
        ),
        one("6.7 PING on a stream", (PING, 0, 1, &[0; 8]), Ended(&[PROTOCOL])),
        one("6.7 PING of seven bytes", (PING, 0, 0, &[0; 7]), Ended(&[FRAME_SIZE])),
        one("6.7 an answer to no PING", (PING, ACK, 0, &[7; 8]), Ignored),
        one("6.8 GOAWAY on a stream", (GOAWAY, 0, 1, &[0; 8]), Ended(&[PROTOCOL])),
        one("6.9 a window of nothing", (WINDOW_UPDATE, 0, 0, &window(0)), Ended(&[PROTOCOL])),
        case(
            "6.9 a window of nothing for a stream",
            &[head(1, 0, "POST", &[]), frame(WINDOW_UPDATE, 0, 1, &window(0))],
            Reset(&[PROTOCOL]),
        ),
        one("6.9 WINDOW_UPDATE of three bytes", (WINDOW_UPDATE, 0, 0, &[0, 0, 1]), Ended(&[FRAME_SIZE])),
        one("6.9.1 a window beyond 31 bits", (WINDOW_UPDATE, 0, 0, &window(0x7fff_ffff)), Ended(&[FLOW_CONTROL])),
        case(
            "6.9.1 a stream's window beyond 31 bits",
            &[head(1, 0, "POST", &[]), frame(WINDOW_UPDATE, 0, 1, &window(0x7fff_ffff))],
            Reset(&[FLOW_CONTROL]),
        ),
        one("6.10 CONTINUATION on stream 0", (CONTINUATION, END_HEADERS, 0, &whole), Ended(&[PROTOCOL])),
        case(
            "6.10 CONTINUATION behind a whole head",
            &[get(1), frame(CONTINUATION, END_HEADERS, 1, &whole)],
            Ended(&[PROTOCOL, CLOSED]),
        ),
        case(
            "6.10 CONTINUATION of another stream",
            &[frame(HEADERS, END_STREAM, 1, &whole[..4]), frame(CONTINUATION, END_HEADERS, 3, &whole[4..])],
            Ended(&[PROTOCOL]),
        ),
        case(
            "6.10 another frame within a head",
            &[
                frame(HEADERS, END_STREAM, 1, &whole[..4]),
                frame(PING, 0, 0, &[0; 8]),
                frame(CONTINUATION, END_HEADERS, 1, &whole[4..]),
            ],
            Ended(&[PROTOCOL]),
        ),
        case(
            "6.10 a head in three frames",
            &[
                frame(HEADERS, END_STREAM, 1, &whole[..4]),
                frame(CONTINUATION, 0, 1, &[]),
                frame(CONTINUATION, END_HEADERS, 1, &whole[4..]),
            ],
            Answered(200),
        ),
    ]
}

fn holds(said: &Said, wanted: Wanted) -> bool {
    let has_ended = said.closed || said.goaway.is_some_and(|reason| reason != 0);
    // A more general reason than the section names will do.
    let fits = |reason: u32, reasons: &[u32]| reason == PROTOCOL || reasons.contains(&reason);
    let ended_for = |reasons: &[u32]| has_ended && said.goaway.is_none_or(|reason| fits(reason, reasons));
    let served = said.statuses.iter().any(|(_, status)| *status < 400);
    match wanted {
        Answered(status) => said.status(1) == Some(status) && !has_ended && said.resets.is_empty(),
        Refused => {
            !served && (said.status(1).is_some_and(|status| status < 500) || !said.resets.is_empty() || has_ended)
        }
        Reset(reasons) => said.resets.iter().any(|(_, reason)| fits(*reason, reasons)) || ended_for(reasons),
        Ended(reasons) => ended_for(reasons),
        Ignored => said.pongs > 0 && !has_ended && said.resets.is_empty(),
    }
}

/// All that do not hold, a few at a time: each connection that stays open is waited for.
fn failures(address: SocketAddr, secure: bool, cases: &[Case]) -> Vec<String> {
    let judge = |case: &Case| {
        let link = if secure { Link::secure(address) } else { Link::plain(address) };
        let said = link.exchange(&case.bytes);
        (!holds(&said, case.wanted)).then(|| format!("{}: {:?}, and not {said:?}", case.id, case.wanted))
    };
    thread::scope(|scope| {
        let parts = cases.chunks(cases.len().div_ceil(8));
        let running: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().filter_map(judge).collect::<Vec<_>>())).collect();
        running.into_iter().flat_map(|part| part.join().expect("is judged")).collect()
    })
}

/// The settings of a proxy with a certificate for tests, which nobody is to trust.
pub fn with_tls(secure: bool) -> Value {
    let file = |name| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/proxy/tls").join(name);
    let tls = json!({"certificate": file("certificate.pem"), "key": file("key.pem")});
    if secure { json!({"tls": tls, "log": "off"}) } else { json!({"log": "off"}) }
}

/// Runs cases over TCP and TLS, and gives the heads that each backend got.
fn run(cases: &[Case]) -> [Vec<String>; 2] {
    [false, true].map(|secure| {
        let (backend, proxy) = Proxied::alone(with_tls(secure));
        let failed = failures(proxy.address, secure, cases);
        assert!(failed.is_empty(), "TLS: {secure}, {} of {}: {failed:#?}", failed.len(), cases.len());
        let heads = backend.state.heads.lock().expect("a list").clone();
        for head in &heads {
            let line: Vec<&str> = head.lines().next().expect("a line").split(' ').collect();
            assert!(matches!(line[..], [_, path, "HTTP/1.1"] if path.starts_with('/')), "{head}");
            let said = |name: &str| head.lines().filter(|line| line.to_ascii_lowercase().starts_with(name)).count();
            assert!(said("content-length:") + said("transfer-encoding:") <= 1 && said("host:") == 1, "{head}");
            assert!(!line[1].contains("smuggled"), "{head}");
        }
        heads
    })
}

#[test]
fn a_head_at_fault_is_refused_and_reaches_no_backend() {
    let cases = heads();
    let good = cases.iter().filter(|case| matches!(case.wanted, Answered(200))).count();
    assert_eq!(run(&cases).map(|heads| heads.len()), [good; 2]);
}

#[test]
fn a_body_is_as_long_as_its_head_says() {
    let cases = bodies();
    let lengths =
        |head: &String| head.lines().find_map(|line| line.strip_prefix("content-length: ").map(str::to_owned));
    for heads in run(&cases) {
        // Plain digits, whatever the client wrote.
        let odd: Vec<_> =
            heads.iter().filter_map(lengths).filter(|length| length.starts_with('0') && length != "0").collect();
        assert!(odd.is_empty(), "{odd:?}");
    }
}

#[test]
fn frames_that_the_protocol_does_not_allow_end_their_stream_or_connection() {
    let cases = frames();
    assert!(heads().len() + bodies().len() + cases.len() >= 100);
    run(&cases);
}
