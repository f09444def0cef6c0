use super::*;

/// The number of the request at fault in these bytes, and how many heads they have: the same however they are cut.
fn fault(bytes: &[u8]) -> (Option<u32>, u32) {
    let of = |cuts: &[usize]| {
        let mut framing = Framing::default();
        let mut from = 0;
        for &cut in cuts.iter().chain([&bytes.len()]) {
            framing.scan(&bytes[from..cut]);
            from = cut;
        }
        (framing.fault, framing.heads)
    };
    let whole = of(&[]);
    for cut in 0..bytes.len() {
        assert_eq!(of(&[cut]), whole, "cut at {cut}");
    }
    assert_eq!(of(&(0..bytes.len()).collect::<Vec<_>>()), whole, "byte by byte");
    whole
}

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const BOTH: &str = "POST / HTTP/1.1\r\nHost: a\r\ncontent-LENGTH: 3\r\nX: y\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunked(body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{body}")
}

#[test]
fn length_and_encoding_together_are_a_fault() {
    assert_eq!(fault(BOTH.as_bytes()), (Some(1), 1));
    assert_eq!(fault(format!("\r\n\n{BOTH}").as_bytes()), (Some(1), 1), "after empty lines");
}

#[test]
fn so_they_are_behind_pipelined_requests() {
    let with_length = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";
    let in_chunks = chunked("4;a=b\r\nbody\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n");
    assert_eq!(fault(format!("{GET}{BOTH}").as_bytes()), (Some(2), 2));
    assert_eq!(fault(format!("{with_length}{GET}{in_chunks}{BOTH}{GET}").as_bytes()), (Some(4), 4));
}

#[test]
fn a_body_is_no_head() {
    let body = "Transfer-Encoding: chunked\r\n\r\n";
    let post = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}{GET}", body.len());
    assert_eq!(fault(post.as_bytes()), (None, 2));
    assert_eq!(fault(chunked("1b\r\nContent-Length: 3\r\nA: bcd\r\n\r\n0\r\n\r\nGET").as_bytes()), (None, 1));
}

#[test]
fn names_that_only_begin_alike_do_not_count() {
    let head = "POST / HTTP/1.1\r\nContent-Length-X: 30\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(fault(head.as_bytes()), (None, 1));
}

#[test]
fn lengths_and_encodings_that_leave_a_doubt_are_faults() {
    let spaces = " ".repeat(LONGEST);
    for lines in [
        "Content-Length: 3\r\nContent-Length: 3",
        "Content-Length: 3\r\nContent-Length: 4",
        "Content-Length: 3, 3",
        "Content-Length: +3",
        "Content-Length: -0",
        "Content-Length: 0x3",
        "Content-Length: 3 3",
        "Content-Length:",
        "Content-Length: 99999999999999999999",
        &format!("Content-Length:{spaces}3"),
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding:",
        "Transfer-Encoding: \u{b}chunked",
    ] {
        assert_eq!(fault(format!("POST / HTTP/1.1\r\n{lines}\r\n\r\n").as_bytes()).0, Some(1), "{lines}");
    }
    for lines in ["Content-Length: 3", "Content-Length:3 ", "Content-Length: 003", "Transfer-Encoding: \tChunked "] {
        assert_eq!(fault(format!("POST / HTTP/1.1\r\n{lines}\r\n\r\n").as_bytes()).0, None, "{lines}");
    }
}

#[test]
fn chunks_are_as_the_grammar_says() {
    for line in ["5", "05", "5;a", "5;a=b", "5;a=\"b; \\\" c\"", "5 ; a = b ;c", "5;a;b=c;d=\"e\""] {
        assert_eq!(fault(chunked(&format!("{line}\r\nhello\r\n0\r\n\r\n{GET}")).as_bytes()), (None, 2), "{line}");
    }
    for line in [
        "5;",
        "5;bad[",
        "5;bad[=x",
        "5 ",
        "5;\0ext",
        "5;a\rX",
        " 5",
        "+5",
        "-5",
        "0x5",
        "5_0",
        "",
        "5;a=",
        "5;a b",
        "5;a=\"b",
        "5\n",
        "10000000000000000",
    ] {
        assert_eq!(fault(chunked(&format!("{line}\r\nhello\r\n0\r\n\r\n{GET}")).as_bytes()).0, Some(1), "{line:?}");
    }
    for body in ["5\r\nhello!!\r\n0\r\n\r\n", "5\r\nhello0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\rhello\r\n0\r\n\r\n"] {
        assert_eq!(fault(chunked(body).as_bytes()).0, Some(1), "{body:?}");
    }
}
