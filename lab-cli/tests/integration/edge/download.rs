//! Attachments go out a piece at a time, for as long as they move.
//!
//! The short form is `LAB_READERS` = 40 readers of a part of 8 MB; with 150 it is the full one, of 20 MB.

use std::{
    env,
    fmt::Write as _,
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use socket2::{Domain, Socket, Type};

use crate::edge::{service::Service, wire::connect};

/// A letter with an attachment of so many bytes, all different enough to see a piece that is missing or in the wrong place.
fn letter(bytes: usize) -> String {
    let mut text = "From a@b.example Mon Nov 23 07:00:00 2026\nFrom: a@b.example\nTo: alice@b.example\nSubject: large\n\
                    Date: Mon, 23 Nov 2026 07:00:00 +0000\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=cut\n\n\
                    --cut\nContent-Type: text/plain\n\nSee there.\n--cut\nContent-Type: application/octet-stream\n\
                    Content-Disposition: attachment; filename=large.bin\n\n"
        .to_owned();
    content(bytes, &mut text);
    text.push_str("\n--cut--\n");
    text
}

/// Numbered lines of 16 bytes.
fn content(bytes: usize, text: &mut String) {
    for line in 0..bytes / 16 {
        let _ = writeln!(text, "line {line:010}");
    }
}

struct Signed<'a> {
    service: &'a Service,
    cookie: String,
    path: String,
}

impl<'a> Signed<'a> {
    /// Signs in, and finds the attachment.
    fn to(service: &'a Service) -> Self {
        let form = "user=alice&password=secret";
        let head = format!(
            "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{form}",
            form.len()
        );
        let page = said(service, &head);
        let cookie = page.lines().find_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next());
        let mut signed = Self { service, cookie: cookie.expect("a session").to_owned(), path: String::new() };
        let link = |page: &str, before: &str| {
            let at = page.rfind(before).unwrap_or_else(|| panic!("{before} is not in {page}")) + before.len();
            page[at..].split('"').next().expect("a link").replace("&amp;", "&")
        };
        let folders = said(service, &signed.request("/folderlist"));
        let list = said(service, &signed.request(&link(&folders, "<a data-do=\"list\" href=\"")));
        let message = said(service, &signed.request(&link(&list, "<a data-do=\"show\" href=\"")));
        signed.path = format!("/attachment{}", link(&message, "href=\"/attachment"));
        signed
    }

    fn request(&self, path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nCookie: {}\r\nConnection: close\r\n\r\n", self.cookie)
    }

    /// Asks for the attachment through a small window.
    fn asks(&self) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small window");
        socket.connect(&self.service.address.into()).expect("a connection");
        let mut stream: TcpStream = socket.into();
        stream.write_all(self.request(&self.path).as_bytes()).expect("is sent");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
        stream
    }
}

fn said(service: &Service, request: &str) -> String {
    let mut stream = connect(service.address);
    stream.write_all(request.as_bytes()).expect("is sent");
    let mut text = Vec::new();
    stream.read_to_end(&mut text).expect("an answer");
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn slow_readers_cost_a_piece_each() {
    let readers = env::var("LAB_READERS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let bytes = if readers < 150 { 8 << 20 } else { 20 << 20 };
    let service = Service::arashi(&letter(bytes), json!({}));
    let signed = Signed::to(&service);
    let before = service.resident();
    let held: Vec<_> = (0..readers).map(|_| signed.asks()).collect();
    let (mut most, end) = (0, Instant::now() + Duration::from_secs(5));
    while Instant::now() < end {
        most = most.max(service.resident());
        thread::sleep(Duration::from_millis(100));
    }
    drop(held);
    let more = most.saturating_sub(before) >> 20;
    println!("{readers} readers of {} MiB: {more} MiB more", bytes >> 20);
    assert!(more <= 64, "{more} MiB more for {readers} readers");
}

#[test]
fn an_attachment_comes_whole() {
    let service = Service::arashi(&letter(1_000_000), json!({}));
    let signed = Signed::to(&service);
    let mut stream = connect(service.address);
    stream.write_all(signed.request(&signed.path).as_bytes()).expect("is sent");
    let mut text = Vec::new();
    stream.read_to_end(&mut text).expect("an answer");
    let text = String::from_utf8(text).expect("as it was written");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let mut wanted = String::new();
    content(1_000_000, &mut wanted);
    assert!(head.starts_with("HTTP/1.1 200") && head.contains(&format!("content-length: {}", body.len())), "{head}");
    assert_eq!(body.trim_end().len(), wanted.trim_end().len());
    assert!(body.trim_end() == wanted.trim_end(), "some piece is missing or out of its place");
}

/// Slower than the whole would need, and faster than the least rate.
#[test]
fn a_download_that_moves_is_not_cut_off_and_one_that_stands_is() {
    let seconds = |millis: u64| json!({"secs": 0, "nanos": millis * 1_000_000});
    let service = Service::arashi(&letter(8 << 20), json!({"write_timeout": seconds(900)}));
    let signed = Signed::to(&service);
    let began = Instant::now();
    let mut stream = signed.asks();
    let (mut room, mut come) = ([0; 64 * 1024], 0);
    // A step every quarter of a second for three seconds and a half, and then the rest at once.
    let whole = loop {
        match stream.read(&mut room) {
            Ok(0) => break come,
            Ok(count) => come += count,
            Err(error) => panic!("cut off after {come} bytes and {:?}: {error}", began.elapsed()),
        }
        if began.elapsed() < Duration::from_millis(3500) {
            thread::sleep(Duration::from_millis(20));
        }
    };
    assert!(began.elapsed() > Duration::from_millis(1500) && whole > 8 << 20, "{whole} bytes in {:?}", began.elapsed());

    let mut stands = signed.asks();
    let mut first = [0; 1];
    stands.read_exact(&mut first).expect("it begins");
    thread::sleep(Duration::from_millis(2500));
    let mut rest = Vec::new();
    let _ = stands.read_to_end(&mut rest); // it ends with a reset, or short
    assert!(rest.len() < 1 << 20, "{} bytes came to one who did not read", rest.len());
}
