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

/// An answer, whole.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Visit {
    /// Signs in. `None`: the connection broke.
    pub fn begin(address: &str, name: &str, password: &str) -> Option<Self> {
        let mut visit = Self::stranger(address)?;
        let Answer { status, head, body } = visit.sign_in(name, password)?;
        assert_eq!(status, 200, "{name} signs in: {body}");
        visit.cookie = between(&head, "session=", ";")?.to_owned();
        visit.csrf = between(&body, "name=\"csrf\" value=\"", "\"")?.to_owned();
        Some(visit)
    }

    /// Somebody who has not signed in.
    pub fn stranger(address: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        Some(Self { stream, host: address.to_owned(), cookie: String::new(), csrf: String::new() })
    }

    /// What comes of a name and a password.
    pub fn sign_in(&mut self, name: &str, password: &str) -> Option<Answer> {
        self.ask("POST", "/login", &format!("user={name}&password={password}"))
    }

    /// A change: its page, if it was acknowledged. `None`: the connection broke before the whole answer was here.
    pub fn change(&mut self, path: &str, fields: &str) -> Option<String> {
        let Answer { status, body, .. } = self.try_change(path, fields)?;
        assert_eq!(status, 200, "{path}: {}", between(&body, "<main", "<ul").unwrap_or(&body));
        assert!(body.contains("data-done="), "{body}");
        Some(body)
    }

    /// A change, whatever comes of it.
    pub fn try_change(&mut self, path: &str, fields: &str) -> Option<Answer> {
        let body = format!("csrf={}&{fields}", self.csrf);
        self.ask("POST", path, &body)
    }

    pub fn get(&mut self, path: &str) -> Option<Answer> {
        self.ask("GET", path, "")
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> Option<Answer> {
        let Self { host, cookie, .. } = &self;
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncookie: session={cookie}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).ok()?;
        self.answer()
    }

    fn answer(&mut self) -> Option<Answer> {
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
        Some(Answer { status, head, body: String::from_utf8_lossy(&body).into_owned() })
    }
}

pub fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split(before).nth(1)?.split(after).next()
}
