//! The cases of Http11Probe (github.com/MDA2AV/Http11Probe, 95bc6a9), by their ids, in words of our own: one request each
//! unless it says so, so that more than one answer means that bytes of a body were taken for a request.
//!
//! What RFC 9112 and 9110 say a server MUST do must hold. Where they leave a choice, what the service does is written down.

use std::thread;

use serde_json::json;

use crate::edge::{
    service::Service,
    wire::{After, Said, exchange},
};

pub struct Case {
    pub id: &'static str,
    pub request: Vec<u8>,
    pub wanted: Wanted,
}

#[derive(Debug, Clone, Copy)]
pub enum Wanted {
    /// Answered, and not as malformed.
    Taken,
    /// Answered once with one of these, and closed.
    Refused(&'static [u16]),
    /// Refused, or nothing said at all.
    RefusedOrSilent,
    /// Not taken for another protocol.
    NotSwitched,
}

use Wanted::{NotSwitched, Refused, RefusedOrSilent, Taken};

pub const BAD: Wanted = Refused(&[400]);
pub const HOST: &str = "Host: localhost:80\r\n";

pub fn case(id: &'static str, request: impl Into<Vec<u8>>, wanted: Wanted) -> Case {
    Case { id, request: request.into(), wanted }
}

pub fn get(id: &'static str, lines: &str, wanted: Wanted) -> Case {
    case(id, format!("GET / HTTP/1.1\r\n{HOST}{lines}\r\n"), wanted)
}

pub fn line(id: &'static str, line: &str, wanted: Wanted) -> Case {
    case(id, format!("{line}\r\n{HOST}\r\n"), wanted)
}

pub fn host(id: &'static str, host: &str, wanted: Wanted) -> Case {
    case(id, format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), wanted)
}

pub fn post(id: &'static str, lines: &str, body: &str, wanted: Wanted) -> Case {
    case(id, format!("POST / HTTP/1.1\r\n{HOST}{lines}\r\n{body}"), wanted)
}

pub fn chunked(id: &'static str, body: &str, wanted: Wanted) -> Case {
    post(id, "Transfer-Encoding: chunked\r\n", body, wanted)
}

/// A coding beside a length.
fn coded(id: &'static str, coding: &str) -> Case {
    post(id, &format!("{coding}\r\nContent-Length: 5\r\n"), "hello", BAD)
}

pub fn length(id: &'static str, length: &str, body: &str, wanted: Wanted) -> Case {
    post(id, &format!("Content-Length:{length}\r\n"), body, wanted)
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn request_lines_and_headers() -> Vec<Case> {
    let long = "A".repeat(100_000);
    let socket = "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    vec![
        get("COMP-BASELINE", "", Taken),
        case("RFC9112-2.2-BARE-LF-REQUEST-LINE", format!("GET / HTTP/1.1\n{HOST}\r\n"), Taken),
        case("RFC9112-2.2-BARE-LF-HEADER", "GET / HTTP/1.1\r\nHost: localhost\nX-Test: value\r\n\r\n", Taken),
        get("RFC9112-5.1-OBS-FOLD", "X-Test: value\r\n continued\r\n", BAD),
        get("RFC9110-5.6.2-SP-BEFORE-COLON", "X-Test : value\r\n", BAD),
        line("RFC9112-3-MULTI-SP-REQUEST-LINE", "GET  / HTTP/1.1", BAD),
        case("RFC9112-7.1-MISSING-HOST", "GET / HTTP/1.1\r\n\r\n", BAD),
        line("RFC9112-2.3-INVALID-VERSION", "GET / HTTP/9.9", BAD),
        get("RFC9112-5-EMPTY-HEADER-NAME", ": empty-name\r\n", BAD),
        case("RFC9112-3-CR-ONLY-LINE-ENDING", format!("GET / HTTP/1.1\r{HOST}\r\n"), BAD),
        line("RFC9112-3-MISSING-TARGET", "GET HTTP/1.1", BAD),
        line("RFC9112-3.2-FRAGMENT-IN-TARGET", "GET /path#frag HTTP/1.1", Taken),
        case("RFC9112-2.3-HTTP09-REQUEST", "GET /\r\n", RefusedOrSilent),
        get("RFC9112-5-INVALID-HEADER-NAME", "Bad[Name: value\r\n", BAD),
        get("RFC9112-5-HEADER-NO-COLON", "NoColonHere\r\n", BAD),
        get("RFC9110-5.4-DUPLICATE-HOST", "Host: other.example.com\r\n", BAD),
        case("COMP-WHITESPACE-BEFORE-HEADERS", format!("GET / HTTP/1.1\r\n \r\n{HOST}\r\n"), BAD),
        get("COMP-DUPLICATE-HOST-SAME", HOST, BAD),
        host("COMP-HOST-WITH-USERINFO", "user@localhost:80", BAD),
        host("COMP-HOST-WITH-PATH", "localhost:80/path", BAD),
        host("COMP-HOST-EMPTY-VALUE", "", BAD),
        host("SMUG-MULTIPLE-HOST-COMMA", "localhost:80, other.example.com", BAD),
        host("a port that is none", "localhost:evil", BAD),
        host("an address with a user behind it", "127.0.0.1:8025@evil.com", BAD),
        host("a literal with a tail", "[::1].evil.com", BAD),
        host("two authorities", "127.0.0.1:80,evil", BAD),
        line("COMP-ASTERISK-WITH-GET", "GET * HTTP/1.1", BAD),
        line("COMP-OPTIONS-STAR", "OPTIONS * HTTP/1.1", Taken),
        line("COMP-NO-CL-IN-204", "OPTIONS / HTTP/1.1", Taken),
        case("COMP-LEADING-CRLF", format!("\r\n\r\nGET / HTTP/1.1\r\n{HOST}\r\n"), Taken),
        line("COMP-ABSOLUTE-FORM", "GET http://localhost:80/ HTTP/1.1", Taken),
        line("SMUG-ABSOLUTE-URI-HOST-MISMATCH", "GET http://other.example.com/ HTTP/1.1", Refused(&[421])),
        line("COMP-METHOD-CASE", "get / HTTP/1.1", Refused(&[405])),
        line("COMP-METHOD-CONNECT", "CONNECT example.com:443 HTTP/1.1", Refused(&[405])),
        line("COMP-METHOD-TRACE", "TRACE / HTTP/1.1", Refused(&[405])),
        line("COMP-UNKNOWN-METHOD", "FOOBAR / HTTP/1.1", Refused(&[405])),
        line("COMP-405-ALLOW", "DELETE / HTTP/1.1", Refused(&[405])),
        line("COMP-REQUEST-LINE-TAB", "GET\t/ HTTP/1.1", BAD),
        line("COMP-VERSION-MISSING-MINOR", "GET / HTTP/1", BAD),
        line("COMP-VERSION-LEADING-ZEROS", "GET / HTTP/01.01", BAD),
        line("COMP-VERSION-WHITESPACE", "GET / HTTP/ 1.1", BAD),
        line("COMP-VERSION-CASE", "GET / http/1.1", BAD),
        line("COMP-HTTP12-VERSION", "GET / HTTP/1.2", BAD),
        line("COMP-HTTP10-DEFAULT-CLOSE", "GET / HTTP/1.0", Taken),
        case("COMP-HTTP10-NO-HOST", "GET / HTTP/1.0\r\n\r\n", Taken),
        line("COMP-SPACE-IN-TARGET", "GET /pa th HTTP/1.1", BAD),
        line("COMP-HEAD-NO-BODY", "HEAD / HTTP/1.1", Taken),
        line("COMP-LONG-URL-OK", &format!("GET /{} HTTP/1.1", &long[..7900]), Taken),
        get("COMP-EXPECT-UNKNOWN", "Expect: 200-ok\r\n", Taken),
        get("COMP-CONNECTION-CLOSE", "Connection: close\r\n", Taken),
        get("COMP-UPGRADE-MISSING-CONN", socket, NotSwitched),
        get("COMP-UPGRADE-UNKNOWN", "Connection: Upgrade\r\nUpgrade: totally-made-up/1.0\r\n", NotSwitched),
        post("COMP-UPGRADE-POST", &format!("Connection: Upgrade\r\n{socket}"), "", NotSwitched),
        post(
            "COMP-UPGRADE-INVALID-VER",
            &format!("Connection: Upgrade\r\n{socket}Sec-WebSocket-Version: 99\r\n"),
            "",
            NotSwitched,
        ),
        case(
            "COMP-UPGRADE-HTTP10",
            format!("GET / HTTP/1.0\r\n{HOST}Connection: Upgrade\r\n{socket}\r\n"),
            NotSwitched,
        ),
        get("COMP-ACCEPT-NONSENSE", "Accept: application/x-nonsense\r\n", Taken),
        get("COMP-RANGE-INVALID", "Range: bytes=abc-xyz\r\n", Taken),
        line("MAL-LONG-URL", &format!("GET /{long} HTTP/1.1"), Refused(&[400, 414, 431])),
        get("MAL-LONG-HEADER-VALUE", &format!("X-Big: {long}\r\n"), Refused(&[431])),
        get("MAL-LONG-HEADER-NAME", &format!("{long}: val\r\n"), Refused(&[431])),
        line("MAL-LONG-METHOD", &format!("{long} / HTTP/1.1"), Refused(&[400, 431])),
        get(
            "MAL-MANY-HEADERS",
            &(0..10_000).map(|n| format!("X-H-{n}: value\r\n")).collect::<String>(),
            Refused(&[431]),
        ),
        line("MAL-NUL-IN-URL", "GET /\0test HTTP/1.1", BAD),
        get("MAL-CONTROL-CHARS-HEADER", "X-Test: abc\x07\x08\x0bdef\r\n", BAD),
        get("MAL-NUL-IN-HEADER-VALUE", "X-Test: val\0ue\r\n", BAD),
        case(
            "MAL-NON-ASCII-HEADER-NAME",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX-T\xc3\xabst: v\r\n\r\n".as_slice(),
            BAD,
        ),
        case("MAL-NON-ASCII-URL", b"GET /caf\xc3\xa9 HTTP/1.1\r\nHost: localhost\r\n\r\n".as_slice(), BAD),
        case("MAL-URL-OVERLONG-UTF8", b"GET /\xc0\xaf HTTP/1.1\r\nHost: localhost\r\n\r\n".as_slice(), BAD),
        case(
            "MAL-BINARY-GARBAGE",
            [b"\x16\x03\x01\xff\xfe\x00\x80 \x0b\r\n\r\n".as_slice(), &[0xfe; 64]].concat(),
            RefusedOrSilent,
        ),
        case("MAL-INCOMPLETE-REQUEST", format!("GET / HTTP/1.1\r\n{HOST}X-Test: value"), RefusedOrSilent),
        case("MAL-EMPTY-REQUEST", "", RefusedOrSilent),
        case("MAL-WHITESPACE-ONLY-LINE", "   \r\n\r\n", RefusedOrSilent),
        case("MAL-H2-PREFACE", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", RefusedOrSilent),
        line("MAL-URL-PERCENT-NULL", "GET /path%00.html HTTP/1.1", Taken),
        line("MAL-URL-PERCENT-CRLF", "GET /path%0d%0aX-Injected:%20true HTTP/1.1", Taken),
        post("NORM-UNDERSCORE-CL", "Content-Length: 11\r\nContent_Length: 99\r\n", "hello world", BAD),
        post("NORM-UNDERSCORE-TE", "Content-Length: 11\r\nTransfer_Encoding: chunked\r\n", "hello world", BAD),
        post("NORM-SP-BEFORE-COLON-CL", "Content-Length: 11\r\nContent-Length : 5\r\n", "hello world", BAD),
        post("NORM-TAB-IN-NAME", "Content-Length: 11\r\nContent\tLength: 99\r\n", "hello world", BAD),
        post("NORM-CASE-TE", "Content-Length: 11\r\nTRANSFER-ENCODING: chunked\r\n", "hello world", BAD),
    ]
}

fn lengths() -> Vec<Case> {
    vec![
        post("COMP-POST-CL-BODY", "Content-Length: 5\r\n", "hello", Taken),
        post("COMP-POST-CL-ZERO", "Content-Length: 0\r\n", "", Taken),
        post("COMP-POST-NO-CL-NO-TE", "", "", Taken),
        post("COMP-POST-CL-UNDERSEND", "Content-Length: 10\r\n", "hello", RefusedOrSilent),
        post("COMP-RANGE-POST", "Content-Length: 5\r\nRange: bytes=0-10\r\n", "hello", Taken),
        get("COMP-GET-WITH-CL-BODY", "Content-Length: 5\r\n\r\nhello", Taken),
        case(
            "COMP-NO-1XX-HTTP10",
            format!("POST / HTTP/1.0\r\n{HOST}Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello"),
            Taken,
        ),
        length("RFC9112-6.1-CL-NON-NUMERIC", " abc", "", BAD),
        length("RFC9112-6.1-CL-PLUS-SIGN", " +5", "hello", BAD),
        length("SMUG-CL-NEGATIVE", " -1", "", BAD),
        length("SMUG-CL-NEGATIVE-ZERO", " -0", "", BAD),
        length("SMUG-CL-OCTAL", " 0o5", "hello", BAD),
        length("SMUG-CL-HEX-PREFIX", " 0x5", "hello", BAD),
        length("SMUG-CL-INTERNAL-SPACE", " 1 0", "hello12345", BAD),
        length("SMUG-CL-UNDERSCORE", " 1_0", "helloworld", BAD),
        length("SMUG-CL-COMMA-DIFFERENT", " 5, 10", "hello", BAD),
        length("SMUG-CL-COMMA-SAME", " 5, 5", "hello", BAD),
        length("SMUG-CL-COMMA-TRIPLE", " 5, 5, 5", "hello", BAD),
        length("SMUG-CL-LEADING-ZEROS", " 005", "hello", Taken),
        length("SMUG-CL-DOUBLE-ZERO", " 00", "", Taken),
        length("SMUG-CL-LEADING-ZEROS-OCTAL", " 0200", &"A".repeat(200), Taken),
        length("SMUG-CL-TRAILING-SPACE", " 5 ", "hello", Taken),
        length("SMUG-CL-EXTRA-LEADING-SP", "  5", "hello", Taken),
        length("MAL-CL-TAB-BEFORE-VALUE", "\t5", "hello", Taken),
        length("MAL-CL-EMPTY", " ", "", BAD),
        length("MAL-CL-OVERFLOW", " 99999999999999999999", "", BAD),
        // Refused for what it says it will send.
        length("MAL-POST-CL-HUGE-NO-BODY", " 999999999", "", Refused(&[413])),
        post("SMUG-DUPLICATE-CL", "Content-Length: 5\r\nContent-Length: 10\r\n", "helloworld", BAD),
        post("SMUG-BARE-CR-HEADER-VALUE", "Content-Length: 5\r\nX-Test: val\rue\r\n", "hello", BAD),
        post("SMUG-EXPECT-100-CL", "Content-Length: 5\r\nExpect: 100-continue\r\n", "hello", Taken),
        case("SMUG-HEAD-CL-BODY", format!("HEAD / HTTP/1.1\r\n{HOST}Content-Length: 5\r\n\r\nhello"), Taken),
        case("SMUG-OPTIONS-CL-BODY", format!("OPTIONS / HTTP/1.1\r\n{HOST}Content-Length: 5\r\n\r\nhello"), Taken),
    ]
}

fn codings() -> Vec<Case> {
    vec![
        post("COMP-UNKNOWN-TE-501", "Transfer-Encoding: gzip\r\n", "", BAD),
        post(
            "SMUG-CL-TE-BOTH",
            "Content-Length: 23\r\nTransfer-Encoding: chunked\r\n",
            "D\r\nhello-bananas\r\n0\r\n\r\n",
            BAD,
        ),
        post("SMUG-CLTE-PIPELINE", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", BAD),
        post("SMUG-TECL-PIPELINE", "Transfer-Encoding: chunked\r\nContent-Length: 30\r\n", "0\r\n\r\n", BAD),
        post("SMUG-TE-NOT-FINAL-CHUNKED", "Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n", BAD),
        case(
            "SMUG-TE-HTTP10",
            format!("POST / HTTP/1.0\r\n{HOST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello"),
            BAD,
        ),
        coded("SMUG-TE-XCHUNKED", "Transfer-Encoding: xchunked"),
        coded("SMUG-TE-TRAILING-SPACE", "Transfer-Encoding: chunked "),
        coded("SMUG-TE-SP-BEFORE-COLON", "Transfer-Encoding : chunked"),
        coded("SMUG-TE-DOUBLE-CHUNKED", "Transfer-Encoding: chunked, chunked"),
        coded("SMUG-TE-CASE-MISMATCH", "Transfer-Encoding: Chunked"),
        coded("SMUG-TE-EMPTY-VALUE", "Transfer-Encoding: "),
        coded("SMUG-TE-LEADING-COMMA", "Transfer-Encoding: , chunked"),
        coded("SMUG-TE-TRAILING-COMMA", "Transfer-Encoding: chunked,"),
        coded("SMUG-TE-DUPLICATE-HEADERS", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
        coded("SMUG-TE-VTAB", "Transfer-Encoding: \x0bchunked"),
        coded("SMUG-TE-FORMFEED", "Transfer-Encoding: \x0cchunked"),
        coded("SMUG-TE-NULL", "Transfer-Encoding: chunked\0"),
        coded("SMUG-TE-IDENTITY", "Transfer-Encoding: identity"),
        coded("SMUG-TE-OBS-FOLD", "Transfer-Encoding:\r\n chunked"),
        coded("SMUG-TE-TAB-BEFORE-VALUE", "Transfer-Encoding:\tchunked"),
        coded("SMUG-CHUNKED-WITH-PARAMS", "Transfer-Encoding: chunked;ext=val"),
        coded("SMUG-TRANSFER_ENCODING", "Transfer_Encoding: chunked"),
    ]
}

fn chunks() -> Vec<Case> {
    let rest = "\r\nhello\r\n0\r\n\r\n";
    let size = |id, line: &str, wanted| chunked(id, &format!("{line}{rest}"), wanted);
    let trailer = |id, line: &str| chunked(id, &format!("5\r\nhello\r\n0\r\n{line}\r\n\r\n"), Taken);
    vec![
        size("COMP-CHUNKED-BODY", "5", Taken),
        chunked("COMP-CHUNKED-MULTI", "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", Taken),
        chunked("COMP-CHUNKED-EMPTY", "0\r\n\r\n", Taken),
        chunked("COMP-CHUNKED-NO-FINAL", "5\r\nhello\r\n", RefusedOrSilent),
        size("COMP-CHUNKED-EXTENSION", "5;ext=value", Taken),
        chunked("COMP-CHUNKED-HEX-UPPERCASE", "A\r\nhelloworld\r\n0\r\n\r\n", Taken),
        trailer("COMP-CHUNKED-TRAILER-VALID", "X-Checksum: abc"),
        trailer("SMUG-TRAILER-CL", "Content-Length: 50"),
        trailer("SMUG-TRAILER-TE", "Transfer-Encoding: chunked"),
        trailer("SMUG-TRAILER-HOST", "Host: evil.example.com"),
        trailer("SMUG-TRAILER-AUTH", "Authorization: Bearer evil"),
        trailer("SMUG-TRAILER-CONTENT-TYPE", "Content-Type: text/evil"),
        size("SMUG-CHUNK-BARE-SEMICOLON", "5;", BAD),
        size("SMUG-CHUNK-EXT-INVALID-TOKEN", "5;bad[=x", BAD),
        size("SMUG-CHUNK-SIZE-TRAILING-OWS", "5 ", BAD),
        size("SMUG-CHUNK-EXT-CTRL", "5;\0ext", BAD),
        size("SMUG-CHUNK-EXT-CR", "5;a\rX", BAD),
        size("SMUG-CHUNK-UNDERSCORE", "1_0", BAD),
        size("SMUG-CHUNK-HEX-PREFIX", "0x5", BAD),
        size("SMUG-CHUNK-SIZE-PLUS", "+5", BAD),
        size("SMUG-CHUNK-LEADING-SP", " 5", BAD),
        size("SMUG-CHUNK-NEGATIVE", "-1", BAD),
        size("MAL-CHUNK-SIZE-OVERFLOW", "FFFFFFFFFFFFFFFF0", BAD),
        size("MAL-CHUNK-EXT-64K", &format!("5;ext={}", "a".repeat(65_536)), BAD),
        chunked("SMUG-CHUNK-MISSING-TRAILING-CRLF", "5\r\nhello0\r\n\r\n", BAD),
        chunked("SMUG-CHUNK-SPILL", "5\r\nhello!!\r\n0\r\n\r\n", BAD),
        chunked("SMUG-CHUNK-BARE-CR-TERM", "5\rhello\r\n0\r\n\r\n", BAD),
        chunked("SMUG-CHUNK-EXT-LF", "5;\nhello\r\n0\r\n\r\n", BAD),
        chunked("SMUG-CHUNK-LF-TERM", "5\r\nhello\n0\r\n\r\n", BAD),
        chunked("SMUG-CHUNK-LF-TRAILER", "5\r\nhello\r\n0\r\n\n", RefusedOrSilent),
    ]
}

/// Cases with a request hidden in a body, or behind one: the connection must end with the first answer.
fn hidden() -> Vec<Case> {
    let next = format!("GET / HTTP/1.1\r\n{HOST}\r\n");
    let both = |id, first: &str, second: &str, body: &str| {
        post(id, &format!("{first}\r\n{second}\r\n"), &format!("{body}{next}"), BAD)
    };
    let (te, cl) = ("Transfer-Encoding: chunked", "Content-Length: 6");
    vec![
        both("SMUG-CLTE-CONN-CLOSE", cl, te, "0\r\n\r\n"),
        both("SMUG-TECL-CONN-CLOSE", te, cl, "0\r\n\r\n"),
        both("SMUG-CLTE-DESYNC", cl, te, "0\r\n\r\nX"),
        both("SMUG-TECL-DESYNC", te, "Content-Length: 30", "0\r\n\r\nX"),
        both("SMUG-CLTE-SMUGGLED-GET", "Content-Length: 50", te, "0\r\n\r\n"),
        both("SMUG-CLTE-SMUGGLED-GET-CL-PLUS", "Content-Length: +50", te, "0\r\n\r\n"),
        both("SMUG-CLTE-SMUGGLED-GET-CL-NON-NUMERIC", "Content-Length: 50x", te, "0\r\n\r\n"),
        both("SMUG-CLTE-SMUGGLED-GET-TE-OBS-FOLD", "Transfer-Encoding:\r\n chunked", cl, "0\r\n\r\n"),
        both("SMUG-CLTE-SMUGGLED-GET-TE-TRAILING-SPACE", cl, "Transfer-Encoding: chunked ", "0\r\n\r\n"),
        both("SMUG-CLTE-SMUGGLED-GET-TE-LEADING-COMMA", cl, "Transfer-Encoding: , chunked", "0\r\n\r\n"),
        both("SMUG-CLTE-SMUGGLED-GET-TE-CASE-MISMATCH", cl, "Transfer-Encoding: Chunked", "0\r\n\r\n"),
        both(
            "SMUG-TE-DUPLICATE-HEADERS-SMUGGLED-GET",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
            cl,
            "0\r\n\r\n",
        ),
        both("SMUG-DUPLICATE-CL-SMUGGLED-GET", "Content-Length: 4", "Content-Length: 50", "PING"),
        both("SMUG-OPTIONS-TE-OBS-FOLD", "Transfer-Encoding:\r\n chunked", cl, "hello"),
        chunked("SMUG-CHUNK-INVALID-SIZE-DESYNC", &format!("+0\r\n\r\nX{next}"), BAD),
        post(
            "SMUG-TECL-SMUGGLED-GET",
            "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
            &format!("2c\r\n{next}\r\n0\r\n\r\n"),
            BAD,
        ),
    ]
}

fn holds(said: &Said, wanted: Wanted) -> bool {
    let statuses = said.statuses();
    match (wanted, statuses.as_slice()) {
        (Taken, [status]) => !matches!(status, 400 | 408 | 411..=417 | 421 | 431 | 500..),
        (Refused(wanted), [status]) => wanted.contains(status) && said.closed,
        (RefusedOrSilent, [status]) => matches!(status, 400 | 408 | 413 | 431),
        (RefusedOrSilent, []) => true,
        (NotSwitched, [_]) => !said.text.starts_with("HTTP/1.1 101"),
        _ => false,
    }
}

/// All that do not hold. A few at a time: each that stays open is waited for.
pub fn failures(service: &Service, cases: &[Case], after: After) -> Vec<String> {
    thread::scope(|scope| {
        let parts = cases.chunks(cases.len().div_ceil(12));
        let running: Vec<_> = parts
            .map(|part| {
                scope.spawn(move || {
                    let judged = part.iter().filter_map(|case| {
                        let said = exchange(service.address, &case.request, after);
                        let verdict =
                            format!("{} ({after:?}): {:?}, and not {:?}", case.id, case.wanted, said.statuses());
                        (!holds(&said, case.wanted)).then_some(verdict)
                    });
                    judged.collect::<Vec<_>>()
                })
            })
            .collect();
        running.into_iter().flat_map(|part| part.join().expect("is judged")).collect()
    })
}

/// No case fails at a service of either kind, whatever its client does then. All at once: most of it is waiting.
pub fn at_both(cases: &[Case]) {
    let services = Service::both();
    thread::scope(|scope| {
        for (service, after) in
            services.iter().flat_map(|service| [(service, After::Wait), (service, After::HalfClose)])
        {
            scope.spawn(move || {
                let failed = failures(service, cases, after);
                assert!(failed.is_empty(), "{}, {} of {}: {failed:#?}", service.name, failed.len(), cases.len());
            });
        }
    });
}

#[test]
fn no_case_of_http11probe_fails() {
    let cases: Vec<_> =
        [request_lines_and_headers(), lengths(), codings(), chunks(), hidden()].into_iter().flatten().collect();
    at_both(&cases);
}

/// Requests that are well-formed and that the service behind a proxy refuses itself: the proxy passes its answer on, and keeps the
/// connection.
const ANSWERED_BY_THE_SERVICE: [&str; 4] =
    ["SMUG-ABSOLUTE-URI-HOST-MISMATCH", "COMP-METHOD-CASE", "COMP-UNKNOWN-METHOD", "COMP-405-ALLOW"];

/// A proxy passes nothing on whose end is not clear, and takes what a service takes.
#[test]
fn no_case_of_http11probe_fails_at_a_proxy() {
    let cases: Vec<_> =
        [request_lines_and_headers(), lengths(), codings(), chunks(), hidden()].into_iter().flatten().collect();
    let at_a_proxy = |after, half_close| {
        let settings = json!({"limits": {"body_bytes": 65536}, "headers": {"half_close": half_close}});
        let service = Service::proxied(settings);
        let (passed_on, own): (Vec<_>, Vec<_>) = cases
            .iter()
            .map(|case| Case { id: case.id, request: case.request.clone(), wanted: case.wanted })
            .partition(|case| ANSWERED_BY_THE_SERVICE.contains(&case.id));
        for case in &passed_on {
            let said = exchange(service.address, &case.request, after);
            let Refused(wanted) = case.wanted else { panic!("{} is refused", case.id) };
            assert!(matches!(said.statuses()[..], [status] if wanted.contains(&status)), "{}: {said:?}", case.id);
        }
        let failed = failures(&service, &own, after);
        assert!(failed.is_empty(), "{after:?}: {} of {}: {failed:#?}", failed.len(), cases.len());
        let behind = service.behind.as_ref().expect("it is a proxy");
        // The host of another service, in good form: that one is refused there.
        assert_eq!(behind.malformed(), 1, "{after:?}: more of what it was sent was at fault");
    };
    thread::scope(|scope| {
        for (after, half_close) in [(After::Wait, false), (After::Wait, true), (After::HalfClose, true)] {
            scope.spawn(move || at_a_proxy(after, half_close));
        }
    });
}

/// Where a request at fault stands behind good ones, those are answered, and it is refused.
#[test]
fn what_is_ambiguous_is_refused_behind_pipelined_requests_too() {
    let service = Service::emulated(json!({}));
    let get = format!("GET / HTTP/1.1\r\n{HOST}\r\n");
    let body = format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 5\r\n\r\nhello");
    let chunks = format!("POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    let both = format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    let extension = format!("POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n5;\r\nhello\r\n0\r\n\r\n");
    for good in [&get, &body, &chunks, &format!("{get}{body}{chunks}{get}")] {
        for bad in [&both, &extension, &format!("\r\n{both}")] {
            let answered = good.matches(" HTTP/1.1").count();
            let wanted: Vec<u16> = [200].repeat(answered).into_iter().chain([400]).collect();
            let bytes = format!("{good}{bad}{get}");
            let said = exchange(service.address, bytes.as_bytes(), After::Wait);
            assert_eq!((said.statuses(), said.closed), (wanted, true), "{bytes}");
        }
    }
}
