//! Cases of our own, by section of RFC 9112 (and 9110 where that is said), beside those of [`crate::edge::smuggling`]: one request each, so that
//! more than one answer means that bytes were taken for a request that they are not.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::edge::{
    service::Service,
    smuggling::{
        BAD, Case, HOST,
        Wanted::{Refused, RefusedOrSilent, Taken},
        at_both, case, chunked, failures, get, host, length, line, post,
    },
    wire::{After, exchange},
};

/// Section 3: the request line, and the forms of targets.
fn request_lines() -> Vec<Case> {
    vec![
        line("3.2.3 authority form, a name", "GET internal.example HTTP/1.1", BAD),
        line("3.2.3 authority form, this host", "GET localhost HTTP/1.1", BAD),
        line("3.2.3 authority form, a port", "GET localhost:80 HTTP/1.1", BAD),
        line("3.2.3 authority form, an address", "GET 127.0.0.1:80 HTTP/1.1", BAD),
        line("3.2.3 authority form, an address of IPv6", "GET [::1]:80 HTTP/1.1", BAD),
        line("3.2.3 authority form of HEAD", "HEAD localhost HTTP/1.1", BAD),
        line("3.2.3 authority form of OPTIONS", "OPTIONS localhost:80 HTTP/1.1", BAD),
        post("3.2.3 a body behind a good target", "Content-Length: 5\r\n", "hello", Taken),
        case(
            "3.2.3 authority form with a body",
            format!("POST localhost HTTP/1.1\r\n{HOST}Content-Length: 5\r\n\r\nhello"),
            BAD,
        ),
        line("3.2.3 CONNECT of a name without a port", "CONNECT localhost HTTP/1.1", Refused(&[400, 405])),
        line("3.2.3 CONNECT of a path", "CONNECT / HTTP/1.1", Refused(&[400, 405])),
        line("3.2.4 asterisk form of TRACE", "TRACE * HTTP/1.1", Refused(&[400, 405])),
        line("3.2.4 an asterisk and more", "OPTIONS *x HTTP/1.1", BAD),
        line("3.2.1 a query without a path", "GET ?x=1 HTTP/1.1", BAD),
        line("3.2.1 a relative path", "GET x/y HTTP/1.1", BAD),
        line("3.2.1 two slashes", "GET //localhost/ HTTP/1.1", Taken),
        line("3.2.1 dots", "GET /../../etc/passwd HTTP/1.1", Taken),
        line("3.2.2 absolute form without a host", "GET http:// HTTP/1.1", BAD),
        line("3.2.2 absolute form with an empty host", "GET http:///path HTTP/1.1", BAD),
        line("3.2.2 absolute form with two ports", "GET http://localhost:80:80/ HTTP/1.1", BAD),
        line("3.2.2 absolute form with a user", "GET http://user@localhost/ HTTP/1.1", BAD),
        line("3.2.2 absolute form with a port that is none", "GET http://localhost:99999/ HTTP/1.1", BAD),
        line("3.2.2 absolute form of another protocol", "GET ftp://localhost/ HTTP/1.1", BAD),
        line("3.2.2 absolute form of TLS", "GET https://localhost/ HTTP/1.1", Taken),
        line("3.2.2 absolute form in capitals", "GET HTTP://LOCALHOST/ HTTP/1.1", Taken),
        line("3.2.2 absolute form with a query alone", "GET http://localhost?x=1 HTTP/1.1", Taken),
        case("3.2.2 absolute form does not do for Host", "GET http://localhost/ HTTP/1.1\r\n\r\n", BAD),
        line("3 a space at the end", "GET / HTTP/1.1 ", BAD),
        line("3 four words", "GET / HTTP/1.1 x", BAD),
        line("3 a space at the beginning", " GET / HTTP/1.1", BAD),
        line("3 a vertical tab for a space", "GET\x0b/ HTTP/1.1", BAD),
        line("3 a form feed for a space", "GET\x0c/ HTTP/1.1", BAD),
        line("3 a carriage return for a space", "GET\r/ HTTP/1.1", BAD),
        line("3.1 a NUL in the method", "G\0T / HTTP/1.1", BAD),
        line("3.1 a parenthesis in the method", "GE(T / HTTP/1.1", BAD),
        line("3.1 a colon in the method", "GET: / HTTP/1.1", BAD),
        line("3.1 no method", "/ HTTP/1.1", BAD),
        line("3.2 a tab in the target", "GET /\ta HTTP/1.1", BAD),
        line("3.2 DEL in the target", "GET /\x7f HTTP/1.1", BAD),
        line("2.3 a minor version of two digits", "GET / HTTP/1.10", BAD),
        line("2.3 a version without a dot", "GET / HTTP/11", BAD),
        line("2.3 version 0.9", "GET / HTTP/0.9", BAD),
        line("2.3 version 2.0", "GET / HTTP/2.0", Refused(&[400, 505])),
        line("2.3 version 3.0", "GET / HTTP/3.0", Refused(&[400, 505])),
        line("2.2 two carriage returns", "GET / HTTP/1.1\r", BAD),
        case("2.2 line feeds alone", "GET / HTTP/1.1\nHost: localhost\n\n", Taken),
    ]
}

/// Section 5: field lines; RFC 9110, section 7.2: hosts.
fn field_lines() -> Vec<Case> {
    let bytes = |id, line: &[u8], wanted| {
        case(id, [format!("GET / HTTP/1.1\r\n{HOST}").as_bytes(), line, b"\r\n\r\n"].concat(), wanted)
    };
    vec![
        get("5.1 a tab before the colon", "X-A\t: 1\r\n", BAD),
        get("5.1 a parenthesis in the name", "X(A: 1\r\n", BAD),
        get("5.1 a quote in the name", "X\"A: 1\r\n", BAD),
        get("5.1 a slash in the name", "X/A: 1\r\n", BAD),
        get("5.1 a NUL in the name", "X\0A: 1\r\n", BAD),
        get("5.1 a carriage return in the name", "X\rA: 1\r\n", BAD),
        bytes("5.1 a byte beyond ASCII in the name", b"X\xff: 1", BAD),
        get("5.5 DEL in a value", "X-A: a\x7fb\r\n", BAD),
        get("5.5 escape in a value", "X-A: a\x1bb\r\n", BAD),
        get("5.5 a carriage return at the end of a value", "X-A: 1\r\r\n", BAD),
        get("5.2 a line folded by a tab", "X-A: 1\r\n\t2\r\n", BAD),
        case("5.2 the first line folded", format!("GET / HTTP/1.1\r\n X-A: 1\r\n{HOST}\r\n"), BAD),
        get("5 a colon alone", ":\r\n", BAD),
        get("5 a line of spaces", "   \r\n", BAD),
        bytes("5.5 bytes beyond ASCII in a value", b"X-A: caf\xc3\xa9 \xff", Taken),
        get("5 an empty value", "X-A:\r\n", Taken),
        get("5 no space behind the colon", "X-A:1\r\n", Taken),
        get("5 tabs round a value", "X-A:\t1\t\r\n", Taken),
        get(
            "5 one header more than there may be",
            &(0..100).map(|n| format!("X-{n}: 1\r\n")).collect::<String>(),
            Refused(&[431]),
        ),
        host("9110 7.2 a tab before the host", "\tlocalhost", Taken),
        host("9110 7.2 an empty port", "localhost:", Taken),
        host("9110 7.2 an address of IPv6", "[::1]", Taken),
        host("9110 7.2 an address of IPv6 without its end", "[::1", BAD),
        host("9110 7.2 a fragment", "localhost#x", BAD),
        host("9110 7.2 a query", "localhost?x", BAD),
        host("9110 7.2 a backslash", "localhost\\@evil.example", BAD),
        host("9110 7.2 a scheme", "http://localhost", BAD),
        case("9110 7.2 a space before the colon", "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", BAD),
        case("9110 7.2 a host in HTTP/1.0 that is none", "GET / HTTP/1.0\r\nHost: a b\r\n\r\n", BAD),
    ]
}

/// Section 6: lengths and codings.
fn framing() -> Vec<Case> {
    let lengths = |id, lines: &str| post(id, lines, "hello", BAD);
    let coding = |id, value: &str, wanted| {
        post(id, &format!("Transfer-Encoding:{value}\r\n"), "5\r\nhello\r\n0\r\n\r\n", wanted)
    };
    vec![
        lengths("6.2 the same length twice", "Content-Length: 5\r\nContent-Length: 5\r\n"),
        lengths("6.2 the same number, written in two ways", "Content-Length: 05\r\nContent-Length: 5\r\n"),
        lengths("6.2 the same length in two cases", "Content-Length: 5\r\ncontent-length: 5\r\n"),
        lengths("6.2 an empty length before another", "Content-Length:\r\nContent-Length: 5\r\n"),
        length("6.2 zero twice in a line", " 0, 0", "", BAD),
        length("6.2 a semicolon", " 5;", "hello", BAD),
        length("6.2 a fraction", " 5.0", "hello", BAD),
        length("6.2 an exponent", " 5e0", "hello", BAD),
        length("6.2 quotes", " \"5\"", "hello", BAD),
        length("6.2 digits of another script", " \u{665}", "hello", BAD),
        length("6.2 a space that is none", " \u{a0}5", "hello", BAD),
        length("6.2 a vertical tab", " 5\x0b", "hello", BAD),
        length("6.2 a folded length", " 5\r\n 0", "hello", BAD),
        length("6.2 the first number beyond 64 bits", " 18446744073709551616", "", BAD),
        length("6.2 the largest of 64 bits", " 18446744073709551615", "", Refused(&[400, 413, 431])),
        length("6.2 the first number beyond 63 bits", " 9223372036854775808", "", Refused(&[400, 413])),
        coding("6.1 chunked without a space", "chunked", Taken),
        coding("6.1 chunked in capitals", " CHUNKED", Taken),
        coding("6.1 chunked and a tab", " chunked\t", Taken),
        coding("6.1 chunked twice", " chunked, chunked", BAD),
        coding("6.1 chunked in two lines", " chunked\r\nTransfer-Encoding: chunked", BAD),
        coding("6.1 chunked and an empty line", " chunked\r\nTransfer-Encoding:", BAD),
        coding("6.1 chunked with a weight", " chunked;q=1", BAD),
        coding("6.1 chunked in quotes", " \"chunked\"", BAD),
        coding("6.1 chunked in two words", " chun ked", BAD),
        coding("6.1 a letter that looks like one", " chun\u{212a}ed", BAD),
        coding("6.1 another coding before it", " gzip, chunked", Refused(&[400, 501])),
        coding("6.1 identity", " identity", Refused(&[400, 501])),
        coding("6.1 an unknown coding", " xchunked", Refused(&[400, 501])),
        coding("6.1 a NUL before it", " \0chunked", BAD),
        post("9110 10.1.4 TE names what is not sent", "TE: chunked\r\nContent-Length: 5\r\n", "hello", Taken),
        case(
            "6.1 a coding in HTTP/1.0, kept",
            format!("POST / HTTP/1.0\r\n{HOST}Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            BAD,
        ),
    ]
}

/// Section 7: chunks.
fn chunks() -> Vec<Case> {
    let rest = "\r\nhello\r\n0\r\n\r\n";
    let size = |id, line: &str, wanted| chunked(id, &format!("{line}{rest}"), wanted);
    let trailer = |id, line: &str, wanted| chunked(id, &format!("5\r\nhello\r\n0\r\n{line}\r\n\r\n"), wanted);
    vec![
        size("7.1 a tab behind the size", "5\t", BAD),
        size("7.1 zeros before the size", "0005", Taken),
        size("7.1 a letter that is no digit", "G", BAD),
        size("7.1 no size", "", BAD),
        // They may be so large, and what is said does not come.
        size("7.1 the largest size of 64 bits", "FFFFFFFFFFFFFFFF", Refused(&[400, 408, 413])),
        size("7.1 the largest size of 63 bits", "7FFFFFFFFFFFFFFF", Refused(&[400, 408, 413])),
        size("7.1 a comma", "5,", BAD),
        size("7.1 a fraction", "5.0", BAD),
        size("7.1 a NUL", "5\0", BAD),
        size("7.1.1 two extensions", "5;a=b;c=d", Taken),
        size("7.1.1 a quoted extension", "5;a=\"b;c\"", Taken),
        size("7.1.1 a quote without its end", "5;a=\"b", BAD),
        size("7.1.1 two semicolons", "5;;a", BAD),
        size("7.1.1 an extension without a value", "5;a=", BAD),
        size("7.1.1 a line feed in quotes", "5;a=\"\n\"", BAD),
        chunked("7.1 the last chunk with an extension", "5\r\nhello\r\n0;a=b\r\n\r\n", Taken),
        chunked("7.1 the last chunk with many zeros", "5\r\nhello\r\n000000\r\n\r\n", Taken),
        chunked("7.1 a last chunk that is negative", "5\r\nhello\r\n-0\r\n\r\n", BAD),
        chunked("7.1 a last chunk in hexadecimal", "5\r\nhello\r\n0x0\r\n\r\n", BAD),
        chunked("7.1 a carriage return alone behind data", "5\r\nhello\r0\r\n\r\n", BAD),
        chunked("7.1 data longer than said", "4\r\nhello\r\n0\r\n\r\n", BAD),
        trailer("7.1.2 a trailer without a colon", "bad", RefusedOrSilent),
        trailer("7.1.2 a trailer with a space in its name", "X A: 1", RefusedOrSilent),
        trailer("7.1.2 a folded trailer", "X-A: 1\r\n 2", RefusedOrSilent),
        trailer("7.1.2 a NUL in a trailer", "X-A: \0", RefusedOrSilent),
        trailer("7.1.2 a trailer that would be trusted", "X-Forwarded-For: 192.0.2.1", Taken),
    ]
}

/// Section 11.2, 9.3: a request hidden behind one at fault; the connection ends with the answer.
fn hidden() -> Vec<Case> {
    let next = format!("GET /smuggled HTTP/1.1\r\n{HOST}\r\n");
    let behind = |id, first: String| case(id, format!("{first}{next}"), BAD);
    vec![
        behind("11.2 behind an authority form", format!("GET localhost HTTP/1.1\r\n{HOST}\r\n")),
        behind(
            "11.2 behind a length that is said twice",
            format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 0\r\nContent-Length: 0\r\n\r\n"),
        ),
        behind("11.2 behind two hosts", format!("GET / HTTP/1.1\r\n{HOST}{HOST}\r\n")),
        behind(
            "11.2 behind a coding in two lines",
            format!(
                "POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
        ),
        behind(
            "11.2 behind a chunk without its end",
            format!("POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n1\r\nZ0\r\n\r\n"),
        ),
        behind("11.2 behind a header with a NUL", format!("GET / HTTP/1.1\r\n{HOST}X: \0\r\n\r\n")),
    ]
}

fn cases() -> Vec<Case> {
    [request_lines(), field_lines(), framing(), chunks(), hidden()].into_iter().flatten().collect()
}

#[test]
fn no_case_of_our_own_fails() {
    let cases = cases();
    assert!(cases.len() >= 60, "{}", cases.len());
    at_both(&cases);
}

/// What a proxy takes is understood by the service behind it in the same way: there nothing is at fault.
#[test]
fn no_case_of_our_own_fails_at_a_proxy() {
    let cases = cases();
    for (after, half_close) in [(After::Wait, false), (After::HalfClose, true)] {
        let settings = json!({"limits": {"body_bytes": 65536}, "headers": {"half_close": half_close}, "log": "off"});
        let service = Service::proxied(settings);
        let failed = failures(&service, &cases, after);
        assert!(failed.is_empty(), "{after:?}, {} of {}: {failed:#?}", failed.len(), cases.len());
        assert_eq!(service.behind.as_ref().expect("it is a proxy").malformed(), 0, "{after:?}");
    }
}

/// A body that does not come is answered with 408, by a service and by a proxy before it.
#[test]
fn a_body_that_does_not_come_is_answered() {
    let lengths = format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 10\r\n\r\nhello");
    let chunks = format!("POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nhel");
    let serve = Service::emulated(json!({"body_timeout": {"secs": 0, "nanos": 500_000_000}}));
    let proxy = Service::proxied(json!({"timeouts": {"body": "500ms"}, "log": "off"}));
    for service in [&serve, &proxy] {
        for request in [&lengths, &chunks] {
            let began = Instant::now();
            let said = exchange(service.address, request.as_bytes(), After::Wait);
            assert_eq!((said.statuses(), said.closed), (vec![408], true), "{}: {request}", service.name);
            assert!(began.elapsed() < Duration::from_secs(5), "{}: {:?}", service.name, began.elapsed());
        }
    }
    assert_eq!(proxy.behind.as_ref().expect("it is a proxy").malformed(), 0);
}
