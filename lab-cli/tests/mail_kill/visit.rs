//! One user's connection, signed in, to a service that may die at any moment.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

pub struct Visit {
    stream: TcpStream,
    host: String,
    cookie: String,
    csrf: String,
}

impl Visit {
    pub fn begin(address: &str, name: &str, password: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        let mut visit = Self { stream, host: address.to_owned(), cookie: String::new(), csrf: String::new() };
        let (head, page) = visit.post("/login", &format!("user={name}&password={password}"))?;
        visit.cookie = between(&head, "session=", ";")?.to_owned();
        visit.csrf = between(&page, "name=\"csrf\" value=\"", "\"")?.to_owned();
        Some(visit)
    }

    /// A change: its page, if it was acknowledged. `None`: the connection broke before the whole answer was here.
    pub fn change(&mut self, path: &str, fields: &str) -> Option<String> {
        let body = format!("csrf={}&{fields}", self.csrf);
        let (_, page) = self.post(path, &body)?;
        assert!(page.contains("data-done="), "{page}");
        Some(page)
    }

    fn post(&mut self, path: &str, body: &str) -> Option<(String, String)> {
        let Self { host, cookie, .. } = &self;
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\ncookie: session={cookie}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).ok()?;
        let (status, head, body) = self.answer()?;
        assert_eq!(status, 200, "{path}: {}", between(&body, "<main", "<ul").unwrap_or(&body));
        Some((head, body))
    }

    fn answer(&mut self) -> Option<(u16, String, String)> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            self.stream.read_exact(&mut byte).ok()?;
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).ok()?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let mut lines = head.lines();
        let length =
            lines.find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        let mut body = vec![0; length?];
        self.stream.read_exact(&mut body).ok()?;
        Some((status, head, String::from_utf8_lossy(&body).into_owned()))
    }
}

pub fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split(before).nth(1)?.split(after).next()
}
