use std::time::Duration;

use proptest::prelude::*;
use workloads::{
    headers::is_reserved,
    plan::{CLASS_HEADER, Marks},
};

use super::{Budget, Http1Error, Inbox, Known, Limits, Outgoing, Progress};

/// Feeds `bytes` cut at these places, then the end of the stream if the response is still incomplete.
fn read(bytes: &[u8], cuts: &[usize]) -> Result<(Inbox, Progress), Http1Error> {
    read_into(Inbox::new(Limits { head: 1024, body: 1000, ..Limits::default() }), bytes, cuts)
}

fn read_into(mut inbox: Inbox, bytes: &[u8], cuts: &[usize]) -> Result<(Inbox, Progress), Http1Error> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.push(bytes.len());
    cuts.sort_unstable();
    let mut from = 0;
    let mut progress = Progress::More;
    for to in cuts {
        while from < to {
            let room = inbox.room();
            let count = room.len().min(to - from);
            room[..count].copy_from_slice(&bytes[from..from + count]);
            from += count;
            progress = inbox.received(count)?;
        }
    }
    if progress == Progress::More {
        progress = inbox.ended()?;
    }
    Ok((inbox, progress))
}

fn body_of(bytes: &[u8], cuts: &[usize]) -> Result<(u16, Vec<u8>, bool), Http1Error> {
    let (inbox, progress) = read(bytes, cuts)?;
    assert_eq!(progress, Progress::Whole);
    let mut space = [("", &b""[..]); super::HEADERS_MAX];
    let response = inbox.response(&mut space).expect("whole");
    Ok((response.status, response.body.to_vec(), inbox.reusable()))
}

const LENGTH: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello";
const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nT: 1\r\n\r\n";
const UNTIL_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nhello";
const INTERIM: &[u8] =
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn each_framing_gives_the_body_and_says_whether_the_connection_is_reusable() {
    for (bytes, reusable) in [(LENGTH, true), (CHUNKED, true), (UNTIL_CLOSE, false), (INTERIM, true)] {
        assert_eq!(body_of(bytes, &[]), Ok((200, b"hello".to_vec(), reusable)));
    }
}

/// `count` interim responses before a final one.
fn flood(count: usize) -> Vec<u8> {
    let mut bytes = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(count);
    bytes.extend_from_slice(LENGTH);
    bytes
}

#[test]
fn interim_responses_have_as_many_bytes_as_a_head_may_have() {
    // Of 25 bytes each.
    for cuts in [&[][..], &[7, 30, 500], &[1000, 1024, 1025]] {
        assert_eq!(body_of(&flood(40), cuts).map(|(status, ..)| status), Ok(200));
        assert_eq!(read(&flood(41), cuts).map(|_| ()), Err(Http1Error::Interim(1024)));
    }
    let (mut inbox, _) = read(&flood(40), &[]).expect("it is whole");
    inbox.clear();
    let (inbox, progress) = read_into(inbox, &flood(40), &[]).expect("they are counted for one response");
    assert_eq!((inbox.reusable(), progress), (true, Progress::Whole));
}

#[test]
fn connections_together_hold_no_more_than_the_budget_and_give_it_back() {
    let budget = Budget::of(100_000);
    let inbox = || Inbox::new(Limits::default()).sharing(budget.clone());
    let of = |length: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length));
    let cuts: Vec<usize> = (1..9).map(|n| n * 8000).collect();
    let (first, _) = read_into(inbox(), of(60_000).as_bytes(), &cuts).expect("there is room");
    let second = read_into(inbox(), of(60_000).as_bytes(), &cuts);
    assert_eq!(second.map(|_| ()), Err(Http1Error::Memory(100_000)));
    assert!(read_into(inbox(), of(1000).as_bytes(), &[]).is_ok(), "there is room for small ones");
    drop(first);
    let (mut kept, _) = read_into(inbox(), of(60_000).as_bytes(), &cuts).expect("it was given back");
    // More than half of the budget is taken: nobody keeps a large buffer for later.
    kept.clear();
    assert!(read_into(inbox(), of(60_000).as_bytes(), &cuts).is_ok());
}

proptest! {
    /// A body of which only the beginning is kept counts as complete, and its connection as reusable, like one that is
    /// kept.
    #[test]
    fn what_is_not_kept_is_counted(which in 0..3usize, kept in 0..8usize, cuts in prop::collection::vec(0..200usize, 0..12)) {
        let bytes = [LENGTH, CHUNKED, UNTIL_CLOSE][which];
        let limits = Limits { head: 1024, body: 5, kept };
        let (inbox, progress) = read_into(Inbox::new(limits), bytes, &cuts).expect("an answer");
        let mut space = [("", &b""[..]); super::HEADERS_MAX];
        let body = inbox.response(&mut space).expect("whole").body.to_vec();
        prop_assert_eq!((progress, body.as_slice()), (Progress::Whole, &b"hello"[..kept.min(5)]));
        prop_assert_eq!(inbox.reusable(), which != 2);
        let short = read_into(Inbox::new(Limits { body: 4, ..limits }), bytes, &cuts);
        prop_assert_eq!(short.map(|_| ()), Err(Http1Error::BodyTooLong(4)));
    }

    /// Wherever the network cuts a response, it reads the same.
    #[test]
    fn cuts_change_nothing(which in 0..4usize, cuts in prop::collection::vec(0..200usize, 0..12)) {
        let bytes = [LENGTH, CHUNKED, UNTIL_CLOSE, INTERIM][which];
        prop_assert_eq!(body_of(bytes, &cuts), body_of(bytes, &[]));
    }

    /// Nothing that a server can send panics.
    #[test]
    fn any_bytes_are_an_answer_or_an_error(
        prefix in 0..CHUNKED.len(), noise in prop::collection::vec(any::<u8>(), 0..64), cuts in prop::collection::vec(0..200usize, 0..4)
    ) {
        let bytes = [&CHUNKED[..prefix], &noise].concat();
        let _ = read(&bytes, &cuts);
        let _ = read(&noise, &cuts);
    }

    /// Chunks of any sizes give back what was put in.
    #[test]
    fn chunks_are_put_together(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..90), 0..8), cuts in prop::collection::vec(0..900usize, 0..9)) {
        let mut bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        for part in &parts {
            bytes.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
            bytes.extend_from_slice(part);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        prop_assert_eq!(body_of(&bytes, &cuts), Ok((200, parts.concat(), true)));
    }
}

#[test]
fn keep_alive_follows_the_version_and_the_connection_header() {
    for (head, reusable) in [
        ("HTTP/1.1 200 OK\r\n", true),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\n", false),
        ("HTTP/1.1 200 OK\r\nConnection: foo, Close\r\n", false),
        ("HTTP/1.0 200 OK\r\n", false),
        ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", true),
    ] {
        let bytes = format!("{head}Content-Length: 0\r\n\r\n");
        assert_eq!(body_of(bytes.as_bytes(), &[]), Ok((200, Vec::new(), reusable)), "{head}");
    }
}

#[test]
fn bytes_after_the_response_make_the_connection_unusable() {
    let bytes = [LENGTH, b"HTTP/1.1 500"].concat();
    assert_eq!(body_of(&bytes, &[]), Ok((200, b"hello".to_vec(), false)));
}

#[test]
fn a_204_has_no_body_whatever_it_says() {
    assert_eq!(body_of(b"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", &[]), Ok((204, Vec::new(), true)));
}

#[test]
fn bad_answers_say_what_is_bad() {
    let head = "HTTP/1.1 200 OK\r\n";
    for (bytes, error) in [
        (format!("{head}Content-Length: +5\r\n\r\nhello"), Http1Error::ContentLength),
        (format!("{head}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), Http1Error::ContentLength),
        (format!("{head}Content-Length: 5\r\n\r\nhel"), Http1Error::CutShort),
        (format!("{head}Content-Length: 5000\r\n\r\n"), Http1Error::BodyTooLong(1000)),
        (format!("{head}\r\n{}", "x".repeat(1001)), Http1Error::BodyTooLong(1000)),
        (format!("{head}X: {}\r\n\r\n", "x".repeat(1100)), Http1Error::HeadTooLong(1024)),
        (format!("{head}Transfer-Encoding: chunked\r\n\r\nzz\r\n"), Http1Error::Chunk),
        (format!("{head}Transfer-Encoding: chunked\r\n\r\n1\r\nabc"), Http1Error::Chunk),
        ("HTTP/1.1 101 Switching\r\n\r\n".to_owned(), Http1Error::Switched),
        ("SSH-2.0-x\r\n\r\n".to_owned(), Http1Error::Head(httparse::Error::Version)),
        ("\u{15}\u{3}\u{3}\0\u{2}\u{2}F".to_owned(), Http1Error::Tls),
        (String::new(), Http1Error::CutShort),
    ] {
        assert_eq!(read(bytes.as_bytes(), &[]).err(), Some(error), "{bytes}");
    }
}

#[test]
fn an_inbox_is_used_again() {
    let (mut inbox, _) = read(CHUNKED, &[]).expect("good");
    inbox.clear();
    inbox.room()[..LENGTH.len()].copy_from_slice(LENGTH);
    assert_eq!(inbox.received(LENGTH.len()), Ok(Progress::Whole));
    let mut space = [("", &b""[..]); super::HEADERS_MAX];
    assert_eq!(inbox.response(&mut space).expect("whole").headers, [("Content-Length", &b"5"[..]), ("X-A", b"b")]);
}

fn written(outgoing: &Outgoing<'_>) -> String {
    let mut out = Vec::new();
    outgoing.write(&mut out);
    String::from_utf8(out).expect("text")
}

const PLAIN: Outgoing<'_> = Outgoing {
    method: "GET",
    path: "/a?b=c",
    host: "h:1",
    headers: "",
    body: None,
    attempt: 0,
    known: None,
    close: false,
};

#[test]
fn requests_are_written_as_a_server_reads_them() {
    assert_eq!(written(&PLAIN), "GET /a?b=c HTTP/1.1\r\nHost: h:1\r\n\r\n");
    let post = Outgoing {
        method: "POST",
        headers: "Cookie: k=v\r\n",
        body: Some("a=1"),
        attempt: 2,
        known: Some(Known { number: Some(7), user: Some(3), left: Some(Duration::from_micros(1999)), draw: 9 }),
        close: true,
        ..PLAIN
    };
    assert_eq!(
        written(&post),
        "POST /a?b=c HTTP/1.1\r\nHost: h:1\r\nCookie: k=v\r\nX-Attempt: 2\r\nX-Request-Number: 7\r\nX-User: 3\r\nX-Timeout-Ms: 1\r\nX-Draw: 9\r\n\
         Connection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=1"
    );
    let call = Outgoing { known: Some(Known { number: None, user: None, left: None, draw: 9 }), ..PLAIN };
    assert_eq!(written(&call), "GET /a?b=c HTTP/1.1\r\nHost: h:1\r\nX-Draw: 9\r\n\r\n");
    let empty = Outgoing { method: "POST", ..PLAIN };
    assert!(written(&empty).ends_with("\r\nContent-Length: 0\r\n\r\n"));
}

#[test]
fn lines_that_are_given_stand_in_place_of_ours() {
    let given = Outgoing {
        method: "POST",
        headers: "host: a.example\r\nCONTENT-TYPE: application/json\r\nConnection: keep-alive\r\nX-Host: b\r\n",
        body: Some("{}"),
        close: true,
        ..PLAIN
    };
    assert_eq!(
        written(&given),
        "POST /a?b=c HTTP/1.1\r\nhost: a.example\r\nCONTENT-TYPE: application/json\r\nConnection: keep-alive\r\n\
         X-Host: b\r\nContent-Length: 2\r\n\r\n{}"
    );
}

#[test]
fn a_path_cannot_smuggle_a_second_request() {
    let bad = Outgoing { path: "x y\r\nHost: evil\r\n\r\nGET /ä#frag", ..PLAIN };
    assert_eq!(written(&bad), "GET /x%20y%0D%0AHost:%20evil%0D%0A%0D%0AGET%20/%C3%A4 HTTP/1.1\r\nHost: h:1\r\n\r\n");
}

/// No class can be carried in a header that the lab writes.
#[test]
fn every_header_that_is_written_has_a_reserved_name() {
    let marks = Marks {
        criticality: [(controllers::Class(1), controllers::Criticality::Critical)].into(),
        customer: [(controllers::Class(1), 7)].into(),
        ..Marks::default()
    };
    let request = Outgoing {
        method: "POST",
        path: "/",
        host: "h",
        headers: &marks.lines()[1],
        body: Some("a=1"),
        attempt: 1,
        known: Some(Known { number: Some(1), user: Some(5), left: Some(Duration::from_secs(1)), draw: 2 }),
        close: true,
    };
    let mut out = Vec::new();
    request.write(&mut out);
    let text = String::from_utf8(out).expect("text");
    let head = text.split("\r\n\r\n").next().expect("a head");
    let written: Vec<&str> = head.lines().skip(1).map(|line| line.split(':').next().expect("a name")).collect();
    assert_eq!(written.len(), 12, "{written:?}");
    let other: Vec<&&str> = written.iter().filter(|name| !is_reserved(name)).collect();
    assert_eq!(other, [&CLASS_HEADER], "and the class itself");
    assert!(is_reserved("x-dRAW") && !is_reserved("X-Plan"));
}
